import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ingest.errors import SourceUnreadable
from ingest.importers import medlineplus_xml
from ingest.importers.medlineplus_xml import newest_file, read_topics
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Authority, Document, DocumentKind, Link

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "tests" / "data" / "medlineplus_sample.xml"
DOCTYPE = '<!DOCTYPE health-topics PUBLIC "-//NLM//DTD health-topics //EN" "https://medlineplus.gov/xml/mplus_topics.dtd"'


def source(path: Path = SAMPLE, language: str | None = "es") -> SourceRow:
    return SourceRow.model_validate(
        {"id": "mplus", "kind": "health_topics", "path": path, "publisher": "MedlinePlus", "language": language}
    )


def read(path: Path, language: str = "es") -> tuple[list[Document], list[str]]:
    """The topics of a file, and what was said about it."""
    problems: list[str] = []
    found: list[Document] = []
    try:
        found.extend(read_topics(path, source(path, language), lambda problem: problems.append(str(problem))))
    except SourceUnreadable as error:
        problems.append(str(error))
    return found, problems


def topic(topic_id: str = "1", summary: str = "&lt;p&gt;Texto.&lt;/p&gt;", **attributes: str) -> str:
    values = {"title": f"Tema {topic_id}", "url": f"https://ejemplo.gov/{topic_id}", "language": "Spanish", **attributes}
    named = " ".join(f'{name}="{value}"' for name, value in values.items())
    return f'<health-topic id="{topic_id}" {named}><full-summary>{summary}</full-summary></health-topic>\n'


def put(tmp_path: Path, text: str, name: str = "topics.xml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def put_topics(tmp_path: Path, *topics: str, doctype: str = "") -> Path:
    return put(tmp_path, f"{doctype}<health-topics>\n{''.join(topics)}</health-topics>")


def test_a_topic_carries_what_the_file_says() -> None:
    (first, *_), _ = read(SAMPLE)

    assert (first.document_id, first.source_id, first.publisher) == ("mplus-9001", "mplus", "MedlinePlus")
    assert (first.title, first.url) == ("Sed mala", "https://ejemplo.gov/spanish/sedmala.html")
    assert (first.language, first.kind, first.authority) == (Language.SPANISH, DocumentKind.ARTICLE, Authority.PUBLISHER)
    assert (first.category, first.reviewed_on, first.published_on) == ("Síntomas", None, None)
    assert first.synonyms == ("Polidipsia inventada", "Sed de feria")


def test_a_summary_keeps_headings_and_nested_lists_and_loses_who_wrote_it() -> None:
    (first, *_), _ = read(SAMPLE)

    assert first.text == (
        "## ¿Qué es la sed mala?\n"
        "\n"
        "La sed mala es una molestia que dura pocas horas. No se contagia.\n"
        "\n"
        "## ¿Cuáles son los síntomas de la sed mala?\n"
        "\n"
        "Los síntomas incluyen:\n"
        "- Boca seca\n"
        "- Cansancio, que puede ser:\n"
        "  - Leve\n"
        "  - Fuerte, con menos de 3 & más de 1 pausas\n"
        "- Sueño\n"
        "\n"
        "Consulte a un profesional de la salud si no mejora."
    )


def test_further_reading_is_three_pages_in_the_language_with_a_publisher_each() -> None:
    (first, *_), _ = read(SAMPLE)

    assert first.further_reading == (
        Link(title="Beber agua", publisher="Agencia del Agua", url="https://ejemplo.gov/agua"),
        Link(title="Calor", publisher="Agencia del Clima", url="https://ejemplo.gov/calor"),
        Link(title="Sombra", publisher="Agencia del Clima", url="https://ejemplo.gov/sombra"),
    )


def test_the_sample_gives_exactly_the_topics_of_the_language() -> None:
    spanish, problems = read(SAMPLE)

    assert [page.document_id for page in spanish] == ["mplus-9001", "mplus-9003", "mplus-9004"]
    assert [page.text for page in spanish[1:]] == [
        "El ojo rosa pica.\n\nSe pasa solo.\n- Lave sus manos.\n- No comparta toallas.",
        "La tos de papel es seca. Instituto y casa la conocen.",
    ]
    assert problems == [f"{SAMPLE}, line 50, topic '9005': has no summary"]


def test_an_italian_source_reads_the_italian_topics() -> None:
    (page,), problems = read(SAMPLE, "it")

    assert (page.document_id, page.synonyms, page.category) == ("mplus-9006", ("Arsura da fiera",), "Sintomi")
    assert problems == []


@pytest.mark.parametrize("packed", ["gzip", "zip"])
def test_a_compressed_file_gives_the_same_topics_whatever_its_name(tmp_path: Path, packed: str) -> None:
    path = tmp_path / "fetched.xml"
    if packed == "gzip":
        path.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(SAMPLE, "mplus_topics_2026-03-01.xml")

    hashes = [page.content_hash for page in read(path)[0]]

    assert hashes == [page.content_hash for page in read(SAMPLE)[0]]


def test_what_stands_before_a_fault_is_kept_and_the_fault_is_told(tmp_path: Path) -> None:
    pages, problems = read(put(tmp_path, f"<health-topics>{topic('1')}{topic('2')}<health-topic id='3' title="))

    assert [page.document_id for page in pages] == ["mplus-1", "mplus-2"]
    assert len(problems) == 1
    assert "is not whole, well-formed XML" in problems[0]


def test_a_file_that_was_cut_off_while_it_was_fetched_is_told(tmp_path: Path) -> None:
    whole = gzip.compress(("<health-topics>" + "".join(topic(str(n), f"n{n * 7919}") for n in range(9000))).encode())
    path = tmp_path / "cut.gz"
    path.write_bytes(whole[: len(whole) // 2])

    pages, problems = read(path)

    assert 0 < len(pages) < 9000
    assert len(problems) == 1
    assert "cannot be read" in problems[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not whole, well-formed XML"),
        ("no XML at all", "is not whole, well-formed XML"),
        ("<html><body>Not found</body></html>", "is no file of health topics; it begins with <html>"),
        ("<health-topics/>", "no health topic in 'es' could be read"),
        (f"<health-topics>{topic(language='English')}</health-topics>", "no health topic in 'es' could be read"),
        (f"<health-topics>{'<x>' * 5000}", "is not whole, well-formed XML"),
        (f"<health-topics><health-topic id='1'>{'<site/>' * 20_001}", "topic '': has more than 20000 parts"),
    ],
    ids=["empty", "text", "web page", "no topics", "other language", "too deep", "too many parts"],
)
def test_a_file_that_gives_nothing_says_why(tmp_path: Path, text: str, said: str) -> None:
    pages, problems = read(put(tmp_path, text))

    assert pages == []
    assert said in problems[0]


def test_without_anybody_to_tell_the_first_fault_is_raised(tmp_path: Path) -> None:
    path = put_topics(tmp_path, topic("1"), topic("1"), topic("2"))

    with pytest.raises(SourceUnreadable, match="topic '1': the id stands twice"):
        list(read_topics(path, source(path)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (topic("1"), "the id stands twice"),
        (topic("a/b"), "the id cannot stand in a web address"),
        (topic("2", title=" "), "has no title"),
        (topic("2", url="javascript:alert(1)"), "url 'javascript:alert(1)' is no web address"),
        (topic("2", url=""), "url '' is no web address"),
        (topic("2", summary=" "), "has no summary"),
    ],
)
def test_a_wrong_topic_is_told_by_line_and_id_and_the_others_are_read(tmp_path: Path, wrong: str, said: str) -> None:
    pages, problems = read(put_topics(tmp_path, topic("1"), wrong, topic("3")))

    assert [page.document_id for page in pages] == ["mplus-1", "mplus-3"]
    assert len(problems) == 1
    assert said in problems[0]
    assert ", line 3, topic " in problems[0]


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "0123456789"}">' for n in range(9))


@pytest.mark.parametrize("place", ["text", "attribute", "root"])
def test_an_xml_bomb_is_refused_and_not_expanded(tmp_path: Path, place: str) -> None:
    body = {
        "text": f"<health-topics>{topic(summary='&e8;')}</health-topics>",
        "attribute": f"<health-topics>{topic(title='&e8;')}</health-topics>",
        "root": "<health-topics total='&e8;'/>",
    }[place]
    path = put(tmp_path, f"{DOCTYPE} [{BOMB}]>{body}")

    pages, problems = read(path)

    assert pages == []
    assert "declares entities" in problems[0] or "entity amplification" in problems[0]


def test_a_file_of_this_machine_cannot_be_drawn_in(tmp_path: Path) -> None:
    secret = put(tmp_path, "geheim", "secret.txt")
    body = f"<health-topics>{topic(summary='&lt;p&gt;Vea &e; aquí.&lt;/p&gt;')}</health-topics>"

    pages, problems = read(put(tmp_path, f'{DOCTYPE} [<!ENTITY e SYSTEM "{secret.as_uri()}">]>{body}'))

    assert pages == []
    assert "declares entities" in problems[0]


def test_the_named_doctype_is_not_fetched_and_its_entities_become_characters(tmp_path: Path) -> None:
    (page,), problems = read(put_topics(tmp_path, topic(summary="&lt;p&gt;Dos&nbsp;palabras&lt;/p&gt;"), doctype=f"{DOCTYPE}>"))

    assert page.text == "Dos palabras"
    assert problems == []


def test_a_file_above_the_cap_is_read_up_to_it_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medlineplus_xml, "MAX_BYTES", 1_000_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(f"<health-topics>{topic('1')}{' ' * 5_000_000}".encode()))

    pages, problems = read(path)

    assert [page.document_id for page in pages] == ["mplus-1"]
    assert problems == [f"{path}: has more than 1 MB, the most that is read"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak memory that Linux tells")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = put_topics(tmp_path, *(topic(str(n)).replace("</health", "<site/>" * 2000 + "</health") for n in range(200)))
    program = (
        "import re, sys; from pathlib import Path; from ingest.importers.medlineplus_xml import read_topics;"
        "from ingest.sources import SourceRow; path = Path(sys.argv[1]);"
        "row = SourceRow(id='m', kind='health_topics', path=path, publisher='M', language='es');"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]);"
        "before = peak(); count = sum(1 for _ in read_topics(path, row)); print(count, peak() - before)"
    )

    told = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)

    count, grown_kb = map(int, told.stdout.split())
    assert count == 200
    assert grown_kb < 10_000  # the whole tree takes six times as much


@pytest.mark.parametrize(
    ("names", "said"), [(("a.txt",), "must hold exactly one .xml file, it holds 0"), (("a.xml", "b.xml"), "it holds 2")]
)
def test_an_archive_must_hold_one_file(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    path = tmp_path / "topics.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.write(SAMPLE, name)

    pages, problems = read(path)

    assert pages == []
    assert said in problems[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [("missing.xml", None), ("torn.zip", b"PK\x03\x04 and no more"), ("torn.gz", b"\x1f\x8b"), ("wrong.gz", b"\x1f\x8b\x08 no")],
)
def test_what_is_torn_or_no_file_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    pages, problems = read(tmp_path / name)

    assert pages == []
    assert f"{name}: cannot be read" in problems[0]


def test_the_newest_file_of_an_index_page_is_found() -> None:
    page = """
        <a href="/xml/mplus_topics_2026-03-01.xml">Health topics</a>
        <a href="/xml/mplus_topics_2026-03-03.xml">Health topics</a>
        <a href='https://medlineplus.gov/xml/mplus_topics_compressed_2026-03-03.zip'>compressed</a>
        <a href="/xml/mplus_topic_groups_2026-03-04.xml">groups</a>
        <a href="/xml/mplus_topics.dtd">DTD</a>"""

    assert newest_file(page, "https://medlineplus.gov/xml.html") == (
        "https://medlineplus.gov/xml/mplus_topics_compressed_2026-03-03.zip"
    )
    assert newest_file(page.split("<a href='")[0], "https://medlineplus.gov/xml.html") == (
        "https://medlineplus.gov/xml/mplus_topics_2026-03-03.xml"
    )
    assert newest_file("<p>moved</p>", "https://medlineplus.gov/xml.html") is None
