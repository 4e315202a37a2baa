from dataclasses import replace

import pytest

from locales.language import Language
from rag.aligner import Aligner
from rag.documents import Chunk, Sentence
from rag.evaluation.traceability import Trace, is_in_place, is_verified, trace
from rag.types import Hit, SentenceKind
from tests import builders

QUOTE = "La febbre è una difesa del corpo."
TEXT = "Chiami il medico se ha:\n- febbre alta\n- tosse"
LISTED = Sentence(text="Chiami il medico se ha: febbre alta; tosse.", start=26, end=len(TEXT))


def hit(**changes: object) -> Hit:
    return Hit(chunk=builders.chunk(QUOTE, topic="fever", **changes), score=1.0)


def page(text: str = QUOTE) -> object:
    return builders.document(text=f"## Che cos'è\n\n{text}")


def counted(hits: list[Hit], *sentences: object, found: object) -> Trace:
    return trace(hits, sentences, "fever", lambda _: found, Aligner(Language.ITALIAN))  # type: ignore[arg-type,return-value]


def test_a_passage_of_a_published_page_is_verified() -> None:
    assert is_verified(builders.chunk(QUOTE), page())  # type: ignore[arg-type]


@pytest.mark.parametrize("found", [None, page("La febbre è un'altra cosa.")])
def test_a_passage_that_no_page_holds_is_not_verified(found: object) -> None:
    assert not is_verified(builders.chunk(QUOTE), found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sentence",
    [
        Sentence(text=QUOTE, start=0, end=9),  # the span is another one
        Sentence(text="La febbre è una malattia.", start=0, end=len(QUOTE)),  # the words are others
        Sentence(text=QUOTE, start=5, end=5),
        Sentence(text=f"Mai. {QUOTE}", start=0, end=len(QUOTE)),  # what comes first stands nowhere
    ],
)
def test_a_quote_that_is_not_at_its_place_is_not_verified(sentence: Sentence) -> None:
    assert not is_in_place(sentence, builders.chunk(QUOTE))


def test_a_list_is_quoted_with_its_lead_in() -> None:
    assert is_in_place(LISTED, builders.chunk(TEXT))


def test_all_five_counts_are_told() -> None:
    other = replace(hit(), chunk=replace(hit().chunk, topic="cough"))

    found = counted([hit(), other], builders.sentence(QUOTE), found=page())

    assert found == Trace(retrieved=2, verified=2, topic_matched=1, sentences=1, aligned=1)
    assert list(found.as_row()) == ["retrieved", "verified", "topic_matched", "sentences", "aligned"]


def test_a_sentence_that_its_evidence_does_not_say_is_not_aligned() -> None:
    invented = replace(builders.sentence(QUOTE), text="La febbre è una malattia grave.", kind=SentenceKind.WRITTEN)
    assert counted([hit()], invented, found=page()).aligned == 0


def test_a_sentence_whose_evidence_is_not_in_the_index_is_not_aligned() -> None:
    found = counted([hit()], builders.sentence(QUOTE), found=None)
    assert (found.verified, found.sentences, found.aligned) == (0, 1, 0)


def test_a_refusal_counts_no_sentence() -> None:
    assert counted([], found=page()) == Trace(retrieved=0, verified=0, topic_matched=0, sentences=0, aligned=0)


def test_a_spanish_passage_is_verified_too() -> None:
    text = "La gripe suele curarse sola. ¿Fiebre? Beba agua."
    spanish: Chunk = builders.chunk(
        text,
        language=Language.SPANISH,
        sentences=(Sentence(text="La gripe suele curarse sola.", start=0, end=28), Sentence(text="Beba agua.", start=38, end=48)),
    )
    assert is_verified(spanish, page(text))  # type: ignore[arg-type]
