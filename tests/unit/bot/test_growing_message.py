from bot.growing_message import continued, unshown
from channels.messages import OutboundLink, OutboundMessage

LINK = OutboundLink(label="Febbre", url="https://esempio.it")


def message(*paragraphs: str, emphasis: bool = False) -> OutboundMessage:
    return OutboundMessage(paragraphs=paragraphs, links=(LINK,), closing=("Chiusura.",), emphasis=emphasis)


def shown(*paragraphs: str, emphasis: bool = False) -> OutboundMessage:
    return OutboundMessage(paragraphs=paragraphs, emphasis=emphasis)


def test_a_message_that_begins_with_what_was_shown_is_left_as_it_is() -> None:
    whole = message("Prima.", "Uno. Due. Tre.", "Poi.")
    assert continued(shown("Prima.", "Uno."), whole) == whole


def test_what_has_not_been_shown_is_the_rest_with_links_and_closing() -> None:
    rest = unshown(shown("Chiami il 112.", "Uno.", emphasis=True), message("Chiami il 112.", "Uno. Due.", "Poi.", emphasis=True))
    assert rest == message("Due.", "Poi.")


def test_when_every_sentence_has_been_shown_links_and_closing_are_left() -> None:
    assert unshown(shown("Uno."), message("Uno.")) == message()


def test_what_was_shown_stays_first_when_the_whole_begins_otherwise() -> None:
    whole = continued(shown("Prefazione.", "Uno."), message("Altra prefazione.", "Uno. Due."))
    assert whole.paragraphs == ("Prefazione.", "Uno. Due.", "Altra prefazione.")


def test_what_was_shown_stays_when_the_whole_says_none_of_it() -> None:
    whole = continued(shown("Uno.", emphasis=True), message("Mi scusi."))
    assert whole.paragraphs == ("Uno.", "Mi scusi.")
    assert whole.emphasis


def test_what_stood_in_another_place_is_not_said_twice() -> None:
    whole = continued(shown("Prefazione.", "Uno."), message("Uno. Due.", "Prefazione."))
    assert whole.paragraphs == ("Prefazione.", "Uno. Due.")
