"""Reads a sentence as concepts, token by token."""

import re
from dataclasses import replace

from locales.language import Language
from rag.claim_clauses import with_denied_lists, with_long_conditions
from rag.claim_collected import INFINITIVES, Collected
from rag.claim_concepts import PEOPLE, Clause, Concept, Kind, Reading
from rag.claim_quantities import quantity
from rag.claim_words import Meaning, ParaphraseWords
from rag.claims import PUNCTUATION, Link, tokens_of
from rag.text import stem

_BOUNDS = {"more": ">", "less": "<", "at_least": "≥", "at_most": "≤", "within": "⊂", "about": "~", "until": "≤", "each": "×"}
_CONDITIONS = frozenset({"if", "when", "provided"})
_OPENERS = _CONDITIONS | {"because", "therefore", "but", "while", "although", "whereas"}
_ARTICLES = dict.fromkeys(("il", "lo", "el"), "ms") | {"la": "fs", "l": "s"} | dict.fromkeys(("i", "gli", "los"), "mp")
_ARTICLES |= dict.fromkeys(("le", "las"), "fp")
_PRONOUNS = {"lo": "ms", "la": "fs", "li": "mp", "le": "fp", "los": "mp", "las": "fp"}
_SILENT = (_OPENERS - {"provided"}) | {"one_of_a_kind", "the_one", "during", "whoever", "case"}
_DENIALS = frozenset({"not", "without", "nor", "none", "never"})
_ENCLITIC = {
    Language.ITALIAN: re.compile(r"([^\W\d_]{2,}[aei]r)(si|ne|lo|la|li|le|gli|ci|vi)"),
    Language.SPANISH: re.compile(r"([^\W\d_]{2,}(?:[aeiáéí]r|[aeáé]n?))(?:se)?(lo|la|los|las|le|les|se)"),
}
_PLACES = frozenset({"sotto", "sopra", "debajo", "encima"})
_GOVERNS = {Language.ITALIAN: ("in", "su"), Language.SPANISH: ("en", "sobre")}  # in a case or a time; at a place
_URGENT = frozenset({"now", "#112", "#118", "#911", "#061", "emergency", "{emergency}"})
_THIS = frozenset({"questo", "questa", "questi", "queste", "este", "esta", "estos", "estas"})
_INSIDE = frozenset({"in", "en"})
_TIMES = frozenset({"second", "month"})  # the smallest units that times are converted to
_RELATIVE = frozenset({"che", "que"})
_WHICH = frozenset({"quale", "quali", "cual", "cuales", "cui"})


def read(sentence: str, words: ParaphraseWords) -> Reading:
    """Read a sentence as concepts; words that claim nothing are left out."""
    return _Reader(sentence, words).reading()


class _Reader:
    def __init__(self, sentence: str, words: ParaphraseWords) -> None:
        self._words = words
        self._raw = tokens_of(sentence)
        self._tokens = [token.lower() for token in self._raw]
        self._all = Collected()
        self._advises = self._possessive = False
        self._pronoun: str | None = None
        self._subjectless: bool | None = None
        self._plural = False
        self._copula_at = -1

    def reading(self) -> Reading:
        position = 0
        while position < len(self._tokens):
            position += self._take(position)
        self._all.cut(Clause())
        clauses = with_long_conditions(self._all.clauses, self._all.concepts)
        definite, indefinite = self._copulas()
        return Reading(
            concepts=with_denied_lists(self._all.concepts, clauses),
            clauses=clauses,
            definite=definite,
            indefinite=indefinite,
            advises=self._advises,
            subjectless=bool(self._subjectless),
            plural=self._plural,
            pronoun=self._pronoun,
            impersonal=self._words.claims.reflexive in self._tokens,
            urgent=any(concept.form in _URGENT for concept in self._all.concepts),
            demonstrative=self._tokens[:1] != [] and self._tokens[0] in _THIS,
            possessive=self._possessive,
            copula_at=self._copula_at,
            familiar=any(token in self._words.second_person for token in self._tokens),
        )

    # What stands at a position ------------------------------------------------------------------------------------------------

    def _take(self, at: int) -> int:
        token = self._tokens[at]
        if token in PUNCTUATION:
            self._all.cut(Clause(explains=token in {":"}, aside=token in {"("}, apart=token in {":", ";"}))
            return 1
        self._look_for_verb(at)
        if token in _WHICH:
            self._all.relative = True
            return 1
        if at and len(token) == 1 and self._raw[at].isupper() and token.isascii():
            self._all.add(Concept(kind=Kind.WORD, keys=frozenset({f"§{token}"}), form=f"§{token}", clause=0))
            return 1
        if (count := self._number(at, "")) is not None:
            return count
        found = self._words.phrase(self._tokens, at)
        if found is not None:
            if any(token in self._words.copulas for token in self._tokens[at : at + found[1]]) and self._copula_at < 0:
                self._copula_at = len(self._all.concepts)
            return self._mean(found[0], at, found[1])
        return self._single(at)

    def _single(self, at: int) -> int:
        token, words = self._tokens[at], self._words
        link = words.claims.conjunctions.get(token)
        if link is not None:
            self._all.cut(Clause(link=link))
            return 1
        if token in words.claims.prepositions:
            self._all.relative = token in _RELATIVE
            self._all.governor = "" if self._all.relative else words.claims.prepositions[token]
            return 1
        if token in words.claims.possessives:
            self._possessive = True
            self._all.own = not self._all.governor
            return 1
        meaning = words.word(token)
        if meaning is None and token in words.articles:
            if token in _PRONOUNS and at + 1 < len(self._tokens) and self._tokens[at + 1] in words.openers:
                self._pronoun = _PRONOUNS[token]
            else:
                self._all.article, self._all.role = _ARTICLES.get(token, ""), ""
            return 1
        if meaning is None and token in words.ignored:
            self._pronoun = _PRONOUNS.get(token, self._pronoun)
            if token == words.claims.reflexive:
                self._all.role, self._all.reflexive = "", True
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
            self._all.reflexive = self._all.reflexive or (
                form != self._tokens[at] and self._tokens[at].endswith(self._words.claims.reflexive)
            )
            if form in self._words.ignored:
                return length
            if form != self._tokens[at] and (bare := self._words.word(form)) is not None:
                meaning = replace(bare, groups=bare.groups | meaning.groups)
        if meaning.negates or "=no" in meaning.groups:
            self._all.deny("not")
        if "=no" in meaning.groups:
            self._advises = self._advises or (form in self._words.imperatives and self._opens())
            return length
        self._advises = self._advises or (form in self._words.imperatives and self._opens())
        keys = meaning.groups | ({f"~{stem(form, self._words.language)}"} if length == 1 else frozenset())
        weak = bool(meaning.groups & {f"={name}" for name in self._words.weak})
        verb = form in self._words.verbs or form in self._words.imperatives or form.endswith(INFINITIVES)
        verb = verb or (
            length > 1 and (self._tokens[at] in self._words.verbs or self._tokens[at] == self._words.claims.reflexive)
        )
        self._all.add(Concept(kind=Kind.WORD, keys=keys, form=form, clause=0, weak=weak, verb=verb))
        self._all.governor = meaning.governor
        return length

    def _opens(self) -> bool:
        """Whether no noun stands before the word in its clause: there a form that may be one is an imperative."""
        here = [concept for concept in self._all.concepts if concept.clause == len(self._all.clauses) - 1]
        return self._all.article is None and not self._all.governor and not any(concept.kind is Kind.WORD for concept in here)

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
        if not bound and self._all.governor in _INSIDE and found.unit in _TIMES:
            bound = _BOUNDS["within"]  # "passa in tre giorni", "passa entro tre giorni"
        key = f"#{bound}{found.key}"
        self._all.add(Concept(kind=Kind.NUMBER, keys=frozenset({key}), form=key, clause=0))
        return length

    def _mark(self, name: str, at: int, length: int) -> int:
        if name in _BOUNDS:
            bounded = self._bounded(name, at, length)
            if bounded is not None:
                return bounded
        if name == "before" and self._all.article is not None:  # "la prima dose"
            self._all.add(Concept(kind=Kind.WORD, keys=frozenset({"~first"}), form=self._tokens[at], clause=0))
            return length
        if self._tokens[at] in _PLACES or name in {"case", "during"}:
            self._all.governor = _GOVERNS[self._words.language][self._tokens[at] in _PLACES]
        if name == "while" and (at == 0 or self._tokens[at - 1] not in PUNCTUATION):
            name = "when"
        self._open(name)
        self._address(name, self._tokens[at + length] if at + length < len(self._tokens) else "")
        if name in _DENIALS:
            self._all.deny(name)
        if name not in _SILENT | {"not", "without", "nor", "none"} and self._tokens[at] not in _PLACES:
            self._all.add(Concept(kind=Kind.MARKER, keys=frozenset({f"#{name}"}), form=name, clause=0))
        return length

    def _bounded(self, name: str, at: int, length: int) -> int | None:
        """Take a bound with the number behind it: "più di tre giorni"."""
        start = at + length
        while start < len(self._tokens) - 1 and self._between(self._tokens[start]):
            start += 1
        count = self._number(start, _BOUNDS[name]) if start < len(self._tokens) else None
        return None if count is None else start + count - at

    def _open(self, name: str) -> None:
        """Begin the clause that a limit opens."""
        if name == "nor":
            self._all.cut(Clause(link=Link.AND))
        if name in _OPENERS:
            self._all.cut(Clause(conditional=name in _CONDITIONS, reason=name == "because", opener=name))
        if name == "therefore":
            self._all.clauses[:-1] = [replace(clause, reason=True) for clause in self._all.clauses[:-1]]

    def _address(self, name: str, following: str) -> None:
        """Notice whom a clause is said of, and whether it tells what to do."""
        if name == "none" and not self._all.filled:
            self._advises = True  # "Niente ghiaccio."
        if name in {"each", "whoever", "case"} or (name in PEOPLE and following in {"con", "che", "que"}):
            self._all.clauses[-1] = replace(self._all.clauses[-1], generic=True)

    def _between(self, token: str) -> bool:
        articles = token in self._words.articles and token not in {"un", "una", "uno"}
        return articles or token in self._words.claims.prepositions

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
            self._copula_at = len(self._all.concepts)
        clause = self._all.clauses[-1]
        if self._subjectless is not None or clause.conditional or token not in self._words.openers:
            return
        if at + 1 == len(self._tokens) or self._all.article is not None or self._all.governor:
            return  # "la cura": a noun
        main = [concept for concept in self._all.concepts if not self._all.clauses[concept.clause].conditional]
        self._subjectless = not any(
            not concept.role
            and (concept.kind is Kind.WORD or concept.marker in PEOPLE)
            and (not concept.verb or concept.form.endswith(INFINITIVES))
            for concept in main
        )
        self._plural = token.endswith("n") or token.endswith("no")
