import pytest

from ingest.extraction.encoding import decoded, is_broken
from ingest.extraction.results import Refusal
from tests.unit.ingest.extraction.builders import TEXT_IT, article, document_of, read


def _page(body: bytes, meta: str = "") -> bytes:
    declared = f'<meta charset="{meta}">'.encode() if meta else b""
    return b"<html><head>" + declared + b"</head><body><p>" + body + b"</p></body></html>"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        # H31
        (_page("perché l'età".encode("latin-1"), "iso-8859-1"), None),
        (_page("perché l'età".encode("latin-1")), "text/html; charset=utf-8"),
        (_page("perché l'età".encode("latin-1"), "utf-8"), "text/html; charset=utf-8"),
        (_page("perché l'età".encode()), "text/html; charset=iso-8859-1"),
        (_page("perché l'età".encode(), "windows-1252"), None),
        (_page("perché l'età".encode()), None),
        (_page("perché l'età".encode("latin-1")), None),
        (b"\xef\xbb\xbf" + _page("perché l'età".encode(), "iso-8859-1"), None),
        ("\ufeff<p>perché l'età".encode("utf-16-le"), "text/html; charset=utf-8"),
        (_page("perché l'età".encode("mac-roman"), "macintosh"), None),
        (_page("perché l'età".encode().decode("cp1252").encode(), "utf-8"), None),
        (_page("perché l'età".encode().decode("latin-1").encode(), "utf-8"), None),
        (_page("perché l'età".encode("latin-1"), "unicode_escape"), "text/html; charset=nonsense"),
    ],
)
def test_accents_survive_whatever_the_page_and_its_header_say(body: bytes, content_type: str | None) -> None:
    """H31"""
    text = decoded(body, content_type)

    assert "perché l'età" in text
    assert not is_broken(text)


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252", ""])
def test_curly_quotes_of_windows_survive(declared: str) -> None:  # H31
    assert "“l’età” – così… €" in decoded(_page("“l’età” – così… €".encode("cp1252"), declared), None)


def test_curly_quotes_that_were_read_as_latin_1_are_mended() -> None:
    """H31"""
    assert "l’età" in decoded(_page("l\u0092età".encode()), None)


def test_text_that_was_read_wrongly_twice_is_mended() -> None:
    twice = "è così".encode().decode("cp1252").encode().decode("cp1252")
    assert "è così" in decoded(_page(twice.encode()), None)


@pytest.mark.parametrize(
    "text", ["À PERCHÉ» È", "«L'età»", "37,5 °C ± 0,2", "niño ¿qué?", "œdema – “così”", "Ærø", "Rhône-Poulenc"]
)
def test_sound_text_is_neither_changed_nor_refused(text: str) -> None:
    assert text in decoded(_page(text.encode()), None)
    assert not is_broken(text)


@pytest.mark.parametrize("text", ["perch\ufffd", "perchÃ l'Ã¨", "unâ€ altra"])
def test_what_cannot_be_mended_is_broken(text: str) -> None:
    assert is_broken(text)


def test_page_with_replacement_characters_is_refused() -> None:  # H31
    assert read(article(TEXT_IT.replace("è", "\ufffd"))).refusal is Refusal.BROKEN_ENCODING


def test_lost_characters_outside_of_the_article_do_not_matter() -> None:
    body = article(TEXT_IT).replace("tutti i diritti", "citt\ufffd")
    assert "La febbre è un aumento" in document_of(body).text


def test_utf_8_with_one_torn_accent_outside_of_the_article_stays_utf_8() -> None:
    body = (
        article(TEXT_IT + "<p>Perché è così? È l'età, più di così non può.</p>").encode().replace(b"tutti i diritti", b"citt\xc3")
    )
    assert "più di così non può" in document_of(body).text


def test_latin_1_page_is_read_right_from_bytes_to_document() -> None:  # H31
    body = article(TEXT_IT).replace('<meta charset="utf-8">', "").encode("latin-1")
    assert "La febbre è un aumento" in document_of(body, content_type="text/html; charset=utf-8").text
