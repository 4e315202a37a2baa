"""Proof on tap: for each sentence of the last answer the words of the source, who published them, when, and where."""

import asyncio
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby

from bot.outcomes import Notice, Proof, Topic
from bot.session import Session
from bot.source_address import SourceAddresses
from bot.text_fragment import at_quotes
from channels.messages import OutboundMessage
from locales.catalog import Catalog
from locales.language import Language
from rag.documents import Chunk, Document
from rag.replies import Answer
from rag.types import Evidence, SentenceKind, Source, SupportedSentence

FindDocument = Callable[[str], Document | None]
"""A stored document by its id; called in a thread of its own, since it reads the disk."""

_LONGEST_SENTENCE = 80  # characters; the sentence itself can be read right above
_LONGEST_QUOTED = 40  # of one that stands in the source as it is, and so right below once more
# What people write for "why?", without accents and signs. Longer messages are questions.
_WHY = frozenset(
    {"perche", "e perche", "ma perche", "xke", "xche", "perke", "come mai"}
    | {"por que", "porque", "y por que", "pero por que", "y eso por que", "xq", "pq", "porq"}
)


def asks_why(text: str) -> bool:
    """Whether a message says "perché?" or "¿por qué?" and nothing else."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(sign if sign.isalpha() else " " for sign in decomposed if not unicodedata.combining(sign))
    return " ".join(letters.split()) in _WHY


async def prove(session: Session, language: Language, find_document: FindDocument, number: str | None = None) -> Proof | Notice:
    """The proof of the session's last answer, or of the one with this number.

    Args:
        session: Where the last answer is kept.
        language: In which to say that it is not kept any more.
        find_document: Tells when a page was read.
        number: Of the answer, as a button gave it; None for the last one.
    """
    answer = session.kept_answer(number)
    if answer is None:
        return Notice(topic=Topic.PROOF if number is None else Topic.PROOF_GONE, language=language)
    return Proof(answer=answer, fetched_on=await asyncio.to_thread(_fetched_on, answer, find_document))


def _fetched_on(answer: Answer, find_document: FindDocument) -> dict[str, date]:
    """When the pages were read that do not say when they were reviewed."""
    chunks = [item.chunk for sentence in answer.sentences for item in sentence.evidence]
    undated = {chunk.document_id for chunk in chunks if chunk.reviewed_on is None}
    found = {document_id: find_document(document_id) for document_id in sorted(undated)}
    return {document_id: document.fetched_at.date() for document_id, document in found.items() if document is not None}


def proof_message(
    proof: Proof, catalog: Catalog, addresses: SourceAddresses, fill: Callable[[str], str], remark: Callable[[Source], str]
) -> OutboundMessage:
    """Word a proof.

    Args:
        proof: What to show.
        catalog: The texts.
        addresses: Where pages can be read.
        fill: Puts the reader's own emergency number into a source's text.
        remark: What must be said of a source beside its name.
    """
    wording = _Wording(proof.language, catalog, addresses, fill, remark, proof.fetched_on)
    sentences = [wording.sentence(number, one) for number, one in enumerate(proof.answer.sentences, start=1)]
    return OutboundMessage(paragraphs=(catalog.text(proof.language, "proof.heading"), *sentences))


@dataclass(frozen=True, slots=True)
class _Wording:
    language: Language
    catalog: Catalog
    addresses: SourceAddresses
    fill: Callable[[str], str]
    remark: Callable[[Source], str]
    fetched_on: Mapping[str, date]

    def sentence(self, number: int, sentence: SupportedSentence) -> str:
        """One sentence with its quotes, page by page."""
        longest = _LONGEST_QUOTED if sentence.kind is SentenceKind.QUOTED else _LONGEST_SENTENCE
        lines = [f"**{number}. {_shortened(self.fill(sentence.text), longest)}**"]
        for _, items in groupby(sentence.evidence, key=lambda item: item.chunk.document_id):
            lines += self._page(list(items))
        return "\n".join(lines)

    def _page(self, items: list[Evidence]) -> Iterator[str]:
        for item in items:
            yield f"«{self.fill(item.sentence.text)}»"
        yield self._reference(items)

    def _reference(self, items: list[Evidence]) -> str:
        chunk = items[0].chunk
        source = replace(Source.of(chunk, similarity=items[0].similarity), reviewed_on=None)  # told to the day below
        link = self.addresses.link(source, self.remark(source))
        # Square brackets would end the link's label, and round ones its address.
        label = link.label.replace("[", "(").replace("]", ")")
        url = _at_quotes(items, link.url).replace("(", "%28").replace(")", "%29") if link.url else None
        name = f"[{label}]({url})" if url else label
        return ", ".join(part for part in (name, self._date(chunk)) if part)

    def _date(self, chunk: Chunk) -> str:
        if chunk.reviewed_on is not None:
            return self.catalog.text(self.language, "proof.reviewed", date=f"{chunk.reviewed_on:%d/%m/%Y}")
        fetched_on = self.fetched_on.get(chunk.document_id)
        return self.catalog.text(self.language, "proof.fetched", date=f"{fetched_on:%d/%m/%Y}") if fetched_on else ""


def _at_quotes(items: list[Evidence], url: str) -> str:
    """The page's address, opened at the quotes.

    The bot's own copy of a page is opened at its top. It is one short text, in which a quote is soon found, and where the quote
    names an emergency number the copy has another in its place: a browser would find nothing.
    """
    if items[0].chunk.url is None:
        return url
    return at_quotes(url, [item.chunk.text[item.sentence.start : item.sentence.end] for item in items])


def _shortened(text: str, longest: int) -> str:
    line = " ".join(text.replace("*", "").split())
    if len(line) <= longest:
        return line
    return line[:longest].rpartition(" ")[0].rstrip(" ,;:.") + "…"
