"""How far an answer can be traced: counts of what was found, what of it is really there and on the topic, and what rests on it.

The measures are those of Jeong et al. (2026), Development of a cancer information chatbot model.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rag.aligner import Aligner
from rag.documents import Chunk, Document, Sentence
from rag.types import Draft, Hit, SupportedSentence

GetDocument = Callable[[str], Document | None]

MEASURES = ("retrieved", "verified", "topic_matched", "sentences", "aligned")
"""The names of the counts, in the order of the published table."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The counts of one question: evidence found, verified and on the topic, sentences of the answer, and those aligned."""

    retrieved: int
    verified: int
    topic_matched: int
    sentences: int
    aligned: int

    def as_row(self) -> dict[str, int]:
        """The counts by the names of `MEASURES`."""
        return asdict(self)


def trace(
    hits: Sequence[Hit], sentences: Sequence[SupportedSentence], topic: str, get_document: GetDocument, aligner: Aligner
) -> Trace:
    """Count what a question found and what its answer rests on.

    Args:
        hits: The evidence items: the first passages of the ranking that the answer was made from.
        sentences: The answer; none if it was refused.
        topic: What the question is about, as pages name it.
        get_document: Looks a page up in the published index.
        aligner: Judges each sentence anew, apart from the run that wrote it.
    """
    return Trace(
        retrieved=len(hits),
        verified=sum(is_verified(hit.chunk, get_document(hit.chunk.document_id)) for hit in hits),
        topic_matched=sum(hit.chunk.topic == topic for hit in hits),
        sentences=len(sentences),
        aligned=sum(_rests_on_its_evidence(sentence, get_document, aligner) for sentence in sentences),
    )


def is_verified(chunk: Chunk, document: Document | None) -> bool:
    """Whether a passage stands in a published page, and each sentence that may be quoted from it at its place."""
    if document is None or not chunk.text or chunk.text not in document.text:
        return False
    return all(is_in_place(sentence, chunk) for sentence in chunk.sentences)


def is_in_place(sentence: Sentence, chunk: Chunk) -> bool:
    """Whether a quote's words stand where it says; what comes before them, the lead-in of a list, elsewhere in the passage."""
    span, quoted = _words(chunk.text[sentence.start : sentence.end]), _words(sentence.text)
    if not span or quoted[-len(span) :] != span:
        return False
    return _holds(_words(chunk.text), quoted[: -len(span)])


def _rests_on_its_evidence(sentence: SupportedSentence, get_document: GetDocument, aligner: Aligner) -> bool:
    """Whether the evidence is in the index with its quote in place, and the sentence aligns with it when judged again."""
    in_index = all(
        (document := get_document(item.chunk.document_id)) is not None
        and item.chunk.text in document.text
        and is_in_place(item.sentence, item.chunk)
        for item in sentence.evidence
    )
    if not sentence.evidence or not in_index:
        return False
    return aligner.align(Draft(text=sentence.text), sentence.evidence) is not None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _holds(words: Sequence[str], run: Sequence[str]) -> bool:
    return any(list(words[at : at + len(run)]) == list(run) for at in range(len(words) - len(run) + 1))
