"""The administrators' page in a real browser, which runs no script: `make test-browser`.

With SALUS_SCREENSHOTS naming a folder, what the browser shows is kept there, for people to look at.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.applications import Starlette

if not os.environ.get("SALUS_BROWSER"):
    pytest.skip("`make test-browser` names a browser", allow_module_level=True)
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from tests.doubles.local_server import LocalServer
from tests.operator_bench import ADMINISTERS, OperatorBench, busy

BROWSER = os.environ["SALUS_BROWSER"]
PHONE, DESKTOP = (360, 780), (1280, 900)
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@dataclass
class Visit:
    """A browser that has the page's address before it, and what it ran into."""

    context: BrowserContext
    page: Page
    url: str
    complaints: list[str]

    async def login(self, token: str = ADMINISTERS) -> None:
        await self.page.goto(f"{self.url}/admin")
        await self.page.get_by_label("Codice di accesso").fill(token)
        await self.page.get_by_role("button", name="Accedi").click()

    async def screenshot(self, name: str) -> None:
        folder = os.environ.get("SALUS_SCREENSHOTS")
        if folder:
            await self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@asynccontextmanager
async def visiting(
    profile: Path,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    locale: str = "it-IT",
    bench: OperatorBench | None = None,
) -> AsyncIterator[Visit]:
    bench = bench or busy()
    async with LocalServer(Starlette(routes=bench.routes.routes)) as server, async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile,
            executable_path=BROWSER,
            args=ARGUMENTS,
            java_script_enabled=False,
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            locale=locale,
        )
        page, complaints = await context.new_page(), []
        page.on("console", lambda message: complaints.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("requestfailed", lambda request: complaints.append(request.url))
        try:
            yield Visit(context, page, server.url, complaints)
        finally:
            await context.close()


@pytest.mark.parametrize(
    ("name", "size", "dark"), [("desktop", DESKTOP, False), ("phone", PHONE, False), ("phone-dark", PHONE, True)]
)
async def test_the_page_is_usable_without_scripts(tmp_path: Path, name: str, size: tuple[int, int], dark: bool) -> None:
    async with visiting(tmp_path, size=size, dark=dark) as visit:
        await visit.page.goto(f"{visit.url}/admin")
        await visit.screenshot(f"login-{name}")
        await visit.login()
        await expect(visit.page.get_by_role("heading", level=1)).to_have_text("Stato di Salus")
        for caption in ("Indici pubblicati", "Fonti", "Ultimi aggiornamenti", "Durata delle risposte", "Messaggi non consegnati"):
            await expect(visit.page.get_by_role("table", name=caption, exact=True), caption).to_be_visible()
        await expect(visit.page.get_by_role("rowheader", name="humanitas").first).to_be_visible()
        await visit.screenshot(f"status-{name}")
        await _fits(visit.page, size[0])
        assert visit.complaints == []


async def test_the_language_is_switched_by_a_link_and_stays(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        await visit.login()
        await visit.page.get_by_role("link", name="Español").click()
        await expect(visit.page.get_by_role("heading", level=1)).to_have_text("Estado de Salus")
        await expect(visit.page.locator("html")).to_have_attribute("lang", "es")
        await visit.page.get_by_role("link", name="Actualizar la página").click()
        await expect(visit.page.get_by_role("table", name="Índices publicados")).to_be_visible()
        await visit.screenshot("status-es")


async def test_a_browser_set_to_spanish_is_greeted_in_spanish(tmp_path: Path) -> None:
    async with visiting(tmp_path, locale="es-MX") as visit:
        await visit.page.goto(f"{visit.url}/admin")
        await expect(visit.page.get_by_label("Código de acceso")).to_be_visible()


async def test_a_wrong_token_is_told_and_the_right_one_still_works(tmp_path: Path) -> None:
    async with visiting(tmp_path, size=PHONE) as visit:
        await visit.login("wrong-token-01234567")
        await expect(visit.page.get_by_role("alert")).to_contain_text("Il codice non è valido")
        await visit.screenshot("login-refused")
        await visit.login()
        await expect(visit.page.get_by_role("heading", name="Contenuti")).to_be_visible()


async def test_who_leaves_is_out(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        await visit.login()
        await visit.page.get_by_role("button", name="Esci").click()
        await expect(visit.page.get_by_label("Codice di accesso")).to_be_visible()
        assert await visit.context.cookies() == []


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        await visit.login()
        await expect(visit.page.get_by_role("heading", level=1)).to_have_text("Stato di Salus")
        (cookie,) = await visit.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


async def test_the_page_is_walked_through_with_the_keyboard(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        await visit.page.goto(f"{visit.url}/admin")
        for _ in range(2):  # the other language's link, then the field
            await visit.page.keyboard.press("Tab")
        await visit.page.keyboard.type(ADMINISTERS)
        await visit.page.keyboard.press("Enter")
        await expect(visit.page.get_by_role("heading", level=1)).to_have_text("Stato di Salus")


async def test_a_new_bot_has_a_page_too(tmp_path: Path) -> None:
    async with visiting(tmp_path, size=PHONE, bench=OperatorBench()) as visit:
        await visit.login()
        await expect(visit.page.get_by_text("Nulla finora.").first).to_be_visible()
        await visit.screenshot("status-new")


async def _fits(page: Page, width: int) -> None:
    """Only tables may be wider than the screen, each in a frame of its own that scrolls."""
    for selector in ("header", "h1", "h2", "dl", ".wide", ".chart", "form"):
        for element in await page.locator(selector).all():
            box = await element.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width, selector
