"""Reads health topics from an XML file of the form that MedlinePlus publishes: plain, in a `.zip`, or in a `.gz`."""

import gzip
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urljoin

from lxml import etree
from pydantic import TypeAdapter, ValidationError

from ingest.addresses import WebAddress
from ingest.documents import new_document
from ingest.errors import SourceUnreadable
from ingest.extraction.blocks import plain_of_markup
from ingest.importers.forms import LONGEST_LINE
from ingest.importers.plain import normal
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Document, Link

# Decompressed. The real file, of two languages, has about 30 MB: five times as much is room to grow, and read in seconds.
MAX_BYTES = 150_000_000
# A topic with many links has about a thousand elements. One with many more would have to be held in memory whole.
MAX_ELEMENTS = 20_000
MAX_FURTHER_READING = 3

_LANGUAGES = {Language.SPANISH: "Spanish", Language.ITALIAN: "Italian"}
_ID = re.compile(r"[A-Za-z0-9._-]{1,60}")
_ADDRESS: TypeAdapter[str] = TypeAdapter(WebAddress)
_FILE = re.compile(r"""["'=]([^"'\s<>]*?mplus_topics(_compressed)?_(\d{4}-\d{2}-\d{2})\.(?:zip|xml))\b""")
_ELSEWHERE = re.compile(r"\((?:en inglés|in inglese|en varios idiomas|in varie lingue)\)", re.IGNORECASE)
# "NIH: …", "Centros para el Control …": who wrote a summary stands below it as a paragraph that is no sentence.
_HEADING = re.compile(r"^#+ ", re.MULTILINE)  # of any level: a summary is one level deep
_CREDIT = re.compile(
    r"(?:NIH|CDC|FDA)\b.*|(?:Centros?|Agencia|Oficina|Administración|Instituto|Departamento|Servicio|National|Centers?|Office)\b.*"
)
_LONGEST_CREDIT = 200
_CHUNK = 1 << 16
_UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)  # what archives raise

Report = Callable[[SourceUnreadable], None]


def read_topics(path: Path, source: SourceRow, on_problem: Report | None = None) -> Iterator[Document]:
    """Read the topics of the source's language one after the other, in the order of the file.

    What stands before a fault in the file is read; the fault is reported, so that nobody takes the rest for withdrawn. Entities
    that the file declares are never expanded and nothing that it refers to is fetched.

    Args:
        path: The file; a `.zip` must hold exactly one `.xml`.
        source: Gives the topics their publisher, authority and language.
        on_problem: Receives each fault; without it the first one is raised.

    Raises:
        SourceUnreadable: If no topic of the language could be read; and, without `on_problem`, at the first fault.
    """
    problems: list[SourceUnreadable] = []

    def report(problem: SourceUnreadable) -> None:
        if on_problem is None:
            raise problem
        problems.append(problem)
        on_problem(problem)

    seen: set[str] = set()
    for element in _topics(path, report):
        try:
            document = _document(element, path, source)
            if document and document.document_id in seen:
                raise SourceUnreadable(f"{_place(element, path)}: the id stands twice")
        except SourceUnreadable as problem:
            report(problem)
            continue
        if document:
            seen.add(document.document_id)
            yield document
    if not seen:
        language = source.language.value if source.language else "any language"
        reason = f"; first problem: {problems[0]}" if problems else ""
        raise SourceUnreadable(f"{path}: no health topic in {language!r} could be read{reason}")


def newest_file(page: str, page_url: str) -> str | None:
    """Address of the newest file of topics that a page links to; the compressed one where a day has both.

    The names of the files hold the day on which they were made, so that none of them is an address that lasts.
    """
    found = [(day, bool(compressed), address) for address, compressed, day in _FILE.findall(page)]
    return urljoin(page_url, max(found)[2]) if found else None


def _topics(path: Path, report: Report) -> Iterator[Any]:
    """The `health-topic` elements, each gone from memory when the next one is asked for."""
    try:
        with _opened(path) as file:
            yield from _elements(_Capped(file, path), path)
    except etree.XMLSyntaxError as error:
        report(SourceUnreadable(f"{path}, line {error.lineno}: is not whole, well-formed XML: {error.msg}"))
    except SourceUnreadable as problem:
        report(problem)
    except _UNREADABLE as error:
        report(SourceUnreadable(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})"))


def _elements(file: "_Capped", path: Path) -> Iterator[Any]:
    depth = parts = 0
    limits = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    for event, element in etree.iterparse(file, events=("start", "end"), **limits):
        if event == "start":
            depth += 1
            parts += 1
            if depth == 1:
                _check_root(element, path)
            if parts > MAX_ELEMENTS:
                raise SourceUnreadable(f"{_place(element, path)}: has more than {MAX_ELEMENTS} parts")
            continue
        depth -= 1
        if depth == 1:
            if element.tag == "health-topic":
                yield element
            _forget(element)
            parts = 0


def _check_root(root: Any, path: Path) -> None:  # noqa: ANN401 - lxml has no types
    if root.tag != "health-topics":
        raise SourceUnreadable(f"{path}: is no file of health topics; it begins with <{str(root.tag)[:60]}>")
    doctype = root.getroottree().docinfo.internalDTD
    if doctype is not None and any(True for _ in doctype.iterentities()):
        raise SourceUnreadable(f"{path}: declares entities of its own, which no file of health topics does")


def _forget(element: Any) -> None:  # noqa: ANN401
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The XML, whichever way it is packed; that is seen from the bytes, for a file that was fetched may have any name."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start.startswith(b"\x1f\x8b"):
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file))
        elif start == b"PK\x03\x04":
            with zipfile.ZipFile(file) as archive:
                names = [name for name in archive.namelist() if name.lower().endswith(".xml")]
                if len(names) != 1:
                    raise SourceUnreadable(f"{path}: must hold exactly one .xml file, it holds {len(names)}")
                with archive.open(names[0]) as member:
                    yield member
        else:
            yield file


class _Capped:
    """A file of which no more than `MAX_BYTES` are read."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path, self._read = file, path, 0

    def read(self, size: int = _CHUNK) -> bytes:
        data = self._file.read(min(size, _CHUNK) if size > 0 else _CHUNK)
        self._read += len(data)
        if self._read > MAX_BYTES:
            raise SourceUnreadable(f"{self._path}: has more than {MAX_BYTES // 1_000_000} MB, the most that is read")
        return data


def _document(topic: Any, path: Path, source: SourceRow) -> Document | None:  # noqa: ANN401
    """The page of a topic; None when it is in another language."""
    if source.language is None or topic.get("language") != _LANGUAGES[source.language]:
        return None
    place = _place(topic, path)
    topic_id, title = topic.get("id", "").strip(), _line(topic.get("title", ""))
    if not _ID.fullmatch(topic_id):
        raise SourceUnreadable(f"{place}: the id cannot stand in a web address")
    if not title:
        raise SourceUnreadable(f"{place}: has no title")
    if len(title) > LONGEST_LINE:
        raise SourceUnreadable(f"{place}: its title has more than {LONGEST_LINE} letters")
    url = topic.get("url", "").strip()
    if not _is_address(url):
        raise SourceUnreadable(f"{place}: url {url[:100]!r} is no web address")
    text = _plain_summary("".join(text for summary in topic.iterfind("full-summary") for text in summary.itertext()))
    if not any(c.isalnum() for line in text.split("\n") if not line.startswith("#") for c in line):
        raise SourceUnreadable(f"{place}: has no summary")
    names = (name for name in _texts(topic, "also-called") if name.casefold() != title.casefold() and len(name) <= LONGEST_LINE)
    return new_document(
        document_id=f"{source.id}-{topic_id}",
        source_id=source.id,
        url=url,
        title=title,
        publisher=source.publisher,
        authority=source.authority,
        language=source.language,
        text=text,
        reviewed_on=None,  # "date-created" is the day on which the topic first appeared
        synonyms=tuple(dict.fromkeys(names)),
        further_reading=tuple(_further_reading(topic)),
        category=next(_texts(topic, "group"), None),
    )


def _further_reading(topic: Any) -> Iterator[Link]:  # noqa: ANN401
    seen: set[str] = set()
    for site in topic.iterfind("site"):
        title, url = _line(site.get("title", "")), site.get("url", "").strip()
        publisher = next(_texts(site, "organization"), "")
        if not (title and publisher and _is_address(url)) or url in seen or _ELSEWHERE.search(title):
            continue
        seen.add(url)
        yield Link(title=title, publisher=publisher, url=url)
        if len(seen) == MAX_FURTHER_READING:
            return


def _place(topic: Any, path: Path) -> str:  # noqa: ANN401
    return f"{path}, line {topic.sourceline}, topic {topic.get('id', '')[:60]!r}"


def _texts(element: Any, tag: str) -> Iterator[str]:  # noqa: ANN401
    return filter(None, (_line("".join(child.itertext())) for child in element.iterfind(tag)))


def _line(text: str) -> str:
    return " ".join(normal(text).split())


def _is_address(url: str) -> bool:
    try:
        _ADDRESS.validate_python(url)
    except ValidationError:
        return False
    return True


def _plain_summary(summary: str) -> str:
    """Bring the HTML of a summary into the plain form, without the line that only names who wrote it."""
    blocks = _HEADING.sub("## ", plain_of_markup(summary)).split("\n\n")
    if len(blocks) > 1 and len(blocks[-1]) <= _LONGEST_CREDIT and _CREDIT.fullmatch(blocks[-1]) and blocks[-1][-1] not in ".!?:":
        blocks.pop()
    return "\n\n".join(blocks).strip()
