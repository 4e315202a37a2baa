"""Fitting on a handful of phrases and an embedder that hashes words; the phrases that ship are looked over as data."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import locales
from bot.evaluation import gate_fitting
from bot.evaluation.gate_fitting import NO_CATEGORY, fit_gate, read_phrases
from bot.evaluation.shipped import SetUnreadable
from bot.red_flag_classifier import FittedWeights, RedFlagClassifier
from bot.red_flag_rules import RedFlagData
from locales.language import Language
from tests.fakes import HashEmbedder

URGENT = {
    "breathing": ("fiato", "soffoco", "ansimo", "respiro", "aria", "boccheggio"),
    "bleeding": ("sangue", "emorragia", "sanguino", "zampilla", "coaguli", "vena"),
}
HARMLESS = ("sonno", "vaccino", "dieta", "passeggiata", "ricetta", "appuntamento")
FRAMES = ("ho {}", "adesso {}", "da ieri {}", "mio padre {}", "ancora {} forte", "di nuovo {}", "{} tanto", "c'è {}")


def lines(language: Language) -> list[str]:
    """Ninety-six phrases a language, urgent and harmless in equal parts."""
    urgent = [f"y\t{name}\t{frame.format(word)}" for name, words in URGENT.items() for word in words for frame in FRAMES[:4]]
    harmless = [f"n\t{NO_CATEGORY}\t{frame.format(word)}" for word in HARMLESS for frame in FRAMES]
    return [f"# {language}", "", *urgent, *harmless]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of phrases in the place of the shipped one."""
    for language in Language:
        (tmp_path / language.value).mkdir()
        (tmp_path / language.value / "red_flag_phrases.tsv").write_text("\n".join(lines(language)), encoding="utf-8")
    monkeypatch.setattr(locales, "__file__", str(tmp_path / "__init__.py"))
    return tmp_path


def fit(path: Path) -> dict[str, Any]:
    return fit_gate(HashEmbedder(), lambda *_: None, path)


@pytest.mark.usefixtures("folder")
def test_the_fitted_file_tells_urgent_from_harmless_and_names_the_category(tmp_path: Path) -> None:
    figures = fit(tmp_path / "gate.npz")
    classifier = RedFlagClassifier(FittedWeights.load(tmp_path / "gate.npz"), HashEmbedder())

    assert (figures["phrases"], figures["urgent"]) == (192, 96)
    assert 0 < figures["threshold"] < 1
    assert figures["held_out_false_alarms"] <= 0.03
    urgent, harmless = classifier.read("mio padre sanguino"), classifier.read("ho dieta")
    assert urgent.probability > 0.5 > harmless.probability
    assert urgent.category == "bleeding"


@pytest.mark.usefixtures("folder")
def test_the_same_phrases_give_the_same_weights(tmp_path: Path) -> None:
    assert fit(tmp_path / "one.npz") == fit(tmp_path / "other.npz")
    with np.load(tmp_path / "one.npz") as one, np.load(tmp_path / "other.npz") as other:
        assert one.files == other.files
        for name in one.files:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.usefixtures("folder")
def test_progress_is_told_for_phrases_and_folds(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    fit_gate(HashEmbedder(), lambda *step: told.append(step), tmp_path / "gate.npz")

    assert told[2] == ("phrases embedded", 192, 192)
    assert told[-1] == ("folds", 5, 5)


@pytest.mark.parametrize("line", ["y\tabuse", "z\tabuse\tmi picchia", "y\tabuse\tmi\tpicchia", "y\tabuse\t ", "mi picchia"])
def test_a_line_of_another_form_is_named(folder: Path, line: str) -> None:
    (folder / "es" / "red_flag_phrases.tsv").write_text(f"# phrases\ny\tabuse\tme pega\n{line}\n", encoding="utf-8")

    with pytest.raises(SetUnreadable, match=r"red_flag_phrases\.tsv \(es\), line 3"):
        read_phrases()


@pytest.fixture(scope="module")
def shipped() -> list[gate_fitting.Phrase]:
    return read_phrases()


def test_every_shipped_phrase_has_a_category_of_the_rules_or_none(shipped: list[gate_fitting.Phrase]) -> None:
    known = {rule.category for rule in RedFlagData.load().rules}

    assert {phrase.category for phrase in shipped} - known == {NO_CATEGORY}
    for language in Language:
        assert {phrase.category for phrase in shipped if phrase.language == language.value and phrase.urgent} >= known


def test_no_phrase_is_there_twice_in_a_language(shipped: list[gate_fitting.Phrase]) -> None:
    seen: set[tuple[str, str]] = set()
    twice = []
    for phrase in shipped:
        key = (phrase.language, phrase.text.strip().lower())
        if key in seen:
            twice.append(key)
        seen.add(key)

    assert twice == []


def test_both_languages_have_about_as_many_phrases(shipped: list[gate_fitting.Phrase]) -> None:
    sizes = [sum(phrase.language == language.value for phrase in shipped) for language in Language]

    assert min(sizes) > 0.9 * max(sizes)
    for language in Language:
        labels = [phrase.urgent for phrase in shipped if phrase.language == language.value]
        assert 0.3 < sum(labels) / len(labels) < 0.7


def test_no_phrase_holds_a_telephone_number_or_an_address(shipped: list[gate_fitting.Phrase]) -> None:
    number = re.compile(r"(?:\d[ .\-/]?){7,}")

    assert [phrase.text for phrase in shipped if number.search(phrase.text) or "@" in phrase.text or "http" in phrase.text] == []
