"""The lexicons against the rules that stand at their head."""

import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from locales.language import Language
from rag.expander import Lexicon
from rag.text import fold

every_language = pytest.mark.parametrize("language", Language)

LEAST_ENTRIES = 400
# Where Italian and Spanish are spoken (ISO 3166).
COUNTRIES = re.compile("IT|CH|SM|ES|MX|AR|CO|US|CL|PE|VE|EC|UY|PY|BO|CR|CU|DO|GT|HN|NI|PA|SV|PR")
ANYWHERE = "anywhere"


@cache
def entries(language: Language) -> list[dict[str, Any]]:
    data = tomllib.loads(files("locales").joinpath(language.value, "lexicon.toml").read_text(encoding="utf-8"))
    assert set(data) == {"entry"}
    found: list[dict[str, Any]] = data["entry"]
    return found


@every_language
def test_there_are_four_hundred_entries_of_one_form(language: Language) -> None:
    assert len(entries(language)) >= LEAST_ENTRIES
    for entry in entries(language):
        assert set(entry) == {"lay", "clinical", "direction", "countries"}
        assert entry["lay"]
        assert entry["clinical"]
        assert entry["direction"] in {"both", "to_clinical"}


@every_language
def test_forms_are_written_as_the_search_reads_them(language: Language) -> None:
    forms = [form for entry in entries(language) for form in (*entry["lay"], *entry["clinical"])]

    assert [form for form in forms if form != unicodedata.normalize("NFC", form) or form != " ".join(form.split())] == []
    assert [form for entry in entries(language) for form in entry["lay"] if form != form.lower()] == []
    assert [form for form in forms if not re.fullmatch(r"[\w' .,+%/-]+", form)] == []


@every_language
def test_countries_are_those_where_the_languages_are_spoken(language: Language) -> None:
    countries = {country for entry in entries(language) for country in entry["countries"]}

    assert [country for country in countries if not COUNTRIES.fullmatch(country)] == []


@every_language
def test_no_lay_form_stands_twice_in_a_country(language: Language) -> None:
    countries: dict[str, list[str]] = defaultdict(list)
    for entry in entries(language):
        for form in entry["lay"]:
            countries[fold(form)] += entry["countries"] or [ANYWHERE]

    twice = {form: found for form, found in countries.items() if max(Counter(found).values()) > 1}
    beside = {form: found for form, found in countries.items() if ANYWHERE in found and len(found) > 1}
    assert (twice, beside) == ({}, {})


@every_language
def test_no_term_leads_back_or_on_to_another(language: Language) -> None:
    """An expansion is made once: a clinical term that is itself a lay form would say that it should be made again."""
    lay = {fold(form) for entry in entries(language) for form in entry["lay"]}

    assert sorted({term for entry in entries(language) for term in entry["clinical"] if fold(term) in lay}) == []


@every_language
def test_no_entry_says_what_another_says(language: Language) -> None:
    said = Counter(
        (tuple(sorted(entry["clinical"])), entry["direction"], tuple(entry["countries"])) for entry in entries(language)
    )

    assert [key for key, times in said.items() if times > 1] == []


@pytest.mark.parametrize(
    ("said", "country", "meant"),
    [
        ("estoy constipado", "ES", "resfriado"),
        ("estoy constipado", "MX", "estreñimiento"),
        ("tengo gripa", "MX", "gripe"),
        ("estoy intoxicado", "US", "alcohol"),
        ("tiene calentura", "MX", "fiebre"),
        ("tengo gripa", "CO", "gripe"),
        ("le duele la guata", None, "abdomen"),
    ],
)
def test_false_friends_mean_what_they_mean_in_the_country_of_who_writes(said: str, country: str | None, meant: str) -> None:
    found = Lexicon.load(Language.SPANISH).find(said, country)

    assert any(meant in other for occurrence in found for other in occurrence.others)


@pytest.mark.parametrize(
    ("language", "said", "meant"),
    [
        (Language.SPANISH, "tiene empacho", "indigestión"),
        (Language.ITALIAN, "ho preso un colpo d'aria", "dolore muscolare"),
    ],
)
def test_folk_illnesses_lead_to_what_they_may_be(language: Language, said: str, meant: str) -> None:
    found = Lexicon.load(language).find(said)

    assert any(meant in other for occurrence in found for other in occurrence.others)
