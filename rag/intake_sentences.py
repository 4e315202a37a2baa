"""What an intake may show of its candidates' pages, word for word: symptoms to choose from, and excerpts of each page."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from locales.language import Language
from rag.documents import Chunk, Sentence
from rag.index_reader import IndexReader
from rag.intake_pages import PageProfile
from rag.limits import LimitWords
from rag.models.protocols import Vectors
from rag.planted import planted_from
from rag.replies import IntakeChoice, IntakeQuestion, PageExcerpt
from rag.sentences import Section, SentenceWords, may_be_shown
from rag.text import content_tokens
from rag.types import Evidence, Hit

ALIKE: Final = "alike"
"""The name of the question which of some sentences is most like the complaint."""

_FEWEST_CHOICES = 2
_MOST_CHOICES = 4
_LONGEST_CHOICE = 14  # words, so that a button can hold it
_ADVICE = ((Section.DOCTOR, 2), (Section.EMERGENCY, 1))  # sentences of each section that an excerpt shows


def alike_question(
    reader: IndexReader, foremost: Sequence[PageProfile], language: Language, may_offer: Callable[[str], bool]
) -> IntakeQuestion | None:
    """Offer a short symptom sentence of each of two to four pages; None if fewer have one.

    For a corpus where the lexicon does not tell the candidates apart. A sentence that names its condition is not offered: to
    choose it would be to choose a diagnosis.
    """
    choices = [choice for page in foremost if (choice := _choice(reader, page, language, may_offer)) is not None]
    if len(choices) < _FEWEST_CHOICES:
        return None
    return IntakeQuestion(name=ALIKE, text=_alike_text(language), choices=tuple(choices[:_MOST_CHOICES]))


def excerpt(reader: IndexReader, document_id: str, language: Language, vector: Vectors) -> PageExcerpt | None:
    """Quote of a page the symptom sentence nearest to a complaint, and when to see a doctor; None if it has no such sentence.

    Args:
        reader: Where the page is published.
        document_id: The page.
        language: Its language.
        vector: The embedded complaint, unit length.
    """
    page, words = reader.page(document_id, vector), SentenceWords.load(language)
    symptoms = list(_shown(page, Section.SYMPTOMS, words))
    if not symptoms:
        return None
    near = _nearness(reader, symptoms, vector)
    place = max(range(len(symptoms)), key=lambda at: near[at])
    advice = [
        evidence for section, most in _ADVICE for evidence in list(_evidence(_shown(page, section, words), is_advice=True))[:most]
    ]
    return PageExcerpt(symptom=next(_evidence([symptoms[place]])), advice=tuple(advice))


def _choice(reader: IndexReader, page: PageProfile, language: Language, may_offer: Callable[[str], bool]) -> IntakeChoice | None:
    nowhere = np.zeros(reader.dimension, dtype=np.float32)  # the order of a page's passages does not depend on it
    hits = reader.page(page.document_id, nowhere)
    names = {token for hit in hits[:1] for name in (page.title, *hit.chunk.synonyms) for token in content_tokens(name, language)}
    for _, sentence in _shown(hits, Section.SYMPTOMS, SentenceWords.load(language)):
        text = sentence.text.strip()
        is_short = "\n" not in text and len(text.split()) <= _LONGEST_CHOICE
        if is_short and not names & set(content_tokens(text, language)) and may_offer(text):
            return IntakeChoice(document_id=page.document_id, text=text)
    return None


def _shown(page: Iterable[Hit], section: Section, words: SentenceWords) -> Iterator[tuple[Chunk, Sentence]]:
    """The sentences of a section that may be shown to anybody, in the order of the page."""
    for hit in page:
        if words.section(hit.chunk) is section:
            limits, end = LimitWords.load(hit.chunk.language), planted_from(hit.chunk)
            limiting = [limits.limits(sentence.text) for sentence in hit.chunk.sentences]
            yield from (
                (hit.chunk, sentence)
                for place, sentence in enumerate(hit.chunk.sentences)
                if sentence.end <= end
                and may_be_shown(sentence)
                and not words.limits(sentence.text)
                and not any(limiting[place : place + 2])  # one that limits, or is limited, does not stand alone
            )


def _evidence(sentences: Iterable[tuple[Chunk, Sentence]], *, is_advice: bool = False) -> Iterator[Evidence]:
    return (Evidence(chunk=chunk, sentence=sentence, strength=1.0, is_advice=is_advice) for chunk, sentence in sentences)


def _nearness(reader: IndexReader, sentences: Sequence[tuple[Chunk, Sentence]], vector: Vectors) -> list[float]:
    vectors = reader.sentence_vectors([chunk.chunk_id for chunk, _ in sentences])
    return [
        float(np.dot(vectors[chunk.chunk_id][chunk.sentences.index(sentence)], vector)) if chunk.chunk_id in vectors else 0.0
        for chunk, sentence in sentences
    ]


@cache
def _alike_text(language: Language) -> str:
    text: str = tomllib.loads((files("locales") / language.value / "intake.toml").read_text(encoding="utf-8"))["alike"]
    return text
