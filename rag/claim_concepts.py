"""A sentence as concepts: what it speaks of, each with the clause it stands in, the preposition before it and its negation.

Where `rag/claims.py` keeps the words in their order, this reading lets words of one meaning stand for each other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from locales.language import Language
from rag.claim_quantities import quantity
from rag.claim_words import Meaning, ParaphraseWords
from rag.claims import PUNCTUATION, Link, tokens_of
from rag.text import stem

_BOUNDS = {"more": ">", "less": "<", "at_least": "≥", "at_most": "≤", "within": "⊂", "about": "~", "until": "≤", "each": "×"}
_SIGNS = {"≥": "≥", "≤": "≤", ">": ">", "<": "<"}
_CONDITIONS = frozenset({"if", "when", "provided"})
_OPENERS = _CONDITIONS | {"because", "therefore", "but", "while", "although", "whereas"}
_ARTICLES = {"il": "ms", "lo": "ms", "el": "ms", "la": "fs", "i": "mp", "gli": "mp", "los": "mp", "le": "fp", "las": "fp", "l": "s"}
_PRONOUNS = {"lo": "ms", "la": "fs", "li": "mp", "le": "fp", "los": "mp", "las": "fp"}
_SILENT = frozenset({"one_of_a_kind", "the_one", "during", "because", "therefore", "but", "while", "although", "if", "when", "whoever", "case", "whereas"})
_DENIALS = frozenset({"not", "without", "nor", "none", "never"})
_ENCLITIC = {
    Language.ITALIAN: re.compile(r"([^\W\d_]{2,}[aei]r)(si|ne|lo|la|li|le|gli|ci|vi)"),
    Language.SPANISH: re.compile(r"([^\W\d_]{2,}(?:[aeiáéí]r|[aeáé]n?))(?:se)?(lo|la|los|las|le|les|se)"),
}
_PLACES = frozenset({"sotto", "sopra", "debajo", "encima"})
_RELATIVE = frozenset({"che", "que"})
_INFINITIVES = ("are", "ere", "ire", "rre", "ar", "er", "ir")
_FROM_WHOM = frozenset({"da", "por"})


PEOPLE = frozenset({"child", "minor", "youth", "adolescent", "newborn", "infant", "elderly", "adult", "women", "men"})

_NAMING = PEOPLE | {"pregnancy", "breastfeeding", "today"}  # these are nouns, which a preposition governs


class Kind(Enum):
    """What a concept is."""

    WORD = auto()
    MARKER = auto()
    NUMBER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """One thing that a sentence says.

    `keys` are its possible meanings, `prep` the preposition before it, `role` the one that governs its phrase, `clause` the
    place of its clause, `weak` true of "use" and "take", which another wording may leave out, `article` the gender and number
    that its article shows, empty where there is an article that shows none, `negated` how it is denied (not, without), and `own` true of what is said to be the reader's.
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
    behind a colon, where a reason may stand.
    """

    link: Link = Link.PUNCTUATION
    conditional: bool = False
    generic: bool = False
    reason: bool = False
    opener: str = ""
    denied: bool = False
    denials: int = 0
    explains: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A sentence read as concepts.

    `pronoun` is the gender and number of what it names by one, `copula_at` how many concepts stand before its "is".
    `definite` and `indefinite` tell "is the" from "is a", `advises` is true of an imperative, `points_back` of a sentence that
    lacks its subject or names something by a pronoun.
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
    possessive: bool = False
    copula_at: int = -1
    familiar: bool = False

    @property
    def hypothetical(self) -> bool:
        """Whether a clause is a condition or said of whoever meets one."""
        return any(clause.conditional or clause.generic for clause in self.clauses)


def read(sentence: str, words: ParaphraseWords) -> Reading:
    """Read a sentence as concepts; words that claim nothing are left out."""
    return _Reader(sentence, words).reading()


class _Reader:
    def __init__(self, sentence: str, words: ParaphraseWords) -> None:
        self._words = words
        self._raw = tokens_of(sentence)
        self._tokens = [token.lower() for token in self._raw]
        self._concepts: list[Concept] = []
        self._clauses: list[Clause] = [Clause()]
        self._filled = False  # whether the open clause has a concept
        self._governor = self._role = ""
        self._article: str | None = None
        self._negation = ""
        self._own = self._reflexive = False
        self._advises = self._possessive = False
        self._pronoun: str | None = None
        self._subjectless: bool | None = None
        self._plural = False
        self._copula_at = -1

    def reading(self) -> Reading:
        position = 0
        while position < len(self._tokens):
            position += self._take(position)
        self._cut(Clause())
        self._extend_conditions()
        definite, indefinite = self._copulas()
        return Reading(
            concepts=tuple(self._with_lists()),
            clauses=tuple(self._clauses),
            definite=definite,
            indefinite=indefinite,
            advises=self._advises,
            subjectless=bool(self._subjectless),
            plural=self._plural,
            pronoun=self._pronoun,
            impersonal=self._words.claims.reflexive in self._tokens,
            possessive=self._possessive,
            copula_at=self._copula_at,
            familiar=any(token in self._words.second_person for token in self._tokens),
        )

    # What stands at a position ------------------------------------------------------------------------------------------------

    def _take(self, at: int) -> int:
        token = self._tokens[at]
        if token in PUNCTUATION:
            self._cut(Clause(explains=token == ":"))
            return 1
        self._look_for_verb(at)
        if at and len(token) == 1 and self._raw[at].isupper() and token.isascii():
            self._add(Concept(kind=Kind.WORD, keys=frozenset({f"§{token}"}), form=f"§{token}", clause=0))
            return 1
        if (count := self._number(at, "")) is not None:
            return count
        found = self._words.phrase(self._tokens, at)
        if found is not None:
            if any(token in self._words.copulas for token in self._tokens[at : at + found[1]]) and self._copula_at < 0:
                self._copula_at = len(self._concepts)
            return self._mean(found[0], at, found[1])
        return self._single(at)

    def _single(self, at: int) -> int:
        token, words = self._tokens[at], self._words
        link = words.claims.conjunctions.get(token)
        if link is not None:
            self._cut(Clause(link=link))
            return 1
        if token in words.claims.prepositions:
            self._governor = "" if token in _RELATIVE else words.claims.prepositions[token]
            return 1
        if token in words.claims.possessives:
            self._possessive = True
            self._own = not self._governor
            return 1
        meaning = words.word(token)
        if meaning is None and token in words.articles:
            if token in _PRONOUNS and at + 1 < len(self._tokens) and self._tokens[at + 1] in words.openers:
                self._pronoun = _PRONOUNS[token]
            else:
                self._article, self._role = _ARTICLES.get(token, ""), ""
            return 1
        if meaning is None and token in words.ignored:
            self._pronoun = _PRONOUNS.get(token, self._pronoun)
            if token == words.claims.reflexive:
                self._role, self._reflexive = "", True
            return 1
        return self._mean(meaning or Meaning(), at, 1)

    def _mean(self, meaning: Meaning, at: int, length: int) -> int:
        if meaning.free:
            return length
        if meaning.marker is not None:
            return self._mark(meaning.marker, at, length)
        form = " ".join(self._tokens[at : at + length])
        if length == 1:
            form = self._bare(form)
            self._reflexive = self._reflexive or (form != self._tokens[at] and self._tokens[at].endswith(self._words.claims.reflexive))
            if form in self._words.ignored:
                return length
            if form != self._tokens[at] and (bare := self._words.word(form)) is not None:
                meaning = replace(bare, groups=bare.groups | meaning.groups)
        if meaning.negates or "=no" in meaning.groups:
            self._deny("not")
        if "=no" in meaning.groups:
            self._advises = self._advises or (form in self._words.imperatives and self._opens())
            return length
        self._advises = self._advises or (form in self._words.imperatives and self._opens())
        keys = meaning.groups | ({f"~{stem(form, self._words.language)}"} if length == 1 else frozenset())
        weak = bool(meaning.groups & {f"={name}" for name in self._words.weak})
        verb = form in self._words.verbs or form in self._words.imperatives or form.endswith(_INFINITIVES)
        verb = verb or (length > 1 and (self._tokens[at] in self._words.verbs or self._tokens[at] == self._words.claims.reflexive))
        self._add(Concept(kind=Kind.WORD, keys=keys, form=form, clause=0, weak=weak, verb=verb))
        self._governor = meaning.governor
        return length

    def _opens(self) -> bool:
        """Whether no noun stands before the word in its clause: there a form that may be one is an imperative."""
        here = [concept for concept in self._concepts if concept.clause == len(self._clauses) - 1]
        return self._article is None and not self._governor and not any(concept.kind is Kind.WORD for concept in here)

    def _bare(self, word: str) -> str:
        match = _ENCLITIC[self._words.language].fullmatch(word)
        if match is None:
            return word
        root, pronoun = match.groups()
        if self._words.language is Language.ITALIAN:
            self._pronoun = _PRONOUNS.get(pronoun, self._pronoun)
            return root + "e"
        plain = root.translate(str.maketrans("áéí", "aei"))
        if not plain.endswith("r") and plain not in self._words.imperatives:
            return word
        self._pronoun = _PRONOUNS.get(pronoun, self._pronoun)
        self._advises = self._advises or not plain.endswith("r")
        return plain

    def _number(self, at: int, bound: str) -> int | None:
        found = quantity(self._tokens, at, self._words.units)
        if found is None:
            return None
        length, rest = found.length, self._tokens[at + found.length : at + found.length + 2]
        if len(rest) > 1 and self._words.claims.conjunctions.get(rest[0]) is not None and rest[1] in self._words.suffixes:
            bound, length = self._words.suffixes[rest[1]], length + 2
        key = f"#{bound}{found.key}"
        self._add(Concept(kind=Kind.NUMBER, keys=frozenset({key}), form=key, clause=0))
        return length

    def _mark(self, name: str, at: int, length: int) -> int:
        if name in _BOUNDS:
            start = at + length
            while start < len(self._tokens) - 1 and self._between(self._tokens[start]):
                start += 1
            count = self._number(start, _BOUNDS[name]) if start < len(self._tokens) else None
            if count is not None:
                return start + count - at
            if self._tokens[at] in _PLACES:
                self._governor = "su"
                return length
        if name == "before" and self._article is not None:  # "la prima dose"
            self._add(Concept(kind=Kind.WORD, keys=frozenset({"~first"}), form=self._tokens[at], clause=0))
            return length
        if name == "while" and (at == 0 or self._tokens[at - 1] not in PUNCTUATION):
            name = "when"
        if name == "none" and not self._filled:
            self._advises = True  # "Niente ghiaccio."
        beside = self._tokens[at + length] if at + length < len(self._tokens) else ""
        if name == "each" or (name in PEOPLE and beside in {"con", "che", "que"}):
            self._clauses[-1] = replace(self._clauses[-1], generic=True)
        if name == "case":
            self._governor = "in" if self._words.language is Language.ITALIAN else "en"
        if name == "during":
            self._governor = "in" if self._words.language is Language.ITALIAN else "en"
        if name == "nor":
            self._cut(Clause(link=Link.AND))
        if name in _OPENERS:
            self._cut(Clause(conditional=name in _CONDITIONS, reason=name == "because", opener=name))
            if name == "therefore":
                self._clauses[:-1] = [replace(clause, reason=True) for clause in self._clauses[:-1]]
        if name in {"whoever", "case"}:
            self._clauses[-1] = replace(self._clauses[-1], generic=True)
        if name in _DENIALS:
            self._deny(name)
        if name not in _SILENT | {"not", "without", "nor", "none"}:
            self._add(Concept(kind=Kind.MARKER, keys=frozenset({f"#{name}"}), form=name, clause=0))
        return length

    def _between(self, token: str) -> bool:
        articles = token in self._words.articles and token not in {"un", "una", "uno"}
        return articles or token in self._words.claims.prepositions

    def _deny(self, name: str) -> None:
        here = [concept for concept in self._concepts if concept.clause == len(self._clauses) - 1]
        if name in {"none", "never"} and any(concept.negated for concept in here):
            return  # "non … nessuno" denies once
        self._negation = "without" if name == "without" else "not"
        self._clauses[-1] = replace(self._clauses[-1], denials=self._clauses[-1].denials + 1)

    def _add(self, concept: Concept) -> None:
        named = bool(self._governor) or self._article is not None
        if concept.verb and not named:
            self._role = ""
        if self._governor in _FROM_WHOM and concept.form.endswith(_INFINITIVES):
            self._governor = "per"  # "da bere", "por hacer" name no one who does it
        if self._governor or self._article is not None:
            self._role = self._governor
        negated = self._negation if concept.kind is not Kind.MARKER else ""
        if negated:
            self._negation = ""
        if negated and concept.weak:
            self._clauses[-1] = replace(self._clauses[-1], denied=True)
        place = len(self._clauses) - 1
        self._concepts.append(
            replace(
                concept,
                clause=place,
                prep=self._governor,
                role=self._role,
                article=self._article,
                negated="" if concept.weak else negated,
                own=self._own and concept.kind is Kind.WORD,
                verb=concept.verb and (not named or concept.form.endswith(_INFINITIVES)),  # "la cura": a noun
                reflexive=self._reflexive and concept.verb,
            )
        )
        self._own = False
        self._reflexive = self._reflexive and concept.kind is Kind.MARKER
        if concept.kind is Kind.MARKER and concept.form not in _NAMING:
            self._role = ""
        else:
            self._governor, self._article = "", None
        self._filled = True

    # Clauses ------------------------------------------------------------------------------------------------------------------

    def _cut(self, opened: Clause) -> None:
        before = self._clauses[-1]
        if self._negation:
            self._deny_last()
        if not self._filled:  # "o se": the second word cuts nothing off
            self._clauses[-1] = replace(
                before,
                link=opened.link if opened.link is not Link.PUNCTUATION else before.link,
                conditional=before.conditional or opened.conditional,
                reason=before.reason or opened.reason,
                opener=opened.opener or before.opener,
            )
        else:
            joined = opened.link is not Link.PUNCTUATION
            self._clauses.append(
                replace(
                    opened,
                    conditional=opened.conditional or (joined and before.conditional),
                    reason=opened.reason or (joined and before.reason),
                    generic=joined and before.generic,
                )
            )
        self._filled = False
        self._governor = self._role = ""
        self._article = None

    def _deny_last(self) -> None:
        """A negation that nothing followed denies the clause before it: "l'aspirina non va usata"."""
        self._clauses[-1] = replace(self._clauses[-1], denied=True)
        self._negation = ""

    def _with_lists(self) -> Sequence[Concept]:
        """The concepts, where what denies one member of an enumeration denies them all."""
        sizes = [sum(concept.clause == place for concept in self._concepts) for place in range(len(self._clauses))]
        denied = {concept.clause for concept in self._concepts if concept.negated}
        for place in sorted(denied):
            following = place + 1
            while following < len(sizes) and 0 < sizes[following] <= 2 and self._is_member(following):
                denied.add(following)
                following += 1
            preceding = place - 1
            while preceding >= 0 and 0 < sizes[preceding] <= 2 and self._is_member(preceding + 1) and self._ends_list(place):
                denied.add(preceding)
                preceding -= 1
        found, seen = [], {concept.clause for concept in self._concepts if concept.negated}
        for concept in self._concepts:
            spread = concept.clause in denied - seen and concept.kind is Kind.WORD and not concept.weak
            seen |= {concept.clause} if spread else set()
            found.append(replace(concept, negated="not") if spread else concept)
        return found

    def _is_member(self, place: int) -> bool:
        clause = self._clauses[place]
        here = [concept for concept in self._concepts if concept.clause == place]
        if clause.opener or any(concept.kind is Kind.MARKER for concept in here):
            return False
        named = bool(here) and (here[0].article is not None or bool(here[0].prep))  # "no cura la gripe y alivia" denies only the first
        return clause.link is Link.OR or (clause.link is Link.AND and named)

    def _ends_list(self, place: int) -> bool:
        here = [concept for concept in self._concepts if concept.clause == place and concept.kind is Kind.WORD]
        return bool(here) and bool(here[0].negated)

    def _extend_conditions(self) -> None:
        """Let a condition reach over the commas of its enumeration: "se A, B o C, chiami"; "chiami se A, B o C"."""
        clauses = self._clauses
        for place, clause in enumerate(clauses):
            if clause.link is not Link.PUNCTUATION or clause.opener or not place or not clauses[place - 1].conditional:
                continue
            end = place + 1
            while end < len(clauses) and clauses[end].link is not Link.PUNCTUATION and not clauses[end].opener:
                end += 1
            listed = end > place + 1
            leads = all(other.conditional for other in clauses[:place])
            more = any(concept.clause >= end for concept in self._concepts)
            if listed and (more or not leads):
                for other in range(place, end):
                    clauses[other] = replace(clauses[other], conditional=True)

    # The sentence as a whole --------------------------------------------------------------------------------------------------

    def _copulas(self) -> tuple[bool, bool]:
        pairs = list(zip(self._tokens, self._tokens[1:], strict=False))
        after = [following for token, following in pairs if token in self._words.copulas]
        one = {"un", "una", "uno"}
        return any(token in self._words.articles - one for token in after), any(token in one for token in after)

    def _look_for_verb(self, at: int) -> None:
        """Notice the first verb of the main clause, and whether a subject stands before it: "Può durare", "Se contagia"."""
        token = self._tokens[at]
        if token in self._words.copulas and self._copula_at < 0:
            self._copula_at = len(self._concepts)
        clause = self._clauses[-1]
        if self._subjectless is not None or clause.conditional or token not in self._words.openers:
            return
        if at + 1 == len(self._tokens) or self._article is not None or self._governor:
            return  # "la cura": a noun
        main = [concept for concept in self._concepts if not self._clauses[concept.clause].conditional]
        self._subjectless = not any(
            not concept.role
            and (concept.kind is Kind.WORD or concept.marker in PEOPLE)
            and (not concept.verb or concept.form.endswith(_INFINITIVES))
            for concept in main
        )
        self._plural = token.endswith("n") or token.endswith("no")


def agent(concept: Concept) -> bool:
    """Whether the concept stands behind the preposition of who or what does it."""
    return concept.role in _FROM_WHOM
