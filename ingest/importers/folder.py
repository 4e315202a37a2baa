"""Reads a folder of Markdown pages with front matter and of JSON Lines files: the starter corpus and an operator's own texts."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ingest.documents import new_document
from ingest.errors import SourceUnreadable
from ingest.importers.forms import FrontMatter, Row
from ingest.importers.plain import plain_lines, plain_markdown
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Authority, Document, Link

# The line that opens every unreviewed page. It says nothing about health, so it is carried by the page's authority instead of
# its text: as text it could be quoted as evidence.
DEMONSTRATION_LINES = (
    "Testo dimostrativo, non ancora rivisto da un medico.",
    "Texto de demostración, aún sin revisar por un médico.",
)

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
# What may stand in the path of a web address without escapes (RFC 3986, section 3.3): the page is served under its id.
_URL_SAFE = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@-]{1,200}")
_WIDE_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x00\x00\xfe\xff", "UTF-32"))

Report = Callable[[SourceUnreadable], None]


def read_folder(path: Path, source: SourceRow, on_problem: Report | None = None) -> Iterator[Document]:
    """Read every `*.md` and `*.jsonl` under `path`, or the one file that it is, in the order of their names.

    Args:
        path: A folder, searched to its depths except where a name begins with a dot, or a single file.
        source: Gives the pages their publisher, authority and, when it names one, their only allowed language.
        on_problem: Receives each malformed file or line, and the others are still read; without it the first one is raised.

    Raises:
        SourceUnreadable: If `path` does not exist, holds no such file, or nothing in it could be read; and, without
            `on_problem`, at the first malformed file. The message names file, line and what is wrong.
    """
    problems: list[SourceUnreadable] = []

    def report(problem: SourceUnreadable) -> None:
        if on_problem is None:
            raise problem
        problems.append(problem)
        on_problem(problem)

    seen: dict[str, str] = {}
    for file in _files(path):
        for document, place in _read_file(file, path, source, report):
            if earlier := seen.get(document.document_id):
                report(SourceUnreadable(f"{place}: the id {document.document_id!r} already stands in {earlier}"))
                continue
            seen[document.document_id] = place
            yield document
    if not seen:
        raise SourceUnreadable(f"{path}: no page could be read" + (f"; first problem: {problems[0]}" if problems else ""))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SourceUnreadable(f"{path}: no such file or folder")
    files = [f for f in path.rglob("*") if f.suffix.lower() in {".md", ".jsonl"} and f.is_file()]
    files = [f for f in files if not any(part.startswith(".") for part in f.relative_to(path).parts)]
    if not files:
        raise SourceUnreadable(f"{path}: holds no .md or .jsonl file")
    return sorted(files)


def _read_file(file: Path, root: Path, source: SourceRow, report: Report) -> Iterator[tuple[Document, str]]:
    try:
        text = _decoded(file)
        if file.suffix.lower() != ".jsonl":
            yield _markdown_page(text, file, root, source), str(file)
            return
    except SourceUnreadable as problem:
        report(problem)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{file}, line {number}"
        try:
            document = _row_page(line, place, source)
        except SourceUnreadable as problem:
            report(problem)
        else:
            yield document, place


def _decoded(file: Path) -> str:
    """Text of a UTF-8 file. A UTF-8 byte order mark is dropped: some editors write one, and it changes nothing."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceUnreadable(f"{file}: cannot be read ({error.strerror})") from error
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            raise SourceUnreadable(f"{file}, line 1: begins with a byte order mark of {name}; save it as UTF-8")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SourceUnreadable(f"{file}, line {line}: is not UTF-8 (byte 0x{data[error.start]:02x})") from error


def _markdown_page(text: str, file: Path, root: Path, source: SourceRow) -> Document:
    front, body, first_line = _split_front_matter(text, file)
    values = _front_values(front, file)
    try:
        matter = FrontMatter.model_validate(values)
    except ValidationError as error:
        raise SourceUnreadable(_explain(error, lambda key: f"{file}, line {_line_of(key, front)}")) from error
    _check_language(matter.language, source, f"{file}, line {_line_of('language', front)}")
    plain, is_marked = _without_demonstration_line(plain_markdown(body), matter.title)
    if not _has_words(plain):
        raise SourceUnreadable(f"{file}, line {first_line}: the page has no text")
    is_demonstration = matter.reviewed_on is None and (is_marked or source.authority is Authority.DEMONSTRATION)
    return new_document(
        document_id=f"{source.id}-{_slug(file, root)}",
        source_id=source.id,
        url=matter.url,
        title=matter.title,
        publisher=source.publisher,
        authority=Authority.DEMONSTRATION if is_demonstration else Authority.PUBLISHER,
        language=matter.language,
        text=plain,
        reviewed_on=matter.reviewed_on,
        topic=matter.topic,
        synonyms=tuple(dict.fromkeys(matter.synonyms)),
        asked=tuple(dict.fromkeys(matter.asked)),
        further_reading=tuple(Link(title=r.title, publisher=r.publisher, url=r.url) for r in matter.further_reading),
    )


def _row_page(line: str, place: str, source: SourceRow) -> Document:
    try:
        row = Row.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise SourceUnreadable(f"{place}: is not JSON: {error.msg} at column {error.colno}") from error
    except ValidationError as error:
        raise SourceUnreadable(_explain(error, lambda _: place)) from error
    except (RecursionError, ValueError) as error:  # brackets in brackets without end, a number of thousands of digits
        raise SourceUnreadable(f"{place}: is no JSON that can be read ({type(error).__name__})") from error
    _check_language(row.lang, source, place)
    if not _URL_SAFE.fullmatch(row.id):
        raise SourceUnreadable(f"{place}: the id {row.id!r} has characters that cannot stand in a web address")
    text = plain_lines(row.text)
    if not _has_words(text):
        raise SourceUnreadable(f"{place}: text: the page has no text")
    return new_document(
        document_id=row.id,
        source_id=source.id,
        url=row.url,
        title=row.title,
        publisher=source.publisher,
        authority=source.authority,
        language=row.lang,
        text=text,
        reviewed_on=None,
    )


def _split_front_matter(text: str, file: Path) -> tuple[str, str, int]:
    """Front matter, body, and the line on which the body begins."""
    opening = _FENCE.match(text)
    if not opening:
        raise SourceUnreadable(f"{file}, line 1: the page must begin with front matter between two lines of ---")
    closing = _FENCE.search(text, opening.end())
    if not closing:
        raise SourceUnreadable(f"{file}, line 1: the front matter has no closing ---")
    return text[opening.end() : closing.start()], text[closing.end() :], text.count("\n", 0, closing.end()) + 2


def _front_values(front: str, file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(front)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SourceUnreadable(f"{file}, line {line}: the front matter is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise SourceUnreadable(f"{file}, line 1: the front matter is not YAML: {error}") from error
    except (RecursionError, ValueError) as error:  # brackets in brackets without end, the 45th of March
        raise SourceUnreadable(f"{file}, line 1: the front matter cannot be read ({error})") from error
    if not isinstance(values, dict):
        raise SourceUnreadable(f"{file}, line 1: the front matter must be keys with values")
    return values


def _line_of(key: str, front: str) -> int:
    """Line of a top key, counted in the file; the front matter begins with the end of line 1. A missing key gives line 1."""
    found = re.search(rf"^{re.escape(key)}\s*:", front, re.MULTILINE)
    return front.count("\n", 0, found.start()) + 1 if found else 1


def _explain(error: ValidationError, place: Callable[[str], str]) -> str:
    first = error.errors(include_url=False)[0]
    keys = [str(key) for key in first["loc"]]
    if not keys:
        return f"{place('')}: {first['msg']}"
    if first["type"] == "missing":
        return f"{place(keys[0])}: the key {'.'.join(keys)} is missing"
    if keys[-1] in {"lang", "language"}:
        return f"{place(keys[0])}: unknown language {first['input']!r}; known are {', '.join(Language)}"
    return f"{place(keys[0])}: {'.'.join(keys)}: {first['msg']}"


def _check_language(language: Language, source: SourceRow, place: str) -> None:
    if source.language and language is not source.language:
        raise SourceUnreadable(f"{place}: the page is in {language.value!r}, its source {source.id} in {source.language.value!r}")


def _without_demonstration_line(text: str, title: str) -> tuple[str, bool]:
    """Text without a first heading that only repeats the title and without the demonstration line, and whether it had one."""
    lines = text.split("\n")
    if lines and lines[0].startswith("# ") and lines[0][2:].casefold() == title.casefold():
        lines = lines[1:]
    kept = [line for line in lines if line not in DEMONSTRATION_LINES]
    return "\n".join(kept).strip(), len(kept) < len(lines)


def _has_words(text: str) -> bool:
    return any(not line.startswith("#") and any(c.isalnum() for c in line) for line in text.split("\n"))


def _slug(file: Path, root: Path) -> str:
    """A file's path under its source in the characters of a web address: the same name gives the same id on every machine."""
    relative = file.relative_to(root) if root.is_dir() else Path(file.name)
    ascii_name = unicodedata.normalize("NFKD", relative.with_suffix("").as_posix()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9_]+", "-", ascii_name.lower()).strip("-") or "page"
