import pytest

from locales.language import Language
from rag.documents import Sentence
from rag.limits import LimitWords
from rag.types import Evidence
from tests import builders

LANGUAGES = list(Language)
LIMITED = {
    Language.ITALIAN: ("Per il mal di testa può bastare il riposo.", "Ma se il dolore è improvviso chiami il {emergency}."),
    Language.SPANISH: ("Para el dolor de cabeza puede bastar el descanso.", "Pero si el dolor es súbito llame al {emergency}."),
}


def page(*texts: str) -> list[Evidence]:
    """The sentences of one passage as evidence."""
    text, sentences = "", []
    for one in texts:
        sentences.append(Sentence(text=one, start=len(text), end=len(text) + len(one)))
        text += one + " "
    cut = builders.chunk(text, sentences=tuple(sentences))
    return [Evidence(chunk=cut, sentence=sentence, strength=0.9) for sentence in sentences]


def told(items: tuple[Evidence, ...]) -> list[str]:
    return [item.sentence.text for item in items]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_comes_with_the_one_that_limits_it(language: Language) -> None:
    words = LimitWords.load(language)
    plain, limit = page(*LIMITED[language])

    assert told(words.whole(plain)) == list(LIMITED[language])
    assert told(words.whole(limit)) == list(LIMITED[language])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_that_nothing_limits_comes_alone(language: Language) -> None:
    plain, _ = page(LIMITED[language][0], LIMITED[language][0])

    assert told(LimitWords.load(language).whole(plain)) == [LIMITED[language][0]]


def test_a_chain_of_limits_stays_together() -> None:
    texts = ("La febbre di solito passa.", "Tuttavia nei neonati va vista.", "In questo caso non aspetti.", "Beva spesso.")

    assert told(LimitWords.load(Language.ITALIAN).whole(page(*texts)[1])) == list(texts[:3])


def test_what_is_limited_by_a_sentence_that_may_not_be_shown_is_not_shown() -> None:
    items = page("Il paracetamolo abbassa la febbre.", "Ma non più di 4 compresse al giorno.")

    assert LimitWords.load(Language.ITALIAN).whole(items[0]) == ()


@pytest.mark.parametrize("text", ["Maggio è il mese dei pollini.", "Malgrado tutto passa.", "Perovskite.", "Salvatore dice."])
def test_a_word_that_only_begins_like_a_limit_is_none(text: str) -> None:
    assert not any(LimitWords.load(language).limits(text) for language in LANGUAGES)
