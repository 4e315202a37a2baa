"""A sentence as concepts: what it speaks of, each with the clause it stands in, the preposition before it and its negation.

Where `rag/claims.py` keeps the words in their order, this form lets words of one meaning stand for each other.
`rag/claim_reader.py` reads it from a sentence.
"""

from dataclasses import dataclass
from enum import Enum, auto

from rag.claims import Link

_FROM_WHOM = frozenset({"da", "por"})
PEOPLE = frozenset({"child", "minor", "youth", "adolescent", "newborn", "infant", "elderly", "adult", "women", "men"})


class Kind(Enum):
    """What a concept is."""

    WORD = auto()
    MARKER = auto()
    NUMBER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """One thing that a sentence says.

    `keys` are its possible meanings, `form` the word; `clause` is the place of its clause, `prep` the preposition before it, and
    `role` the one that governs its phrase. `article` is the gender and number that its article shows, empty if it shows none.
    `negated` tells how it is denied (not, without), `weak` is true of "use" and "take", which another wording may leave out,
    `own` of what is said to be the reader's, and `relative` of what stands behind "that".
    """

    kind: Kind
    keys: frozenset[str]
    form: str
    clause: int
    prep: str = ""
    role: str = ""
    article: str | None = None
    negated: str = ""
    reflexive: bool = False
    weak: bool = False
    verb: bool = False
    own: bool = False
    relative: bool = False

    @property
    def marker(self) -> str | None:
        """The name of what limits the claim; "number" for a number."""
        if self.kind is Kind.NUMBER:
            return "number"
        return next(iter(self.keys))[1:] if self.kind is Kind.MARKER else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause or a member of an enumeration: how it is joined, and whether it is a condition, said of whoever, or a reason.

    `denied` is true where a verb is denied that another wording may leave out: "non va usato"; `explains` is true
    behind a colon, where a reason may stand, `aside` in brackets, and
    `apart` behind a colon or semicolon.
    """

    link: Link = Link.PUNCTUATION
    conditional: bool = False
    generic: bool = False
    reason: bool = False
    opener: str = ""
    denied: bool = False
    denials: int = 0
    explains: bool = False
    aside: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A sentence read as concepts.

    `definite` and `indefinite` tell "is the" from "is a"; `advises` is true of an imperative, `urgent` of a call for help,
    `subjectless` of a sentence that begins with its verb, `plural` of that verb, `impersonal` of "si" and "se", `familiar` of one
    that says "tu", and `demonstrative` of one that begins with "this". `pronoun` is the gender and number of what is named by
    one, and `copula_at` how many concepts stand before "is", −1 without one.
    """

    concepts: tuple[Concept, ...]
    clauses: tuple[Clause, ...]
    definite: bool = False
    indefinite: bool = False
    advises: bool = False
    subjectless: bool = False
    plural: bool = False
    pronoun: str | None = None
    impersonal: bool = False
    urgent: bool = False
    demonstrative: bool = False
    possessive: bool = False
    copula_at: int = -1
    familiar: bool = False

    @property
    def hypothetical(self) -> bool:
        """Whether a clause is a condition or said of whoever meets one."""
        return any(clause.conditional or clause.generic for clause in self.clauses)


def agent(concept: Concept) -> bool:
    """Whether the concept stands behind the preposition of who or what does it."""
    return concept.role in _FROM_WHOM
