"""Which sources are read: the rows of `sources.toml`, checked before anything is fetched."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ingest.errors import SourceUnreadable
from locales.language import Language
from rag.types import Authority

SHIPPED_SOURCES = Path(__file__).with_name("sources.toml")

SourceId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class SourceRow(BaseModel):
    """One publisher's pages and how to reach them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: SourceId
    kind: Literal["folder"]
    path: Path
    publisher: Text
    authority: Authority = Authority.PUBLISHER
    language: Language | None = None


class _SourceFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: list[SourceRow] = Field(min_length=1)


def load_sources(path: Path = SHIPPED_SOURCES) -> tuple[SourceRow, ...]:
    """Read the rows of a source file, each `path` made absolute.

    Raises:
        SourceUnreadable: If the file is missing, is not TOML, or a row is wrong; the message names the row and the key.
    """
    try:
        file = _SourceFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SourceUnreadable(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SourceUnreadable(f"{path}: is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SourceUnreadable(f"{path}: is not TOML: {error}") from error
    except ValidationError as error:
        raise SourceUnreadable(f"{path}: {_first_error(error)}") from error
    base = path.resolve().parent
    rows = tuple(row.model_copy(update={"path": base / row.path.expanduser()}) for row in file.source)
    check_unique(rows)
    return rows


def check_unique(rows: Sequence[SourceRow]) -> None:
    """Refuse two rows of one id, also when they come from different files.

    Raises:
        SourceUnreadable: If an id stands twice.
    """
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise SourceUnreadable(f"the source id {row.id!r} stands twice")
        seen.add(row.id)


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    match first["loc"]:
        case ("source", int(index), *keys):
            return f"source {index + 1}, {'.'.join(map(str, keys)) or 'row'}: {first['msg']}"
        case keys:
            return f"{'.'.join(map(str, keys))}: {first['msg']}"
