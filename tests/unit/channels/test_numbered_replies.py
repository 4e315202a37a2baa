import pytest

from channels.messages import Button
from channels.numbered_replies import NumberedReplies, numbered_lines

YES = Button(label="Sì, utile", payload="fb:up:123")
NO = Button(label="No", payload="fb:down:123")


@pytest.mark.parametrize(
    ("reply", "payload"), [("1", "fb:up:123"), (" 2. ", "fb:down:123"), ("sì, UTILE!", "fb:up:123"), ("«No»", "fb:down:123")]
)
def test_h18_the_number_or_the_label_chooses(reply: str, payload: str) -> None:
    replies = NumberedReplies()
    replies.offer("a", (YES, NO))
    assert replies.payload("a", reply) == payload


@pytest.mark.parametrize("reply", ["3", "0", "", "no grazie, ho febbre", "12"])
def test_anything_else_is_an_ordinary_message(reply: str) -> None:
    replies = NumberedReplies()
    replies.offer("a", (YES, NO))
    assert replies.payload("a", reply) is None


def test_a_later_message_without_choices_withdraws_them() -> None:
    replies = NumberedReplies()
    replies.offer("a", (YES, NO))
    replies.offer("a", ())
    assert replies.payload("a", "1") is None


def test_choices_belong_to_one_patient() -> None:
    replies = NumberedReplies()
    replies.offer("a", (YES, NO))
    assert replies.payload("b", "1") is None


def test_choices_lapse_after_half_an_hour() -> None:
    now = 0.0
    replies = NumberedReplies(clock=lambda: now)
    replies.offer("a", (YES, NO))
    now = 30 * 60.0
    assert replies.payload("a", "1") is None


def test_lapsed_choices_are_forgotten_and_later_ones_are_not() -> None:
    now = 0.0
    replies = NumberedReplies(clock=lambda: now)
    replies.offer("a", (YES, NO))
    now = 60.0
    replies.offer("b", (YES, NO))
    now = 30 * 60.0
    replies.purge()
    assert list(replies._offers) == ["b"]


def test_the_oldest_patients_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.numbered_replies._MOST_PATIENTS", 2)
    replies = NumberedReplies()
    for address in "abc":
        replies.offer(address, (YES,))
    assert [replies.payload(address, "1") for address in "abc"] == [None, "fb:up:123", "fb:up:123"]


def test_lines_carry_the_hint_and_nothing_is_written_without_choices() -> None:
    assert numbered_lines("Scelga:", (YES, NO)) == "Scelga:\n1. Sì, utile\n2. No"
    assert numbered_lines("Scelga:", ()) == ""
