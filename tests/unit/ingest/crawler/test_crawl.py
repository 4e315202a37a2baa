from pathlib import Path
from typing import Any

import pytest

from ingest.crawler.crawl import crawl
from ingest.errors import CrawlFailed, SourceUnreadable
from ingest.sources import SourceRow


async def attempt(tmp_path: Path, contact: str | None, **overrides: Any) -> None:
    fields = {"id": "x", "kind": "faq", "publisher": "X", "language": "it", "start": {"pages": ["https://esempio.it/"]}}
    row = SourceRow.model_validate(fields | overrides)
    nothing: dict[str, Any] = {"known": (), "cancelled": lambda: True, "on_progress": lambda *_: None}
    await crawl(row, tmp_path / "x.sqlite", contact=contact, **nothing)


@pytest.mark.parametrize("contact", [None, "", "  ", "a@b.it\r\nX: 1"])
async def test_a_public_site_is_not_crawled_without_a_contact(tmp_path: Path, contact: str | None) -> None:
    with pytest.raises(CrawlFailed, match="SALUS_CRAWL_CONTACT"):
        await attempt(tmp_path, contact)


async def test_a_source_that_is_no_web_site_is_not_crawled(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="not crawled"):
        await attempt(tmp_path, "a@b.it", kind="folder", path=tmp_path, start={})


async def test_a_private_site_needs_no_contact(tmp_path: Path) -> None:
    await attempt(tmp_path, None, start={"pages": ["http://127.0.0.1:1/"]})


async def test_a_crawl_that_was_cancelled_before_it_began_starts_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nessun/programma")
    await attempt(tmp_path, "a@b.it")
