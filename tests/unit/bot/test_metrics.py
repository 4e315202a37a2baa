import re

import pytest
from prometheus_client import generate_latest

from bot.latency import Latency
from bot.metrics import ANSWERING_STAGES, DeliveryFailure, Metrics
from bot.outcomes import Apology, Escalation, Notice, Topic
from channels.errors import ChannelError, DeliveryFailed, MessageGone, RecipientGone, TryLater
from channels.messages import Platform
from locales.language import Language
from rag.replies import Abstention, AbstentionKind
from rag.types import Mode
from tests.builders import answer, red_flag

IT, ES = Language
TELEGRAM, WHATSAPP = Platform.TELEGRAM, Platform.WHATSAPP


def shown(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_a_turn_is_counted_by_outcome_language_channel_and_mode() -> None:
    metrics = Metrics()
    metrics.note(answer(), TELEGRAM, Mode.PRECISE)
    metrics.note(answer(), TELEGRAM)
    assert value(metrics, "salus_outcomes_total", outcome="answer", language="it", channel="telegram", mode="precise") == 1
    assert metrics.turns == {(IT, TELEGRAM, "answer"): 2}


def test_an_escalation_is_counted_without_its_category() -> None:
    metrics = Metrics()
    metrics.note(Escalation(red_flag=red_flag(category="suicide"), language=ES), WHATSAPP)
    assert value(metrics, "salus_escalations_total", language="es", channel="whatsapp") == 1
    assert "suicide" not in shown(metrics)


def test_an_abstention_is_counted_by_its_reason() -> None:
    metrics = Metrics()
    metrics.note(Abstention(kind=AbstentionKind.NO_EVIDENCE, language=IT), TELEGRAM)
    assert value(metrics, "salus_abstentions_total", reason="no_evidence", language="it", channel="telegram") == 1


def test_an_answer_that_the_patient_called_off_is_no_apology() -> None:
    metrics = Metrics()
    metrics.note(Apology(language=IT, is_wished=True), TELEGRAM)
    metrics.note(Apology(language=IT), TELEGRAM)
    assert metrics.turns == {(IT, TELEGRAM, "stopped"): 1, (IT, TELEGRAM, "apology"): 1}


def test_unknown_commands_and_strangers_are_counted() -> None:
    metrics = Metrics()
    metrics.note(Notice(topic=Topic.UNKNOWN_COMMAND, language=IT), TELEGRAM)
    metrics.note_admin_attempt(WHATSAPP)
    assert (metrics.unknown_commands, metrics.admin_attempts) == (1, 1)


def test_a_turn_is_measured_with_its_stages() -> None:
    metrics = Metrics()
    metrics.note_turn("answer", TELEGRAM, 3.0, {"gate": 0.001, "answer": 2.5})
    metrics.note_answering({"retrieve": 0.02, "first_sentence": 1.5})
    assert metrics.turn_latencies["answer"].count == 1
    assert {"gate", "answer", "retrieve", "first_sentence"} <= set(metrics.stage_latencies)


def test_words_that_are_not_known_become_no_labels() -> None:
    metrics = Metrics()
    metrics.note_turn("mi fa male il petto", TELEGRAM, 1.0, {"mi fa male": 1.0})
    metrics.note_answering({"la testa": 1.0})
    metrics.note_delivery_status(WHATSAPP, "un testo", "99999")
    told = "\n".join(line for line in shown(metrics).splitlines() if "salus_" in line)  # the process's are any
    assert not any(word in told for word in ("petto", "fa male", "testa", "testo", "99999"))
    assert value(metrics, "salus_delivery_statuses_total", channel="whatsapp", status="other", error="other") == 1


def test_sources_without_end_cannot_grow_the_labels() -> None:
    metrics = Metrics()
    for number in range(1000):
        metrics.note_feedback(IT, True, [f"source-{number}"])
    assert len(metrics.feedback) < 250
    assert metrics.feedback["", IT] == (1000, 0)


def test_feedback_counts_once_in_all_and_once_for_each_source() -> None:
    metrics = Metrics()
    metrics.note_feedback(ES, False, ["a", "b", "a"])
    assert metrics.feedback == {("", ES): (0, 1), ("a", ES): (0, 1), ("b", ES): (0, 1)}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RecipientGone(), "recipient_gone"),
        (MessageGone(), "message_gone"),
        (TryLater(3.0), "try_later"),
        (DeliveryFailed(), "refused"),
        (TimeoutError(), "timed_out"),
        (ChannelError(), "other"),
    ],
)
def test_every_failure_has_a_kind(error: Exception, kind: str) -> None:
    assert DeliveryFailure.of(error) == kind


def test_delivery_failures_and_refusals_are_counted_by_channel() -> None:
    metrics = Metrics()
    metrics.note_delivery_failure(WHATSAPP, DeliveryFailure.REFUSED)
    metrics.note_limited(TELEGRAM)
    metrics.note_delivery_status(WHATSAPP, "undelivered", "63016")
    assert metrics.delivery_failures == {(WHATSAPP, "refused"): 1}
    assert metrics.rate_limited == {TELEGRAM: 1}
    assert metrics.delivery_statuses == {(WHATSAPP, "undelivered", "63xxx"): 1}


def test_what_alarms_are_made_of_is_there_before_it_first_happens() -> None:
    assert value(Metrics(), "salus_delivery_failures_total", channel="telegram", kind="refused") == 0


def test_two_bots_in_one_process_count_apart() -> None:
    first, second = Metrics(), Metrics()
    first.note_limited(TELEGRAM)
    assert second.rate_limited == {}


def test_the_memory_of_the_process_is_told() -> None:
    assert re.search(r"^process_resident_memory_bytes [\d.e+]+$", shown(Metrics()), re.MULTILINE)


def test_a_quantile_is_read_as_prometheus_reads_it() -> None:
    latency = Latency(buckets=((1.0, 10), (2.0, 80), (5.0, 10), (float("inf"), 0)))
    assert latency.quantile(0.5) == pytest.approx(1.5)
    assert latency.quantile(0.95) == pytest.approx(3.5)


def test_what_took_longer_than_the_last_bound_counts_as_that_bound() -> None:
    assert Latency(buckets=((1.0, 0), (float("inf"), 3))).quantile(0.5) == 1.0


def test_what_never_happened_took_no_time() -> None:
    assert Latency(buckets=((1.0, 0), (float("inf"), 0))).quantile(0.95) == 0.0


def test_every_stage_of_the_answering_line_is_known() -> None:
    assert {"interpret", "retrieve", "write", "align", "total"} <= set(ANSWERING_STAGES)
