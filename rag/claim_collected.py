"""Collects the concepts and clauses of a sentence while it is read."""

from dataclasses import dataclass, field, replace

from rag.claim_concepts import PEOPLE, Clause, Concept, Kind
from rag.claims import Link

INFINITIVES = ("are", "ere", "ire", "rre", "ar", "er", "ir")
_FROM_WHOM = frozenset({"da", "por"})
_NAMING = PEOPLE | {"pregnancy", "breastfeeding", "today"}  # these are nouns, which a preposition governs


@dataclass(slots=True)
class Collected:
    """What was read so far, and what stands before the next concept.

    `filled` is true once the open clause has a concept; `governor` is the preposition before the next one, `role` the one that
    governs its phrase, `article` what its article shows, and `negation` how it is denied.
    """

    concepts: list[Concept] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=lambda: [Clause()])
    filled: bool = False
    governor: str = ""
    role: str = ""
    article: str | None = None
    negation: str = ""
    own: bool = False
    reflexive: bool = False
    relative: bool = False

    def deny(self, name: str) -> None:
        """Take a negation: what comes next is denied."""
        here = [concept for concept in self.concepts if concept.clause == len(self.clauses) - 1]
        self.clauses[-1] = replace(self.clauses[-1], denials=self.clauses[-1].denials + 1)
        if name in {"none", "never"} and any(concept.negated for concept in here):
            return  # "non … nessuno" denies once
        self.negation = "without" if name == "without" else "not"

    def add(self, concept: Concept) -> None:
        """Take a concept, with all that stood before it."""
        named = bool(self.governor) or self.article is not None
        if concept.verb and not named:
            self.role = ""
        if self.governor in _FROM_WHOM and concept.form.endswith(INFINITIVES):
            self.governor = "per"  # "da bere", "por hacer" name no one who does it
        if self.governor or self.article is not None:
            self.role = self.governor
        negated = self.negation if concept.kind is not Kind.MARKER else ""
        if negated:
            self.negation = ""
        if negated and concept.weak:
            self.clauses[-1] = replace(self.clauses[-1], denied=True)
        place = len(self.clauses) - 1
        self.concepts.append(
            replace(
                concept,
                clause=place,
                prep=self.governor,
                role=self.role,
                article=self.article,
                negated="" if concept.weak else negated,
                own=self.own and concept.kind is Kind.WORD,
                relative=self.relative,
                verb=concept.verb and (not named or concept.form.endswith(INFINITIVES)),  # "la cura": a noun
                reflexive=self.reflexive and concept.verb,
            )
        )
        self.own = self.relative = False
        self.reflexive = self.reflexive and concept.kind is Kind.MARKER
        if concept.kind is Kind.MARKER and concept.form not in _NAMING:
            self.role = ""
        else:
            self.governor, self.article = "", None
        self.filled = True

    def cut(self, opened: Clause) -> None:
        """Begin a clause."""
        before = self.clauses[-1]
        if self.negation:
            self._deny_last()
        if not self.filled:  # "o se": the second word cuts nothing off
            self.clauses[-1] = replace(
                before,
                link=opened.link if opened.link is not Link.PUNCTUATION else before.link,
                conditional=before.conditional or opened.conditional,
                reason=before.reason or opened.reason,
                opener=opened.opener or before.opener,
            )
        else:
            joined = opened.link is not Link.PUNCTUATION
            self.clauses.append(
                replace(
                    opened,
                    conditional=opened.conditional or (joined and before.conditional),
                    reason=opened.reason or (joined and before.reason),
                    generic=joined and before.generic,
                )
            )
        self.filled = False
        self.governor = self.role = ""
        self.article = None

    def _deny_last(self) -> None:
        """A negation that nothing followed denies the clause before it: "l'aspirina non va usata"."""
        self.clauses[-1] = replace(self.clauses[-1], denied=True)
        self.negation = ""
