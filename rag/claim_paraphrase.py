"""Finds the one or two evidence sentences that say what a freely worded sentence says.

The second route of the aligner (docs/adr/0021-free-paraphrases.md): words of one meaning stand for each other, and what a paraphrase
must never change is checked apart, in `claim_support` and `claim_order`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from locales.language import Language
from rag.claim_concepts import PEOPLE, Clause, Concept, Kind, Reading, read
from rag.claim_support import names, objection, part, same
from rag.claim_words import ParaphraseWords
from rag.claims import Link
from rag.types import Evidence

_MIN_WORDS = 2
_TOPIC_WORDS = 5  # a page's topic is named among the first words of the sentence that introduces it
_JOINING = frozenset({"", "but", "while", "whereas"})
_CONDITIONS = frozenset({"if", "when"})
_OWNER = "di"  # as good as "de": both are light
_ABOUT = frozenset({"in", "en", "con"})
_OF = frozenset({"di", "de", "contro", "contra"})


@dataclass(frozen=True, slots=True)
class Offer:
    """An evidence sentence, read, with the topic that fills what it leaves unsaid, and the topics of its page."""

    evidence: Evidence
    reading: Reading
    topics: tuple["Topic", ...] = ()
    page: tuple["Topic", ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """The words that name what an earlier sentence of the page is about."""

    words: tuple[Concept, ...]
    evidence: Evidence


class ParaphraseFinder:
    """Supports sentences of other words by the meaning of their parts."""

    def __init__(self, language: Language) -> None:
        self._words = ParaphraseWords.load(language)

    def find(self, text: str, evidence: Sequence[Evidence]) -> tuple[list[Evidence], float]:
        """Find the evidence for a sentence.

        Args:
            text: One sentence.
            evidence: Candidate sentences, strongest first.

        Returns:
            The one or two sentences that support it, none if there are none, and the share of what they say that it says, 0 to 1.
        """
        draft = read(text, self._words)
        if _size(draft) < _MIN_WORDS or draft.familiar:
            return [], 0.0
        offers = self.offers(evidence)
        found = self._single(draft, offers) or self._joined(draft, offers)
        said = sum(_size(read(item.sentence.text, self._words)) for item in found)
        return found, min(1.0, round(_size(draft) / max(1, said), 3))

    def offers(self, evidence: Sequence[Evidence]) -> list[Offer]:
        """Read the evidence, each sentence with its page's topics where it leaves its own unsaid."""
        readings = [(item, read(item.sentence.text, self._words)) for item in evidence]
        return [offer for item, reading in readings for offer in self._offers_of(item, reading, readings)]

    def _offers_of(self, item: Evidence, reading: Reading, page: Sequence[tuple[Evidence, Reading]]) -> Iterator[Offer]:
        before = [
            (other, said)
            for other, said in page
            if other.chunk.document_id == item.chunk.document_id and _place(other) < _place(item) and not said.subjectless
        ]
        before.sort(key=lambda pair: _place(pair[0]), reverse=True)
        topics = tuple(Topic(_leading(said), other) for other, said in before if _leading(said))
        around = (*topics[:1], *topics[-1:])
        yield Offer(item, reading, self._fitting(reading, topics) if self._leaves_unsaid(reading) else (), around)
        bare = self._without_generic_subject(reading)
        if bare is not None and topics:
            yield Offer(item, bare, self._fitting(bare, topics), around)

    def _leaves_unsaid(self, reading: Reading) -> bool:
        return reading.subjectless or reading.pronoun is not None or any(self._is_generic(concept) for concept in reading.concepts)

    def _is_generic(self, concept: Concept) -> bool:
        return concept.form in self._words.generic

    def _fitting(self, reading: Reading, topics: Sequence[Topic]) -> tuple[Topic, ...]:
        """The nearest topic that agrees in gender and number with what is left unsaid."""
        for topic in topics:
            shown = topic.words[0].article or ""
            if reading.pronoun is not None:
                fits = not shown or all(sign in shown for sign in reading.pronoun) or shown == "s"
            elif reading.subjectless:
                fits = shown.endswith("p") == reading.plural or not shown
            else:
                fits = True
            if fits:
                return (topic,)
        return ()

    def _without_generic_subject(self, reading: Reading) -> Reading | None:
        """ "La prueba dura una hora" read as said of the test that the page is about."""
        first = next(iter(reading.concepts), None)
        if first is None or not self._is_generic(first) or not first.article or first.article == "p" or first.prep:
            return None
        rest = reading.concepts[1:]
        if not rest or rest[0].prep or rest[0].clause != first.clause or not (rest[0].verb or rest[0].kind is Kind.MARKER):
            return None
        plural = first.article.endswith("p")
        return replace(reading, concepts=rest, subjectless=True, plural=plural, copula_at=reading.copula_at - 1)

    # One sentence -------------------------------------------------------------------------------------------------------------

    def _single(self, draft: Reading, offers: Sequence[Offer]) -> list[Evidence]:
        for offer in offers:
            if proof := self._proof(draft, offer, offers):
                return proof
        return []

    def _proof(self, draft: Reading, offer: Offer, page: Sequence[Offer]) -> list[Evidence]:
        """The sentence if it supports the draft, with the one that names its topic where the draft names it too."""
        if objection(draft, offer.reading, self._words) is None:
            return [offer.evidence]
        for topic in (*offer.topics, *offer.page, *self._full_names(draft, offer, page)):
            if self._lends(draft, offer, topic, fills=topic in offer.topics):
                return [offer.evidence, topic.evidence]
        return []

    def _full_names(self, draft: Reading, offer: Offer, page: Sequence[Offer]) -> Iterator[Topic]:
        """What another sentence of the page calls by its full name: "un attacco d'asma", then "un attacco"."""
        pairs = [(one, two) for one, two in pairwise(draft.concepts) if two.prep in _OF]
        for other in page:
            if other.evidence.chunk.document_id != offer.evidence.chunk.document_id or other.evidence is offer.evidence:
                continue
            for name, rest in pairwise(other.reading.concepts):
                if any(same(name, one, self._words) and same(rest, two, self._words) and rest.prep in _OF for one, two in pairs):
                    yield Topic((rest,), other.evidence)

    def _lends(self, draft: Reading, offer: Offer, topic: Topic, *, fills: bool) -> bool:
        """Whether the sentence supports the draft once it is read with its page's topic, in a place where a topic may stand."""
        draft = _without_topic_clause(draft, topic, self._words)
        if objection(draft, offer.reading, self._words, topic.words) is not None:
            return False
        added = [
            concept
            for concept in draft.concepts
            if not any(same(concept, offered, self._words) for offered in offer.reading.concepts) and not concept.weak
        ]
        if not added:
            return True
        if not names(added[0], topic.words[0], self._words) or any(concept.negated for concept in added):
            return False
        place = draft.concepts.index(added[0])
        before = [concept for concept in draft.concepts[:place] if not concept.weak and concept.kind is not Kind.MARKER]
        if added[0].prep in _OF:
            return bool(before) and (self._is_generic(before[-1]) or len(topic.words) == 1 and not fills)
        if added[0].prep in _ABOUT:
            return True  # what a page says of its topic may be said "in" it, "with" it
        if offer.reading.pronoun is not None and fills:
            return True
        fronted = all(draft.clauses[concept.clause].conditional for concept in before)
        return fills and offer.reading.subjectless and not added[0].prep and fronted

    # Two sentences ------------------------------------------------------------------------------------------------------------

    def _joined(self, draft: Reading, offers: Sequence[Offer]) -> list[Evidence]:
        """Two sentences of one page, joined where the draft has a clause boundary."""
        for cut in range(1, len(draft.clauses)):
            head, tail = part(draft, 0, cut), part(draft, cut, len(draft.clauses))
            if not _may_join(draft, cut) or min(_size(head), _size(tail)) < _MIN_WORDS:
                continue
            for first in offers:
                proof = self._proof(head, first, offers)
                for second in offers if proof else ():
                    same_page = second.evidence.chunk.document_id == first.evidence.chunk.document_id
                    if second.evidence is not first.evidence and same_page and self._continues(head, tail, first, second, offers):
                        return [first.evidence, second.evidence]
        return []

    def _continues(self, head: Reading, tail: Reading, first: Offer, second: Offer, page: Sequence[Offer]) -> bool:
        """Whether the second sentence supports the second half, with the subject of the first half where it has none."""
        alone = objection(tail, second.reading, self._words) is None
        if not second.reading.subjectless if alone else bool(self._proof(tail, second, page)):
            return True
        if any(_has_subject(part(head, place, place + 1)) for place in range(1, len(head.clauses))):
            return False  # the second half may be said of another subject than the first
        for subject in _subjects(head):
            whole = _with_subject(tail, subject)
            if whole is not None and objection(whole, second.reading, self._words) is None:
                return True
        return self._goes_on(head, tail, first, second)

    def _goes_on(self, head: Reading, tail: Reading, first: Offer, second: Offer) -> bool:
        """Whether both sentences and both halves go on about one subject: "Dura tre giorni." after "La febbre è alta."."""
        if not second.reading.subjectless or _has_subject(tail) or not second.topics:
            return False
        about = second.topics[0].words[0]
        subject = next(_subjects(head), None)
        own = first.topics[0].words if first.reading.subjectless and first.topics else _leading(first.reading)
        if subject is None or not own or not same(subject[0], about, self._words) or not same(own[0], about, self._words):
            return False
        return objection(tail, second.reading, self._words) is None


def _without_topic_clause(draft: Reading, topic: Topic, words: ParaphraseWords) -> Reading:
    """The draft without a condition that names nothing but the topic: "…, when there is a fever" on a page about fever."""
    for place, clause in enumerate(draft.clauses):
        here = [concept for concept in draft.concepts if concept.clause == place and not concept.weak]
        only = all(any(names(concept, known, words) for known in topic.words) for concept in here)
        if clause.conditional and here and only and not any(concept.negated for concept in here) and not clause.denied:
            rest = tuple(concept for concept in draft.concepts if concept.clause != place)
            return replace(draft, concepts=rest, clauses=tuple(_plain(c) if at == place else c for at, c in enumerate(draft.clauses)))
    return draft


def _plain(clause: Clause) -> Clause:
    return replace(clause, conditional=False, generic=False, opener="")


def _may_join(draft: Reading, cut: int) -> bool:
    clause = draft.clauses[cut]
    if clause.link is Link.OR:
        return False
    if clause.opener in _CONDITIONS:  # "A and, if B, C": the condition is that of C
        later = draft.clauses[cut + 1 :]
        return clause.link is Link.AND and any(not other.conditional for other in later)
    return clause.opener in _JOINING and not clause.conditional


def _place(item: Evidence) -> tuple[int, int]:
    return item.chunk.position, item.sentence.start


def _size(reading: Reading) -> int:
    return sum(not concept.weak for concept in reading.concepts)


def _leading(reading: Reading) -> tuple[Concept, ...]:
    """The words that a sentence begins with, its subject among them; none if several subjects are joined."""
    told = bool(reading.advises and reading.concepts and reading.concepts[0].verb)  # "Retire la garrapata …" is about the tick
    first = [concept for concept in reading.concepts[told:] if concept.clause == reading.concepts[0].clause]
    named = list(takewhile(lambda c: not c.verb and (c.kind is Kind.WORD or c.marker in PEOPLE), first[:_TOPIC_WORDS]))
    says = len(named) < len(first) or 0 <= reading.copula_at <= len(named) or len(reading.clauses) < 2
    joined = len(reading.clauses) > 1 and reading.clauses[1].link is not Link.PUNCTUATION and not says
    return tuple(named) if named and not joined and not named[0].prep else ()


def _subjects(head: Reading) -> Iterator[tuple[Concept, ...]]:
    """What may be the subject of a clause: its first words, if more follow them."""
    leading = _leading(head)
    for length in range(1, len(leading) + 1):
        yield leading[:length]


def _has_subject(reading: Reading) -> bool:
    """Whether a clause begins with a name of its own rather than with what is said of the subject before it."""
    first = next(iter(reading.concepts), None)
    return first is not None and first.article is not None and not first.prep


def _with_subject(tail: Reading, subject: Sequence[Concept]) -> Reading | None:
    """The second half with the subject of the first: before its verb, or as whose it is what "its" speaks of."""
    lent = [replace(concept, clause=0, negated="") for concept in subject]
    main = next((place for place, clause in enumerate(tail.clauses) if not clause.conditional), 0)
    lent = [replace(concept, clause=main) for concept in lent]
    if not _has_subject(tail) and not tail.possessive:
        at = next((place for place, concept in enumerate(tail.concepts) if concept.clause >= main), 0)
        return replace(tail, concepts=(*tail.concepts[:at], *lent, *tail.concepts[at:]))
    if tail.possessive and tail.concepts:
        owner = [replace(lent[0], prep=_OWNER, role=_OWNER), *lent[1:]]
        first = replace(tail.concepts[0], own=False)
        return replace(tail, concepts=(first, *owner, *tail.concepts[1:]))
    return None
