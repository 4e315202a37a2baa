"""How long something took, read back from a histogram: figures for a person, as Prometheus would compute them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How often something happened, and in how many seconds. `buckets` are (upper bound in seconds, how many were within)."""

    buckets: tuple[tuple[float, int], ...]

    @property
    def count(self) -> int:
        """How often it happened."""
        return sum(number for _, number in self.buckets)

    def quantile(self, share: float) -> float:
        """Seconds within which a share, 0 to 1, of all took place.

        Inside a bucket the figures count as evenly spread; what took longer than the last bound counts as that bound, as with
        Prometheus's `histogram_quantile`. 0 if it never happened.
        """
        wanted, below, lower_s = share * self.count, 0, 0.0
        for upper_s, number in self.buckets:
            if number and below + number >= wanted:
                return lower_s if upper_s == float("inf") else lower_s + (upper_s - lower_s) * (wanted - below) / number
            below, lower_s = below + number, upper_s
        return 0.0


def latencies(histogram: Histogram, label: str) -> Mapping[str, Latency]:
    """What a histogram holds, by the values of one label; its other labels are summed up."""
    bounds: defaultdict[str, defaultdict[float, int]] = defaultdict(lambda: defaultdict(int))
    for metric in histogram.collect():
        for sample in metric.samples:
            if sample.name.endswith("_bucket"):
                bounds[sample.labels[label]][float(sample.labels["le"])] += int(sample.value)
    return {value: Latency(buckets=_apart(sorted(found.items()))) for value, found in bounds.items()}


def _apart(cumulative: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Counts that include those of every lower bound, made counts of each bucket alone."""
    before = [0, *(number for _, number in cumulative)]
    return tuple((bound, number - less) for (bound, number), less in zip(cumulative, before, strict=False))
