"""The HTTP side: the messengers' webhooks, the pages behind an answer, and what a monitor asks."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from itertools import groupby

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from bot.health import Health
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.documents import Authority, Document

FindDocument = Callable[[str], Document | None]
"""A stored document by its id; called in a thread of its own, since it reads the disk."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STYLE = (
    "body{font:1.1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}"
    "h1{font-size:1.7rem;line-height:1.25}h2{font-size:1.25rem;margin-top:2rem}"
    ".banner{border:2px solid #8a5a00;background:#fff6e0;padding:.7rem 1rem;font-weight:600}.facts{color:#555;font-size:.95rem}"
    "a{color:#0b4f9e}"
)


def web_app(
    routes: Sequence[BaseRoute],
    *,
    find_document: FindDocument,
    health: Callable[[], Awaitable[Health]],
    catalog: Catalog,
    directory: EmergencyDirectory,
) -> Starlette:
    """The application.

    Args:
        routes: The messengers' webhooks, and those of programs and operators.
        find_document: Looks a page up in the published indexes.
        health: Looks how everything stands.
        catalog: The texts around a page.
        directory: The emergency numbers that pages refer to.
    """

    async def source(request: Request) -> Response:
        document = await asyncio.to_thread(find_document, request.path_params["document_id"])
        if document is None:
            return HTMLResponse(_not_found(catalog), status_code=404, headers=_HEADERS)
        return HTMLResponse(_page(document, catalog, directory), headers=_HEADERS)

    async def ready(_: Request) -> Response:
        seen = await health()
        return JSONResponse(seen.as_dict(), status_code=503 if seen.problems else 200, headers={"Cache-Control": "no-store"})

    return Starlette(
        routes=[
            *routes,
            Route("/sources/{document_id}", source),
            Route("/healthz", _alive),
            Route("/readyz", ready),
        ]
    )


async def _alive(_: Request) -> Response:
    return JSONResponse({"alive": True})


def _page(document: Document, catalog: Catalog, directory: EmergencyDirectory) -> str:
    language = document.language

    def text(key: str, **values: object) -> str:
        return escape(catalog.text(language, f"source_page.{key}", **values))

    parts = []
    if document.authority is Authority.DEMONSTRATION:
        parts.append(f'<p class="banner">{text("demonstration")}</p>')
    parts.append(f"<h1>{escape(document.title)}</h1>")
    reviewed = document.reviewed_on
    facts = [
        f"{text('publisher')} {escape(document.publisher)}",
        text("reviewed", date=f"{reviewed:%d/%m/%Y}") if reviewed else text("not_reviewed"),
        text("fetched", date=f"{document.fetched_at:%d/%m/%Y}"),
    ]
    parts.append(f'<p class="facts">{" · ".join(facts)}</p>')
    body = document.text.replace("{emergency}", directory.emergency_number(None, language))
    parts += _blocks(body)
    if document.further_reading:
        items = "".join(
            f'<li><a href="{escape(link.url)}" rel="noopener noreferrer">{escape(link.title)}</a> — {escape(link.publisher)}</li>'
            for link in document.further_reading
        )
        parts.append(f"<h2>{text('further')}</h2><ul>{items}</ul>")
    return _html(language, document.title, "\n".join(parts))


def _blocks(text: str) -> list[str]:
    """Paragraphs, `## ` headings and `- ` items as HTML; everything is escaped."""
    return [_block(kind, list(lines)) for kind, lines in groupby(map(str.strip, text.split("\n")), key=_kind_of_line) if kind]


def _kind_of_line(line: str) -> str:
    if line.startswith("- "):
        return "ul"
    return "h2" if re.match(r"#+ ", line) else "p" if line else ""


def _block(kind: str, lines: list[str]) -> str:
    if kind == "ul":
        return f"<ul>{''.join(f'<li>{escape(line[2:])}</li>' for line in lines)}</ul>"
    if kind == "h2":
        return "".join(f"<h2>{escape(line.lstrip('# '))}</h2>" for line in lines)
    return f"<p>{escape(' '.join(lines))}</p>"


def _not_found(catalog: Catalog) -> str:
    """Nobody knows which language the reader of a missing page speaks: both are there."""
    texts = [f'<p lang="{language.value}">{escape(catalog.text(language, "source_page.not_found"))}</p>' for language in Language]
    return _html(Language.ITALIAN, "Salus", "\n".join(texts))


def _html(language: Language, title: str, body: str) -> str:
    main = f"<main>\n{body}\n</main>"
    return (
        f'<!doctype html>\n<html lang="{language.value}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{escape(title)} — Salus</title><style>{_STYLE}</style></head>\n<body>\n{main}\n</body>\n</html>\n"
    )
