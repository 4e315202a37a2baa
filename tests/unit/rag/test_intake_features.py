"""How the intake's features are recognised in pages and in patients' words, and how replies are read."""

import pytest

from locales.language import Language
from rag.intake_features import FeatureLexicon, Only, ReplyKind
from rag.types import Population

IT, ES = Language.ITALIAN, Language.SPANISH
LEXICONS = {language: FeatureLexicon.load(language) for language in Language}


def test_both_languages_have_the_same_features_with_the_same_marks() -> None:
    marks = [
        {name: (feature.is_red_flag, feature.only) for name, feature in LEXICONS[language].features.items()}
        for language in Language
    ]
    assert marks[0] == marks[1]
    assert len(marks[0]) >= 90


@pytest.mark.parametrize("language", list(Language))
def test_a_question_is_short_and_formal(language: Language) -> None:
    for feature in LEXICONS[language].features.values():
        assert feature.question.endswith("?")
        assert len(feature.question.split()) <= 17, feature.name
        assert ("¿" in feature.question) is (language is ES), feature.name
        assert feature.statement[0].islower(), feature.name


@pytest.mark.parametrize("language", list(Language))
def test_each_feature_but_a_red_flag_has_a_label_of_its_own_that_fits_a_button(language: Language) -> None:
    features = LEXICONS[language].features.values()
    labels = [feature.label for feature in features if not feature.is_red_flag]
    assert all(0 < len(label) <= 20 for label in labels)
    assert len(set(labels)) == len(labels)
    assert not any(feature.label for feature in features if feature.is_red_flag)


@pytest.mark.parametrize("language", list(Language))
def test_a_statement_tells_its_own_feature(language: Language) -> None:
    lexicon = LEXICONS[language]
    silent = [name for name, feature in lexicon.features.items() if lexicon.told(feature.statement).get(name) is not True]
    assert silent == []


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [
        (IT, "ho la febbre e la tosse", {"fever": True, "cough": True}),
        (IT, "non ho febbre né tosse, mi fa male la gola", {"fever": False, "cough": False, "sore_throat": True}),
        (IT, "non riesco a dormire e ho nausea", {"insomnia": True, "nausea": True}),
        (IT, "non smetto di tossire", {"cough": True}),
        (IT, "senza febbre ma con vomito", {"fever": False, "vomiting": True}),
        (ES, "tengo fiebre y tos", {"fever": True, "cough": True}),
        (ES, "no tengo fiebre ni tos, me duele la garganta", {"fever": False, "cough": False, "sore_throat": True}),
        (ES, "no duermo bien", {"insomnia": True}),
        (ES, "no paro de toser", {"cough": True}),
        (ES, "amanezco con las manos rigidas", {"morning_stiff": True, "hands": True}),
    ],
)
def test_what_a_patient_affirms_or_denies_is_told(language: Language, text: str, told: dict[str, bool]) -> None:
    found = LEXICONS[language].told(text)
    assert {name: found.get(name) for name in told} == told


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (IT, "L'eczema ha bordi sfumati, mentre la psoriasi dà squame spesse."),
        (IT, "Le squame fanno pensare più alla psoriasi che all'eczema."),
        (ES, "El eccema tiene bordes borrosos, mientras que la psoriasis da escamas gruesas."),
        (ES, "Las escamas hacen pensar más en psoriasis que en eccema."),
    ],
)
def test_what_a_page_says_of_another_condition_is_not_its_own(language: Language, text: str) -> None:
    assert "scales" not in LEXICONS[language].told_by_page(text)
    assert LEXICONS[language].told(text)["scales"]


@pytest.mark.parametrize(
    ("language", "text", "kind", "rest"),
    [
        (IT, "Sì", ReplyKind.YES, ""),
        (IT, "sì, quando tossisco", ReplyKind.YES, "quando tossisco"),
        (IT, "un po'", ReplyKind.YES, ""),
        (IT, "no", ReplyKind.NO, ""),
        (IT, "no, febbre no", ReplyKind.NO, ""),
        (IT, "no, però mi brucia lo stomaco", ReplyKind.NO, "mi brucia lo stomaco"),
        (IT, "boh", ReplyKind.UNSURE, ""),
        (IT, "non lo so", ReplyKind.UNSURE, ""),
        (IT, "basta domande", ReplyKind.STOP, ""),
        (IT, "non riesco a dormire", None, "non riesco a dormire"),
        (IT, "ho anche la tosse", None, "ho anche la tosse"),
        (ES, "Sí", ReplyKind.YES, ""),
        (ES, "sí, al toser", ReplyKind.YES, "al toser"),
        (ES, "no", ReplyKind.NO, ""),
        (ES, "no, nada de eso", ReplyKind.NO, ""),
        (ES, "no sé", ReplyKind.UNSURE, ""),
        (ES, "ni idea", ReplyKind.UNSURE, ""),
        (ES, "no más preguntas", ReplyKind.STOP, ""),
        (ES, "no duermo bien", None, "no duermo bien"),
    ],
)
def test_a_reply_is_read_as_a_tap_would_be(language: Language, text: str, kind: ReplyKind | None, rest: str) -> None:
    spoken = LEXICONS[language].reply(text)
    assert (spoken.kind, spoken.rest) == (kind, rest)


@pytest.mark.parametrize(
    ("language", "text", "adds"),
    [
        (IT, "ho anche la tosse", True),
        (IT, "sì", False),
        (IT, "ho la febbre", False),
        (IT, "non ho la febbre", True),
        (ES, "también tengo tos", True),
        (ES, "no sé", False),
    ],
)
def test_a_message_adds_something_if_it_has_a_new_word_or_feature(language: Language, text: str, *, adds: bool) -> None:
    before = {IT: "ho la febbre da ieri", ES: "tengo fiebre desde ayer"}[language]
    assert LEXICONS[language].adds(text, [before]) is adds


def test_what_a_feature_tells_more_of_is_the_same_in_both_languages_and_can_be_told() -> None:
    italian, spanish = ({name: one.of for name, one in LEXICONS[language].features.items()} for language in Language)
    assert italian == spanish
    assert all(names <= set(italian) - {name} for name, names in italian.items())


def test_a_red_flag_may_be_asked_whatever_was_told() -> None:
    assert all(one.follows({}) for one in LEXICONS[Language.ITALIAN].features.values() if one.is_red_flag)


@pytest.mark.parametrize(
    ("language", "told"), [(Language.ITALIAN, "al mattino sono rigido"), (Language.SPANISH, "por la mañana tengo rigidez")]
)
def test_how_long_stiffness_lasts_is_asked_only_of_whom_is_stiff(language: Language, told: str) -> None:
    lexicon = LEXICONS[language]
    assert lexicon.features["long_stiff"].follows(lexicon.told(told))
    assert not lexicon.features["long_stiff"].follows({"morning_stiff": False, "fever": True})


def test_a_feature_of_women_or_babies_is_asked_of_nobody_else() -> None:
    lexicon = LEXICONS[IT]
    late = next(feature for feature in lexicon.features.values() if feature.only is Only.WOMEN)
    crying = next(feature for feature in lexicon.features.values() if feature.only is Only.BABIES)
    assert lexicon.suits(late, "ho mal di pancia", None)
    assert not lexicon.suits(late, "mio marito ha mal di pancia", None)
    assert not lexicon.suits(late, "ha mal di pancia", Population.CHILD)
    assert not lexicon.suits(crying, "ho mal di pancia", None)
    assert lexicon.suits(crying, "ha mal di pancia", Population.INFANT)


def test_a_reply_shows_no_words() -> None:
    assert "quando" not in repr(LEXICONS[IT].reply("sì, quando tossisco"))
