"""Whether a sentence of other words says nothing but what an evidence sentence says: the checks that a paraphrase must pass."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum

from rag.claim_company import keeps_attachments, keeps_company, subject_places
from rag.claim_concepts import Concept, Kind, Reading
from rag.claim_limits import INDICATES, has_marker, keeps_alternatives, keeps_conditions, keeps_negations, suggests
from rag.claim_members import may_go
from rag.claim_order import Pairing, keeps_roles
from rag.claim_words import ParaphraseWords
from rag.claims import Item, Link, Segment

_RECOMMENDS = frozenset({"=consigliare", "=recomendar"})
_FEW = 3  # words on either side that an entailment model may be asked about


class Objection(StrEnum):
    """Why a sentence is not supported."""

    ADDED = "added"
    LOST = "lost"
    NEGATION = "negation"
    CONDITION = "condition"
    ATTACHMENT = "attachment"
    ROLES = "roles"
    ADDRESS = "address"


def objection(draft: Reading, evidence: Reading, words: ParaphraseWords, lent: Sequence[Concept] = ()) -> Objection | None:
    """What speaks against the claim that `evidence` says all that `draft` says.

    Args:
        draft: The sentence in question, or a part of it.
        evidence: One evidence sentence.
        words: Of the language.
        lent: What the evidence sentence leaves unsaid because its page has said it: its topic.

    Returns:
        The first objection; None if there is none.
    """
    if draft.familiar and not evidence.familiar:
        return Objection.ADDRESS
    places, added = _match(draft, evidence, words)
    if any(not _may_be_added(concept, evidence, words, lent) for concept in added):
        return Objection.ADDED
    pairing = Pairing(draft, evidence, tuple(places))
    if not _loses_nothing(pairing):
        return Objection.LOST
    return _changed(pairing, words)


def is_undecided(draft: Reading, evidence: Reading, words: ParaphraseWords) -> bool:
    """Whether all that may never change is kept, and only a few plain words are other ones: neither proof nor refutation."""
    places, added = _match(draft, evidence, words)
    kept = {other for _, other in places}
    lost = [concept for place, concept in enumerate(evidence.concepts) if place not in kept and not concept.weak]
    strange = [concept for concept in added if not concept.weak]
    if max(len(strange), len(lost)) > _FEW or any(
        concept.kind is not Kind.WORD or concept.negated for concept in [*strange, *lost]
    ):
        return False
    return not draft.familiar and _changed(Pairing(draft, evidence, tuple(places)), words) is None


def _changed(pairing: Pairing, words: ParaphraseWords) -> Objection | None:
    """What the words that both have in common say otherwise."""
    if any(d.form in words.familiar and e.form in words.imperatives for d, e in map(pairing.concepts, pairing.places)):
        return Objection.ADDRESS
    if not _keeps_voices(pairing, words):
        return Objection.ROLES
    return next((name for name, check in _CHECKS if not check(pairing)), None)


def _keeps_voices(pairing: Pairing, words: ParaphraseWords) -> bool:
    """Whether what is cured does not cure: "si cura", "cura"."""
    for d, e in map(pairing.concepts, pairing.places):
        finite = d.form in words.verbs and e.form in words.verbs
        told, said = (pairing.evidence, e) if d.reflexive else (pairing.draft, d)
        if told.advises and said.form in words.imperatives:
            continue  # "raffreddi la zona", "si raffredda la zona"
        if finite and d.reflexive != e.reflexive and not (d.keys & e.keys & words.intransitive and d.form != e.form):
            return False
    return True


def same(one: Concept, other: Concept, words: ParaphraseWords) -> bool:
    """Whether two concepts may mean the same."""
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.WORD and not one.form.startswith("§"):
        groups = {key for key in one.keys & other.keys if key.startswith("=")}
        return bool(groups) or words.related(one.form, other.form)
    return bool(one.keys & other.keys)


def _match(draft: Reading, evidence: Reading, words: ParaphraseWords) -> tuple[list[tuple[int, int]], list[Concept]]:
    """Pair the concepts, each with the free one nearest behind the last; returns the pairs and what found no partner."""
    places: list[tuple[int, int]] = []
    added: list[Concept] = []
    taken: set[int] = set()
    subject = set(subject_places(evidence))
    last = -1
    for place, concept in enumerate(draft.concepts):
        found = [other for other, offered in enumerate(evidence.concepts) if same(concept, offered, words)]
        repeated = [other for other in found if evidence.concepts[other].weak or other in subject]
        fresh = [other for other in found if other not in taken] or repeated
        if not fresh:
            added.append(concept)
            continue
        best = min(fresh, key=lambda other: (other < last, abs(other - last)))
        taken.add(best)
        places.append((place, best))
        last = best
    return places, added


def _may_be_added(concept: Concept, evidence: Reading, words: ParaphraseWords, lent: Sequence[Concept]) -> bool:
    if concept.marker == "must":  # "si applica", "applichi": pages say in both ways what is to be done
        return evidence.advises or (evidence.impersonal and not has_marker(evidence, "may"))
    if concept.marker == "should" or (concept.keys & _RECOMMENDS and not concept.negated):
        return evidence.advises and not evidence.urgent  # "si consiglia di bere" says less than "beva"
    return (concept.weak and not concept.negated) or any(names(concept, topic, words) for topic in lent)


def names(concept: Concept, topic: Concept, words: ParaphraseWords) -> bool:
    """Whether a concept names a topic, or what the topic is a state of: "presión arterial" of "presión arterial alta"."""
    return same(concept, topic, words) or topic.form.startswith(f"{concept.form} ")


def _loses_nothing(pairing: Pairing) -> bool:
    kept = {other for _, other in pairing.places}
    named = {pairing.evidence.concepts[place].form for place in kept}
    rows: list[list[bool]] = [[] for _ in pairing.evidence.clauses]
    for place, concept in enumerate(pairing.evidence.concepts):
        if concept.marker == "must" and place not in kept and (pairing.draft.advises or pairing.draft.impersonal):
            continue
        if place not in kept and concept.keys & INDICATES and suggests(pairing):
            continue
        if concept.marker == "each":
            continue  # "every fever is seen by a doctor" says so of a fever
        if not concept.weak:
            rows[concept.clause].append(place in kept or concept.form in named)
    if all(all(row) for row in rows):
        return True
    offered, counts = _segments(pairing.evidence), [sum(row) for row in rows]
    full = [place for place, segment in enumerate(offered) if segment.items]
    offered, counts = [offered[place] for place in full], [counts[place] for place in full]
    return all(
        all(rows[clause])
        or (not any(rows[clause]) and (may_go(place, offered, counts) or _is_aside(place, offered, counts)))
        or _is_other_predicate(pairing.evidence, clause, kept)
        for place, clause in enumerate(full)
        if rows[clause]
    )


def _is_other_predicate(evidence: Reading, clause: int, kept: set[int]) -> bool:
    """Whether only what a clause says of its subject is left out, and the next clause says something else of that subject."""
    here = [place for place, concept in enumerate(evidence.concepts) if concept.clause == clause and not concept.weak]
    gone = [place for place in here if place not in kept]
    after = [concept for concept in evidence.concepts if concept.clause == clause + 1]
    if not gone or not after or gone[0] == here[0] or gone != here[len(here) - len(gone) :]:
        return False
    said = [evidence.concepts[place] for place in gone]
    follows = evidence.clauses[clause + 1].link is Link.AND and after[0].article is None and not after[0].prep
    plain = said[0].verb and not any(concept.negated or (concept.marker or "number") != "number" for concept in said)
    stays = any(place in kept for place, concept in enumerate(evidence.concepts) if concept.clause == clause + 1)
    return follows and plain and stays and not evidence.clauses[clause].denied


def _is_aside(place: int, offered: Sequence[Segment], counts: Sequence[int]) -> bool:
    """A share between commas after what it measures ("very low, about 0.1 %"), or cases that are named as the main ones."""
    items = offered[place].items
    if place > 0 and len(items) == 1 and items[0].marker == "number" and offered[place].link is Link.PUNCTUATION:
        return items[0].key.endswith("percent") or "-" in items[0].key
    begins = [start for start in range(1, place + 1) if _begins_aside(offered[start])]
    return bool(begins) and not any(counts[begins[0] :])


def _begins_aside(segment: Segment) -> bool:
    first = segment.items[0].marker
    return first == "mainly" or (segment.link is Link.AND and first in {"may", "usually", "often", "sometimes", "after"})


def _segments(reading: Reading) -> list[Segment]:
    """The reading in the form that the rule on members takes."""
    found = []
    for place, clause in enumerate(reading.clauses):
        items: list[Item] = []
        for concept in reading.concepts:
            if concept.clause == place:
                denied = concept.negated or (clause.denied and not items)
                items += [Item(key="#not", marker="not")] if denied else []
                key = min(concept.keys)
                items.append(Item(key=f"{concept.prep} {key}".strip(), marker=concept.marker))
        found.append(Segment(items=tuple(items), link=clause.link, conditional=clause.conditional, reason=clause.reason))
    return found


_CHECKS: tuple[tuple[Objection, Callable[[Pairing], bool]], ...] = (
    (Objection.NEGATION, keeps_negations),
    (Objection.CONDITION, keeps_conditions),
    (Objection.ATTACHMENT, keeps_attachments),
    (Objection.CONDITION, keeps_alternatives),
    (Objection.ATTACHMENT, keeps_company),
    (Objection.ROLES, keeps_roles),
)


def part(reading: Reading, first: int, last: int) -> Reading:
    """The clauses from `first` up to `last` as a reading of their own."""
    clauses = reading.clauses[first:last]
    if clauses and clauses[0].opener not in {"if", "when", "provided", "because"}:
        clauses = (replace(clauses[0], opener=""), *clauses[1:])
    return replace(
        reading,
        clauses=clauses,
        concepts=tuple(
            replace(concept, clause=concept.clause - first) for concept in reading.concepts if first <= concept.clause < last
        ),
    )
