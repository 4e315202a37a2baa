from collections.abc import Iterator
from dataclasses import replace

from locales.language import Language
from rag.aligner import Aligner
from rag.composer import MAX_WORDS, Composer
from rag.documents import Sentence
from rag.limits import LimitWords
from rag.types import Draft, Evidence, SentenceKind, SupportedSentence
from tests import builders

FEVER = "La febbre dovuta a un virus di solito passa in tre giorni."
WATER = "Con la febbre beva spesso acqua, brodo o tisane."
DOCTOR = "Chiami il medico se la febbre dura più di tre giorni."


def evidence(*texts: str, strength: float = 0.9) -> list[Evidence]:
    return [
        replace(builders.evidence(text, chunk_id=f"fever#{place}"), strength=strength - place / 100)
        for place, text in enumerate(texts)
    ]


def long_sentence(number: int, words: int = 24) -> str:
    return f"Consiglio{number} " + " ".join(f"parola{number}x{place}" for place in range(words - 2)) + " fine."


class Shown(list[SupportedSentence]):
    """What was shown, in order."""


def composer(proof: list[Evidence], shown: Shown | None = None) -> Composer:
    return Composer(
        Aligner(Language.ITALIAN), proof, (shown if shown is not None else Shown()).append, LimitWords.load(Language.ITALIAN)
    )


def texts(made: Composer) -> list[str]:
    return [sentence.text for sentence in made.sentences]


def test_the_strongest_evidence_is_quoted_at_once() -> None:
    shown = Shown()
    made = composer(evidence(FEVER, WATER), shown)
    made.open()

    assert texts(made) == [FEVER]
    assert [sentence.kind for sentence in shown] == [SentenceKind.QUOTED]


def test_supported_drafts_are_shown_and_others_counted() -> None:
    made = composer(evidence(FEVER, WATER, DOCTOR))
    made.take([Draft(text="La febbre è una malattia."), Draft(text="Se la febbre dura più di 3 giorni, chiami il medico.")])

    assert texts(made) == ["Se la febbre dura più di 3 giorni, chiami il medico."]
    assert made.dropped == 1


def test_each_sentence_is_shown_the_moment_it_is_verified_and_before_the_next_is_drafted() -> None:
    shown = Shown()
    seen_before_next: list[int] = []

    def drafting() -> Iterator[Draft]:
        for text in (FEVER, WATER):
            yield Draft(text=text)
            seen_before_next.append(len(shown))

    composer(evidence(FEVER, WATER), shown).take(drafting())

    assert seen_before_next == [1, 2]


def test_no_evidence_is_said_twice() -> None:
    made = composer(evidence(FEVER, WATER))
    made.open()
    made.take([Draft(text=FEVER), Draft(text="La febbre dovuta a un virus di solito passa in 3 giorni."), Draft(text=WATER)])
    made.fill()

    assert texts(made) == [FEVER, WATER]
    assert made.dropped == 0


def test_a_draft_that_adds_one_new_sentence_to_one_shown_is_kept() -> None:
    made = composer(evidence(FEVER, WATER))
    made.open()
    made.take([Draft(text=f"{FEVER[:-1]} e con la febbre beva spesso acqua, brodo o tisane.")])

    assert len(made.sentences) == 2


def test_no_answer_is_longer_than_seventy_five_words() -> None:
    proof = evidence(*[long_sentence(number) for number in range(6)])
    made = composer(proof)
    made.open()
    made.take(Draft(text=item.sentence.text) for item in proof)
    made.fill()

    assert len(made.sentences) == 3
    assert sum(len(text.split()) for text in texts(made)) <= MAX_WORDS == 75


def test_drafting_stops_at_the_first_sentence_that_leads_past_the_limit() -> None:
    asked: list[int] = []
    proof = evidence(*[long_sentence(number) for number in range(6)])

    def drafting() -> Iterator[Draft]:
        for place, item in enumerate(proof):
            asked.append(place)
            yield Draft(text=item.sentence.text)

    composer(proof).take(drafting())

    assert asked == [0, 1, 2, 3]


def test_the_strongest_evidence_is_always_carried() -> None:
    made = composer(evidence(FEVER, WATER, DOCTOR))
    made.take([Draft(text=WATER)])
    made.fill()

    assert FEVER in texts(made)


def test_quotes_take_the_place_of_drafts_that_failed() -> None:
    made = composer(evidence(FEVER, WATER, DOCTOR))
    made.take([Draft(text="Prenda due compresse."), Draft(text="La febbre passa da sola in un giorno.")])
    made.fill()

    assert texts(made) == [FEVER, WATER, DOCTOR]
    assert {sentence.kind for sentence in made.sentences} == {SentenceKind.QUOTED}
    assert made.dropped == 2


def test_an_answer_that_says_enough_is_not_filled_up() -> None:
    proof = evidence(*[long_sentence(number, words=31) for number in range(2)])
    made = composer(proof)
    made.open()
    made.fill()

    assert len(made.sentences) == 1


def test_weak_evidence_is_quoted_only_when_there_is_nothing_else() -> None:
    weak = evidence(WATER, strength=0.3)

    alone = composer(weak)
    alone.fill()
    beside = composer([*evidence(FEVER), *weak])
    beside.fill()

    assert texts(alone) == [WATER]
    assert texts(beside) == [FEVER]


def test_a_quote_longer_than_an_answer_may_be_gives_way_to_the_next() -> None:
    made = composer(evidence(long_sentence(0, words=80), FEVER))
    made.open()
    made.fill()

    assert texts(made) == [FEVER]


def test_when_to_see_a_doctor_keeps_its_place_though_other_evidence_is_stronger() -> None:
    proof = evidence(FEVER, WATER, "Il paracetamolo può abbassare la febbre e ridurre il malessere di chi ce l'ha.", DOCTOR)
    proof[-1] = replace(proof[-1], is_advice=True)
    made = composer(proof)
    made.open()
    made.fill()

    assert texts(made)[:2] == [FEVER, DOCTOR]


def test_advice_that_a_draft_already_gives_is_not_quoted_again() -> None:
    proof = evidence(FEVER, DOCTOR)
    proof[-1] = replace(proof[-1], is_advice=True)
    made = composer(proof)
    made.open()
    made.take([Draft(text=DOCTOR)])
    made.fill()

    assert texts(made) == [FEVER, DOCTOR]


def test_an_exception_is_not_shown_beside_what_it_does_not_limit() -> None:
    ibuprofen, not_in_pregnancy = "L'ibuprofene abbassa la febbre.", "Però non va usato in gravidanza."
    text = f"{ibuprofen} {not_in_pregnancy}"
    places = (Sentence(text=ibuprofen, start=0, end=len(ibuprofen)), Sentence(text=not_in_pregnancy, start=32, end=len(text)))
    page = builders.chunk(text, chunk_id="ibuprofen#1", sentences=places)
    exception = Evidence(chunk=page, sentence=places[1], strength=0.8)
    made = composer([*evidence("Il paracetamolo abbassa la febbre."), exception])
    made.open()
    made.take([Draft(text=not_in_pregnancy)])

    assert texts(made) == ["Il paracetamolo abbassa la febbre."]

    made.fill()

    assert texts(made) == ["Il paracetamolo abbassa la febbre.", ibuprofen, not_in_pregnancy]
