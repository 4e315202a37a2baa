"""The weights of candidates and the choice of the next question, on profiles made up for it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.intake_choice import Found, best_question, information, typical_features, weigh
from rag.intake_pages import UNTOLD, PageProfile


def profile(document_id: str, **chances: float) -> PageProfile:
    return PageProfile(document_id=document_id, topic=document_id, title=document_id, chances=chances)


COLD, FLU = profile("cold", sneezing=0.6), profile("flu", fever=0.6, cough=0.6)


def found(*scores: float) -> list[Found]:
    return [Found(profile=page, score=score) for page, score in zip((COLD, FLU), scores, strict=True)]


def test_without_any_reply_retrieval_decides() -> None:
    cold, flu = weigh(found(5.0, 4.0), {})
    assert cold / flu == pytest.approx(math.e)


def test_an_affirmed_feature_raises_the_page_that_names_it() -> None:
    assert weigh(found(5.0, 5.0), {"fever": True})[1] > 0.8


def test_a_denied_feature_lowers_it_less_than_an_affirmed_one_raises_it() -> None:
    affirmed, denied = weigh(found(5.0, 5.0), {"fever": True}), weigh(found(5.0, 5.0), {"fever": False})
    assert denied[1] < 0.5
    assert affirmed[1] - 0.5 > 0.5 - denied[1]


def test_a_chosen_sentence_brings_its_page_to_the_front() -> None:
    assert weigh(found(9.0, 1.0), {}, chosen="flu")[1] > 0.69


def test_what_all_pages_share_tells_nothing() -> None:
    assert information("hiccups", [COLD, FLU], [0.5, 0.5]) == pytest.approx(0.0)


def test_the_question_that_tells_most_is_chosen() -> None:
    sure = profile("flu", fever=0.95, cough=0.3)
    assert best_question(["cough", "fever"], [], [COLD, sure], [0.5, 0.5], least=0.01) == "fever"


def test_a_feature_that_no_page_names_is_not_asked() -> None:
    assert best_question(["hiccups"], [], [COLD, FLU], [0.5, 0.5], least=0.0) is None


def test_a_question_that_tells_too_little_is_not_asked() -> None:
    assert best_question(["fever"], [], [COLD, FLU], [0.999, 0.001], least=0.05) is None


ALLERGY = profile("allergy", sneezing=0.6, itchy_nose=0.6)


def test_each_candidate_offers_what_is_typical_of_it_and_rare_among_the_others() -> None:
    typical = typical_features(["sneezing", "itchy_nose", "fever"], [ALLERGY, FLU, COLD], [0.5, 0.3, 0.2], most=4)
    assert typical == ["itchy_nose", "fever", "sneezing"]


def test_no_more_features_are_offered_than_wanted() -> None:
    assert typical_features(["itchy_nose", "fever"], [ALLERGY, FLU], [0.5, 0.5], most=1) == ["itchy_nose"]


def test_what_all_candidates_name_is_typical_of_none() -> None:
    assert typical_features(["sneezing"], [ALLERGY, COLD], [0.5, 0.5], most=4) == []


def test_a_candidate_that_names_nothing_of_what_was_told_offers_nothing() -> None:
    typical = typical_features(["fever", "sneezing"], [FLU, COLD], [0.5, 0.5], told=["cough"], most=4)
    assert typical == ["fever"]


def test_all_candidates_offer_where_none_names_what_was_told() -> None:
    typical = typical_features(["fever", "sneezing"], [FLU, COLD], [0.5, 0.5], told=["itch"], most=4)
    assert typical == ["fever", "sneezing"]


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5), st.lists(st.floats(0.01, 1.0), min_size=5, max_size=5))
def test_a_question_is_never_expected_to_tell_less_than_nothing_or_more_than_a_bit(
    chances: list[float], weights: list[float]
) -> None:
    pages = [profile(str(place), fever=chance) for place, chance in enumerate(chances)]
    assert -1e-9 <= information("fever", pages, weights[: len(pages)]) <= 1.0


def test_an_untold_feature_is_unlikely_but_possible() -> None:
    assert 0.0 < COLD.chance("fever") == UNTOLD < 0.2
