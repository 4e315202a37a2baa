"""Finds the one or two evidence sentences that say what a freely worded sentence says.

The second route of the aligner (docs/adr/0021-free-paraphrases.md): words of one meaning stand for each other, and what a
paraphrase must never change is checked apart, in `claim_support` and the modules that it names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from locales.language import Language
from rag.claim_concepts import Clause, Concept, Kind, Reading
from rag.claim_reader import read
from rag.claim_support import is_undecided, names, objection, part, same
from rag.claim_topics import has_subject, leading, of_antecedents, subjects, with_subject
from rag.claim_words import ParaphraseWords
from rag.claims import Link
from rag.types import Evidence

_MIN_WORDS = 2
_KEPT = 256
_JOINING = frozenset({"", "but", "while", "whereas"})
_CONDITIONS = frozenset({"if", "when"})
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
        self._read = lru_cache(maxsize=_KEPT)(lambda sentence: read(sentence, self._words))  # sentences of pages, never a draft

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
        said = sum(_size(self._read(item.sentence.text)) for item in found)
        return found, min(1.0, round(_size(draft) / max(1, said), 3))

    def offers(self, evidence: Sequence[Evidence]) -> list[Offer]:
        """Read the evidence, each sentence with its page's topics where it leaves its own unsaid."""
        readings = [(item, self._read(item.sentence.text)) for item in evidence]
        return [offer for item, reading in readings for offer in self._offers_of(item, reading, readings)]

    def _offers_of(self, item: Evidence, reading: Reading, page: Sequence[tuple[Evidence, Reading]]) -> Iterator[Offer]:
        before = [
            (other, said)
            for other, said in page
            if other.chunk.document_id == item.chunk.document_id and _place(other) < _place(item) and not said.subjectless
        ]
        before.sort(key=lambda pair: _place(pair[0]), reverse=True)
        topics = tuple(Topic(leading(said), other) for other, said in before if leading(said))
        around = (*topics[:1], *topics[-1:])
        yield Offer(item, reading, self._fitting(reading, topics) if self._leaves_unsaid(reading) else (), around)
        bare = self._without_generic_subject(reading)
        if bare is not None and topics:
            yield Offer(item, bare, self._fitting(bare, topics), around)

    def undecided(self, text: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The sentences that say the same but for a few plain words that no list knows to be the same, strongest first."""
        draft = read(text, self._words)
        if _size(draft) < _MIN_WORDS:
            return []
        return [item for item in evidence if is_undecided(draft, self._read(item.sentence.text), self._words)]

    def _leaves_unsaid(self, reading: Reading) -> bool:
        return (
            reading.subjectless or reading.pronoun is not None or any(self._is_generic(concept) for concept in reading.concepts)
        )

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
        """The sentence as said of the test that the page is about: "La prueba dura una hora"."""
        first = next(iter(reading.concepts), None)
        named = first is not None and (bool(first.article) or reading.demonstrative)
        if first is None or not named or not self._is_generic(first) or first.prep or reading.clauses[first.clause].conditional:
            return None
        rest = reading.concepts[1:]
        if not rest or rest[0].prep or rest[0].clause != first.clause or not (rest[0].verb or rest[0].kind is Kind.MARKER):
            return None
        plural = (first.article or "").endswith("p")
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
        home = [concept for concept in draft.concepts if concept.clause == added[0].clause and not concept.weak]
        if any(concept.clause != added[0].clause for concept in added) or len(home) == len(added):
            return False  # a clause of its own says more than the name of a topic
        place = draft.concepts.index(added[0])
        before = [concept for concept in draft.concepts[:place] if not concept.weak and concept.kind is not Kind.MARKER]
        if added[0].prep in _OF:
            return bool(before) and (self._is_generic(before[-1]) or (len(topic.words) == 1 and not fills))
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
        if any(objection(relative, second.reading, self._words) is None for relative in of_antecedents(head, tail)):
            return True
        if any(has_subject(part(head, place, place + 1)) for place in range(1, len(head.clauses))):
            return False  # the second half may be said of another subject than the first
        for subject in subjects(head):
            whole = with_subject(tail, subject)
            if whole is not None and objection(whole, second.reading, self._words) is None:
                return True
        return self._goes_on(head, tail, first, second)

    def _goes_on(self, head: Reading, tail: Reading, first: Offer, second: Offer) -> bool:
        """Whether both sentences and both halves go on about one subject: "Dura tre giorni." after "La febbre è alta."."""
        if not second.reading.subjectless or has_subject(tail) or not second.topics:
            return False
        about = second.topics[0].words[0]
        subject = next(subjects(head), None)
        own = first.topics[0].words if first.reading.subjectless and first.topics else leading(first.reading)
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
            return replace(
                draft, concepts=rest, clauses=tuple(_plain(c) if at == place else c for at, c in enumerate(draft.clauses))
            )
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
