"""What stands on the administrators' page: figures and dates as text in their language, in tables. Layout is the template's."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from babel.numbers import format_decimal

from bot.admin_texts import AdminTexts, is_enabled
from bot.health import Health
from bot.latency import Latency
from bot.metrics import ANSWERING_STAGES, TURN_ENDS, TURN_STAGES, Metrics
from ingest.ledger import RunRow, SourceState
from ingest.sources import SourceRow
from locales.catalog import Catalog
from locales.language import Language

_NONE = "–"
_RUNS_SHOWN = 10
_LONGEST_S = 60.0  # the last bound of the histograms: beyond it nothing is told apart
_TOLD_IN_MS = 0.3
_ANSWERED = "answer"

_Rows = Iterable[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All that the page tells of. `sources` is None when the operator's file of sources cannot be read."""

    health: Health
    metrics: Metrics
    sources: tuple[SourceRow, ...] | None
    states: Mapping[str, SourceState]
    pages: Mapping[tuple[str, Language], int]
    uptime_s: float
    next_run: datetime | None = None
    missed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and whether figures stand below it."""

    heading: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; the first of each row names what the row is about."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart; `share` is its length, 1 for the longest."""

    label: str
    number: str
    share: float


class AdminTables:
    """The page's figures in one language.

    Args:
        texts: Dates, numbers and words of the administrators' side.
        catalog: The page's own texts begin with "admin_page.".
        language: In which everything is told.
    """

    def __init__(self, texts: AdminTexts, catalog: Catalog, language: Language) -> None:
        self._texts = texts
        self._catalog = catalog
        self._language = language

    def say(self, key: str, **values: object) -> str:
        """One text; the key is given without "admin_page."."""
        return self._catalog.text(self._language, f"admin_page.{key}", **values)

    def problems(self, health: Health) -> tuple[str, ...]:
        """What is wrong, in words."""
        return tuple(self._named("problem", problem) for problem in health.problems)

    def facts(self, overview: Overview) -> tuple[tuple[str, str], ...]:
        """How everything stands at this moment."""
        health = overview.health
        memory = overview.metrics.registry.get_sample_value("process_resident_memory_bytes")
        polls = [(platform.value, self._span(silence_s)) for platform, silence_s in health.polls_s.items()]
        return (
            (self.say("fact.queue"), self._number(health.queue)),
            (self.say("fact.turns"), self._number(health.turns)),
            (self.say("fact.sessions"), self._number(health.sessions)),
            (self.say("fact.uptime"), self._span(overview.uptime_s)),
            (self.say("fact.memory"), f"{self._number(round(memory / 1e6))} MB" if memory else _NONE),
            *((self.say("fact.poll", channel=self._platform(channel)), silence) for channel, silence in polls),
            (self.say("fact.next_run"), self._moment(overview.next_run)),
            *([(self.say("fact.missed"), self._moment(overview.missed))] if overview.missed else []),
        )

    def knowledge(self, overview: Overview) -> tuple[Table, ...]:
        """Indexes, sources and runs."""
        return self._indexes(overview), self._sources(overview), self._runs(overview.health)

    def conversations(self, metrics: Metrics) -> tuple[Table, ...]:
        """What turns came to, how long they took, and what patients thought of the answers."""
        return (
            self._outcomes(metrics),
            self._latencies("turns", metrics.turn_latencies, TURN_ENDS, lambda end: self._named("outcome", end)),
            self._latencies("stages", metrics.stage_latencies, (*TURN_STAGES, *ANSWERING_STAGES), str),
            self._feedback(metrics),
        )

    def delivery(self, metrics: Metrics) -> tuple[Table, ...]:
        """What did not reach patients, and what was refused."""
        failures = (
            (self._platform(platform.value), self._named("failure", kind), self._number(number))
            for (platform, kind), number in sorted(metrics.delivery_failures.items())
        )
        statuses = (
            (self._platform(platform.value), status, error.replace("none", _NONE), self._number(number))
            for (platform, status, error), number in sorted(metrics.delivery_statuses.items())
        )
        limited = ((self._platform(p.value), self._number(number)) for p, number in metrics.rate_limited.items())
        return (
            self._table("failures", ("channel", "reason", "#count"), failures),
            self._table("statuses", ("channel", "status", "error", "#count"), statuses),
            self._table("limited", ("channel", "#count"), limited),
        )

    def answer_times(self, metrics: Metrics) -> tuple[Bar, ...]:
        """How many answers took how long; empty before the first."""
        latency = metrics.turn_latencies.get(_ANSWERED)
        if latency is None or not latency.count:
            return ()
        most = max(number for _, number in latency.buckets)
        reached = [place for place, (_, number) in enumerate(latency.buckets) if number]
        shown = latency.buckets[reached[0] : reached[-1] + 1]
        return tuple(Bar(self._within(upper_s), self._number(number), number / most) for upper_s, number in shown)

    def _indexes(self, overview: Overview) -> Table:
        rows = []
        for language, index in overview.health.indexes.items():
            pages = sum(number for (_, of), number in overview.pages.items() if of is language)
            age_s = index.age_s(overview.health.taken_at)
            version = self.say("index.unusable") if index.is_unusable else self._number(index.version)
            moment, age = self._moment(index.published_at), _NONE if age_s is None else self._span(age_s)
            rows.append((self._texts.language_name(language), version, self._number(pages), moment, age))
        return self._table("indexes", ("language", "#version", "#pages", "published", "age"), rows)

    def _sources(self, overview: Overview) -> Table:
        pages: defaultdict[str, int] = defaultdict(int)
        for (source_id, _), number in overview.pages.items():
            pages[source_id] += number
        rows = [self._source(row, overview.states.get(row.id), pages[row.id]) for row in overview.sources or ()]
        if overview.sources is None:
            rows = [(self.say("sources.unreadable"), *[_NONE] * 5)]
        return self._table("sources", ("source", "publisher", "enabled", "#pages", "read", "problem"), rows)

    def _source(self, row: SourceRow, state: SourceState | None, pages: int) -> tuple[str, ...]:
        enabled = self._texts.text(self._language, "sources.on" if is_enabled(row, state) else "sources.off")
        read_at, problem = (state.read_at, state.problem) if state else (None, None)
        return row.id, row.publisher, enabled, self._number(pages), self._moment(read_at), problem or _NONE

    def _runs(self, health: Health) -> Table:
        rows = (self._run(run) for run in health.runs[:_RUNS_SHOWN])
        return self._table("runs", ("started", "by", "scope", "status", "duration", "#new", "#changed", "#retired"), rows)

    def _run(self, run: RunRow) -> tuple[str, ...]:
        figures = (run.report or {}).get("languages")
        languages = [language for language in figures if isinstance(language, dict)] if isinstance(figures, list) else []
        names = ("new", "changed", "retired")
        counts = [sum(int(language.get(name) or 0) for language in languages) if languages else None for name in names]
        duration = self._span((run.ended - run.started).total_seconds()) if run.ended else _NONE
        return (
            self._moment(run.started),
            self._texts.trigger(self._language, run.trigger),
            self.say("run.whole") if run.is_whole else run.scope,
            self._texts.text(self._language, f"state.{run.status.value}"),
            duration,
            *map(self._number, counts),
        )

    def _outcomes(self, metrics: Metrics) -> Table:
        rows = (
            (
                self._named("outcome", outcome),
                self._texts.language_name(language),
                self._platform(platform.value),
                self._number(n),
            )
            for (language, platform, outcome), n in sorted(metrics.turns.items(), key=lambda item: -item[1])
        )
        return self._table("outcomes", ("outcome", "language", "channel", "#count"), rows)

    def _latencies(self, key: str, found: Mapping[str, Latency], order: tuple[str, ...], name: Callable[[str], str]) -> Table:
        rows = (
            (
                name(of),
                self._number(found[of].count),
                self._seconds(found[of].quantile(0.5)),
                self._seconds(found[of].quantile(0.95)),
            )
            for of in order
            if of in found
        )
        return self._table(key, (key, "#count", "#p50", "#p95"), rows)

    def _feedback(self, metrics: Metrics) -> Table:
        rows = (
            (source or self.say("feedback.all"), self._texts.language_name(language), self._number(useful), self._number(useless))
            for (source, language), (useful, useless) in sorted(metrics.feedback.items())
        )
        return self._table("feedback", ("source", "language", "#useful", "#not_useful"), rows)

    def _table(self, key: str, columns: tuple[str, ...], rows: _Rows) -> Table:
        """A table of this caption; columns of figures are marked with a "#"."""
        named = tuple(Column(self.say(f"column.{column.lstrip('#')}"), column.startswith("#")) for column in columns)
        return Table(self.say(f"caption.{key}"), named, tuple(rows))

    def _named(self, group: str, name: str) -> str:
        """The word for a name, and the name itself where there is none."""
        key = f"admin_page.{group}.{name}"
        return self._catalog.text(self._language, key) if key in self._catalog.keys(self._language) else name

    def _platform(self, channel: str) -> str:
        return self._texts.text(self._language, f"platform.{channel}")

    def _number(self, number: int | None) -> str:
        return _NONE if number is None else self._texts.number(self._language, number)

    def _moment(self, moment: datetime | None) -> str:
        return _NONE if moment is None else self._texts.short_moment(self._language, moment)

    def _span(self, seconds: float) -> str:
        return self._texts.span(self._language, seconds)

    def _seconds(self, seconds: float) -> str:
        if seconds >= _LONGEST_S:
            return f"> {_LONGEST_S:.0f} s"
        if seconds < _TOLD_IN_MS:
            return f"{seconds * 1000:.0f} ms"
        return f"{format_decimal(seconds, format='0.0', locale=self._language.value)} s"

    def _within(self, upper_s: float) -> str:
        if upper_s == float("inf"):
            return f"> {_LONGEST_S:.0f} s"
        return f"≤ {format_decimal(upper_s, locale=self._language.value)} s"
