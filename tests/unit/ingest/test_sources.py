from pathlib import Path

import pytest

from ingest.errors import SourceUnreadable
from ingest.sources import check_unique, load_sources
from locales.language import Language
from rag.documents import Authority

ROW = '[[source]]\nid = "asl"\nkind = "folder"\npath = "pagine"\npublisher = "ASL"\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sources.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_sources_are_the_starter_corpus_in_both_languages() -> None:
    rows = load_sources()

    assert {row.id: row.language for row in rows} == {"starter-it": Language.ITALIAN, "starter-es": Language.SPANISH}
    assert all(row.authority is Authority.DEMONSTRATION and row.path.is_dir() for row in rows)


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
