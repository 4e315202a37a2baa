import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ingest.errors import SourceUnreadable
from ingest.sources import SHIPPED_SOURCES, Selectors, SourceKind, SourceRow, Start, check_unique, load_sources
from locales.language import Language
from rag.documents import Authority

ROW = '[[source]]\nid = "asl"\nkind = "folder"\npath = "pagine"\npublisher = "ASL"\n'
WEB = '[[source]]\nid = "asl"\nkind = "faq"\npublisher = "ASL"\nlanguage = "it"\nstart.pages = ["https://asl.example/"]\n'
TOPICS = '[[source]]\nid = "asl"\nkind = "health_topics"\npublisher = "ASL"\nlanguage = "it"\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sources.toml"
    path.write_text(text, encoding="utf-8")
    return path


SHIPPED = load_sources()
ON_THE_WEB = [row for row in SHIPPED if row.kind is not SourceKind.FOLDER]

each_on_the_web = pytest.mark.parametrize("row", ON_THE_WEB, ids=lambda row: row.id)


def test_shipped_and_enabled_are_only_the_starter_texts_in_both_languages() -> None:
    rows = [row for row in SHIPPED if row.enabled]

    assert {row.id: row.language for row in rows} == {"starter-it": Language.ITALIAN, "starter-es": Language.SPANISH}
    assert all(row.authority is Authority.DEMONSTRATION and row.path and row.path.is_dir() for row in rows)


def test_the_publishers_that_ship_are_those_of_both_languages() -> None:
    by_language = {language: {row.id for row in ON_THE_WEB if row.language is language} for language in Language}

    assert by_language == {
        Language.ITALIAN: {"humanitas", "issalute", "epicentro", "ministero-salute-faq", "medicitalia"},
        Language.SPANISH: {"medlineplus-es", "cdc-es", "sanidad-es", "imss"},
    }


@each_on_the_web
def test_a_shipped_web_source_waits_for_its_operator_and_says_what_it_knows_of_the_terms(row: SourceRow) -> None:
    assert not row.enabled
    assert row.disabled_because
    assert row.licence
    assert row.terms
    assert row.delay_s >= 2


@each_on_the_web
def test_a_shipped_web_source_is_fetched_from_one_host_over_https(row: SourceRow) -> None:
    addresses = [urlsplit(address) for address in (*row.start.addresses, *filter(None, [row.url]))]

    assert {address.scheme for address in addresses} == {"https"}
    assert len({address.hostname for address in addresses}) == 1
    hosts = {(address.hostname or "").replace(".", r"\.") for address in addresses}
    assert all(pattern.startswith(f"^https://{host}/") for pattern in row.allow for host in hosts)
    assert row.allow or row.kind is SourceKind.HEALTH_TOPICS


@pytest.mark.parametrize(
    ("source_id", "address", "is_read"),
    [
        ("humanitas", "https://www.humanitas.it/malattie/artrite/", True),
        ("humanitas", "https://www.humanitas.it/sintomi/ritenzione-idrica/", True),
        ("humanitas", "https://www.humanitas.it/prenota/", False),
        ("humanitas", "https://www.humanitas.it/malattie/?s=artrite", False),
        ("issalute", "https://www.issalute.it/index.php/la-salute-dalla-a-alla-z-menu/o/otite", True),
        ("issalute", "https://www.issalute.it/index.php/la-salute-dalla-a-alla-z-menu/o/otite?tmpl=component&print=1", False),
        ("issalute", "https://www.issalute.it/index.php/saluteinforma", False),
        ("epicentro", "https://www.epicentro.iss.it/westnile/", True),
        ("epicentro", "https://www.epicentro.iss.it/westnile/bollettino", False),
        ("epicentro", "https://www.epicentro.iss.it/coronavirus/open-data/calcolo_rt_italia.zip", False),
        ("ministero-salute-faq", "https://www.salute.gov.it/new/it/faq/faq-screening-tumori/", True),
        ("ministero-salute-faq", "https://www.salute.gov.it/new/it/tema/esenzioni-dal-ticket/", False),
        ("medicitalia", "https://www.medicitalia.it/consulti/psicoterapia/23549-titolo-del-consulto.html", True),
        ("medicitalia", "https://www.medicitalia.it/consulti/psicoterapia/", True),
        ("medicitalia", "https://www.medicitalia.it/medici/", False),
        ("cdc-es", "https://www.cdc.gov/flu/es/testing/diagnostico-de-la-influenza.html", True),
        ("cdc-es", "https://www.cdc.gov/spanish/", True),
        ("cdc-es", "https://www.cdc.gov/flu/about/index.html", False),
        ("cdc-es", "https://www.cdc.gov/flu/es/media/pdfs/hoja.pdf", False),
        ("sanidad-es", "https://www.sanidad.gob.es/ciudadanos/saludMujer/embarazo/home.htm", True),
        ("sanidad-es", "https://www.sanidad.gob.es/ciudadanos/enfLesiones/enfTransmisibles/sida/docs/mapa.htm", False),
        ("sanidad-es", "https://www.sanidad.gob.es/areas/saludDigital/home.htm", False),
        ("imss", "https://www.imss.gob.mx/salud-en-linea/diabetes-mellitus", True),
        ("imss", "https://www.imss.gob.mx/salud-en-linea/calculaimc", False),
        ("imss", "https://www.imss.gob.mx/prensa", False),
    ],
)
def test_the_patterns_of_a_shipped_source_take_its_pages_and_leave_the_rest(source_id: str, address: str, is_read: bool) -> None:
    (row,) = [row for row in SHIPPED if row.id == source_id]
    allowed = any(re.search(pattern, address) for pattern in row.allow)
    denied = any(re.search(pattern, address) for pattern in row.deny)

    assert (allowed and not denied) is is_read


def test_every_key_of_a_row_is_explained_at_the_head_of_the_file_and_for_operators() -> None:
    head = SHIPPED_SOURCES.read_text(encoding="utf-8").split("[[source]]")[0]
    page = (SHIPPED_SOURCES.parents[1] / "docs" / "sources.md").read_text(encoding="utf-8")

    for key in (*SourceRow.model_fields, *Start.model_fields, *Selectors.model_fields):
        assert re.search(rf"\b{key}\b", head), key
        assert re.search(rf"`(?:[a-z]+\.)?{key}`", page), key
    for kind in SourceKind:
        assert f'"{kind.value}"' in head
        assert f"`{kind.value}`" in page


def test_a_byte_order_mark_changes_nothing(tmp_path: Path) -> None:
    (row,) = load_sources(write(tmp_path, "\ufeff" + ROW))

    assert row.id == "asl"


def test_path_of_a_row_is_relative_to_its_file(tmp_path: Path) -> None:
    (row,) = load_sources(write(tmp_path, ROW))

    assert row.path == tmp_path / "pagine"
    assert row.authority is Authority.PUBLISHER
    assert row.language is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[source]", "is not TOML"),
        ("", "source: Field required"),
        (ROW.replace('kind = "folder"', 'kind = "gopher"'), "source 1, kind"),
        (ROW.replace('publisher = "ASL"', 'publisher = " "'), "source 1, publisher"),
        (ROW + 'language = "fr"', "source 1, language"),
        (ROW + 'colour = "blue"', "source 1, colour"),
        (ROW.replace('id = "asl"', 'id = "asl/../x"'), "source 1, id"),
        (ROW + ROW, "stands twice"),
        (ROW.replace('path = "pagine"\n', ""), "source 1, row: .*a folder needs a path"),
        (WEB.replace("start.pages", "#"), "source 1, row: .*a crawled source needs start.sitemaps"),
        (WEB.replace('language = "it"\n', ""), "source 1, row: .*needs a language"),
        (WEB.replace("https://asl.example/", "asl.example"), "source 1, start.pages.0"),
        (WEB + "allow = ['(']\n", "source 1, allow.0: .*is no regular expression"),
        (WEB + "delay_s = -1\n", "source 1, delay_s"),
        (WEB + "enabled = false\n", "source 1, row: .*a disabled source needs disabled_because"),
        (TOPICS, "source 1, row: .*health_topics needs either a path or a url"),
        (TOPICS + 'path = "a.xml"\nurl = "https://asl.example/a.xml"\n', "needs either a path or a url"),
        (WEB + 'selectors.headline = "h1"\n', "source 1, selectors.headline"),
        (WEB + 'url = "https://asl.example/"\n', "source 1, row: a source of kind faq has no url"),
        (WEB + 'path = "pagine"\n', "source 1, row: a source of kind faq has no path"),
        (ROW + 'url = "https://asl.example/"\n', "source 1, row: a source of kind folder has no url"),
        (ROW + 'start.pages = ["https://asl.example/"]\n', "source 1, row: a source of kind folder has no start"),
        (ROW + "deny = ['x']\n", "source 1, row: a source of kind folder has no allow and deny"),
        (ROW + 'selectors.body = "main"\n', "source 1, row: a source of kind folder has no selectors"),
        (ROW.replace('"pagine"', '"~nobody-of-that-name/pagine"'), "names nobody on this machine"),
        ("a = " + "[" * 3000 + "]" * 3000, "is no TOML that can be read"),
        (ROW + "max_pages = " + "9" * 5000, "is no TOML that can be read"),
    ],
)
def test_wrong_source_file_is_refused_by_row_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceUnreadable, match=said):
        load_sources(write(tmp_path, text))


def test_missing_source_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match=r"none\.toml: cannot be read"):
        load_sources(tmp_path / "none.toml")


def test_source_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sources.toml"
    path.write_bytes(b'publisher = "Espa\xf1a"')
    with pytest.raises(SourceUnreadable, match="is not UTF-8"):
        load_sources(path)


def test_one_id_in_two_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="'starter-it' stands twice"):
        check_unique(load_sources() + load_sources(write(tmp_path, ROW.replace('"asl"', '"starter-it"'))))
