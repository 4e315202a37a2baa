"""The red-flag data must be whole, or the product does not start."""

import shutil
from pathlib import Path

import pytest

import locales
from bot.red_flag_rules import RedFlagData, RedFlagDataError

_DATA = Path(locales.__file__).parent


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("red_flag_rules.toml", "it/red_flags.toml", "es/red_flags.toml"):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(_DATA / name, target)
    return tmp_path


def test_the_shipped_data_is_whole(directory: Path) -> None:
    categories = {rule.category for rule in RedFlagData.load(directory).rules}

    assert categories >= {"chest_pain", "stroke", "breathing", "choking", "anaphylaxis", "bleeding", "unconscious", "seizure"}
    assert categories >= {"poisoning", "overdose", "head_injury", "sepsis_meningitis", "pregnancy", "infants"}
    assert categories >= {"suicide_self_harm", "abuse"}


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
