"""The answering line: interpret, expand, retrieve, rerank, score evidence, write, align. Read it from top to bottom."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from locales.language import Language
from rag.aligner import Aligner
from rag.composer import Composer, joinable
from rag.documents import Link
from rag.errors import Cancelled, IndexMissing, ModelError
from rag.evidence import EvidenceSelector
from rag.expander import Expander
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.models.protocols import Budget, Embedder, Usage, Vectors
from rag.paraphraser import Paraphraser
from rag.search import Search
from rag.signpost import Signpost
from rag.stopwatch import Stopwatch
from rag.types import (
    Abstention,
    AbstentionKind,
    Answer,
    AnsweringRun,
    Evidence,
    Hit,
    Intent,
    Interpretation,
    Mode,
    Preface,
    Query,
    Question,
    Reply,
    SentenceKind,
    Source,
    SupportedSentence,
)
from rag.unsearched import reply_without_search
from rag.writer import Writer

OnSentence = Callable[[SupportedSentence], None]
OpenReader = Callable[[Language], IndexReader]

_PREFACES = {Intent.OWN_DOSE: Preface.OWN_DOSE, Intent.READING: Preface.READING}
_REFUSALS = {Intent.OWN_DOSE: AbstentionKind.OWN_DOSE, Intent.READING: AbstentionKind.READING}
_FOR_WANT_OF_TEXT = {AbstentionKind.NO_CONTENT, AbstentionKind.NO_EVIDENCE}
_MAX_FURTHER_READING = 2
_MAX_TOKENS = 150


@dataclass(frozen=True, slots=True)
class _Phrased:
    """A question with its expansions, and their vectors in this order."""

    interpretation: Interpretation
    query: Query
    vectors: list[Vectors]


class Answerer:
    """Answers questions from the published index. One thread uses it: it owns the models."""

    def __init__(
        self,
        *,
        open_reader: OpenReader,
        embedder: Embedder,
        interpreter: Interpreter,
        expander: Expander,
        paraphraser: Paraphraser | None = None,
        search: Search,
        selectors: Mapping[Language, EvidenceSelector],
        writer: Writer | None,
        max_chunks: int = 5,
        similarity_threshold: float = 0.0,
    ) -> None:
        self.reader = open_reader
        self.embedder = embedder
        self._interpreter = interpreter
        self._expander = expander
        self._paraphraser = paraphraser
        self._search = search
        self._selectors = selectors
        self._writer = writer
        self._max_chunks = max_chunks
        self._similarity_threshold = similarity_threshold
        self._signpost = Signpost()
        self._aligners = {language: Aligner(language) for language in Language}

    @property
    def is_extractive(self) -> bool:
        """True when there is no generator and answers consist of quotes."""
        return self._writer is None

    @property
    def generator_name(self) -> str | None:
        """The generator's name, or None without one."""
        return self._writer.generator_name if self._writer is not None else None

    def warm(self) -> None:
        """Do now what the first patient would otherwise wait for."""
        for language in Language:
            if self._writer is not None:
                self._writer.warm(language)
        self._interpreter.interpret(Question(text="salute"))
        self.embedder.embed_queries(["salute"])

    def answer(
        self,
        question: Question,
        *,
        mode: Mode = Mode.FAST,
        deadline: float = float("inf"),
        cancelled: Callable[[], bool] = lambda: False,
        on_sentence: OnSentence = lambda _: None,
    ) -> AnsweringRun:
        """Answer a question, or say why not.

        Args:
            question: The patient's words with their history.
            mode: Fast; precise answers are written the same way so far.
            deadline: In `time.monotonic()` seconds. Past it the answer is completed with quotes.
            cancelled: Polled between and inside stages.
            on_sentence: Receives each sentence the moment it is verified.

        Raises:
            Cancelled: If `cancelled` became true.
            StoreError: If the index cannot be read.
        """
        watch = Stopwatch()
        with watch.stage("interpret"):
            interpretation = self._interpreter.interpret(question)
        reply: Reply | None = reply_without_search(interpretation)
        if reply is None:
            budget = Budget(max_tokens=_MAX_TOKENS, deadline=deadline, cancelled=cancelled)
            reply = self._search_and_write(interpretation, question.country, mode, budget, on_sentence, watch)
        watch.mark("total")
        return AnsweringRun(reply=reply, interpretation=interpretation, timings_s=watch.timings_s)

    def find(self, question: Question) -> list[Hit]:
        """Find the passages that an answer to a question would be made from, best first, whatever the question is about.

        Raises:
            StoreError: If nothing has been published in the question's language, or the index cannot be read.
        """
        interpretation = self._interpreter.interpret(question)
        budget = Budget(max_tokens=_MAX_TOKENS)
        reader, watch = self.reader(interpretation.language), Stopwatch()
        return self._find(self._phrase(interpretation, question.country, budget, watch), reader, watch)

    def _search_and_write(
        self,
        interpretation: Interpretation,
        country: str | None,
        mode: Mode,
        budget: Budget,
        on_sentence: OnSentence,
        watch: Stopwatch,
    ) -> Reply:
        language = interpretation.language
        phrased = self._phrase(interpretation, country, budget, watch)
        _go_on(budget)
        try:
            reader = self.reader(language)
        except IndexMissing:
            return self._refuse(AbstentionKind.NO_CONTENT, phrased, watch)
        hits = self._find(phrased, reader, watch)
        _go_on(budget)
        with watch.stage("evidence"):
            evidence = self._selectors[language].select(
                interpretation, hits, reader, expansions=phrased.query.expansions, query_vector=phrased.vectors[0]
            )
            evidence = self._within_limits(evidence)
        if not evidence:
            return self._refuse(self._refusal(interpretation, reader), phrased, watch, hits)
        _go_on(budget)
        composer = self._compose(interpretation, evidence, budget, on_sentence, watch)
        if not composer.sentences:  # each one is longer than an answer may be
            return Abstention(kind=AbstentionKind.NO_EVIDENCE, language=language)
        return self._answer(interpretation, composer, mode)

    def _phrase(self, interpretation: Interpretation, country: str | None, budget: Budget, watch: Stopwatch) -> _Phrased:
        with watch.stage("expand"):
            query = self._expander.expand(interpretation, country)
            if self._paraphraser is not None:
                query = self._paraphraser.paraphrase(query, budget)
        with watch.stage("retrieve"):
            return _Phrased(interpretation, query, list(self.embedder.embed_queries([query.question, *query.expansions])))

    def _find(self, phrased: _Phrased, reader: IndexReader, watch: Stopwatch) -> list[Hit]:
        return self._search.find(phrased.query, reader, phrased.vectors, stage=watch.stage)

    def _compose(
        self,
        interpretation: Interpretation,
        evidence: Sequence[Evidence],
        budget: Budget,
        on_sentence: OnSentence,
        watch: Stopwatch,
    ) -> Composer:
        """Draft and align; whatever the generator does, the evidence is quoted where drafts are missing."""

        def show(sentence: SupportedSentence) -> None:
            watch.mark("first_sentence")
            if sentence.kind is SentenceKind.WRITTEN:
                watch.mark("first_written")
            on_sentence(sentence)

        composer = Composer(self._aligners[interpretation.language], evidence, show)
        composer.open()
        material = joinable(evidence)
        if self._writer is not None and material:
            usage = Usage()
            try:
                with watch.stage("write"):
                    composer.take(
                        self._writer.drafts(
                            interpretation.self_contained,
                            material,
                            interpretation.language,
                            budget=budget,
                            usage=usage,
                        )
                    )
            except Cancelled:
                raise
            except ModelError:
                watch.mark("writing_failed")
            watch.timings_s |= {"prefill": usage.prefill_s, "decode": usage.decode_s}
        with watch.stage("quote"):
            composer.fill()
        return composer

    def _answer(self, interpretation: Interpretation, composer: Composer, mode: Mode) -> Answer:
        used = [item for sentence in composer.sentences for item in sentence.evidence]
        sources = {item.chunk.document_id: Source.of(item.chunk, similarity=item.similarity) for item in used}
        further: dict[str, Link] = {link.url: link for item in used for link in item.chunk.further_reading}
        return Answer(
            sentences=tuple(composer.sentences),
            sources=tuple(sources.values()),
            language=interpretation.language,
            mode=mode,
            further_reading=tuple(further.values())[:_MAX_FURTHER_READING],
            preface=_PREFACES.get(interpretation.intent),
            extractive=self.is_extractive,
            dropped=composer.dropped,
        )

    def _within_limits(self, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Evidence of pages that are similar enough, from no more passages than the operator allows."""
        near = [item for item in evidence if item.similarity >= self._similarity_threshold]
        chunks = list(dict.fromkeys(item.chunk.chunk_id for item in near))[: self._max_chunks]
        return [item for item in near if item.chunk.chunk_id in chunks]

    def _refusal(self, interpretation: Interpretation, reader: IndexReader) -> AbstentionKind:
        if interpretation.intent in _REFUSALS:
            return _REFUSALS[interpretation.intent]
        return self._selectors[interpretation.language].abstention_kind(interpretation, reader)

    def _refuse(self, kind: AbstentionKind, phrased: _Phrased, watch: Stopwatch, hits: Sequence[Hit] = ()) -> Abstention:
        """Say why not; where only a text is wanting, point to one in another language if there surely is one."""
        interpretation, language = phrased.interpretation, phrased.interpretation.language
        if kind in _FOR_WANT_OF_TEXT and interpretation.intent not in _REFUSALS:
            held = frozenset(hit.chunk.topic for hit in hits if hit.chunk.topic)
            with watch.stage("other_language"):
                page = self._signpost.find(interpretation, phrased.vectors, self.reader, held_topics=held)
            if page is not None and page.similarity >= self._similarity_threshold:
                return Abstention(kind=AbstentionKind.IN_OTHER_LANGUAGE, language=language, sources=(page,))
        return Abstention(kind=kind, language=language)


def _go_on(budget: Budget) -> None:
    if budget.cancelled():
        raise Cancelled("The answer is no longer wanted.")
