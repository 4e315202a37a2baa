"""The words of an intake: a question with its buttons, and the pages that are listed at the end of a full one."""

from collections.abc import Callable, Iterator
from typing import Final

from bot.source_address import SourceAddresses
from channels.messages import Button, OutboundMessage
from locales.catalog import Catalog
from rag.intake_features import ReplyKind
from rag.replies import Clarification, Overview, PageExcerpt

PAYLOAD: Final = "intake:"
NONE_OF_THEM: Final = "none"
"""The reply of a patient who has none of what is offered, or does not know."""

_REPLIES = (ReplyKind.YES, ReplyKind.NO, ReplyKind.UNSURE)


def clarification_message(clarification: Clarification, catalog: Catalog) -> OutboundMessage:
    """A question with what can be tapped: yes, no and unsure, or what to choose from, and always the way out."""
    question, language = clarification.question, clarification.language
    assert question is not None  # noqa: S101 - an intake's clarification has one
    opening = (catalog.text(language, "intake.opening"),) if clarification.is_first else ()
    if question.choices:
        replies = [(choice.text, str(place)) for place, choice in enumerate(question.choices)]
        replies.append((catalog.text(language, "intake.none"), NONE_OF_THEM))
    else:
        replies = [(catalog.text(language, f"intake.{kind.value}"), kind.value) for kind in _REPLIES]
    replies.append((catalog.text(language, "intake.stop"), ReplyKind.STOP.value))
    buttons = tuple(Button(label=label, payload=f"{PAYLOAD}{clarification.token}:{reply}") for label, reply in replies)
    return OutboundMessage(paragraphs=(*opening, question.text), buttons=buttons)


def overview_message(
    overview: Overview, catalog: Catalog, addresses: SourceAddresses, fill: Callable[[str], str]
) -> OutboundMessage:
    """The pages found, each in its own words with its own advice.

    Args:
        overview: The pages, in alphabetical order.
        catalog: The texts.
        addresses: Where the pages can be read.
        fill: Puts the reader's emergency number into a source's sentence.
    """
    return OutboundMessage(
        paragraphs=(catalog.text(overview.language, "overview.opening"), *(_told(page, fill) for page in overview.excerpts)),
        links_heading=catalog.text(overview.language, "sources_heading"),
        links=tuple(addresses.link(source) for source in overview.sources),
    )


def _told(page: PageExcerpt, fill: Callable[[str], str]) -> str:
    return "\n".join((f"{page.symptom.chunk.title}:", *_quotes(page, fill)))


def _quotes(page: PageExcerpt, fill: Callable[[str], str]) -> Iterator[str]:
    for evidence in (page.symptom, *page.advice):
        yield f"«{fill(evidence.sentence.text)}»"
