"""Each page of the starter corpus against the rules under which it was written (docs/adr/0008, CONTRIBUTING.md)."""

import re
import tomllib
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import textstat
import yaml
from rapidfuzz import process
from rapidfuzz.distance import Indel

from ingest.chunker import Chunker
from ingest.importers.folder import DEMONSTRATION_LINES, read_folder
from ingest.outline import sections
from locales.language import Language
from rag.documents import Sentence
from rag.sentences import may_be_shown
from rag.text import split_sentences
from tests.builders import starter_sources

STARTER = Path(__file__).parents[3] / "ingest" / "starter"
SIGN_OFF = STARTER.parents[1] / "docs" / "sign-off-pages.md"
NUMBERS = STARTER.parents[1] / "locales" / "emergency_numbers.toml"
PAGES = sorted(STARTER.glob("*/*.md"))
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
every_language = pytest.mark.parametrize("language", Language)

LEAST_TOPICS = 60
LEAST_WORDS, MOST_WORDS = 250, 450
MOST_WORDS_A_SENTENCE = 24
HEADINGS = {
    Language.ITALIAN: [
        ("Che cos'è", "Che cosa sono"),
        ("Sintomi", "Segni da riconoscere"),
        ("Cause", "Fattori di rischio"),
        ("Che cosa fare", "Primo soccorso"),
        ("Quando andare dal medico",),
        ("Quando chiamare il numero di emergenza",),
    ],
    Language.SPANISH: [
        ("Qué es", "Qué son"),
        ("Síntomas", "Señales para reconocer"),
        ("Causas", "Factores de riesgo"),
        ("Qué hacer", "Primeros auxilios"),
        ("Cuándo consultar",),
        ("Cuándo llamar al número de emergencia",),
    ],
}
# Gulpease: from 60 on a text is easy for who has eight years of school. Fernández Huerta: from 70 on it is "fairly easy".
READABILITY = {Language.ITALIAN: 55, Language.SPANISH: 70}
# What no page says to a reader: endings that assume a gender, forms for a friend, a diagnosis, units and words of one country.
UNSUITABLE = {
    Language.ITALIAN: r"sia (?:attent|prudent|sicur)[oa]|lei ha|ha contratto|è affett[oa]|gradi fahrenheit|°f",
    Language.SPANISH: r"vosotr[oa]s|os|coger|coja|ordenador|usted (?:tiene|padece)|esté (?:atent|tranquil|segur)[oa]|°f|"
    r"tus?|vos|tienes|debes|puedes",
}
# Openings that lean on the sentence before.
LEANING = {
    Language.ITALIAN: r"(?:quest|quell|ess)[oaie]\b|(?:ciò|in (?:questo|questi|tal) cas[oi]|inoltre|infatti|quindi|perciò)\b",
    Language.SPANISH: r"(?:est|es)[eao]s?\b|(?:ello|en (?:este|estos|tal) casos?|además|por eso|sin embargo|por tanto|también)\b",
}
BRANDS = re.compile(
    r"\b(?:tachipirina|moment|oki|brufen|nurofen|ventolin|gaviscon|maalox|imodium|enterogermina|voltaren|coumadin|xanax|tavor|eutirox|"
    r"lexotan|viagra|augmentin|bentelan|aulin|tylenol|tempra|panadol|apiretal|dalsy|gelocatil|nolotil|frenadol|buscapina|sintrom|"
    r"trankimazin|lexatin|advil|aleve|motrin|neomelubrina|vicks?|clexane|nicorette|champix|zyban|coca-cola)\b"
)


@cache
def front(page: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(page.read_text(encoding="utf-8").split("---")[1])
    return values


@cache
def body(page: Path) -> str:
    return page.read_text(encoding="utf-8").split("---", 2)[2].strip()


def language_of(page: Path) -> Language:
    return Language(page.parent.name)


def lines(page: Path) -> list[str]:
    """Paragraphs and list items, without headings and the line that marks a demonstration."""
    shown = (line.strip() for line in body(page).split("\n") if line not in DEMONSTRATION_LINES)
    return [line for line in shown if line and not line.startswith("#")]


def prose(page: Path) -> list[str]:
    """The sentences outside lists; a lead-in belongs to its list."""
    found = [line[start:end] for line in lines(page) if not line.startswith("- ") for start, end in split_sentences(line)]
    return [sentence for sentence in found if not sentence.endswith(":")]


@cache
def quotes(page: Path) -> tuple[Sentence, ...]:
    """What an answer may quote of a page: sentences, and lists with their lead-in."""
    row = next(row for row in starter_sources() if row.language is language_of(page))
    (document,) = read_folder(page, row)
    chunks, _ = Chunker(lambda text: len(text.split())).chunks(document)
    return tuple(sentence for chunk in chunks for sentence in chunk.sentences)


@every_language
def test_there_are_sixty_topics_and_the_same_in_both_languages(language: Language) -> None:
    topics = {page.stem for page in PAGES if language_of(page) is language}

    assert len(topics) >= LEAST_TOPICS
    assert topics == {page.stem for page in PAGES}


def test_each_topic_has_a_row_for_the_clinician_who_will_sign_it() -> None:
    rows = re.findall(r"^\| (\w+) \|", SIGN_OFF.read_text(encoding="utf-8"), re.MULTILINE)

    assert rows == sorted(["topic", *{page.stem for page in PAGES}], key=lambda topic: (topic != "topic", topic))


@every_page
def test_front_matter_is_whole_and_the_page_unsigned(page: Path) -> None:
    values = front(page)

    assert set(values) == {"topic", "language", "title", "synonyms", "asked", "reviewed_on", "further_reading"}
    assert (values["topic"], values["language"]) == (page.stem, page.parent.name)
    assert values["reviewed_on"] is None
    assert body(page).startswith(DEMONSTRATION_LINES)


@every_page
def test_page_is_found_by_six_synonyms_or_more_none_said_twice(page: Path) -> None:
    names = [front(page)["title"], *front(page)["synonyms"]]

    assert 6 <= len(names) - 1 <= 16
    assert len({name.casefold() for name in names}) == len(names)


@every_language
def test_no_synonym_or_title_names_two_pages(language: Language) -> None:
    pages: dict[str, set[str]] = defaultdict(set)
    for page in PAGES:
        if language_of(page) is language:
            for name in (front(page)["title"], *front(page)["synonyms"]):
                pages[name.casefold()].add(page.stem)

    assert {name: topics for name, topics in pages.items() if len(topics) > 1} == {}


@every_page
def test_further_reading_is_a_public_page_of_a_named_publisher(page: Path) -> None:
    for link in front(page)["further_reading"]:
        url = urlsplit(link["url"])

        assert set(link) == {"title", "publisher", "url"}
        assert all(str(value).strip() for value in link.values())
        assert (url.scheme, url.username, url.query) == ("https", None, "")
        assert "." in url.netloc


@every_page
def test_sections_are_the_six_in_their_order(page: Path) -> None:
    found = re.findall(r"^#+ (.+)$", body(page), re.MULTILINE)
    wanted = HEADINGS[language_of(page)]

    assert len(found) == len(wanted)
    assert all(heading in allowed for heading, allowed in zip(found, wanted, strict=True))


@every_page
def test_page_has_250_to_450_words(page: Path) -> None:
    words = sum(len(line.removeprefix("- ").split()) for line in lines(page))

    assert LEAST_WORDS <= words <= MOST_WORDS


@every_page
def test_page_is_easy_to_read(page: Path) -> None:
    textstat.set_lang(page.parent.name)
    index = {Language.ITALIAN: textstat.gulpease_index, Language.SPANISH: textstat.fernandez_huerta}[language_of(page)]
    text = " ".join(line[2:].rstrip(".;,") + "." if line.startswith("- ") else line for line in lines(page))

    assert index(text) >= READABILITY[language_of(page)]


@every_page
def test_sentences_are_short_and_lists_short_enough_to_be_quoted_whole(page: Path) -> None:
    long_sentences = [sentence for sentence in prose(page) if len(sentence.split()) > MOST_WORDS_A_SENTENCE]
    units = [unit for section in sections(body(page), front(page)["title"]) for unit in section.units]
    quoted_apart = [unit.quote for unit, after in pairwise(units) if unit.leads and unit.leads == after.leads]

    assert (long_sentences, quoted_apart) == ([], [])


@every_page
def test_everything_may_be_quoted_for_it_has_no_dose_no_telephone_number_and_no_question(page: Path) -> None:
    assert [sentence.text for sentence in quotes(page) if not may_be_shown(sentence)] == []


@every_page
def test_emergency_number_is_left_to_the_readers_country(page: Path) -> None:
    known = "|".join(telephone_numbers())

    assert set(re.findall(r"\{\w*\}?|\w*\}", body(page))) == {"{emergency}"}
    assert "{emergency}" in body(page).rsplit("\n## ", 1)[1]
    assert re.findall(rf"(?<![\d.,/])(?:{known})(?![\d.,/%]| ?(?:m|°))", body(page)) == []


@cache
def telephone_numbers() -> tuple[str, ...]:
    data = tomllib.loads(NUMBERS.read_text(encoding="utf-8"))
    known = {line["number"] for country in data["countries"].values() for line in country["lines"]}
    return tuple(re.escape(number) for number in sorted(known) if re.fullmatch(r"[\d ()+-]+", number))


@every_page
def test_no_brand_is_named(page: Path) -> None:
    assert BRANDS.findall(f"{body(page)} {front(page)['title']}".casefold()) == []


@every_page
def test_reader_is_addressed_formally_and_nothing_is_said_of_them(page: Path) -> None:
    found = re.findall(rf"(?<![\w-])(?:{UNSUITABLE[language_of(page)]})(?![\w-])", " ".join(lines(page)).casefold())

    assert found == []


@every_page
def test_each_sentence_stands_alone(page: Path) -> None:
    assert [one.text for one in quotes(page) if re.match(LEANING[language_of(page)], one.text.casefold())] == []


@every_language
def test_no_sentence_stands_on_two_pages_not_even_nearly(language: Language) -> None:
    """Nearly: 96 % of the letters are the same, in their order."""
    pages = [page for page in PAGES if language_of(page) is language]
    said = [(re.sub(r"\W+", " ", one.text.casefold()).strip(), page.stem) for page in pages for one in quotes(page)]
    texts = [text for text, _ in said]
    alike = process.cdist(texts, texts, scorer=Indel.normalized_similarity, score_cutoff=0.96, workers=1)

    assert [(said[i], said[j]) for i, j in zip(*alike.nonzero(), strict=True) if i < j] == []
