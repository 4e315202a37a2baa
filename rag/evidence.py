"""Chooses the sentences that may support an answer."""

from collections.abc import Mapping, Sequence
from typing import Final

from locales.language import Language
from rag.corpus import CorpusStatistics
from rag.coverage import Stems, content_words, name_tokens, topic_stems
from rag.documents import DocumentKind
from rag.index_reader import IndexReader
from rag.intents import IntentWords, folded
from rag.models.protocols import Embedder, Vectors
from rag.page_judge import PageJudge
from rag.planted import planted_from
from rag.relevance import FRAIL, YOUNG, Passage, Relevance, Wanted, fit
from rag.replies import AbstentionKind
from rag.sentences import Section, SentenceWords, may_be_shown
from rag.text import content_tokens, stem, stop_words
from rag.types import Evidence, Hit, Intent, Interpretation, Population

_PASSAGES: Final = 5
_MOST: Final = 6
_WEAKEST: Final = 0.25  # a weaker sentence says nothing to the question
_BESIDE: Final = 0.4  # rank of a passage that was not among the best
_TOPIC: Final = 0.35  # what a word counts that most sentences of its page hold
_POPULATION_TOLERANCE: Final = 0.9  # a page for babies may serve a child, but no adult
_SAME: Final = 0.8  # share of common words from which two sentences say the same


class EvidenceSelector:
    """Selects evidence in one language; first it refuses as a whole what the index does not cover."""

    def __init__(self, language: Language, embedder: Embedder) -> None:
        self._language = language
        self.judge = PageJudge(language)
        self._embedder = embedder
        self._words = SentenceWords.load(language)
        self._relevance = Relevance(language)
        self._intents = IntentWords.load(language)

    def select(
        self,
        interpretation: Interpretation,
        hits: Sequence[Hit],
        reader: IndexReader,
        *,
        expansions: Sequence[str] = (),
        query_vector: Vectors | None = None,
        most: int = _MOST,
    ) -> list[Evidence]:
        """Choose sentences, strongest first.

        Args:
            interpretation: The question understood.
            hits: The candidates, reranked; evidence is chosen from the first five.
            reader: The index that they come from.
            expansions: Other words for the question, as they were searched.
            query_vector: The embedded question; embedded here if not given.
            most: How many at most.

        Returns:
            Sentences with their strength; empty when the index does not cover the question.
        """
        hits = [hit for hit in hits if hit.chunk.sentences or hit.chunk.kind is not DocumentKind.FORUM]
        if not hits:  # a thread in which all was said to one person can be found, and then gives nothing
            return []
        text = interpretation.meaning
        vector = self._embedder.embed_queries([text])[0] if query_vector is None else query_vector
        judged = self.judge.page(interpretation, hits, reader, vector, expansions=expansions)
        if not self.judge.covers(judged, reader, interpretation.intent):
            return []
        best = hits[:_PASSAGES]
        passages = self._passages([*best, *self._beside(best, judged.page, self._asked(interpretation))], reader)
        question = self._question(interpretation, best, passages, expansions, vector, reader.statistics, judged.main_pages)
        similar = self.judge.similarities(judged, hits, reader)
        found = [
            Evidence(
                chunk=passage.chunk,
                sentence=sentence,
                strength=strength,
                is_advice=passage.section is Section.DOCTOR,
                similarity=similar.get(passage.chunk.document_id, 0.0),
            )
            for passage in self._suited(passages, question)
            for end in (planted_from(passage.chunk),)
            for place, sentence in enumerate(passage.chunk.sentences)
            if sentence.end <= end
            and may_be_shown(sentence)
            and self._words.suits(sentence.text, interpretation.population)
            and (strength := self._relevance.strength(question, passage, place, sentence, reader.statistics)) >= _WEAKEST
        ]
        return self._best(found, question, most)

    def abstention_kind(self, interpretation: Interpretation, reader: IndexReader) -> AbstentionKind:
        """Why a question without evidence is refused: it is not about health, or no page answers it."""
        lower = folded(interpretation.meaning)
        if self._intents.is_elsewhere(lower):
            return AbstentionKind.OFF_TOPIC  # beside a word of another field, one of health is a manner of speaking
        if self._intents.has_health_word(lower) or interpretation.population in YOUNG | {Population.PREGNANCY}:
            return AbstentionKind.NO_EVIDENCE
        tokens = content_tokens(lower, self._language)
        is_known = bool(tokens) and all(token in reader.statistics.document_frequency for token in tokens)
        return AbstentionKind.NO_EVIDENCE if is_known else AbstentionKind.OFF_TOPIC

    def _question(
        self,
        interpretation: Interpretation,
        hits: Sequence[Hit],
        passages: Sequence[Passage],
        expansions: Sequence[str],
        vector: Vectors,
        statistics: CorpusStatistics,
        main_pages: frozenset[str],
    ) -> Wanted:
        text, population = interpretation.meaning, interpretation.population
        named = Stems.of(topic_stems([text, *expansions], self._language))
        is_named = any(token in named for hit in hits for token in name_tokens(hit, self._language))
        weights = self.judge.word_weights(text, expansions, statistics)
        titles = [hit.chunk.title for hit in hits if hit.chunk.document_id in main_pages]
        return Wanted(
            phrasings=[self._phrasing(phrasing, weights, named if is_named else None) for phrasing in (text, *expansions)],
            vector=vector,
            # A section that no passage has cannot be preferred, and all others would only seem weak.
            asked=self._asked(interpretation) & {passage.section for passage in passages if passage.section},
            aims=self._aims(interpretation, expansions),
            population=population,
            months=self._intents.age_in_months(folded(interpretation.self_contained)),
            main_pages=main_pages,
            named_topics=named,
            other_topics=Stems.of(topic for topic in topic_stems(titles, self._language) if topic not in named),
        )

    def _phrasing(self, phrasing: str, weights: Mapping[str, float], named: Stems | None) -> dict[str, float]:
        """What its words are worth in a sentence: little if all of the page is about them, nothing if they only ask."""
        lower = folded(phrasing)
        asking = {stem(word, self._language) for word in self._words.asking.findall(lower)}
        telling = {stem(word, self._language) for word in self._intents.telling_words(lower, stop_words(self._language))}
        return {
            token: weights[token] * (_TOPIC if named and token in named else 1.0)
            for token in content_words(phrasing, self._language)
            if token in weights and token in telling and token not in asking
        }

    def _asked(self, interpretation: Interpretation) -> frozenset[Section]:
        """The sections that answer a question; for a baby or a pregnancy, what to do begins with the doctor."""
        text = interpretation.meaning
        asked = self._words.asked(text)
        if interpretation.intent is Intent.OWN_DOSE:
            return frozenset({Section.REMEDIES})
        if {"duration", "onset", "value"} & self._words.asked_aims(text):
            asked -= {Section.REMEDIES}  # "quanto ci vuole per guarire" asks for no cure
        if not asked and (interpretation.implied or interpretation.intent is Intent.SYMPTOM):
            asked = frozenset({Section.REMEDIES})  # who only tells a complaint needs to know what to do
        return asked | {Section.DOCTOR} if Section.REMEDIES in asked and interpretation.population in FRAIL else asked

    def _aims(self, interpretation: Interpretation, expansions: Sequence[str]) -> frozenset[str]:
        """What is asked in particular, also where only the corrected spelling says so."""
        if interpretation.intent is Intent.OWN_DOSE:
            return frozenset({"medicine", "leaflet"})
        aims = frozenset[str]().union(*map(self._words.asked_aims, (interpretation.meaning, *expansions)))
        if interpretation.intent is Intent.READING:
            aims |= {"value"}
        asks_doctor = Section.DOCTOR in self._words.asked(interpretation.meaning) or interpretation.population in FRAIL
        return aims | {"consultation"} if asks_doctor else aims

    def _passages(self, hits: Sequence[Hit], reader: IndexReader) -> list[Passage]:
        vectors = {hit.chunk.chunk_id: hit.sentence_vectors for hit in hits if hit.sentence_vectors is not None}
        vectors |= reader.sentence_vectors([hit.chunk.chunk_id for hit in hits if hit.sentence_vectors is None])
        top = max(hit.score for hit in hits) or 1.0
        return [
            Passage(hit.chunk, hit.score / top, self._words.section(hit.chunk), vectors.get(hit.chunk.chunk_id)) for hit in hits
        ]

    def _beside(self, hits: Sequence[Hit], page: Sequence[Hit], asked: frozenset[Section]) -> list[Hit]:
        """Passages of the best page that hold what is asked, though not among the best.

        Advice must not lack when to see a doctor, so that section comes with the remedies.
        """
        seen = {hit.chunk.chunk_id for hit in hits}
        wanted = asked | {Section.DOCTOR} if Section.REMEDIES in asked else asked
        return [
            Hit(chunk=hit.chunk, score=_BESIDE * hits[0].score, dense=hit.dense)
            for hit in page
            if hit.chunk.chunk_id not in seen and self._words.section(hit.chunk) in wanted
        ]

    def _suited(self, passages: Sequence[Passage], question: Wanted) -> list[Passage]:
        """Passages of the pages that a question names, without pages for others if one for whom it is about is among them.

        What another page advises is for another condition: fruit for who has diabetes is not for who has diarrhoea.
        """
        of_topic = [passage for passage in passages if passage.chunk.document_id in question.main_pages]
        fitting = [
            passage
            for passage in of_topic
            if fit(self._words.limits(passage.chunk.title), question.population) >= -_POPULATION_TOLERANCE
        ]
        return fitting or of_topic

    def _best(self, found: Sequence[Evidence], question: Wanted, most: int) -> list[Evidence]:
        ordered = sorted(found, key=lambda item: (-item.strength, item.chunk.chunk_id, item.sentence.start))
        chosen: list[Evidence] = []
        kept: list[frozenset[str]] = []
        for item in ordered:
            tokens = frozenset(content_tokens(item.sentence.text, self._language))
            if any(_alike(tokens, other) for other in kept):
                continue
            if len(chosen) < most:
                chosen.append(item)
                kept.append(tokens)
            elif self._lacks_advice(chosen, question) and item.is_advice:
                chosen[-1] = item
                break
        return chosen

    def _lacks_advice(self, chosen: Sequence[Evidence], question: Wanted) -> bool:
        return Section.REMEDIES in question.asked and not any(item.is_advice for item in chosen)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other) and len(one & other) >= _SAME * min(len(one), len(other))
