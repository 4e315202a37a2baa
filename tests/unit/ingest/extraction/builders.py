"""Pages and sources for the tests of the extraction."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest.extraction.extractor import extract
from ingest.extraction.results import Extraction
from ingest.fetching import RawPage
from ingest.sources import SourceRow
from rag.documents import Document

PAGES = Path(__file__).with_name("pages")
URL = "https://www.clinica.example/malattie/febbre"

TEXT_IT = (
    "<p>La febbre è un aumento della temperatura del corpo e di solito accompagna un'infezione. Beva molto, riposi e "
    "indossi abiti leggeri. Non dia aspirina ai bambini senza aver sentito il pediatra. Chiami il medico se la febbre dura "
    "più di tre giorni o se compaiono altri disturbi che la preoccupano.</p>"
)
TEXT_ES = (
    "<p>La fiebre es un aumento de la temperatura del cuerpo y suele acompañar a una infección. Beba mucha agua, descanse y "
    "lleve ropa ligera. No dé aspirina a los niños sin haber hablado antes con el pediatra. Llame al médico si la fiebre dura "
    "más de tres días o si aparecen otras molestias que le preocupan.</p>"
)
BANNER_WORDS = (
    "Utilizziamo cookie tecnici e, con il tuo consenso, cookie di profilazione anche di terze parti per mostrarti pubblicità in "
    "linea con le tue preferenze di navigazione. "
)


def source(**overrides: Any) -> SourceRow:
    row = {
        "id": "clinica", "kind": "encyclopaedia", "publisher": "Clinica Esempio", "language": "it",
        "start": {"pages": ["https://www.clinica.example/"]},
    }  # fmt: skip
    return SourceRow.model_validate({**row, **overrides})


def page(body: bytes | str, *, url: str = URL, content_type: str = "text/html", **headers: str) -> RawPage:
    content = body if isinstance(body, bytes) else body.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    fetched_at = datetime(2026, 1, 2, tzinfo=UTC)
    return RawPage(url=url, body=content, headers={"content-type": content_type, **named}, fetched_at=fetched_at)


def markup(body: str, *, title: str = "Febbre", head: str = "") -> str:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title>{head}</head><body>{body}</body></html>'


def article(body: str = TEXT_IT, *, h1: str = "Febbre", title: str = "Febbre | Clinica Esempio", head: str = "") -> str:
    chrome = '<nav><a href="/">Home</a> <a href="/sedi">Sedi</a></nav>'
    foot = "<footer>© Clinica Esempio, tutti i diritti riservati</footer>"
    return markup(f"{chrome}<main><h1>{h1}</h1>{body}</main>{foot}", title=title, head=head)


def read(body: bytes | str, *, row: SourceRow | None = None, **page_fields: Any) -> Extraction:
    return extract(page(body, **page_fields), row or source())


def document_of(body: bytes | str, *, row: SourceRow | None = None, **page_fields: Any) -> Document:
    extraction = read(body, row=row, **page_fields)
    assert extraction.refusal is None, extraction.refusal
    (document,) = extraction.documents
    return document
