"""How the bot stands, as Prometheus reads it: gauges made anew from each look, beside the counters."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from bot.health import PROBLEMS, Health, IndexHealth
from ingest.ledger import RunRow, RunStatus

_RUNS_OF = timedelta(days=7)


class HealthGauges:
    """The gauges of one look."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        """Give them all; what is not known is left out."""
        health = self._health
        yield _gauge("ready", "1 when nothing keeps the bot from answering.", not health.problems)
        yield _gauge("queue_depth", "Questions that wait for the models.", health.queue)
        yield _gauge("sessions", "Sessions in memory.", health.sessions)
        yield _gauge("running_turns", "Turns that have not ended.", health.turns)
        problems = ((name, name in health.problems) for name in PROBLEMS)
        yield _labelled("problem", "1 for each problem that /readyz names.", "problem", problems)
        polls = ((platform.value, silence_s) for platform, silence_s in health.polls_s.items())
        yield _labelled("poll_age_seconds", "Seconds since a messenger was last polled.", "channel", polls)
        yield from self._indexes()
        yield from _runs(health.runs, health.taken_at)

    def _indexes(self) -> Iterator[Metric]:
        indexes = {language.value: index for language, index in self._health.indexes.items()}

        def of_each(name: str, what: str, value: Callable[[IndexHealth], float | None]) -> Metric:
            return _labelled(f"index_{name}", what, "language", ((name, value(index)) for name, index in indexes.items()))

        yield of_each("published", "1 when an index is live.", lambda index: index.version is not None)
        yield of_each("version", "The live version.", lambda index: index.version)
        yield of_each(
            "age_seconds", "Since it was last known to be up to date.", lambda index: index.age_s(self._health.taken_at)
        )
        yield of_each("published_timestamp_seconds", "When it was published.", lambda index: _unix(index.published_at))


def _runs(runs: Sequence[RunRow], now: datetime) -> Iterator[Metric]:
    counts = Counter(run.status for run in runs if now - run.started <= _RUNS_OF)
    lately = ((status.value, counts[status]) for status in RunStatus)
    yield _labelled("runs", "Runs of ingestion of the last 7 days.", "status", lately)
    whole = [run for run in runs if run.is_whole and run.status is not RunStatus.RUNNING]
    latest = ((status.value, whole[0].status is status) for status in RunStatus if whole)
    yield _labelled("last_run", "1 for how the latest run over all sources ended.", "status", latest)
    succeeded = next((run.ended for run in whole if run.status.is_success), None)
    yield _gauge("last_successful_run_timestamp_seconds", "When the latest successful one ended.", _unix(succeeded))


def _gauge(name: str, what: str, value: float | None) -> Metric:
    family = GaugeMetricFamily(f"salus_{name}", what)
    if value is not None:
        family.add_metric([], float(value))
    return family


def _labelled(name: str, what: str, label: str, values: Iterable[tuple[str, float | None]]) -> Metric:
    family = GaugeMetricFamily(f"salus_{name}", what, labels=[label])
    for value, number in values:
        if number is not None:
            family.add_metric([value], float(number))
    return family


def _unix(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
