"""Reads the sheets that raters send back; whatever is wrong with a cell is named, and all the others count."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.evaluation.rating_words import ASPECTS, BEST, column_names, preferences
from bot.evaluation.shipped import SetUnreadable

_DELIMITERS = ";,\t"
_NAMED = 20  # codes that are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What the codes of the sheets stand for."""

    raters: Sequence[str]
    answers: Mapping[str, Mapping[str, str]]
    pairs: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, path: Path) -> "Key":
        """Read the key that was written beside the sheets.

        Raises:
            SetUnreadable: If the file is none.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(raters=tuple(data["raters"]), answers=dict(data["answers"]), pairs=dict(data["pairs"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SetUnreadable(f"{path} is no key of sheets ({type(error).__name__}).") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetProblem:
    """What is wrong with a cell, a row or a file; `line` is 0 where it is about the whole file."""

    file: str
    line: int
    code: str
    detail: str

    def as_row(self) -> dict[str, Any]:
        """The problem as figures hold it."""
        return {"file": self.file, "line": self.line, "code": self.code, "problem": self.detail}


@dataclass(slots=True)
class Returned:
    """What came back: scores by (rater, code, aspect), preferences (`a`, `b`, `=`) by (rater, code), and what was wrong."""

    scores: dict[tuple[str, str, str], int] = field(default_factory=dict)
    preferences: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[SheetProblem] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    file: str
    line: int
    rater: str
    code: str
    cells: Mapping[str, str]

    def problem(self, detail: str) -> SheetProblem:
        return SheetProblem(file=self.file, line=self.line, code=self.code, detail=detail)


def read_returned(paths: Sequence[Path], key: Key) -> Returned:
    """Read sheets of scores and of preferences, in any order; folders are read through.

    Decimal commas, other delimiters and the encodings of spreadsheets are understood.

    Raises:
        SetUnreadable: If there is no sheet at all, or none was filled in.
    """
    files = [file for path in paths for file in (sorted(path.rglob("*.csv")) if path.is_dir() else [path])]
    if not files:
        raise SetUnreadable("There is no sheet: CSV files are wanted, or folders of them.")
    returned = Returned()
    for path in files:
        for row in _rows(path, returned):
            if "preference" in row.cells:
                _take_preference(row, key, returned)
            else:
                _take_scores(row, key, returned)
    if not returned.scores and not returned.preferences:
        told = "; ".join(f"{one.file}: {one.detail}" for one in returned.problems[:3]) or "they are empty"
        raise SetUnreadable(f"No score and no preference could be read from {len(files)} files: {told}.")
    returned.problems += _missing(key, returned)
    return returned


def _rows(path: Path, returned: Returned) -> Iterator[_Row]:
    try:
        content = path.read_bytes()
    except OSError as error:
        returned.problems.append(_of_file(path, f"cannot be read ({type(error).__name__})"))
        return
    text = _decoded(content)
    header = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(_DELIMITERS, key=header.count))
    known = column_names()
    try:
        names = [known.get(title.strip().casefold(), "") for title in next(reader, [])]
        wanted = ("code", "preference") if "preference" in names else ("code", *ASPECTS)
        absent = [name for name in wanted if name not in names]
        if absent:
            returned.problems.append(_of_file(path, f"has no column for {', '.join(absent)}; nothing of it counts"))
            return
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(path, reader.line_num, names, cells, returned)
    except csv.Error as error:
        returned.problems.append(_of_file(path, f"is no table from line {reader.line_num} on ({error})"))


def _row(path: Path, line: int, names: Sequence[str], cells: Sequence[str], returned: Returned) -> _Row:
    told = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
    told |= {name: "" for name in names if name and name not in told}
    row = _Row(file=path.name, line=line, rater=told.get("rater") or path.stem, code=told["code"].upper(), cells=told)
    if not told.get("rater"):
        returned.problems.append(row.problem(f"no rater is named; counted as {path.stem}"))
    return row


def _take_scores(row: _Row, key: Key, returned: Returned) -> None:
    if row.code not in key.answers:
        returned.problems.append(row.problem("this code is of no answer in the key"))
        return
    if not any(row.cells[aspect] for aspect in ASPECTS):
        _tell_empty(row, key, returned)
        return
    for aspect in ASPECTS:
        cell, at = row.cells[aspect], (row.rater, row.code, aspect)
        score = _score(cell)
        if score is None:
            detail = "is missing" if not cell else f"is {cell[:20]!r}, not a whole number from 0 to {BEST}"
            returned.problems.append(row.problem(f"{aspect} {detail}"))
        elif returned.scores.setdefault(at, score) != score:
            returned.problems.append(row.problem(f"{aspect} was {returned.scores[at]} before; that one counts"))


def _take_preference(row: _Row, key: Key, returned: Returned) -> None:
    cell, at = row.cells["preference"], (row.rater, row.code)
    preferred = preferences().get(cell.strip("'").casefold())
    if row.code not in key.pairs:
        returned.problems.append(row.problem("this code is of no pair in the key"))
    elif not cell:
        _tell_empty(row, key, returned)
    elif preferred is None:
        returned.problems.append(row.problem(f"the preference {cell[:20]!r} is none of A, B and ="))
    elif returned.preferences.setdefault(at, preferred) != preferred:
        returned.problems.append(row.problem(f"the preference was {returned.preferences[at]} before; that one counts"))


def _tell_empty(row: _Row, key: Key, returned: Returned) -> None:
    """A row of a rater of the key that was not filled in is told with all that the rater left open."""
    if row.rater not in key.raters:
        returned.problems.append(row.problem("nothing was filled in"))


def _score(cell: str) -> int | None:
    """A whole number from 0 to 5, also as a spreadsheet may have written it: `4,0`."""
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        return None
    return int(value) if value.is_integer() and 0 <= value <= BEST else None


def _missing(key: Key, returned: Returned) -> Iterator[SheetProblem]:
    """What raters of the key did not send back, and raters whom the key does not know."""
    rated = {(rater, code) for rater, code, _ in returned.scores}
    told = {rater for rater, _ in rated} | {rater for rater, _ in returned.preferences}
    for rater in sorted(told - set(key.raters)):
        yield SheetProblem(file="", line=0, code="", detail=f"{rater} is no rater of the key; counted all the same")
    for rater in key.raters:
        language = rater.partition("-")[0]
        for codes, back, what in ((key.answers, rated, "scores"), (key.pairs, set(returned.preferences), "preferences")):
            own = [code for code, one in codes.items() if one["lang"] == language]
            open_ones = [code for code in own if (rater, code) not in back]
            if open_ones:
                more = ", …" if len(open_ones) > _NAMED else ""
                detail = f"{rater} gave no {what} for {len(open_ones)} of {len(own)}: {', '.join(open_ones[:_NAMED])}{more}"
                yield SheetProblem(file="", line=0, code="", detail=detail)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")  # as spreadsheets of these countries save a CSV


def _of_file(path: Path, detail: str) -> SheetProblem:
    return SheetProblem(file=path.name, line=0, code="", detail=detail)
