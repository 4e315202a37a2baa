"""The red-flag data must be whole, or the product does not start."""

import itertools
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import locales
from bot.red_flag_rules import RedFlagData, RedFlagDataError
from bot.safety import SafetyGate
from locales.language import Language

CATEGORIES = {
    "chest_pain",
    "stroke",
    "breathing",
    "choking",
    "anaphylaxis",
    "bleeding",
    "unconscious",
    "seizure",
    "poisoning",
    "overdose",
    "carbon_monoxide",
    "head_injury",
    "sepsis_meningitis",
    "thunderclap",
    "pregnancy",
    "infants",
    "abdomen",
    "diabetic",
    "burns",
    "heat_drowning",
    "dengue_warning",
    "bites",
    "clots_limb",
    "weak_defences",
    "suicide_self_harm",
    "psychosis_withdrawal",
    "abuse",
}
NO_CATEGORY = "x"
LEAST_PHRASES = 100

_DATA = Path(locales.__file__).parent


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("red_flag_rules.toml", "it/red_flags.toml", "es/red_flags.toml"):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(_DATA / name, target)
    return tmp_path


def test_the_shipped_data_has_rules_for_every_category(directory: Path) -> None:
    assert {rule.category for rule in RedFlagData.load(directory).rules} == CATEGORIES


@pytest.mark.parametrize("language", Language)
def test_the_phrases_of_each_language_teach_every_category_both_ways(language: Language) -> None:
    lines = (_DATA / language.value / "red_flag_phrases.tsv").read_text(encoding="utf-8").splitlines()
    taught = Counter(tuple(line.split("\t")[:2]) for line in lines if not line.startswith("#"))

    assert {category for _, category in taught} == CATEGORIES | {NO_CATEGORY}
    assert [key for key in itertools.product("yn", CATEGORIES) if taught[key] < LEAST_PHRASES] == []


@pytest.mark.parametrize("language", Language)
def test_every_category_has_words_in_both_languages(directory: Path, language: Language) -> None:
    concepts = set(tomllib.loads((directory / language.value / "red_flags.toml").read_text(encoding="utf-8")))
    other = next(one for one in Language if one is not language)

    assert concepts == set(tomllib.loads((directory / other.value / "red_flags.toml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["red_flag_rules.toml", "it/red_flags.toml", "es/red_flags.toml"])
@pytest.mark.parametrize("content", ["", "not toml ["])
def test_an_empty_or_broken_file_is_refused(directory: Path, name: str, content: str) -> None:
    (directory / name).write_text(content, encoding="utf-8")

    with pytest.raises(RedFlagDataError):
        RedFlagData.load(directory)


def test_a_missing_file_is_refused(directory: Path) -> None:
    (directory / "es" / "red_flags.toml").unlink()

    with pytest.raises(RedFlagDataError):
        RedFlagData.load(directory)


def test_a_rule_without_patterns_is_refused(directory: Path) -> None:
    rules = directory / "red_flag_rules.toml"
    rules.write_text(rules.read_text(encoding="utf-8").replace("stroke.direct", "stroke.nothing"), encoding="utf-8")

    with pytest.raises(RedFlagDataError, match=r"stroke\.nothing"):
        RedFlagData.load(directory)


@pytest.fixture(scope="module")
def gate() -> SafetyGate:
    return SafetyGate.load()


@pytest.mark.parametrize(
    "text",
    [
        "stasera ho visto un telefilm di medici e addio tranquillità",
        "mi è arrivata la provetta per il sangue nascosto nelle feci, sta lì da un mese",
        "39, brividi e tosse. sono quattro giorni che sto a letto",
        "gioco a pallavolo, ruolo palleggiatrice",
        "vorrei sparire sotto il tavolo",
        "mi tío murió de cáncer de colon, ¿cuándo me tocaría repetir el estudio?",
        "tomé sopa de maní y con el frío tengo los dedos morados",
        "tengo 62 años y hace once me dio una trombosis en la pierna",
        "tengo fiebre y mocos a chorros",
        "el más chico me dice gordita y me mata de ternura",
        "¿la terapia sirve para animarme de nuevo al metro?",
        "a veces me encierro en el baño cinco minutos para llorar tranquila",
        "ho scritto due righe per i ragazzi della squadra",
        "dopo domenica sarà più facile trovare posto",
        "dejé unas líneas para los niños del coro",
        "después de hoy será mejor que coma menos?",
    ],
)
def test_words_of_long_stories_that_only_look_like_a_sign_are_none(gate: SafetyGate, text: str) -> None:
    assert gate.read(text).red_flag is None


@pytest.mark.parametrize(
    "text",
    [
        "addio a tutti, prendetevi cura del mio cane",
        "ha 20 giorni e 38 e 2",
        "mi tío me toca por las noches",
        "se atragantó con maní y está morado",
        "tengo 62 años y hace once minutos me dio una trombosis, no puedo hablar",
        "le sale sangre a chorros de la pierna",
        "mi marido me encierra en el baño",
        "ho messo a posto le carte e ho scritto due righe per i ragazzi",
        "dopo domenica sarà più facile per tutti",
        "he dejado unas líneas para mis hijos",
        "después del domingo será más fácil para todos",
    ],
)
def test_the_same_words_are_a_sign_where_they_mean_it(gate: SafetyGate, text: str) -> None:
    assert gate.read(text).red_flag is not None
