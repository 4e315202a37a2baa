"""The answering line: interpret, expand, retrieve, rerank, score evidence, write, align. Read it from top to bottom."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from locales.language import Language
from rag.aligner import Aligner
from rag.cascade import Cascade
from rag.composer import Composer
from rag.documents import Link
from rag.errors import Cancelled, IndexMissing, IndexOutdated
from rag.evidence import EvidenceSelector
from rag.expander import Expander
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.limits import LimitWords
from rag.models.protocols import Budget, Embedder, PairScorer, Vectors
from rag.refuser import Refuser
from rag.replies import Abstention, AbstentionKind, Answer, AnsweringRun, Preface, Reply
from rag.search import Search
from rag.stopwatch import Stopwatch
from rag.types import Detail, Evidence, Hit, Interpretation, Mode, Query, Question, SentenceKind, Source, SupportedSentence
from rag.unsearched import reply_without_search
from rag.wish import OnSentence, Wish

OpenReader = Callable[[Language], IndexReader]

_MAX_FURTHER_READING = 2
_MAX_TOKENS = 150
_SURE = 0.9  # of its page's similarity: a question so well covered gains nothing from being said in other words (ADR 0023)


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
        search: Search,
        selectors: Mapping[Language, EvidenceSelector],
        cascade: Cascade | None,
        entailment: PairScorer | None = None,
        always_reformulates: bool = False,
        max_chunks: int = 5,
        similarity_threshold: float = 0.0,
    ) -> None:
        self.reader = open_reader
        self.embedder = embedder
        self._interpreter = interpreter
        self._expander = expander
        self._search = search
        self._selectors = selectors
        self._cascade = cascade
        self._always_reformulates = always_reformulates
        self._max_chunks = max_chunks
        self._similarity_threshold = similarity_threshold
        self._refuser = Refuser(open_reader, selectors, similarity_threshold)
        self._aligners = {language: Aligner(language, entailment) for language in Language}
        self._limits = {language: LimitWords.load(language) for language in Language}

    @property
    def is_extractive(self) -> bool:
        """True when there is no generator and answers consist of quotes."""
        return self._cascade is None

    @property
    def generator_name(self) -> str | None:
        """The generator's name, or None without one."""
        return self._cascade.generator_name if self._cascade is not None else None

    def warm(self, mode: Mode = Mode.FAST) -> None:
        """Do now what the first patient who asks in this mode would otherwise wait for."""
        for language in Language:
            if self._cascade is not None:
                self._cascade.warm(language, mode)
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
        quote_only: bool = False,
        detail: Detail = Detail.USUAL,
        said: Collection[tuple[str, int]] = (),
    ) -> AnsweringRun:
        """Answer a question, or say why not.

        Args:
            question: The patient's words with their history.
            mode: Fast, or precise: see `rag.cascade`.
            deadline: In `time.monotonic()` seconds. Past it, or when too near, the answer is completed with quotes.
            cancelled: Polled between and inside stages.
            on_sentence: Receives each sentence the moment it is verified.
            quote_only: Leaves the generator out, since others wait; the answer says so.
            detail: Plainer, or more of it: both are quotes.
            said: Places of evidence (`Evidence.place`) that an earlier answer told already; for `Detail.MORE`.

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
            wish = Wish(
                mode=mode, country=question.country, budget=budget, on_sentence=on_sentence,
                quote_only=quote_only, pages=question.pages, detail=detail, said=said,
            )  # fmt: skip
            reply = self._search_and_write(interpretation, wish, watch)
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

    def _search_and_write(self, interpretation: Interpretation, wish: Wish, watch: Stopwatch) -> Reply:
        language = interpretation.language
        phrased = self._phrase(interpretation, wish.country, wish.budget, watch)
        _go_on(wish.budget)
        try:
            reader = self.reader(language)
        except (IndexMissing, IndexOutdated):  # nothing that can be read, until a run has published
            return self._refuser.refuse(AbstentionKind.NO_CONTENT, interpretation, phrased.vectors, watch)
        hits, evidence = self._evidence(phrased, reader, wish, watch)
        if evidence and evidence[0].similarity < _SURE and wish.mode is Mode.PRECISE and wish.generates:
            # Never where nothing was found: a generator's words must not make an answer of a refusal.
            wider = self._reformulated(phrased, wish.budget, watch)
            if wider.query != phrased.query:
                _go_on(wish.budget)
                evidence = self._evidence(wider, reader, wish, watch)[1] or evidence
        if not evidence:
            kind = self._refuser.kind_of(interpretation, reader)
            return self._refuser.refuse(kind, interpretation, phrased.vectors, watch, hits)
        _go_on(wish.budget)
        composer, hurried = self._compose(interpretation, evidence, wish, watch)
        if not composer.sentences:  # each one is longer than an answer may be, or may not be shown
            sources = tuple(
                {item.chunk.document_id: Source.of(item.chunk, similarity=item.similarity) for item in evidence}.values()
            )
            return Abstention(kind=AbstentionKind.ONLY_LINK, language=language, sources=sources[:1])
        return self._answer(interpretation, composer, wish.mode, hurried=hurried)

    def _phrase(self, interpretation: Interpretation, country: str | None, budget: Budget, watch: Stopwatch) -> _Phrased:
        with watch.stage("expand"):
            query = self._expander.expand(interpretation, country)
        with watch.stage("retrieve"):
            phrased = _Phrased(interpretation, query, list(self.embedder.embed_queries([query.question, *query.expansions])))
        return self._reformulated(phrased, budget, watch) if self._always_reformulates else phrased

    def _reformulated(self, phrased: _Phrased, budget: Budget, watch: Stopwatch) -> _Phrased:
        """The same with the message in clinical words as one more expansion."""
        if self._cascade is None:
            return phrased
        query = self._cascade.reformulate(phrased.query, budget, watch)
        added = query.expansions[len(phrased.query.expansions) :]
        with watch.stage("retrieve"):
            return _Phrased(
                phrased.interpretation, query, [*phrased.vectors, *(self.embedder.embed_queries(added) if added else ())]
            )

    def _evidence(self, phrased: _Phrased, reader: IndexReader, wish: Wish, watch: Stopwatch) -> tuple[list[Hit], list[Evidence]]:
        hits = self._find(phrased, reader, watch)
        with watch.stage("evidence"):
            # The page that an intake found first, alone; where it gives nothing, the question is answered like any other.
            of_page = [hit for hit in hits if hit.chunk.document_id in wish.pages[:1]]
            evidence = self._select(phrased, of_page, reader, wish) if of_page else []
            return hits, wish.choose(evidence or self._select(phrased, hits, reader, wish))

    def _select(self, phrased: _Phrased, hits: Sequence[Hit], reader: IndexReader, wish: Wish) -> list[Evidence]:
        return self._within_limits(
            self._selectors[phrased.interpretation.language].select(
                phrased.interpretation,
                hits,
                reader,
                expansions=phrased.query.expansions,
                query_vector=phrased.vectors[0],
                most=wish.candidates,
            )
        )

    def _find(self, phrased: _Phrased, reader: IndexReader, watch: Stopwatch) -> list[Hit]:
        return self._search.find(phrased.query, reader, phrased.vectors, stage=watch.stage)

    def _compose(
        self, interpretation: Interpretation, evidence: Sequence[Evidence], wish: Wish, watch: Stopwatch
    ) -> tuple[Composer, bool]:
        """Draft and align; whatever the generator does, the evidence is quoted where drafts are missing.

        Returns:
            The composed sentences, and whether the generator was left out or stopped for want of time.
        """
        language, hurried = interpretation.language, False

        def show(sentence: SupportedSentence) -> None:
            watch.mark("first_sentence")
            if sentence.kind is SentenceKind.WRITTEN:
                watch.mark("first_written")
            wish.on_sentence(sentence)

        most, enough = wish.words
        composer = Composer(self._aligners[language], evidence, show, self._limits[language], most, enough)
        composer.open()
        if self._cascade is not None and wish.detail is Detail.USUAL:
            hurried = wish.quote_only or self._cascade.compose(composer, interpretation, wish.mode, wish.budget, watch)
        with watch.stage("quote"):
            composer.fill()
        return composer, hurried

    def _answer(self, interpretation: Interpretation, composer: Composer, mode: Mode, *, hurried: bool) -> Answer:
        used = [item for sentence in composer.sentences for item in sentence.evidence]
        sources = {item.chunk.document_id: Source.of(item.chunk, similarity=item.similarity) for item in used}
        further: dict[str, Link] = {link.url: link for item in used for link in item.chunk.further_reading}
        return Answer(
            sentences=tuple(composer.sentences),
            sources=tuple(sources.values()),
            language=interpretation.language,
            mode=mode,
            further_reading=tuple(further.values())[:_MAX_FURTHER_READING],
            preface=Preface.of(interpretation.intent),
            extractive=self.is_extractive,
            hurried=hurried and not any(sentence.kind is SentenceKind.WRITTEN for sentence in composer.sentences),
            dropped=composer.dropped,
        )

    def _within_limits(self, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Evidence of pages that are similar enough, from no more passages than the operator allows."""
        near = [item for item in evidence if item.similarity >= self._similarity_threshold]
        chunks = list(dict.fromkeys(item.chunk.chunk_id for item in near))[: self._max_chunks]
        return [item for item in near if item.chunk.chunk_id in chunks]


def _go_on(budget: Budget) -> None:
    if budget.cancelled():
        raise Cancelled("The answer is no longer wanted.")
