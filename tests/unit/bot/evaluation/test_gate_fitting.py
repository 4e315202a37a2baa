"""Fitting on a handful of phrases and an embedder that hashes words; the phrases that ship are looked over as data."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import locales
from bot.evaluation import gate_phrases
from bot.evaluation.gate_fitting import fit_gate
from bot.evaluation.gate_phrases import NO_CATEGORY, Phrase, read_everyday, read_phrases, read_stories
from bot.evaluation.shipped import SetUnreadable
from bot.red_flag_classifier import FittedWeights, RedFlagClassifier
from bot.red_flag_rules import RedFlagData
from locales.language import Language
from rag.question_bank import BankQuestion, bank
from tests.fakes import HashEmbedder

URGENT = {
    "breathing": ("fiato", "soffoco", "ansimo", "respiro", "aria", "boccheggio"),
    "bleeding": ("sangue", "emorragia", "sanguino", "zampilla", "coaguli", "vena"),
    "stroke": ("bocca storta", "braccio", "parole", "paresi", "faccia", "lingua"),
}
HARMLESS = ("sonno", "vaccino", "dieta", "passeggiata", "ricetta", "appuntamento")
FRAMES = ("ho {}", "adesso {}", "da ieri {}", "mio padre {}", "ancora {} forte", "di nuovo {}", "{} tanto", "c'è {}")


def lines(language: Language) -> list[str]:
    """A hundred and twenty phrases a language, three in five of them urgent."""
    urgent = [f"y\t{name}\t{frame.format(word)}" for name, words in URGENT.items() for word in words for frame in FRAMES[:4]]
    harmless = [f"n\t{NO_CATEGORY}\t{frame.format(word)}" for word in HARMLESS for frame in FRAMES]
    return [f"# {language}", "", *urgent, *harmless]


@dataclass
class Fitted:
    """A fit to the phrases above: what it returned, what it wrote and what it told meanwhile."""

    path: Path
    figures: dict[str, Any]
    told: list[tuple[str, int, int]]

    @classmethod
    def to(cls, path: Path) -> "Fitted":
        told: list[tuple[str, int, int]] = []
        figures = fit_gate(HashEmbedder(), lambda *step: told.append(step), path)
        return cls(path, figures, told)


def stories(language: Language) -> list[str]:
    """Sixty long messages a language, one in three of them with an urgent sentence."""
    calm = [f"Ogni giorno penso a {word}, alla casa, al lavoro e ai vicini, poi dormo." for word in HARMLESS]
    told = [calm[number % 6 :] + calm[: number % 6] for number in range(60)]
    signs = [word for words in URGENT.values() for word in words]
    return [f"# {language}"] + [
        f"n\tx\t{' '.join(story)}"
        if number % 3
        else f"y\tx\t{' '.join(story[:3])} [[Ora ho {sign} e ancora {sign}!]] {' '.join(story[3:])}"
        for number, (story, sign) in enumerate(zip(told, signs * 4, strict=False))
    ]


def everyday(language: Language) -> list[BankQuestion]:
    """Twelve questions a language, one of them on a topic that may be an emergency."""
    topics = ("choking", *["sleep"] * 11)
    return [BankQuestion(topic=topic, names=("x",), text=f"{language} {topic} {place}") for place, topic in enumerate(topics)]


def write_phrases(folder: Path) -> None:
    for language in Language:
        (folder / language.value).mkdir()
        (folder / language.value / "red_flag_phrases.tsv").write_text("\n".join(lines(language)), encoding="utf-8")
        (folder / language.value / "red_flag_stories.tsv").write_text("\n".join(stories(language)), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of phrases in the place of the shipped one."""
    write_phrases(tmp_path)
    monkeypatch.setattr(locales, "__file__", str(tmp_path / "__init__.py"))
    return tmp_path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fitted, Fitted]:
    """The same phrases fitted twice."""
    folder = tmp_path_factory.mktemp("phrases")
    write_phrases(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locales, "__file__", str(folder / "__init__.py"))
        patch.setattr(gate_phrases, "bank", everyday)
        return Fitted.to(folder / "one.npz"), Fitted.to(folder / "other.npz")


def test_questions_of_the_bank_are_harmless_but_on_topics_that_may_be_urgent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_phrases, "bank", everyday)

    questions = read_everyday()

    assert len(questions) == 22
    assert not any(question.urgent or "choking" in question.text for question in questions)


def test_topics_that_may_be_urgent_are_topics_of_the_bank() -> None:
    topics = {question.topic for language in Language for question in bank(language)}

    assert topics >= gate_phrases._MAY_BE_URGENT


def test_the_fitted_file_tells_urgent_from_harmless_and_names_the_category(fitted: tuple[Fitted, Fitted]) -> None:
    figures = fitted[0].figures
    classifier = RedFlagClassifier(FittedWeights.load(fitted[0].path), HashEmbedder())

    assert (figures["phrases"], figures["urgent"]) == (240 + 22, 144)
    assert 0 < figures["threshold"] < 1
    assert figures["held_out_false_alarms"] <= 0.05
    urgent, harmless = classifier.read("ho sangue sangue"), classifier.read("ho dieta dieta")
    assert urgent.probability > 0.5 > harmless.probability
    assert urgent.category == "bleeding"


def test_the_same_phrases_give_the_same_weights(fitted: tuple[Fitted, Fitted]) -> None:
    assert fitted[0].figures == fitted[1].figures
    with np.load(fitted[0].path) as one, np.load(fitted[1].path) as other:
        assert one.files == other.files
        for name in one.files:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_progress_is_told_for_phrases_and_folds(fitted: tuple[Fitted, Fitted]) -> None:
    told = fitted[0].told

    assert [step for step in told if step[0] == "phrases embedded"][-1] == ("phrases embedded", 262, 262)
    assert [step for step in told if step[0] == "folds"][-1] == ("folds", 5, 5)
    assert told[-1] == ("stories embedded", 120, 120)


def test_the_urgent_sentence_of_a_long_story_is_learned_from_whole_stories(fitted: tuple[Fitted, Fitted]) -> None:
    figures = fitted[0].figures
    classifier = RedFlagClassifier(FittedWeights.load(fitted[0].path), HashEmbedder())
    urgent = next(story.text for story in told_stories() if story.urgent).replace("[[", "").replace("]]", "")
    harmless = next(story.text for story in told_stories() if not story.urgent)

    assert figures["stories"] == 120
    assert figures["held_out_story_recall"] > figures["held_out_story_false_alarms"]
    assert classifier.read(urgent).probability > classifier.read(harmless).probability


def told_stories() -> list[Phrase]:
    return [
        Phrase(urgent=line[0] == "y", language="it", category="x", text=line.split("\t")[2])
        for line in stories(Language.ITALIAN)[1:]
    ]


@pytest.mark.parametrize("line", ["y\tx\tuna storia senza segno", "n\tx\tuna storia [[con un segno]] che non conta"])
def test_a_story_that_is_not_marked_as_it_is_labelled_is_named(folder: Path, line: str) -> None:
    (folder / "es" / "red_flag_stories.tsv").write_text(f"{line}\n", encoding="utf-8")

    with pytest.raises(SetUnreadable, match=r"red_flag_stories\.tsv \(es\)"):
        read_stories()


def test_every_shipped_story_is_long_and_marked() -> None:
    shipped_stories = read_stories()

    assert all(len(story.text.split()) > 45 for story in shipped_stories)
    for language in Language:
        labels = [story.urgent for story in shipped_stories if story.language == language.value]
        assert 0.25 < sum(labels) / len(labels) < 0.5


@pytest.mark.parametrize("line", ["y\tabuse", "z\tabuse\tmi picchia", "y\tabuse\tmi\tpicchia", "y\tabuse\t ", "mi picchia"])
def test_a_line_of_another_form_is_named(folder: Path, line: str) -> None:
    (folder / "es" / "red_flag_phrases.tsv").write_text(f"# phrases\ny\tabuse\tme pega\n{line}\n", encoding="utf-8")

    with pytest.raises(SetUnreadable, match=r"red_flag_phrases\.tsv \(es\), line 3"):
        read_phrases()


@pytest.fixture(scope="module")
def shipped() -> list[Phrase]:
    return read_phrases()


def test_every_shipped_phrase_has_a_category_of_the_rules_or_none(shipped: list[Phrase]) -> None:
    known = {rule.category for rule in RedFlagData.load().rules}

    assert {phrase.category for phrase in shipped} - known == {NO_CATEGORY}
    for language in Language:
        assert {phrase.category for phrase in shipped if phrase.language == language.value and phrase.urgent} >= known


def test_no_phrase_is_there_twice_in_a_language(shipped: list[Phrase]) -> None:
    seen: set[tuple[str, str]] = set()
    twice = []
    for phrase in shipped:
        key = (phrase.language, phrase.text.strip().lower())
        if key in seen:
            twice.append(key)
        seen.add(key)

    assert twice == []


def test_both_languages_have_about_as_many_phrases(shipped: list[Phrase]) -> None:
    sizes = [sum(phrase.language == language.value for phrase in shipped) for language in Language]

    assert min(sizes) > 0.9 * max(sizes)
    for language in Language:
        labels = [phrase.urgent for phrase in shipped if phrase.language == language.value]
        assert 0.3 < sum(labels) / len(labels) < 0.7


def test_no_phrase_holds_a_telephone_number_or_an_address(shipped: list[Phrase]) -> None:
    number = re.compile(r"(?:\d[ .\-/]?){7,}")

    assert [phrase.text for phrase in shipped if number.search(phrase.text) or "@" in phrase.text or "http" in phrase.text] == []
