"""A written web and its reader, for the tests of nights; a file with a `home` of its own uses that."""

from pathlib import Path

import pytest

from tests.integration.written_web import Home, Web, html


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    web = Web({f"/{word}": html(word) for word in ("xerostomia", "pellagra", "scorbuto")})
    monkeypatch.setattr("ingest.crawler.crawl.crawl", web.crawl)
    return web


@pytest.fixture
def home(tmp_path: Path, web: Web) -> Home:
    return Home(tmp_path, web)


@pytest.fixture
def large(home: Home, web: Web) -> Home:
    web.pages |= {f"/{n}": html(f"quaz{chr(97 + n)}rk") for n in range(17)}  # 20 pages with the other three
    return home
