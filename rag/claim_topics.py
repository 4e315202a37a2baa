"""What a sentence is about, and how the second half of a joined sentence takes it over from the first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from rag.claim_concepts import PEOPLE, Concept, Kind, Reading
from rag.claims import Link

_TOPIC_WORDS = 5  # a page's topic is named among the first words of the sentence that introduces it
_OWNER = "di"  # as good as "de": both are light


def leading(reading: Reading) -> tuple[Concept, ...]:
    """The words that a sentence begins with, its subject among them; none if several subjects are joined."""
    told = bool(reading.advises and reading.concepts and reading.concepts[0].verb)  # "Retire la garrapata …" is about the tick
    first = [concept for concept in reading.concepts[told:] if concept.clause == reading.concepts[0].clause]
    named = list(
        takewhile(lambda c: not (c.verb or c.negated) and (c.kind is Kind.WORD or c.marker in PEOPLE), first[:_TOPIC_WORDS])
    )
    says = len(named) < len(first) or 0 <= reading.copula_at <= len(named) or len(reading.clauses) < 2
    joined = len(reading.clauses) > 1 and reading.clauses[1].link is not Link.PUNCTUATION and not says
    return tuple(named) if named and not joined and not named[0].prep else ()


def of_antecedents(head: Reading, tail: Reading) -> Iterator[Reading]:
    """A relative clause with what it is said of: the last thing before it, or what an earlier "that" speaks of."""
    if not tail.concepts or not tail.concepts[0].relative:
        return
    places = [place for place, concept in enumerate(head.concepts) if place and concept.relative]
    named = [head.concepts[place - 1] for place in places[:1]] + [head.concepts[-1]]
    for antecedent in (concept for concept in named if concept.kind is Kind.WORD and not concept.verb):
        lent = replace(antecedent, clause=0, prep="", role="", negated="")
        yield replace(tail, concepts=(lent, *tail.concepts))
        yield replace(tail, concepts=(*tail.concepts, replace(lent, prep="su", role="su", clause=tail.concepts[-1].clause)))


def subjects(head: Reading) -> Iterator[tuple[Concept, ...]]:
    """What may be the subject of a clause: its first words, if more follow them."""
    words = leading(head)
    for length in range(1, len(words) + 1):
        yield words[:length]


def has_subject(reading: Reading) -> bool:
    """Whether a clause begins with a name of its own rather than with what is said of the subject before it."""
    first = next(iter(reading.concepts), None)
    return first is not None and first.article is not None and not first.prep


def with_subject(tail: Reading, subject: Sequence[Concept]) -> Reading | None:
    """The second half with the subject of the first: before its verb, or as whose it is what "its" speaks of."""
    lent = [replace(concept, clause=0, negated="") for concept in subject]
    main = next((place for place, clause in enumerate(tail.clauses) if not clause.conditional), 0)
    lent = [replace(concept, clause=main) for concept in lent]
    if not has_subject(tail) and not tail.possessive:
        at = next((place for place, concept in enumerate(tail.concepts) if concept.clause >= main), 0)
        return replace(tail, concepts=(*tail.concepts[:at], *lent, *tail.concepts[at:]))
    if tail.possessive and tail.concepts:
        owner = [replace(lent[0], prep=_OWNER, role=_OWNER), *lent[1:]]
        first = replace(tail.concepts[0], own=False)
        return replace(tail, concepts=(first, *owner, *tail.concepts[1:]))
    return None
