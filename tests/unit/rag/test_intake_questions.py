"""How the next question of an intake is put, on profiles made up for it."""

import pytest

from locales.language import Language
from rag.intake_features import FeatureLexicon
from rag.intake_pages import PageProfile
from rag.intake_questions import MOST_CHOICES, choice_question, next_question

LEXICONS = {language: FeatureLexicon.load(language) for language in Language}

every_language = pytest.mark.parametrize("language", list(Language))


def profile(name: str, *features: str) -> PageProfile:
    return PageProfile(document_id=name, topic=name, title=name, chances=dict.fromkeys(features, 0.6))


COLD, FLU, COLIC = profile("cold", "sneezing"), profile("flu", "fever"), profile("colic", "flank_pain")


@every_language
def test_signs_of_different_candidates_are_offered_to_choose_from(language: Language) -> None:
    lexicon = LEXICONS[language]
    question = next_question(lexicon, lexicon.features, [COLD, FLU, COLIC], [0.4, 0.3, 0.3])

    assert question is not None
    assert (
        question.text
        == {Language.ITALIAN: "Quale di queste cose ha notato?", Language.SPANISH: "¿Cuál de estas cosas ha notado?"}[language]
    )
    assert [choice.feature for choice in question.choices] == ["sneezing", "fever", "flank_pain"]
    assert question.choices[1].text == {Language.ITALIAN: "Febbre", Language.SPANISH: "Fiebre"}[language]


def test_at_most_four_are_offered() -> None:
    lexicon = LEXICONS[Language.ITALIAN]
    names = ["sneezing", "fever", "flank_pain", "itch", "headache", "thirst"]
    question = next_question(lexicon, lexicon.features, [profile(name, name) for name in names], [0.2] * 6)
    assert question is not None
    assert len(question.choices) == MOST_CHOICES


def test_nothing_is_offered_for_a_candidate_that_is_far_behind() -> None:
    lexicon = LEXICONS[Language.ITALIAN]
    question = next_question(lexicon, lexicon.features, [COLD, FLU, COLIC], [0.5, 0.49, 0.01])
    assert question is not None
    assert [choice.feature for choice in question.choices] == ["sneezing", "fever"]


@every_language
def test_a_wound_is_not_offered_to_somebody_who_told_of_thirst(language: Language) -> None:
    lexicon = LEXICONS[language]
    told = lexicon.told({Language.ITALIAN: "ho molta sete", Language.SPANISH: "tengo mucha sed"}[language])
    pages = [profile("diabetes", "thirst", "blurred"), profile("cut", "wound"), profile("dry_mouth", "thirst", "mouth_sores")]

    question = next_question(lexicon, set(lexicon.features) - set(told), pages, [0.4, 0.3, 0.3], told=told)

    assert question is not None
    assert [choice.feature for choice in question.choices] == ["blurred", "mouth_sores"]


def test_the_only_feature_left_is_asked_for_by_yes_or_no() -> None:
    question = next_question(LEXICONS[Language.ITALIAN], ["fever"], [COLD, FLU], [0.5, 0.5])
    assert question is not None
    assert (question.name, question.choices) == ("fever", ())


def test_nothing_is_asked_where_no_feature_is_left() -> None:
    assert next_question(LEXICONS[Language.ITALIAN], [], [COLD, FLU], [0.5, 0.5]) is None


@every_language
def test_a_red_flag_is_asked_by_itself_and_never_offered(language: Language) -> None:
    lexicon = LEXICONS[language]
    clot = PageProfile(document_id="clot", topic="clot", title="clot", chances={"calf_clot": 0.95, "leg_swelling": 0.55})

    alone = next_question(lexicon, lexicon.features, [clot, COLD], [0.5, 0.5])
    meek = PageProfile(document_id="clot", topic="clot", title="clot", chances={"calf_clot": 0.6, "leg_swelling": 0.6})
    offered = next_question(lexicon, lexicon.features, [meek, COLD], [0.5, 0.5])

    assert alone is not None
    assert (alone.name, alone.is_red_flag, alone.choices) == ("calf_clot", True, ())
    assert offered is not None
    assert [choice.feature for choice in offered.choices] == ["leg_swelling", "sneezing"]


@every_language
def test_every_choice_says_its_feature_in_the_first_person(language: Language) -> None:
    lexicon = LEXICONS[language]
    question = choice_question(lexicon, [one for one in lexicon.features.values() if not one.is_red_flag])
    assert all(
        question.affirmed((place,)) == (lexicon.features[choice.feature].statement,)
        for place, choice in enumerate(question.choices)
    )


@every_language
def test_what_only_patients_words_name_is_offered_to_nobody(language: Language) -> None:
    lexicon = LEXICONS[language]
    by_symptoms = PageProfile(document_id="a", topic="a", title="a", chances={"thirst": 0.6, "itch": 0.5})
    question = next_question(lexicon, lexicon.features, [by_symptoms, COLD], [0.5, 0.5])

    assert question is not None
    assert "itch" not in [choice.feature for choice in question.choices]
    assert "thirst" in [choice.feature for choice in question.choices]
