import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from locales.language import Language
from rag.aligner import Aligner
from rag.claim_paraphrase import ParaphraseFinder
from rag.models.protocols import PairScorer
from rag.types import Draft, Evidence, SentenceKind
from tests import builders

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


def examples(*, same: bool) -> list[tuple[Language, list[str], str]]:
    with (Path(__file__).parent / "paraphrase_examples.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [
        (Language(row["lang"]), row["evidence"].split("||"), row["sentence"]) for row in rows if (row["kind"] == "same") is same
    ]


def page(*sentences: str, document: str = "page") -> list[Evidence]:
    return [
        builders.evidence(text, chunk_id=f"{document}#{place}", document_id=document, position=place)
        for place, text in enumerate(sentences)
    ]


@dataclass
class ScriptedScorer:
    """Answers with the scores that it is given, and remembers what it was asked."""

    value: float
    asked: list[tuple[str, str]] = field(default_factory=list)

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        self.asked += pairs
        return np.full(len(pairs), self.value, dtype=np.float32)


@pytest.mark.parametrize(("language", "sentences", "text"), examples(same=True))
def test_a_sentence_of_other_words_is_supported_by_what_says_the_same(
    language: Language, sentences: list[str], text: str
) -> None:
    found, share = ParaphraseFinder(language).find(text, page(*sentences))

    assert [item.sentence.text for item in found] == sentences
    assert 0 < share <= 1


@pytest.mark.parametrize(("language", "sentences", "text"), examples(same=False))
def test_a_sentence_that_changes_its_evidence_is_never_supported(language: Language, sentences: list[str], text: str) -> None:
    assert Aligner(language).align(Draft(text=text), page(*sentences)) is None


@pytest.mark.parametrize(
    ("language", "sentences", "text"),
    [
        (ITALIAN, ["La psoriasi è una malattia cronica.", "Lo stress può peggiorarla."], "Lo stress può aggravare la psoriasi."),
        (ITALIAN, ["La scabbia è contagiosa.", "Può durare settimane."], "La scabbia può persistere per settimane."),
        (SPANISH, ["La sarna es contagiosa.", "Puede durar semanas."], "La sarna puede persistir semanas."),
        (SPANISH, ["La migraña es frecuente.", "El estrés puede empeorarla."], "El estrés puede agravar la migraña."),
    ],
)
def test_what_a_page_has_named_before_may_be_named_and_both_sentences_are_the_proof(
    language: Language, sentences: list[str], text: str
) -> None:
    sentence = Aligner(language).align(Draft(text=text), page(*sentences))

    assert sentence is not None
    assert sentence.kind is SentenceKind.WRITTEN
    assert sorted(item.sentence.text for item in sentence.evidence) == sorted(sentences)


@pytest.mark.parametrize(
    ("language", "sentences", "text"),
    [
        (
            ITALIAN,
            ["La varicella è causata da un virus.", "Gli antibiotici non agiscono sui virus."],
            "La varicella è causata da un virus, sul quale gli antibiotici non agiscono.",
        ),
        (
            ITALIAN,
            ["L'artrosi consuma la cartilagine.", "Se non viene curata, può limitare i movimenti."],
            "L'artrosi consuma la cartilagine e, se non viene curata, può limitare i movimenti.",
        ),
        (
            SPANISH,
            ["La hepatitis B se transmite por la sangre.", "La vacuna de la hepatitis B se pone en 3 dosis."],
            "La hepatitis B se transmite por la sangre y su vacuna se pone en 3 dosis.",
        ),
        (
            SPANISH,
            ["La colonoscopia no usa rayos X.", "La prueba dura una hora."],
            "La colonoscopia no usa rayos X y dura una hora.",
        ),
    ],
)
def test_the_second_half_of_a_joined_sentence_takes_over_what_the_first_is_about(
    language: Language, sentences: list[str], text: str
) -> None:
    sentence = Aligner(language).align(Draft(text=text), page(*sentences))

    assert sentence is not None
    assert [item.sentence.text for item in sentence.evidence] == sentences


@pytest.mark.parametrize(
    ("language", "sentences", "text"),
    [
        (ITALIAN, ["La scabbia è contagiosa.", "Il morbillo è raro.", "Può durare settimane."], "La scabbia dura settimane."),
        (ITALIAN, ["I pidocchi sono comuni.", "Può durare settimane."], "I pidocchi possono durare settimane."),
        (SPANISH, ["La sarna es contagiosa.", "El sarampión es raro.", "Puede durar semanas."], "La sarna dura semanas."),
        (SPANISH, ["Los piojos son comunes.", "Puede durar semanas."], "Los piojos pueden durar semanas."),
    ],
)
def test_the_topic_of_another_sentence_is_not_lent(language: Language, sentences: list[str], text: str) -> None:
    assert Aligner(language).align(Draft(text=text), page(*sentences)) is None


def test_a_topic_of_another_page_is_not_lent() -> None:
    evidence = [*page("La scabbia è contagiosa.", document="scabies"), *page("Può durare settimane.", document="measles")]

    assert Aligner(ITALIAN).align(Draft(text="La scabbia può durare settimane."), evidence) is None


def test_an_entailment_model_may_refuse_what_the_rules_accept() -> None:
    evidence = page("Gli antibiotici non curano l'influenza, perché è causata da un virus.")
    scorer: PairScorer = ScriptedScorer(0.1)

    assert Aligner(ITALIAN, scorer).align(Draft(text="Gli antibiotici non curano l'influenza."), evidence) is None


def test_an_entailment_model_may_accept_what_the_rules_leave_undecided() -> None:
    evidence = page("Il gatto graffia il divano di casa.")
    draft = Draft(text="Il gatto graffia la poltrona di casa.")

    assert Aligner(ITALIAN).align(draft, evidence) is None
    assert Aligner(ITALIAN, ScriptedScorer(0.99)).align(draft, evidence) is not None
    assert Aligner(ITALIAN, ScriptedScorer(0.8)).align(draft, evidence) is None


@pytest.mark.parametrize(
    "text",
    ["Il farmaco si prende 3 volte al giorno.", "Il farmaco non si prende 2 volte al giorno.", "Il farmaco cura sempre."],
)
def test_an_entailment_model_is_not_asked_about_numbers_negations_and_limits(text: str) -> None:
    scorer = ScriptedScorer(1.0)

    assert Aligner(ITALIAN, scorer).align(Draft(text=text), page("Il farmaco si prende 2 volte al giorno.")) is None
    assert scorer.asked == []


def test_a_quote_needs_no_model() -> None:
    scorer = ScriptedScorer(0.0)
    text = "Gli antibiotici non curano l'influenza."

    sentence = Aligner(ITALIAN, scorer).align(Draft(text=text), page(text))

    assert sentence is not None
    assert sentence.kind is SentenceKind.QUOTED
    assert scorer.asked == []
