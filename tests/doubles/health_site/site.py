"""The whole site as a test sees it: start it, ask what is right, change it, and read what was asked of it."""

import json
import math
import socket
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Self

from ingest.sources import SourceKind, SourceRow
from rag.documents import DocumentKind
from tests.doubles.health_site.expected import Expected, ExpectedDocument, ExpectedSource
from tests.doubles.health_site.markup import FORBIDDEN, chrome_strings, listing, page_html, paragraphs
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.publishers import FOLDERS, REST_FROM, publishers
from tests.doubles.health_site.robots import Shelf, robots_hosts
from tests.doubles.health_site.serving import HostsApp, SeenRequest, ServingThread
from tests.doubles.health_site.texts import words
from tests.doubles.health_site.transport import transport_hosts


class HealthSite:
    """`with HealthSite() as site:` (or `async with`) serves every host, each at a port of 127.0.0.1.

    Without a `port` the ports are free ones; with it they are that one and those that follow. The pages are the same each time.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        shelf = Shelf(REST_FROM)
        hosts = [*publishers(), *robots_hosts(shelf), *transport_hosts(shelf)]
        self.hosts: dict[str, Host] = {host.name: host for host in hosts}
        for host in hosts:
            _put_home(host)
        self._revision = 0

    def __enter__(self) -> Self:
        listeners = []
        for number, host in enumerate(self.hosts.values()):
            # The protocol is named because asyncio sets TCP_NODELAY only then; without it each answer waits 40 ms for an ACK.
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self._port + number if self._port else 0))
            host.base = f"http://127.0.0.1:{listener.getsockname()[1]}"
            listeners.append(listener)
        bases = {host.name: host.base for host in self.hosts.values()}
        for host in self.hosts.values():
            host.bases = bases
        by_port = {listener.getsockname()[1]: host for listener, host in zip(listeners, self.hosts.values(), strict=True)}
        self._app = HostsApp(by_port)
        self._thread = ServingThread(self._app, listeners)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    @property
    def requests(self) -> list[SeenRequest]:
        """All that was asked so far, in the order of the answers; status 0 is a request that never got one."""
        return list(self._app.seen)

    def forget_requests(self) -> None:
        self._app.seen.clear()

    def source(self, source_id: str) -> SourceRow:
        """The row of one host, of whatever sort."""
        host = self.hosts[source_id]
        assert host.row
        return host.row(host)

    def sources(self, *kinds: SourceKind) -> tuple[SourceRow, ...]:
        """Rows of the ten publishers worth reading, or of those of these kinds."""
        content = (host for host in self.hosts.values() if host.is_content)
        return tuple(self.source(host.name) for host in content if not kinds or host.kind in kinds)

    def special_sources(self) -> tuple[SourceRow, ...]:
        """Rows of the hosts for robots.txt and for troubles of the connection."""
        return tuple(self.source(host.name) for host in self.hosts.values() if not host.is_content)

    def write_sources(self, path: Path, rows: Iterable[SourceRow] | None = None) -> Path:
        """Write rows, by default the publishers', as a source file for another process."""
        path.write_text("\n".join(_toml_row(row) for row in rows or self.sources()), encoding="utf-8")
        return path

    def expected(self) -> Expected:
        """What is right for the site as it is now, after all that was removed, changed and added."""
        return Expected(sources={host.name: _expected_source(host) for host in self.hosts.values()})

    def url(self, path: str) -> str:
        """The address of a page of a publisher."""
        return self._host_of(path).base + path

    def remove(self, path: str, *, status: int = 404) -> None:
        """Take a page away: it is in no list any more and answers 404, or 410."""
        host = self._host_of(path)
        del host.pages[path]
        host.removed[path] = status

    def change(self, path: str) -> str:
        """Rewrite one sentence of a page and return the new one."""
        host = self._host_of(path)
        page = host.pages[path]
        if not page.changeable:
            raise ValueError(f"{path} has no sentence to change")
        self._revision += 1
        new: str = words(host.language).odd["changed"].format(revision=self._revision)
        page.rewritten(page.changeable, new)
        return new

    def add(self, path: str, title: str, text: str) -> None:
        """Publish an article; `text` has a blank line between paragraphs, the folder of `path` says whose it is."""
        name = next((name for name, folder in FOLDERS.items() if path.startswith(folder)), None)
        if name is None:
            raise ValueError(f"no publisher has a folder for {path}")
        host, parts = self.hosts[name], [part.strip() for part in text.split("\n\n")]
        vocabulary = words(host.language)
        html = page_html(vocabulary, title, f"<h1>{escape(title)}</h1>" + paragraphs(*parts))
        document = ExpectedDocument(
            path=path,
            language=host.language,
            kind=DocumentKind.ARTICLE,
            title=title,
            sentences=tuple(parts),
            absent=chrome_strings(vocabulary),
        )
        host.removed.pop(path, None)
        host.put(Page(path=path, title=title, body=html.encode(), document=document, changeable=parts[-1]))

    def shrink(self, fraction: float, source_id: str | None = None) -> tuple[str, ...]:
        """Remove this part of the documents of one publisher, or of each; return their paths."""
        names = [source_id] if source_id else [host.name for host in self.hosts.values() if host.is_content]
        removed = [path for name in names for path in _spread(self.hosts[name], fraction)]
        for path in removed:
            self.remove(path)
        return tuple(removed)

    def fail_all(self, status: int | None, *, robots: bool = False) -> None:
        """Answer everything with this status, robots.txt only if asked to; None ends it."""
        self._app.failure, self._app.fails_robots = status, robots

    def _host_of(self, path: str) -> Host:
        for host in sorted(self.hosts.values(), key=lambda host: not host.is_content):
            if path in host.pages:
                return host
        raise KeyError(path)


def _put_home(host: Host) -> None:
    if "/" not in host.pages:
        vocabulary = words(host.language)
        body = listing(vocabulary, vocabulary.chrome("home"), []).encode()
        host.put(Page(path="/", title=vocabulary.chrome("home"), body=body, is_navigation=True))


def _spread(host: Host, fraction: float) -> Iterator[str]:
    paths = [page.path for page in host.pages.values() if page.document and not page.refused]
    count = math.ceil(len(paths) * fraction)
    yield from (paths[index * len(paths) // count] for index in range(count))


def _expected_source(host: Host) -> ExpectedSource:
    pages = host.pages
    never = {path for path, page in pages.items() if page.is_forbidden}
    if isinstance(host.robots, bytes) and FORBIDDEN.rpartition("/")[0].encode() in host.robots:
        never.add(FORBIDDEN)
    return ExpectedSource(
        source_id=host.name,
        base=host.base,
        documents={path: page.document for path, page in pages.items() if page.document and not page.refused},
        optional={path: page.document for path, page in pages.items() if page.document and page.refused},
        refused={path: page.refused for path, page in pages.items() if page.refused},
        failed={path: page.failed for path, page in pages.items() if page.failed},
        gone=frozenset({*host.removed, *(path for path, page in pages.items() if page.status in {404, 410})}),
        moved={path: page.moved_to for path, page in pages.items() if page.moved_to},
        navigation=frozenset(path for path, page in pages.items() if page.is_navigation),
        never_requested=frozenset(never),
        one_of=tuple(frozenset(group & pages.keys()) for group in host.one_of),
        at_most=host.at_most,
    )


def _toml_row(row: SourceRow) -> str:
    fields = row.model_dump(mode="json", exclude_defaults=True)
    return "[[source]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in fields.items())


def _toml(value: Any) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
