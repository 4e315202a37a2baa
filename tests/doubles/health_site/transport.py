"""Hosts whose trouble lies in the connection: redirects, errors, silence, requests to wait, and bodies without end."""

import asyncio
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import cache

from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from locales.language import Language
from tests.doubles.health_site.articles import article_page
from tests.doubles.health_site.markup import link, page_html, paragraphs
from tests.doubles.health_site.pages import Answer, Host, Page
from tests.doubles.health_site.publishers import row_of
from tests.doubles.health_site.robots import Shelf
from tests.doubles.health_site.texts import rng_for

HUGE = 200 * 1024 * 1024
SITEMAP_SIZE = 100_000
_BLOCK = b"<p>" + b"Il testo continua ancora. " * 2520 + b"</p>\n"


def transport_hosts(shelf: Shelf) -> Iterator[Host]:
    yield _redirects(shelf)
    yield _slow(shelf)
    yield _huge(shelf)
    yield _xml_bomb(shelf)
    yield _endless_sitemap(shelf)
    yield _calendar(shelf)
    yield _waiting(shelf, "attesa-data", lambda: formatdate(time.time() + 2, usegmt=True))
    yield _waiting(shelf, "attesa-negativa", lambda: "-5")
    yield _waiting(shelf, "attesa-una", lambda: "1")
    yield _waiting(shelf, "attesa-enorme", lambda: "999999", forever=True)


def _host(name: str, **row: object) -> Host:
    host = Host(name=name, language=Language.ITALIAN, robots=None)
    host.row = lambda host: row_of(host, pages=("/salute/",), **row)  # type: ignore[arg-type]
    return host


def _redirect(to: Callable[[Host], str], status: int) -> Answer:
    async def answer(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        await RedirectResponse(to(host), status_code=status)(scope, receive, send)

    return answer


def _redirects(shelf: Shelf) -> Host:
    host = _host("trasporto")
    host.put(shelf.article("/salute/buona"))
    new, passing = shelf.article("/salute/nuova"), shelf.article("/salute/di-passaggio")
    new.is_listed = passing.is_listed = False
    host.put(new, passing)
    private, loop = frozenset({"private_address"}), frozenset({"redirect_loop", "too_many_redirects", "redirects"})
    for path, to, status, fields in (
        ("vecchia", lambda host: host.base + "/salute/nuova", 301, {"moved_to": "/salute/nuova"}),
        ("vecchissima", lambda host: "/salute/nuova", 308, {"moved_to": "/salute/nuova"}),
        ("temporanea", lambda host: "/salute/di-passaggio", 302, {}),
        ("interna", lambda host: "http://10.255.255.1/salute", 302, {"refused": private}),
        ("metadati", lambda host: "http://169.254.169.254/latest/meta-data/", 302, {"refused": private}),
        ("vicina", lambda host: host.bases["riservata"] + "/segreto", 301, {"refused": private}),
        ("giro", lambda host: "/salute/giro", 302, {"failed": loop}),
    ):
        host.put(Page(path=f"/salute/{path}", answer=_redirect(to, status), **fields))
    for path, status in (("assente", 404), ("ritirata", 410)):
        host.put(Page(path=f"/salute/{path}", status=status, body=b"<h1>Non trovata</h1>"))
    for path, status in (("errore", 500), ("sovraccarica", 503)):
        host.put(Page(path=f"/salute/{path}", status=status, body=b"<h1>Errore</h1>", failed=frozenset({f"http_{status}"})))
    host.put(shelf.index(host, "/salute/"))
    return host


async def _hang(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _drip(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    """A byte a second, so that no single wait is long."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    gone = asyncio.ensure_future(receive())
    for _ in range(3600):
        await send({"type": "http.response.body", "body": b" ", "more_body": True})
        done, _ = await asyncio.wait({gone}, timeout=1)
        if done and gone.result()["type"] == "http.disconnect":
            return
        if done:
            gone = asyncio.ensure_future(receive())


def _slow(shelf: Shelf) -> Host:
    host = _host("lento")
    host.put(shelf.article("/salute/buona"))
    timeout = frozenset({"timeout"})
    host.put(Page(path="/salute/muta", answer=_hang, failed=timeout), Page(path="/salute/goccia", answer=_drip, failed=timeout))
    host.put(shelf.index(host, "/salute/"))
    return host


def _streamed(headers: list[tuple[bytes, bytes]]) -> Answer:
    async def answer(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html"), *headers]})
        left = HUGE
        while left > 0:
            part = _BLOCK[:left]
            left -= len(part)
            await send({"type": "http.response.body", "body": part, "more_body": left > 0})
            await asyncio.sleep(0)

    return answer


@cache
def gzip_bomb() -> bytes:
    """200 MB of one letter, packed to less than 200 kB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"a" * (1 << 20)
    return b"".join(packer.compress(block) for _ in range(200)) + packer.flush()


async def _bomb(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"content-type": "text/html; charset=utf-8", "content-encoding": "gzip"}
    await Response(gzip_bomb(), headers=headers)(scope, receive, send)


def _huge(shelf: Shelf) -> Host:
    host = _host("grande")
    too_large = frozenset({"too_large"})
    host.put(shelf.article("/salute/buona"))
    host.put(
        Page(path="/salute/enorme", answer=_streamed([]), refused=too_large),
        Page(path="/salute/enorme-annunciata", answer=_streamed([(b"content-length", str(HUGE).encode())]), refused=too_large),
        Page(path="/salute/bomba", answer=_bomb, refused=too_large),
    )
    host.put(shelf.index(host, "/salute/"))
    return host


def _xml_bomb(shelf: Shelf) -> Host:
    host = Host(name="bomba-xml", language=Language.ITALIAN, robots=None)
    host.put(shelf.article("/salute/buona"))
    entities = "".join(f'<!ENTITY b{n} "{f"&b{n - 1};" * 10}">' for n in range(1, 10))
    text = (
        f'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY b0 "bomba">{entities}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://127.0.0.1/&b9;&f;</loc></url></urlset>'
    )
    host.put(Page(path="/sitemap.xml", body=text.encode(), content_type="application/xml", is_navigation=True, is_listed=False))
    host.put(shelf.index(host, "/salute/"))
    host.row = lambda host: row_of(host, sitemaps=("/sitemap.xml",), pages=("/salute/",))
    return host


def _endless_sitemap(shelf: Shelf) -> Host:
    host = Host(name="mappa-enorme", language=Language.ITALIAN, robots=None, at_most=50)

    async def sitemap(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        rows = "".join(f"<url><loc>{host.base}/salute/scheda-{n:06}</loc></url>" for n in range(1, SITEMAP_SIZE + 1))
        text = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'
        await Response(text, media_type="application/xml")(scope, receive, send)

    async def card(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        number = int(scope["path"].rpartition("-")[2])
        condition = shelf.words.conditions[number % len(shelf.words.conditions)]
        page = article_page(shelf.words, condition, scope["path"], number, title=f"{condition.title} {number}", seed=str(number))
        await Response(page.rendered(host.base), media_type="text/html")(scope, receive, send)

    host.put(Page(path="/sitemap.xml", answer=sitemap, is_navigation=True))
    host.prefixes["/salute/scheda-"] = card
    host.row = lambda host: row_of(host, sitemaps=("/sitemap.xml",), max_pages=50)
    return host


def _calendar(shelf: Shelf) -> Host:
    """Three articles beside a calendar in which every month leads to the next."""
    host = _host("calendario", max_pages=60, max_depth=5)

    async def month(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        number = int(scope["query_string"].decode().partition("mese=")[2] or "1")
        days = ", ".join(str(day) for day in sorted(rng_for("month", number).sample(range(1, 29), 5)))
        others = " ".join(link(f"/eventi?mese={other}", str(other)) for other in range(number + 1, min(number + 13, 10_000)))
        title = f"Eventi del mese {number}"
        main = f"<h1>{title}</h1>{paragraphs(f'Giorni con incontri: {days}.')}<nav>{others}</nav>"
        await Response(page_html(shelf.words, title, main), media_type="text/html")(scope, receive, send)

    host.put(*(shelf.article(f"/salute/{name}") for name in ("prima", "seconda", "terza")))
    host.put(Page(path="/eventi", answer=month, is_navigation=True))
    host.put(shelf.index(host, "/salute/", "/eventi?mese=1"))
    return host


def _waiting(shelf: Shelf, name: str, retry_after: Callable[[], str], *, forever: bool = False) -> Host:
    """Each page asks for a wait once, or for ever, and then answers."""
    host = _host(name)
    asked: Counter[str] = Counter()
    for path in ("/salute/prima", "/salute/seconda"):
        page = shelf.article(path)
        page.answer = _asking_to_wait(page, asked, retry_after, forever=forever)
        if forever:
            page.document, page.failed = None, frozenset({"http_429"})
        host.put(page)
    host.put(shelf.index(host, "/salute/"))
    return host


def _asking_to_wait(page: Page, asked: Counter[str], retry_after: Callable[[], str], *, forever: bool) -> Answer:
    async def answer(host: Host, scope: Scope, receive: Receive, send: Send) -> None:
        asked[page.path] += 1
        if forever or asked[page.path] == 1:
            response = Response("Too many requests", status_code=429, headers={"retry-after": retry_after()})
        else:
            response = Response(page.rendered(host.base), media_type="text/html")
        await response(scope, receive, send)

    return answer
