"""Floors under the figures of the shipped sets: what the product promises, and what it reached once over these very texts.

The second kind is pinned in `tests/data/floors.json`, beside the hashes of the corpus and of the sets that it was measured with:
other texts or other questions give other figures, and then somebody has to look at them and pin anew. A floor rises without
asking; it is lowered only by who says so.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.errors import BotError

_SLACK = 2  # questions: another processor rounds otherwise, and a question on the edge falls to the other side


class FloorsUnreadable(BotError):
    """The file of pinned floors is missing or malformed."""


class FloorLowered(BotError):
    """A figure would be pinned lower than before, and nobody said that it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A share, 1 for all right, with the least that the product promises; of so many `questions` if its floor is pinned."""

    name: str
    value: float
    promised: float = 0.0
    questions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """Floors by the name of their figure, and what they were measured with: a hash a language of the corpus, and a set."""

    corpus: Mapping[str, str]
    sets: Mapping[str, str]
    figures: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> "Floors":
        """Read the file that `write` wrote.

        Raises:
            FloorsUnreadable: If it is missing or malformed.
        """
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                corpus=dict(written["corpus"]),
                sets=dict(written["sets"]),
                figures={str(name): _share(floor) for name, floor in written["figures"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FloorsUnreadable(
                f"{path.name} cannot be read ({type(error).__name__}): delete it, and `salus eval all --pin` writes it."
            ) from error

    @classmethod
    def of(cls, figures: Iterable[Figure], corpus: Mapping[str, str], sets: Mapping[str, str]) -> "Floors":
        """The floors that figures give."""
        return cls(corpus=corpus, sets=sets, figures={figure.name: _floor(figure) for figure in figures if figure.questions})

    def write(self, path: Path) -> None:
        """Write them for people to read."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    def replaced_by(self, newer: "Floors", *, may_lower: bool) -> "Floors":
        """Take newer floors.

        Raises:
            FloorLowered: If one of them is lower, or gone, and that was not allowed.
        """
        lowered = [name for name, floor in self.figures.items() if newer.figures.get(name, -1.0) < floor]
        if lowered and not may_lower:
            raise FloorLowered(f"Lower than pinned: {', '.join(lowered)}. If that is meant, say `--lower-floors`.")
        return newer

    def complaints(self, figures: Sequence[Figure], corpus: Mapping[str, str], sets: Mapping[str, str]) -> list[str]:
        """What is wrong, as short sentences: figures below their floors, and floors that were pinned over something else."""
        below = [figure.name for figure in figures if not figure.value >= self.floor_of(figure)]  # so is what is no number
        found = [f"Below the floor: {', '.join(below)}."] if below else []
        measured = {figure.name for figure in figures if figure.questions}
        if sets and (odd := sorted(measured ^ set(self.figures))):
            found.append(f"Measured without a floor, or pinned and not measured: {', '.join(odd)}.")
        measured_with = [name for name, digest in corpus.items() if self.corpus.get(name) != digest]
        measured_with += [name for name, digest in sets.items() if self.sets.get(name) != digest]
        if measured_with:
            found.append(
                f"The floors were pinned with other texts ({', '.join(measured_with)}): look, then `salus eval all --pin`."
            )
        return found

    def floor_of(self, figure: Figure) -> float:
        """The higher of what is promised and what is pinned."""
        return max(figure.promised, self.figures.get(figure.name, 0.0)) if figure.questions else figure.promised


def set_hash(path: Path) -> str:
    """A hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _share(floor: object) -> float:
    found = float(floor)  # type: ignore[arg-type]  # what is no number is refused
    if not 0.0 <= found <= 1.0:
        raise ValueError(f"not a share: {found}")
    return found


def _floor(figure: Figure) -> float:
    return max(math.floor((figure.value - _SLACK / figure.questions) * 1000) / 1000, 0.0)
