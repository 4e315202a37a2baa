import math

import pytest

from locales.language import Language
from rag.evaluation.text_metrics import (
    bleu,
    embedding_overlap,
    informative_difference,
    informativeness,
    meteor,
    rouge_l,
    rouge_n,
    sentences,
)
from tests.fakes import HashEmbedder

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


@pytest.mark.parametrize(
    ("language", "text", "reference"),
    [
        # Four words, of which "la febbre … passa" are the longest common subsequence: 3 of 4, and 3 of 6.
        (ITALIAN, "la febbre domani passa", "la febbre alta di solito passa"),
        (SPANISH, "la fiebre mañana baja", "la fiebre alta por fin baja"),
    ],
)
def test_rouge_l_is_the_longest_common_subsequence_of_words(language: Language, text: str, reference: str) -> None:
    found = rouge_l(text, reference, language)

    assert (found.precision, found.recall) == (3 / 4, 3 / 6)
    assert found.f1 == pytest.approx(2 * 0.75 * 0.5 / 1.25)


@pytest.mark.parametrize(("language", "word"), [(ITALIAN, "città"), (SPANISH, "años")])
def test_words_with_accents_are_words(language: Language, word: str) -> None:
    assert rouge_l(word, word, language).f1 == 1.0
    assert rouge_l(word, "e", language).f1 == 0.0


def test_an_empty_text_overlaps_with_nothing() -> None:
    assert rouge_l("", "la febbre", ITALIAN).f1 == 0.0
    assert embedding_overlap("", "La febbre passa.", HashEmbedder()).f1 == 0.0


def test_bleu_of_the_same_text_is_full_and_a_shorter_one_is_penalised() -> None:
    reference = "La febbre alta di solito passa in tre giorni."
    assert bleu([reference], [reference]).score == pytest.approx(100.0)

    half = bleu(["La febbre alta di solito"], [reference])  # five tokens of ten, all n-grams right: only the penalty is left

    assert half.brevity_penalty == pytest.approx(math.exp(1 - 10 / 5))
    assert half.score == pytest.approx(100 * half.brevity_penalty)


def test_bleu_parts_spanish_marks_from_words() -> None:
    assert bleu(["¿ Tengo gripe o catarro ?"], ["¿Tengo gripe o catarro?"]).score == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("language", "texts"),
    [(ITALIAN, ["la febbre", "la febbre e la tosse", "e la"]), (SPANISH, ["la fiebre", "la fiebre y la tos", "y la"])],
)
def test_informativeness_is_the_sum_of_unit_tf_idf_weights(language: Language, texts: list[str]) -> None:
    # Of three texts two hold the first word and one the second: idf = ln(4/3)+1 and ln(4/2)+1, each text of unit length.
    common, rare = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    length = math.hypot(common, rare)

    found = informativeness(texts, language)

    assert found == pytest.approx([1.0, (common + rare) / length, 0.0])


def test_texts_without_content_words_tell_nothing() -> None:
    assert informativeness(["e la", ""], ITALIAN) == [0.0, 0.0]


def test_the_informative_difference_shrinks_with_what_both_say_alike() -> None:
    # ROUGE-L of "febbre alta" and "febbre bassa" is one word of two both ways: F1 = 1/2.
    assert informative_difference("febbre alta", "febbre bassa", 3.0, 1.0, ITALIAN) == pytest.approx(0.5 * 2.0)
    assert informative_difference("febbre bassa", "febbre alta", 1.0, 3.0, ITALIAN) == pytest.approx(-1.0)
    assert informative_difference("fiebre alta", "fiebre alta", 3.0, 1.0, SPANISH) == 0.0


def test_each_sentence_is_matched_to_the_nearest_one() -> None:
    embedder = HashEmbedder(dimension=4096)
    reference = "La febbre passa. La tosse dura."

    found = embedding_overlap("La tosse dura.", reference, embedder)

    # Of the text all is in the reference; of the reference one sentence wholly, of the other one word of three.
    assert found.precision == pytest.approx(1.0)
    assert found.recall == pytest.approx((1 + 1 / 3) / 2)


def test_the_cosine_of_unrelated_texts_becomes_nothing() -> None:
    found = embedding_overlap("La tosse dura.", "La febbre passa.", HashEmbedder(dimension=4096), background=1 / 3)
    assert found.f1 == pytest.approx(0.0, abs=1e-6)


def test_headings_are_no_sentences() -> None:
    assert sentences("## Síntomas\n\nTos seca. Fiebre.\n- dolor") == ["Tos seca.", "Fiebre.", "dolor"]


@pytest.mark.parametrize(
    ("language", "text", "reference"),
    [
        (ITALIAN, "ho la febbre da giorni", "la febbre da giorni passa"),
        (SPANISH, "tengo la fiebre de días", "la fiebre de días pasa"),
    ],
)
def test_rouge_n_counts_shared_runs_of_words(language: Language, text: str, reference: str) -> None:
    assert rouge_n(text, reference, language, 1).f1 == pytest.approx(4 / 5)
    assert rouge_n(text, reference, language, 2).f1 == pytest.approx(3 / 4)


def test_bleu_counts_runs_up_to_its_order() -> None:
    text, reference = ["la febbre passa poi"], ["la febbre poi passa"]

    assert bleu(text, reference, 1).score == pytest.approx(100.0)
    assert bleu(text, reference, 2).score == pytest.approx(100 * math.sqrt(1 / 3))  # of three pairs only "la febbre" is right


@pytest.mark.parametrize(
    ("language", "text", "reference"),
    [
        (ITALIAN, "ho la febbre da due giorni", "febbre da due giorno"),  # "giorni" by its stem
        (SPANISH, "tengo la piel con dos manchas", "piel con dos mancha"),
    ],
)
def test_meteor_matches_equal_words_and_equal_stems(language: Language, text: str, reference: str) -> None:
    # Four of six words, four of four, in one piece: P·R / (0.9·P + 0.1·R), less 0.5·(1/4)³ of it.
    expected = (4 / 6) / (0.9 * 4 / 6 + 0.1) * (1 - 0.5 * (1 / 4) ** 3)

    assert meteor(text, reference, language) == pytest.approx(expected)


def test_meteor_of_an_empty_text_is_nothing() -> None:
    assert meteor("", "la febbre", ITALIAN) == 0.0
