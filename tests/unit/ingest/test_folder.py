import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.documents import content_hash
from ingest.errors import SourceUnreadable
from ingest.importers.folder import DEMONSTRATION_LINES, read_folder
from ingest.importers.forms import LONGEST_QUESTION
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Authority, Document, Link
from tests.builders import starter_sources

PAGE = """---
topic: flu
language: it
title: L'influenza
synonyms: [febbre stagionale, grippe]
reviewed_on: null
further_reading:
  - title: Influenza
    publisher: Ministero
    url: https://esempio.it/influenza
---
Testo dimostrativo, non ancora rivisto da un medico.

## Sintomi

Dà febbre. Chiami il {emergency} se respira male.
"""
ROW = {"id": "faq-1", "lang": "es", "title": "Fiebre", "text": "La fiebre es calor.", "url": "https://ejemplo.es/f"}


def source(tmp_path: Path, **fields: object) -> SourceRow:
    values = {"id": "asl", "kind": "folder", "path": tmp_path, "publisher": "ASL", "authority": "demonstration"}
    return SourceRow.model_validate({**values, **fields})


def read(tmp_path: Path, **fields: object) -> list[Document]:
    return list(read_folder(tmp_path, source(tmp_path, **fields)))


def put(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_markdown_page_carries_what_its_front_matter_says(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE)

    (page,) = read(tmp_path)

    assert (page.document_id, page.source_id, page.publisher) == ("asl-flu", "asl", "ASL")
    assert (page.title, page.language, page.topic) == ("L'influenza", Language.ITALIAN, "flu")
    assert page.synonyms == ("febbre stagionale", "grippe")
    assert page.further_reading == (Link(title="Influenza", publisher="Ministero", url="https://esempio.it/influenza"),)
    assert page.url is None


def with_asked(value: str) -> str:
    return PAGE.replace("reviewed_on: null", f"asked: {value}\nreviewed_on: null")


def test_what_patients_ask_is_kept_in_its_order_and_each_once_but_not_as_text(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", with_asked('\n  - "  ho i brividi, e tosse "\n  - quanto dura?\n  - quanto dura?'))

    (page,) = read(tmp_path)

    assert page.asked == ("ho i brividi, e tosse", "quanto dura?")
    assert "brividi" not in page.text


def test_page_need_not_say_what_patients_ask(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE)

    assert read(tmp_path)[0].asked == ()


def test_question_may_be_as_long_as_a_story(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", with_asked(f"[{'a' * LONGEST_QUESTION}]"))

    assert read(tmp_path)[0].asked == ("a" * LONGEST_QUESTION,)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (f"[ciao, {'a' * (LONGEST_QUESTION + 1)}]", r"line 6: asked\.1: String should have at most 1000 characters"),
        ('[ciao, " "]', r"line 6: asked\.1: String should have at least 1 character"),
        ("ho i brividi", r"line 6: asked: Input should be a valid list"),
        ("", r"line 6: asked: Input should be a valid list"),
        ("{a: b}", r"line 6: asked: Input should be a valid list"),
        ("[39]", r"line 6: asked\.0: Input should be a valid string"),
        ("[ho la febbre: che faccio]", r"line 6: asked\.0: Input should be a valid string"),
    ],
)
def test_question_that_cannot_be_embedded_is_named_with_its_line_and_fault(tmp_path: Path, value: str, said: str) -> None:
    put(tmp_path, "flu.md", with_asked(value))

    with pytest.raises(SourceUnreadable, match=said):
        read(tmp_path)


def test_demonstration_line_is_authority_and_not_text(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE)

    (page,) = read(tmp_path, authority="publisher")

    assert page.authority is Authority.DEMONSTRATION
    assert page.text == "## Sintomi\n\nDà febbre. Chiami il {emergency} se respira male."


def test_review_date_lifts_a_page_out_of_demonstration(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE.replace("reviewed_on: null", "reviewed_on: 2025-03-01").replace(DEMONSTRATION_LINES[0], ""))

    (page,) = read(tmp_path)

    assert page.authority is Authority.PUBLISHER
    assert page.reviewed_on == date(2025, 3, 1)


def test_heading_that_repeats_the_title_is_no_section(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE.replace("Testo dimostrativo", "# L'influenza\n\nTesto dimostrativo"))

    (page,) = read(tmp_path)

    assert page.text.startswith("## Sintomi")


def test_json_line_keeps_its_own_id_and_address(tmp_path: Path) -> None:
    put(tmp_path, "faq.jsonl", json.dumps(ROW) + "\n\n" + json.dumps({**ROW, "id": "faq-2", "url": ""}))

    first, second = read(tmp_path, authority="publisher")

    assert (first.document_id, first.url, first.language) == ("faq-1", "https://ejemplo.es/f", Language.SPANISH)
    assert first.authority is Authority.PUBLISHER
    assert second.url is None


def test_single_file_may_be_a_source(tmp_path: Path) -> None:
    path = put(tmp_path, "flu.md", PAGE)

    (page,) = read_folder(path, source(tmp_path))

    assert page.document_id == "asl-flu"


def test_ids_are_safe_in_an_address_and_the_same_each_time(tmp_path: Path) -> None:
    put(tmp_path, "Età e salute/L'età.md", PAGE)

    assert [page.document_id for page in read(tmp_path)] == ["asl-eta-e-salute-l-eta"]


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE)
    put(tmp_path, ".git/note.md", "no page")
    put(tmp_path, "._flu.md", "no page")

    assert len(read(tmp_path)) == 1


def test_byte_order_mark_of_utf8_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", b"\xef\xbb\xbf" + PAGE.replace("\n", "\r\n").encode())

    assert read(tmp_path)[0].title == "L'influenza"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.md", PAGE.encode("utf-16"), r"a\.md, line 1: begins with a byte order mark of UTF-16"),
        ("a.md", PAGE.encode("latin-1"), r"a\.md, line 16: is not UTF-8 \(byte 0xe0\)"),
        ("a.md", "## Sintomi\n\nFebbre.", r"a\.md, line 1: the page must begin with front matter"),
        ("a.md", "---\ntitle: x\n", r"a\.md, line 1: the front matter has no closing"),
        ("a.md", "---\ntitle: [x\n---\ny", r"a\.md, line \d: the front matter is not YAML"),
        ("a.md", "---\n- x\n---\ny", r"a\.md, line 1: the front matter must be keys"),
        ("a.md", PAGE.replace("title: L'influenza\n", ""), r"a\.md, line 1: the key title is missing"),
        ("a.md", PAGE.replace("language: it", "language: fr"), r"a\.md, line 3: unknown language 'fr'"),
        ("a.md", PAGE.replace("reviewed_on: null", "reviewed_on: presto"), r"a\.md, line 6: reviewed_on"),
        ("a.md", PAGE.replace("https://esempio.it/influenza", "javascript:alert(1)"), r"a\.md, line 7: further_reading\.0\.url"),
        ("a.md", PAGE.replace("topic:", "topik:"), r"a\.md, line 2: topik"),
        ("a.md", PAGE[: PAGE.index("## Sintomi")] + "## Sintomi\n", r"a\.md, line 12: the page has no text"),
        ("a.jsonl", "{", r"a\.jsonl, line 1: is not JSON"),
        ("a.jsonl", "\n" + json.dumps({**ROW, "text": " \n"}), r"a\.jsonl, line 2: text: the page has no text"),
        ("a.jsonl", json.dumps({**ROW, "lang": "pt"}), r"a\.jsonl, line 1: unknown language 'pt'"),
        ("a.jsonl", json.dumps({**ROW, "id": "a/b c"}), r"a\.jsonl, line 1: the id 'a/b c' has characters"),
        ("a.jsonl", json.dumps({"id": "x"}), r"a\.jsonl, line 1: the key lang is missing"),
        ("a.jsonl", json.dumps(ROW) + "\n" + json.dumps(ROW), r"a\.jsonl, line 2: the id 'faq-1' already stands in .*line 1"),
        ("a.jsonl", json.dumps([1]), r"a\.jsonl, line 1"),
    ],
)
def test_malformed_file_is_named_with_its_line_and_fault(tmp_path: Path, name: str, text: str | bytes, said: str) -> None:
    put(tmp_path, name, text)

    with pytest.raises(SourceUnreadable, match=said):
        read(tmp_path)


def test_page_in_another_language_than_its_source_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.md", PAGE)

    with pytest.raises(SourceUnreadable, match="line 3: the page is in 'it', its source asl in 'es'"):
        read(tmp_path, language="es")


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "no front matter")
    put(tmp_path, "b.md", PAGE)
    put(tmp_path, "c.jsonl", "{\n" + json.dumps(ROW))
    problems: list[SourceUnreadable] = []

    pages = list(read_folder(tmp_path, source(tmp_path), on_problem=problems.append))

    assert [page.document_id for page in pages] == ["asl-b", "faq-1"]
    assert len(problems) == 2


def test_source_of_which_nothing_can_be_read_fails(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "no front matter")

    with pytest.raises(SourceUnreadable, match=r"no page could be read; first problem: .*front matter"):
        list(read_folder(tmp_path, source(tmp_path), on_problem=lambda _: None))


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_missing_or_empty_folder_fails(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(SourceUnreadable, match=name):
        list(read_folder(tmp_path / name, source(tmp_path)))


@pytest.mark.parametrize(
    "change",
    [
        {"title": "x"},
        {"text": "x"},
        {"synonyms": ("x",)},
        {"asked": ("x",)},
        {"url": "https://x.it"},
        {"reviewed_on": date(2020, 1, 1)},
        {"further_reading": ()},
        {"publisher": "x"},
        {"authority": Authority.PUBLISHER},
    ],
)
def test_hash_changes_with_whatever_a_reader_may_see(tmp_path: Path, change: dict[str, Any]) -> None:
    put(tmp_path, "flu.md", PAGE)
    (page,) = read(tmp_path)

    assert content_hash(replace(page, **change)) != page.content_hash


def test_hash_changes_with_each_question_and_their_order(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE)
    (page,) = read(tmp_path)

    hashes = {content_hash(replace(page, asked=asked)) for asked in ((), ("a",), ("a", "b"), ("b", "a"), ("a b",))}

    assert len(hashes) == 5


def test_hash_does_not_change_with_the_time_of_reading(tmp_path: Path) -> None:
    put(tmp_path, "flu.md", PAGE)
    (page,) = read(tmp_path)

    assert content_hash(replace(page, fetched_at=datetime(2020, 1, 1, tzinfo=UTC))) == page.content_hash


@pytest.mark.parametrize("row", starter_sources(), ids=lambda row: row.id)
def test_starter_corpus_is_readable_and_marked_until_it_is_reviewed(row: SourceRow) -> None:
    pages = list(read_folder(row.path, row))

    assert {page.language for page in pages} == {row.language}
    assert all((page.authority is Authority.DEMONSTRATION) == (page.reviewed_on is None) for page in pages)
    assert not any(line in page.text for page in pages for line in DEMONSTRATION_LINES)


@pytest.mark.parametrize("row", starter_sources(), ids=lambda row: row.id)
def test_each_starter_page_is_asked_for_in_ten_ways_and_in_no_other_pages_words(row: SourceRow) -> None:
    pages = list(read_folder(row.path, row))
    said = Counter(" ".join(question.casefold().split()) for page in pages for question in page.asked)

    assert {page.topic: len(page.asked) for page in pages if len(page.asked) != 10} == {}
    assert [question for question, times in said.items() if times > 1] == []


def test_starter_corpus_has_the_same_topics_in_both_languages() -> None:
    topics = [{page.topic for page in read_folder(row.path, row)} for row in starter_sources()]

    assert topics[0] == topics[1]


def test_a_line_or_a_page_that_no_parser_can_read_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    deep, number = "[" * 100_000 + "]" * 100_000, '{"id": ' + "9" * 5000 + "}"
    put(tmp_path, "a.jsonl", "\n".join([deep, number, json.dumps(ROW)]))
    put(tmp_path, "deep.md", f"---\ntitle: {'[' * 20_000}\n---\nTesto.")
    put(tmp_path, "day.md", "---\ntitle: Febbre\nlanguage: it\nreviewed_on: 2026-13-45\n---\nTesto.")
    problems: list[SourceUnreadable] = []

    (page,) = read_folder(tmp_path, source(tmp_path), problems.append)

    assert page.document_id == "faq-1"
    assert [str(problem).split(":")[0].rpartition("/")[2] for problem in problems] == [
        "a.jsonl, line 1",
        "a.jsonl, line 2",
        "day.md, line 1",
        "deep.md, line 1",
    ]


def test_a_title_of_thousands_of_letters_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", json.dumps({**ROW, "title": "a" * 251}))

    with pytest.raises(SourceUnreadable, match="line 1: title: String should have at most 250 characters"):
        read(tmp_path)


def test_a_blank_title_is_refused_in_plain_words(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", json.dumps({**ROW, "title": " "}))

    with pytest.raises(SourceUnreadable, match="line 1: title: String should have at least 1 character"):
        read(tmp_path)
