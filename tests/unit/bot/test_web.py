from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, date, datetime

import httpx
import pytest

from bot.health import Health
from bot.web import web_app
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.documents import Authority, Document, Link
from tests.builders import document

PAGES: dict[str, Document] = {
    "plain": document(reviewed_on=date(2025, 3, 1)),
    "demonstration": document(authority=Authority.DEMONSTRATION, language=Language.SPANISH, title="Fiebre"),
    "hostile": document(
        title="<script>alert(1)</script>",
        publisher='"><img src=x>',
        text="<b>Grasso</b>\n\n## <i>Titolo</i>\n\n- <u>voce</u>",
        further_reading=(Link(title="<a>", publisher="<p>", url='https://x.it/"onclick="y'),),
    ),
    "number": document(text="In emergenza chiami {emergency}."),
}


@pytest.fixture
async def client() -> AsyncIterator[Callable[..., httpx.AsyncClient]]:
    opened: list[httpx.AsyncClient] = []

    def make(*problems: str) -> httpx.AsyncClient:
        async def look() -> Health:
            return HEALTH if not problems else replace(HEALTH, problems=problems)

        app = web_app([], find_document=PAGES.get, health=look, catalog=Catalog.load(), directory=EmergencyDirectory.load())
        opened.append(httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot"))
        return opened[-1]

    yield make
    for one in opened:
        await one.aclose()


Client = Callable[..., httpx.AsyncClient]
HEALTH = Health(
    taken_at=datetime(2026, 7, 21, 12, 0, tzinfo=UTC),
    models_loaded=True,
    inference_alive=True,
    registry_usable=True,
    ledger_usable=True,
    queue=0,
    sessions=0,
    turns=0,
)


async def test_a_page_is_readable_in_its_language(client: Client) -> None:
    reply = await client().get("/sources/plain")
    assert reply.status_code == 200
    assert '<html lang="it">' in reply.text
    assert "<h1>Febbre</h1>" in reply.text
    assert "<h2>Sintomi</h2>" in reply.text
    assert "<p>Sono:</p>" in reply.text
    assert "<ul><li>brividi</li><li>sudore</li></ul>" in reply.text
    assert "Rivisto il 01/03/2025" in reply.text
    assert "banner" not in reply.text.split("</style>")[1]


async def test_a_demonstration_page_says_so_first(client: Client) -> None:
    text = (await client().get("/sources/demonstration")).text
    assert '<html lang="es">' in text
    assert text.index('<p class="banner">') < text.index("<h1>")


async def test_nothing_of_a_page_is_taken_for_markup_h39(client: Client) -> None:
    reply = await client().get("/sources/hostile")
    body = reply.text.split("<main>")[1]
    assert not any(tag in body for tag in ("<script", "<img", "<b>", "<i>", "<u>", '"onclick'))
    assert "&lt;b&gt;Grasso" in body
    assert "default-src 'none'" in reply.headers["content-security-policy"]


async def test_a_page_shows_the_emergency_number(client: Client) -> None:
    assert "In emergenza chiami 112." in (await client().get("/sources/number")).text


@pytest.mark.parametrize("path", ["/sources/unknown", "/sources/..%2F..%2Fetc%2Fpasswd", "/sources/a'%20OR%20'1'='1"])
async def test_an_unknown_page_is_not_found_in_both_languages(client: Client, path: str) -> None:
    reply = await client().get(path)
    assert reply.status_code == 404


async def test_the_missing_page_speaks_both_languages(client: Client) -> None:
    text = (await client().get("/sources/unknown")).text
    assert 'lang="it"' in text
    assert 'lang="es"' in text


async def test_health_and_readiness(client: Client) -> None:
    assert (await client().get("/healthz")).status_code == 200
    ready = (await client().get("/readyz")).json()
    assert (ready["ready"], ready["problems"]) == (True, [])
    assert set(ready["checks"]) == {"models", "inference", "index", "registry", "ledger", "polls"}
    broken = client("inference_stopped")
    assert (await broken.get("/healthz")).status_code == 200
    reply = await broken.get("/readyz")
    assert reply.status_code == 503
    assert reply.json()["problems"] == ["inference_stopped"]
