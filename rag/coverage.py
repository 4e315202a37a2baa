"""Whether the index covers a question at all: several weak signs, weighed together by a logistic regression.

No single sign decides. "La pressione delle gomme" shares its words with a page on hypertension, a question in everyday words
shares none with the page that answers it, and E5 gives unrelated texts a cosine of 0.8.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields

from locales.language import Language
from rag.corpus import CorpusStatistics, lexical_column
from rag.fusion import deviations
from rag.intents import IntentWords, folded
from rag.text import content_tokens, lexical_tokens, stem, stop_words
from rag.types import Hit

_FIRST = 5  # passages that evidence is chosen from
_LEAD = 3.0  # what the figures of a question mostly lie below, so that the weights can be compared
_SCORE = 8.0
_NEARNESS = 5.0
_LEANING = 3.0
_STEM_LETTERS = 7  # stems of one family part late ("antibiot", "antibiotic"); at six, "hemorroid" would meet "hemorrag"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageSigns:
    """What speaks for and against the best page; each lies about between 0 and 1, so that the weights can be compared."""

    score: float  # of its best passage, by meaning and words
    lead: float  # of that score over the best passage of another page
    agreement: float  # share of the first passages that are the page's
    nearness: float  # cosine of the nearest passage, in deviations of the background
    page_words: float  # share of the question's words, weighed by rarity, that the page holds
    page_named: float  # share that its title, headings and synonyms hold
    translated: float  # whether the lexicon's other words for the question stand in its title or synonyms
    unnamed: float  # whether the question has a word of health that says of what, and no page among the best is named for it
    elsewhere: float  # whether it has a word of another field: cars, computers, money
    leaning: float  # how much nearer it is to questions that the index covers than to others, in deviations
    names_other: float  # whether it names a topic that the index is known not to cover
    says_of_what: bool = True  # False for a pain, a problem, a question without any subject

    @property
    def figures(self) -> tuple[float, ...]:
        """The signs that are weighed, in their order."""
        return astuple(self)[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageWeights:
    """Coefficients by sign, in the order of `CoverageSigns`, and the constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, signs: CoverageSigns) -> float:
        """How sure it is that the best page answers the question, 0 to 1; a question that does not say of what has no answer."""
        if not signs.says_of_what:
            return 0.0
        total = self.constant + sum(weight * sign for weight, sign in zip(self.weights, signs.figures, strict=True))
        return 1.0 / (1.0 + math.exp(-total))


SIGN_NAMES = tuple(sign.name for sign in fields(CoverageSigns) if sign.name != "says_of_what")

# Fitted by `salus eval fit-coverage` over the starter corpus with its default embedder; figures and alternatives are in
# docs/adr/0011. A question whose page was not found best counts as uncovered: what another page says would be no answer.
WEIGHTS = CoverageWeights(weights=(4.55, 1.69, 1.12, 0.45, 2.27, 1.44, 0.22, -0.72, -1.25, 0.0, 0.0), constant=-4.80)
THRESHOLD = 0.33


def coverage_signs(
    question: str,
    language: Language,
    *,
    best: str,
    hits: Sequence[Hit],
    page: Sequence[Hit],
    statistics: CorpusStatistics,
    expansions: Sequence[str] = (),
    leaning: float = 0.0,
    names_other: bool = False,
) -> CoverageSigns:
    """Measure how far an index covers a question.

    Args:
        question: The question, standing by itself.
        language: Its language.
        best: The id of the page that an answer would be made from; one of the hits is of it.
        hits: The candidates, reranked; at least one.
        page: All passages of that page.
        statistics: Figures of the corpus.
        expansions: Other words for what the question says.
        leaning: How much nearer it is to questions that the index covers than to others, as a difference of cosines; 0 where
            the index knows of none.
        names_other: Whether it names a topic that the index is known not to cover.
    """
    words = IntentWords.load(language)
    lower = words.without_other_senses(folded(question))
    score = max(hit.score for hit in hits if hit.chunk.document_id == best)
    others = max((hit.score for hit in hits if hit.chunk.document_id != best), default=score - _LEAD)
    told = Stems.of(token for hit in page for token in lexical_column(hit.chunk).split())
    headings = Stems.of(token for hit in page for token in _page_tokens(hit, language))
    names = Stems.of(token for hit in hits[:_FIRST] for token in name_tokens(hit, language))
    telling = [word for word in words.telling_words(lower, stop_words(language)) if not word.isdigit()]
    tokens = list(dict.fromkeys(stem(word, language) for word in telling))
    topics = topic_stems([question], language)
    strange = [stem(word, language) for word in words.unknown_words(lower, stop_words(language))]
    is_translated = any(token in names for token in set(topic_stems(expansions, language)) - set(topics))
    is_about_health = is_translated or _names_topic(lower, words, says_more=bool(strange))
    weight = {token: statistics.idf(token) for token in tokens}
    total = sum(weight.values()) or 1.0
    return CoverageSigns(
        score=score / _SCORE,
        lead=(score - others) / _LEAD,
        agreement=sum(hit.chunk.document_id == best for hit in hits[:_FIRST]) / _FIRST,
        nearness=deviations(max(hit.dense for hit in hits), statistics) / _NEARNESS,
        page_words=sum(weight[token] for token in tokens if token in told) / total,
        page_named=sum(weight[token] for token in tokens if token in headings) / total,
        translated=float(is_translated),
        unnamed=float(is_about_health and not is_translated and not any(token in names for token in topics)),
        elsewhere=float(words.is_elsewhere(lower)),
        leaning=leaning / max(statistics.background_std, 1e-6) / _LEANING,
        names_other=float(names_other),
        says_of_what=is_translated or any(not words.unspecific.match_length(word, 0) for word in telling),
    )


def content_words(text: str, language: Language) -> list[str]:
    """Stems of the content words of a text, each once: a bare number stands on any page."""
    return [token for token in dict.fromkeys(content_tokens(text, language)) if not token.replace(".", "").isdigit()]


def topic_stems(texts: Iterable[str], language: Language) -> list[str]:
    """Stems of the health words of texts that say what it is about: a pain alone may be of anything."""
    words = IntentWords.load(language)
    lowered = [words.without_other_senses(folded(text)) for text in texts]
    named = [lower[start:end] for lower in lowered for start, end in words.health_spans(lower)]
    return [stem(word, language) for word in named if " " not in word and not words.unspecific.match_length(word, 0)]


def _names_topic(lower: str, words: IntentWords, *, says_more: bool) -> bool:
    """Whether a folded question has a health word that says of what: any, where the question says nothing more."""
    spans = words.health_spans(lower)
    return any(
        not says_more or " " in lower[start:end] or not words.unspecific.match_length(lower, start) for start, end in spans
    )


def nearness(cosine: float, statistics: CorpusStatistics) -> float:
    """A cosine as a figure from 0 to 1 that means the same with any embedder: 0.5 at four deviations over the background."""
    return 1.0 / (1.0 + math.exp(-(deviations(cosine, statistics) - 4.0) / 1.2))


@dataclass(frozen=True, slots=True)
class Stems:
    """Stems, found also by their beginning."""

    whole: frozenset[str]
    beginnings: frozenset[str]

    @classmethod
    def of(cls, tokens: Iterable[str]) -> "Stems":
        """Gather stems."""
        whole = frozenset(tokens)
        return cls(whole, frozenset(token[:_STEM_LETTERS] for token in whole if len(token) >= _STEM_LETTERS))

    def __contains__(self, token: str) -> bool:
        return token in self.whole or (len(token) >= _STEM_LETTERS and token[:_STEM_LETTERS] in self.beginnings)


def _page_tokens(hit: Hit, language: Language) -> list[str]:
    return [
        *name_tokens(hit, language),
        *(token for heading in hit.chunk.heading_path for token in lexical_tokens(heading, language)),
    ]


def name_tokens(hit: Hit, language: Language) -> list[str]:
    """Stems of the title and the synonyms of a hit's page."""
    return [token for name in (hit.chunk.title, *hit.chunk.synonyms) for token in content_tokens(name, language)]
