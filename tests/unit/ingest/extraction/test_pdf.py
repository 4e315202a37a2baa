from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter

from ingest.extraction.pdf import read_leaflet
from ingest.extraction.results import Refusal
from tests.unit.ingest.extraction.builders import document_of, read, source

PAGE_ONE = (
    "Foglio illustrativo: informazioni per il paziente",
    "1. Che cos'è Esempiolo e a cosa serve",
    "Esempiolo è un medicinale che si usa negli adulti per abbassare la febbre e alle-",
    "viare il dolore lieve. Non è adatto a tutti e non sostituisce il parere del medico",
    "Curante o del farmacista.",
    "2. Cosa deve sapere prima di prendere Esempiolo",
    "Non prenda Esempiolo se:",
    "• è allergico a uno dei componenti, che sono elencati al paragrafo sei di questo",
    "foglio;",
    "• ha una malattia grave del fegato.",
)
PAGE_TWO = (
    "AVVERTENZE E PRECAUZIONI",
    "Chiami il 112 se dopo averlo preso respira a fatica o se il viso si gonfia in fretta.",
    "Come si conserva?",
    "Lo tenga lontano dalla portata dei bambini e non lo usi dopo la data di scadenza.",
)


def pdf(*pages: tuple[str, ...], header: str = "", title: str = "") -> bytes:
    """A file with lines of text, by hand: the font's own encoding is that of Windows."""
    writer = PdfWriter()
    sheets = [[*([f"{header} {number}"] if header else []), *lines, str(number)] for number, lines in enumerate(pages, start=1)]
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    kids = []
    for lines in sheets:
        shown = "".join(f"({line}) Tj T* ".replace("•", "\x95") for line in lines)
        stream = b"BT /F1 11 Tf 14 TL 50 800 Td " + shown.encode("latin-1") + b"ET"
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>>>"
        content = len(objects)
        objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources%s/Contents %d 0 R>>" % (font, content))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(kids))
    out = BytesIO(b"%PDF-1.4\n")
    out.seek(0, 2)
    offsets = []
    for number, content_bytes in enumerate(objects, start=1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content_bytes))
    xref = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    out.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, xref))
    if not title:
        return out.getvalue()
    writer.append(PdfReader(out))
    writer.add_metadata({"/Title": title})
    return _written(writer)


def _written(writer: PdfWriter) -> bytes:
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def _locked(content: bytes, **passwords: Any) -> bytes:
    writer = PdfWriter()
    writer.append(PdfReader(BytesIO(content)))
    writer.encrypt(**passwords, algorithm="AES-256")
    return _written(writer)


def test_leaflet_is_read_with_headings_items_and_mended_words() -> None:
    document = document_of(pdf(PAGE_ONE, PAGE_TWO), content_type="application/pdf", url="https://www.clinica.example/foglio.pdf")

    assert document.title == "Foglio illustrativo: informazioni per il paziente"
    assert document.text == (
        "## 1. Che cos'è Esempiolo e a cosa serve\n\n"
        "Esempiolo è un medicinale che si usa negli adulti per abbassare la febbre e alleviare il dolore lieve. Non è "
        "adatto a tutti e non sostituisce il parere del medico Curante o del farmacista.\n\n"
        "## 2. Cosa deve sapere prima di prendere Esempiolo\n\n"
        "Non prenda Esempiolo se:\n"
        "- è allergico a uno dei componenti, che sono elencati al paragrafo sei di questo foglio;\n"
        "- ha una malattia grave del fegato.\n\n"
        "## AVVERTENZE E PRECAUZIONI\n\n"
        "Chiami il 112 se dopo averlo preso respira a fatica o se il viso si gonfia in fretta.\n\n"
        "## Come si conserva?\n\n"
        "Lo tenga lontano dalla portata dei bambini e non lo usi dopo la data di scadenza."
    )
    assert document.url == "https://www.clinica.example/foglio.pdf"


def test_heads_and_page_numbers_that_return_on_every_page_are_dropped() -> None:
    leaflet = read_leaflet(pdf(PAGE_ONE, PAGE_TWO, PAGE_TWO, header="Agenzia di Esempio, versione"))
    assert leaflet is not None
    assert "Agenzia" not in leaflet.text
    assert "\n2\n" not in leaflet.text


def test_title_that_a_file_states_is_used_unless_it_is_a_file_name() -> None:
    stated = read_leaflet(pdf(PAGE_ONE, title="Esempiolo 500 mg compresse"))
    named = read_leaflet(pdf(PAGE_ONE, title="Microsoft Word - foglio_v3.doc"))
    assert stated is not None
    assert named is not None
    assert (stated.title, named.title) == ("Esempiolo 500 mg compresse", PAGE_ONE[0])


def test_leaflet_locked_against_changes_alone_is_read() -> None:
    body = _locked(pdf(PAGE_ONE), user_password="", owner_password="x")
    assert "abbassare la febbre" in document_of(body, content_type="application/pdf").text


@pytest.mark.parametrize(
    "body",
    [
        _locked(pdf(PAGE_ONE), user_password="y", owner_password="x"),
        pdf(PAGE_ONE)[:300],
        b"%PDF-1.7",
        b"%PDF-1.4\n" + b"\xff" * 5_000,
        pdf(()),
        b"<html><body>Non disponibile</body></html>",
        b"",
    ],
)
def test_locked_damaged_and_empty_files_are_refused(body: bytes) -> None:
    assert read(body, content_type="application/pdf").refusal is Refusal.NOT_READABLE


def test_leaflet_in_another_language_is_refused() -> None:
    extraction = read(pdf(PAGE_ONE, PAGE_TWO), content_type="application/pdf", row=source(language="es"))
    assert extraction.refusal is Refusal.WRONG_LANGUAGE


def test_leaflet_of_a_few_words_is_refused() -> None:
    assert read(pdf(("Chiuso per ferie.",)), content_type="application/pdf").refusal is Refusal.TOO_SHORT


def test_file_is_known_by_its_bytes_when_its_type_is_wrong() -> None:
    assert "abbassare la febbre" in document_of(pdf(PAGE_ONE), content_type="application/octet-stream").text
