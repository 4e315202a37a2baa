"""Whether the index covers a question at all: several weak signs, weighed together by a logistic regression.

No single sign decides. "La pressione delle gomme" shares its words with a page on hypertension, a question in everyday words
shares none with the page that answers it, and E5 gives unrelated texts a cosine of 0.8.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields

from locales.language import Language
from rag.corpus import CorpusStatistics, lexical_column
from rag.intents import IntentWords, folded
from rag.text import content_tokens, lexical_tokens, stem, stop_words
from rag.types import Hit

_BEST = 3  # passages among which a question's words are looked for
_MARGIN_RANK = 10
_STEM_LETTERS = 7  # stems of one family part late ("antibiot", "antibiotic"); at six, "hemorroid" would meet "hemorrag"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageSigns:
    """What speaks for and against; each lies about between 0 and 1, so that the weights can be compared."""

    nearness: float  # cosine of the best passage, in deviations of the background, divided by five
    margin: float  # lead of the best passage over the tenth, likewise
    words_found: float  # share of the question's words, weighed by rarity, that the best passages hold
    words_known: float  # share that the corpus holds anywhere
    page_named: float  # share that titles, headings and synonyms of the best pages hold
    topic_named: float  # whether a health word of the question stands in the title or synonyms of a best page
    other_words: float  # words neither about health nor common in questions nor in the best passages, per word
    translated: float  # whether the lexicon's other words for the question stand in the title or synonyms of a best page
    is_about_health: float  # whether it has a health word that says of what, its own or one of the lexicon
    elsewhere: float  # whether it has a word of another field: cars, computers, money

    @property
    def may_be_covered(self) -> bool:
        """False for a question with words of health for which no page is named."""
        return not self.is_about_health or bool(self.topic_named or self.translated)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageWeights:
    """Coefficients by sign, in the order of `CoverageSigns`, and the constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, signs: CoverageSigns) -> float:
        """How sure it is that the index covers the question, 0 to 1.

        A question with words of health for which no page is named is not covered, whatever else it shares with passages. What a
        page says in passing about cholesterol answers nobody who has too much, and a wrong page is worse than none.
        """
        if not signs.may_be_covered:
            return 0.0
        total = self.constant + sum(weight * sign for weight, sign in zip(self.weights, astuple(signs), strict=True))
        return 1.0 / (1.0 + math.exp(-total))


SIGN_NAMES = tuple(sign.name for sign in fields(CoverageSigns))

# Fitted by rag/evaluation/calibration.py on 520 questions (topicality_dev.jsonl, coverage_dev.jsonl and coverage_more.jsonl of
# tests/data/questions) over the starter corpus with its default embedder. In five folds, at the threshold below, 97 % of the
# uncovered are refused and 99 % of the covered answered. Signs, lists and threshold were chosen with all of these questions in
# sight: of wordings that no list had seen, far fewer were answered.
WEIGHTS = CoverageWeights(
    weights=(6.32, 0.52, 1.46, 1.46, 0.83, 1.18, -1.91, 0.97, 1.50, -2.25),
    constant=-2.79,
)
THRESHOLD = 0.5


def coverage_signs(
    question: str,
    language: Language,
    *,
    hits: Sequence[Hit],
    nearest: Sequence[Hit],
    statistics: CorpusStatistics,
    expansions: Sequence[str] = (),
) -> CoverageSigns:
    """Measure how far an index covers a question.

    Args:
        question: The question, standing by itself.
        language: Its language.
        hits: The best passages, reranked.
        nearest: At least ten passages by cosine, best first, fewer only if the index has no more.
        statistics: Figures of the corpus.
        expansions: Other words for what the question says.
    """
    words = IntentWords.load(language)
    lower = words.without_other_senses(folded(question))
    best = hits[:_BEST]
    passages = Stems.of(token for hit in best for token in lexical_column(hit.chunk).split())
    pages = Stems.of(token for hit in best for token in _page_tokens(hit, language))
    names = Stems.of(token for hit in best for token in name_tokens(hit, language))
    tokens = content_words(question, language)
    topics = topic_stems([question], language)
    strange = [stem(word, language) for word in words.unknown_words(lower, stop_words(language))]
    is_named = any(token in names for token in topics)
    is_translated = any(token in names for token in set(topic_stems(expansions, language)) - set(topics))
    weight = {token: statistics.idf(token) for token in tokens}
    total = sum(weight.values()) or 1.0
    return CoverageSigns(
        nearness=_deviations(nearest[0].dense, statistics) / 5 if nearest else 0.0,
        margin=(nearest[0].dense - nearest[:_MARGIN_RANK][-1].dense) / statistics.background_std / 5 if nearest else 0.0,
        words_found=sum(weight[token] for token in tokens if token in passages) / total,
        words_known=sum(weight[token] for token in tokens if token in statistics.document_frequency) / total,
        page_named=sum(weight[token] for token in tokens if token in pages) / total,
        topic_named=float(is_named),
        other_words=sum(token not in passages for token in strange) / max(len(tokens), 1),
        translated=float(is_translated),
        is_about_health=float(is_translated or _names_topic(lower, words, says_more=bool(strange))),
        elsewhere=float(words.is_elsewhere(lower)),
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
    return 1.0 / (1.0 + math.exp(-(_deviations(cosine, statistics) - 4.0) / 1.2))


def _deviations(cosine: float, statistics: CorpusStatistics) -> float:
    return (cosine - statistics.background_mean) / max(statistics.background_std, 1e-6)


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
