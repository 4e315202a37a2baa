"""The texts of both languages say the same things."""

from pathlib import Path

import pytest

from locales.catalog import Catalog, CatalogError
from locales.language import Language

IT, ES = Language.ITALIAN, Language.SPANISH


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


def test_both_languages_have_the_same_keys(catalog: Catalog) -> None:
    assert catalog.keys(IT) == catalog.keys(ES)


def test_both_languages_need_the_same_values(catalog: Catalog) -> None:
    assert {key: catalog.placeholders(IT, key) for key in catalog.keys(IT)} == {
        key: catalog.placeholders(ES, key) for key in catalog.keys(ES)
    }


def test_no_key_stands_twice_in_a_file() -> None:
    for language in Language:
        text = (Path("locales") / language.value / "messages.po").read_text(encoding="utf-8")
        keys = [line for line in text.splitlines() if line.startswith("msgid")]
        assert len(keys) == len(set(keys))


def test_placeholders_are_filled(catalog: Catalog) -> None:
    assert catalog.text(IT, "disclaimer", n="112").endswith("In emergenza: 112.")


def test_a_missing_value_is_an_error(catalog: Catalog) -> None:
    with pytest.raises(KeyError):
        catalog.text(IT, "disclaimer")


def test_an_unknown_key_is_an_error(catalog: Catalog) -> None:
    with pytest.raises(KeyError):
        catalog.text(ES, "no.such.key")


def test_a_value_may_hold_braces(catalog: Catalog) -> None:
    assert catalog.text(IT, "country_set", country="{x}", n="112").startswith("Va bene: {x}.")


@pytest.mark.parametrize("content", ["", 'msgid "a"\nmsgstr ""\n', 'msgid "a\n'])
def test_an_empty_or_broken_file_is_refused(tmp_path: Path, content: str) -> None:
    for language in Language:
        (tmp_path / language.value).mkdir()
        (tmp_path / language.value / "messages.po").write_text(content, encoding="utf-8")

    with pytest.raises(CatalogError):
        Catalog.load(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogError):
        Catalog.load(tmp_path)


def test_no_text_tells_the_reader_what_they_have(catalog: Catalog) -> None:
    for language, words in ((IT, ("Lei ha ",)), (ES, ("usted tiene", "coger"))):
        assert not [
            key for key in catalog.keys(language) if any(word in _with_any_values(catalog, language, key) for word in words)
        ]


def _with_any_values(catalog: Catalog, language: Language, key: str) -> str:
    return catalog.text(language, key, **dict.fromkeys(catalog.placeholders(language, key), ""))
