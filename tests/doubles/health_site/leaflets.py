"""Leaflets as PDF files written byte by byte, and as pages that differ in a dose alone."""

import textwrap

from rag.documents import DocumentKind
from tests.doubles.health_site.articles import surname_of
from tests.doubles.health_site.expected import ExpectedDocument
from tests.doubles.health_site.markup import chrome_strings, page_html, paragraphs
from tests.doubles.health_site.pages import Page
from tests.doubles.health_site.texts import Condition, Words, rng_for

_LINES_A_PAGE = 40


def pdf_leaflet(words: Words, condition: Condition, path: str, surname: int) -> Page:
    """A leaflet of two pages about a condition."""
    rng = rng_for("leaflet", words.language, condition.name)
    name = surname_of(words, surname)
    keys = ("intro", "intro2", "symptoms_tail", "causes", "causes2", "tests", "home", "drugs", "effects", "doctor2", "prevention")
    sentences = [words.filled(words.one(rng, "article", key), condition) for key in keys]
    alarm = words.filled(words.data["article"]["doctor"][0], condition)
    marker = words.filled(words.data["article"]["marker"][6], condition, eponym=f"test di {name}")
    title = condition.title
    document = ExpectedDocument(
        path=path,
        language=words.language,
        kind=DocumentKind.ARTICLE,
        title=title,
        sentences=(marker, alarm),
        marker=name,
    )
    body = pdf(title, [[*sentences[:6], marker], [*sentences[6:], alarm]])
    return Page(path=path, title=title, body=body, content_type="application/pdf", document=document)


def dose_pages(words: Words, folder: str) -> list[Page]:
    """Two pages of the same words but for a number: each is a document of its own."""
    drug = "Dolofenil" if words.language == "it" else "Calmofenil"
    return [_dose_page(words, folder, drug, dose) for dose in (200, 400)]


def _dose_page(words: Words, folder: str, drug: str, dose: int) -> Page:
    leaflet = words.data["leaflet"]
    sentences = [text.format(drug=drug, dose=dose) for text in leaflet["sentences"]]
    title = leaflet["title"].format(drug=f"{drug} {dose} mg")
    path = f"{folder}{drug.lower()}-{dose}"
    document = ExpectedDocument(
        path=path,
        language=words.language,
        kind=DocumentKind.ARTICLE,
        title=title,
        sentences=(sentences[1], sentences[-1]),
        absent=chrome_strings(words),
    )
    main = f"<h1>{title}</h1>" + paragraphs(" ".join(sentences[:3]), " ".join(sentences[3:6]), " ".join(sentences[6:]))
    return Page(path=path, title=title, body=page_html(words, title, main).encode(), document=document)


def pdf(title: str, pages: list[list[str]]) -> bytes:
    """A PDF file with one page of lines for each list; an empty list gives a page without text, as from a scanner."""
    streams = [
        _text_stream(lines if number else [title, "", *lines]) if lines else b"0.9 g 50 50 400 600 re f"
        for number, lines in enumerate(pages)
    ]
    count = len(streams)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, stream in enumerate(streams):
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] {fonts} /Contents {5 + 2 * number} 0 R >>"
        objects += [page.encode(), b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream)]
    objects.append(b"<< /Title (%b) >>" % _escaped(title))
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    out, offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(objects), start)
    return bytes(out)


def _text_stream(texts: list[str]) -> bytes:
    lines = [line for text in texts for line in (textwrap.wrap(text, 88) or [""])][:_LINES_A_PAGE]
    shown = b"".join(b"(%b) Tj T*\n" % _escaped(line) for line in lines)
    return b"BT /F1 11 Tf 16 TL 50 780 Td\n" + shown + b"ET"


def _escaped(text: str) -> bytes:
    return text.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")
