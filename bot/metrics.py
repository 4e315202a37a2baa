"""What the bot counts of its own work, for administrators and for Prometheus: kinds and seconds; no text, no identity."""

from collections import Counter as Count
from collections.abc import Iterable, Mapping
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics

from bot.latency import Latency, latencies
from bot.outcomes import Apology, Escalation, Notice, Outcome, Topic, kind_of
from bot.telemetry import Telemetry
from channels.errors import DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.messages import Platform
from locales.language import Language
from rag.replies import Abstention
from rag.types import Mode

TURN_STAGES = ("gate", "reread", "escalate", "claim", "gather", "admin", "greet", "answer", "render", "send")
"""The stages of a turn, in their order (`bot.conversation`)."""
ANSWERING_STAGES = (
    *("interpret", "expand", "retrieve", "reformulate", "rerank", "evidence", "score", "summarise", "write", "align", "quote"),
    *("other_language", "intake", "prefill", "decode", "first_sentence", "total"),
)
"""The stages of the answering line (`rag.replies.AnsweringRun.timings_s`)."""
TURN_ENDS = (
    *("answer", "clarification", "abstention", "overview", "escalation", "notice", "apology", "proof"),
    *("admin", "refused", "duplicate", "joined", "stopped"),
)
"""How a turn ends: the kinds of outcomes, and what else a turn may come to."""
DELIVERY_STATUSES = (
    *("accepted", "scheduled", "queued", "sending", "sent"),
    *("delivered", "read", "failed", "undelivered", "canceled"),
)

# From what the gate needs to what a patient still waits for.
_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60)
_OTHER = "other"
_NO_MODE = "none"  # what the patient's mode does not bear on
_MOST_SOURCES = 200
_ERROR_FAMILIES = {"11", "12", "20", "21", "30", "63"}  # of Twilio: HTTP, webhooks, account, messages, delivery, channels


class DeliveryFailure(StrEnum):
    """Why a reply did not reach a patient."""

    RECIPIENT_GONE = "recipient_gone"
    MESSAGE_GONE = "message_gone"
    TRY_LATER = "try_later"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    OTHER = "other"

    @classmethod
    def of(cls, error: BaseException) -> "DeliveryFailure":
        """The kind that an exception of a messenger belongs to."""
        kinds = {RecipientGone: cls.RECIPIENT_GONE, MessageGone: cls.MESSAGE_GONE, TryLater: cls.TRY_LATER}
        for error_class, kind in (*kinds.items(), (DeliveryFailed, cls.REFUSED), (TimeoutError, cls.TIMED_OUT)):
            if isinstance(error, error_class):
                return kind
        return cls.OTHER


class Metrics:
    """Counters and histograms since the start, in a registry of their own.

    Every label is one of a few known words; anything else is counted as "other".

    Args:
        telemetry: Notes unknown commands, and strangers who try an administrator's.
    """

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        # The library's own series for when each series began would double their number. Its function has no types.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._telemetry = telemetry or Telemetry()
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._outcomes = self._counter("outcomes", "Outcomes of turns.", "outcome", "language", "channel", "mode")
        self._abstentions = self._counter("abstentions", "Questions not answered.", "reason", "language", "channel")
        self._escalations = self._counter("escalations", "Emergencies recognised.", "language", "channel")
        self._turn_seconds = self._histogram("turn_seconds", "Seconds from a message to its reply.", "outcome", "channel")
        self._stage_seconds = self._histogram("stage_seconds", "Seconds of each stage of a turn.", "stage")
        self._answering_seconds = self._histogram("answering_stage_seconds", "Seconds inside the stage answer.", "stage")
        self._failures = self._counter("delivery_failures", "Replies that a messenger did not take.", "channel", "kind")
        self._statuses = self._counter("delivery_statuses", "What a messenger reported.", "channel", "status", "error")
        self._limited = self._counter("rate_limited", "Messages refused by a limit.", "channel")
        self._feedback = self._counter("feedback", "Taps on the feedback buttons.", "language", "verdict")
        self._source_feedback = self._counter("source_feedback", "Feedback by source.", "source", "language", "verdict")
        self._unknown_commands = self._counter("unknown_commands", "Commands that do not exist.", "channel")
        self._admin_attempts = self._counter("refused_admin_commands", "Administrators' commands of others.", "channel")
        self._registry_failures = self._counter("registry_failures", "Failures of the registry's file.")
        self._known_sources: set[str] = set()
        self._begin_at_zero()

    def note(self, outcome: Outcome, platform: Platform, mode: Mode | None = None) -> None:
        """Count a turn by what it ended in; of an escalation its language and messenger alone.

        Args:
            outcome: What the patient is told.
            platform: Where.
            mode: How the question was to be answered, if it was a question.
        """
        language, channel = outcome.language.value, platform.value
        self._outcomes.labels(_kind(outcome), language, channel, mode.value if mode else _NO_MODE).inc()
        if isinstance(outcome, Escalation):
            self._escalations.labels(language, channel).inc()
        if isinstance(outcome, Abstention):
            self._abstentions.labels(outcome.kind.value, language, channel).inc()
        if isinstance(outcome, Notice) and outcome.topic is Topic.UNKNOWN_COMMAND:
            self._unknown_commands.labels(channel).inc()
            self._telemetry.event("unknown_command", platform=channel)

    def note_turn(self, end: str, platform: Platform, duration_s: float, stages_s: Mapping[str, float]) -> None:
        """Measure a turn that has ended.

        Args:
            end: What it came to, such as `kind_of(outcome)`.
            platform: Where.
            duration_s: Seconds from the message to the end of the turn.
            stages_s: Seconds of each stage (`TurnLog.stages_s`).
        """
        self._turn_seconds.labels(_known(end, TURN_ENDS), platform.value).observe(duration_s)
        _observe(self._stage_seconds, TURN_STAGES, stages_s)

    def note_answering(self, timings_s: Mapping[str, float]) -> None:
        """Measure a run of the answering line, in the seconds of `AnsweringRun.timings_s`."""
        _observe(self._answering_seconds, ANSWERING_STAGES, timings_s)

    def note_delivery_failure(self, platform: Platform, kind: DeliveryFailure) -> None:
        """Count a reply that did not reach its patient."""
        self._failures.labels(platform.value, kind.value).inc()

    def note_delivery_status(self, platform: Platform, status: str, error_code: str | None = None) -> None:
        """Count what a messenger reports of a message later on; of an error code only its family ("63xxx")."""
        family = "none" if not error_code else f"{error_code[:2]}xxx" if error_code[:2] in _ERROR_FAMILIES else _OTHER
        self._statuses.labels(platform.value, _known(status, DELIVERY_STATUSES), family).inc()

    def note_limited(self, platform: Platform) -> None:
        """Count a message that a limit refused."""
        self._limited.labels(platform.value).inc()

    def note_feedback(self, language: Language, useful: bool, source_ids: Iterable[str] = ()) -> None:
        """Count a tap, once in all and once for each source of the answer.

        Args:
            language: That of the answer.
            useful: Which button.
            source_ids: The sources that the answer's sentences came from.
        """
        verdict = "useful" if useful else "not_useful"
        self._feedback.labels(language.value, verdict).inc()
        for source_id in set(source_ids):
            self._source_feedback.labels(self._bounded(source_id), language.value, verdict).inc()

    def note_admin_attempt(self, platform: Platform) -> None:
        """Count somebody who is no administrator, or writes in a group, and used an administrator's command."""
        self._admin_attempts.labels(platform.value).inc()
        self._telemetry.warning("admin_command_refused", platform=platform.value)

    def note_registry_failure(self) -> None:
        """Count a failure of the file of keyed hashes."""
        self._registry_failures.inc()

    @property
    def turns(self) -> Mapping[tuple[Language, Platform, str], int]:
        """How many turns ended in each way."""
        counts: Count[tuple[Language, Platform, str]] = Count()
        for (outcome, language, channel, _), number in _counted(self._outcomes):
            counts[Language(language), Platform(channel), outcome] += number
        return counts

    @property
    def unknown_commands(self) -> int:
        """How many commands were sent that do not exist."""
        return sum(number for _, number in _counted(self._unknown_commands))

    @property
    def admin_attempts(self) -> int:
        """How often somebody who may not used an administrator's command."""
        return sum(number for _, number in _counted(self._admin_attempts))

    @property
    def rate_limited(self) -> Mapping[Platform, int]:
        """How many messages a limit refused."""
        return {Platform(channel): number for (channel,), number in _counted(self._limited)}

    @property
    def delivery_failures(self) -> Mapping[tuple[Platform, str], int]:
        """How many replies did not reach their patients, by messenger and reason."""
        return {(Platform(channel), kind): number for (channel, kind), number in _counted(self._failures)}

    @property
    def delivery_statuses(self) -> Mapping[tuple[Platform, str, str], int]:
        """What messengers reported, by messenger, status and family of the error code."""
        return {(Platform(channel), status, error): n for (channel, status, error), n in _counted(self._statuses)}

    @property
    def feedback(self) -> Mapping[tuple[str, Language], tuple[int, int]]:
        """How often an answer from a source, in a language, was found useful, and how often not; "" stands for all answers."""
        counts: dict[tuple[str, Language], tuple[int, int]] = {}
        totals = [(("", language, verdict), number) for (language, verdict), number in _counted(self._feedback)]
        for (source, language, verdict), number in (*totals, *_counted(self._source_feedback)):
            key = source, Language(language)
            useful, useless = counts.get(key, (0, 0))
            counts[key] = (useful + number, useless) if verdict == "useful" else (useful, useless + number)
        return counts

    @property
    def turn_latencies(self) -> Mapping[str, Latency]:
        """How long turns took, by what they ended in."""
        return latencies(self._turn_seconds, "outcome")

    @property
    def stage_latencies(self) -> Mapping[str, Latency]:
        """How long the stages of turns took, and those inside the answer."""
        return {**latencies(self._stage_seconds, "stage"), **latencies(self._answering_seconds, "stage")}

    def _begin_at_zero(self) -> None:
        """Show what alarms are made of before it first happens: a rate needs two points."""
        for channel in Platform:
            self._limited.labels(channel.value)
            for kind in DeliveryFailure:
                self._failures.labels(channel.value, kind.value)
            for language in Language:
                self._escalations.labels(language.value, channel.value)

    def _bounded(self, source_id: str) -> str:
        if source_id not in self._known_sources:
            if len(self._known_sources) >= _MOST_SOURCES:
                return _OTHER
            self._known_sources.add(source_id)
        return source_id

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"salus_{name}", what, labels, registry=self.registry)

    def _histogram(self, name: str, what: str, *labels: str) -> Histogram:
        return Histogram(f"salus_{name}", what, labels, registry=self.registry, buckets=_SECONDS)


def _kind(outcome: Outcome) -> str:
    """The kind of an outcome; an answer that the patient called off is no apology for something broken."""
    return "stopped" if isinstance(outcome, Apology) and outcome.is_wished else kind_of(outcome)


def _known(word: str, words: tuple[str, ...]) -> str:
    return word if word in words else _OTHER


def _observe(histogram: Histogram, stages: tuple[str, ...], seconds: Mapping[str, float]) -> None:
    for stage, spent_s in seconds.items():
        histogram.labels(_known(stage, stages)).observe(spent_s)


def _counted(counter: Counter) -> list[tuple[tuple[str, ...], int]]:
    """The values of a counter with their labels, in the order of their declaration; what never happened is left out."""
    samples = [sample for metric in counter.collect() for sample in metric.samples if sample.name.endswith("_total")]
    return [(tuple(sample.labels.values()), int(sample.value)) for sample in samples if sample.value]
