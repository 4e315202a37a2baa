"""The configurations of a search: the stages of the product in ever more complete order, each stage with its time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.cached_texts import CachedTexts
from locales.language import Language
from rag import text
from rag.evaluation.datasets import JudgedQuery
from rag.evaluation.stage_clock import StageClock
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.models.protocols import Budget, Embedder, LanguageModel, Vectors
from rag.prompting import StagePrompt
from rag.reformulator import Reformulator
from rag.retriever import Retriever
from rag.search import Search
from rag.store import IndexStore
from rag.types import Hit, Intent, Interpretation, Query

_DEPTH = 30  # of rankings that are not reranked: several chunks of one page fold into it
_PHRASE_TOKENS = 36  # as `rag/reformulator.py`; it cuts the budget itself
_CALLED = {
    "embed_queries": "embed",
    "embed_passages": "embed",
    "nearest": "dense",
    "matching": "lexical",
    "hits": "sentences",
    "retrieve": "fuse",
}


class SearchLine:
    """The stages of the product over one index, one method each."""

    def __init__(self, store: IndexStore, embedder: CachedEmbedder, phrases: "Phrases | None" = None) -> None:
        self.clock = StageClock()
        self._store = store
        self._cache = embedder
        self._embedder = cast(Embedder, _Timed(embedder, self.clock))
        self._retriever = Retriever(self._open, self._embedder)
        self._search = Search(self._retriever)
        self._expander = Expander({language: Lexicon.load(language) for language in Language})
        self._phrases = phrases

    def timed(self, search: "Way", asked: JudgedQuery) -> tuple[list[Hit], dict[str, float]]:
        """Search, and tell the seconds by stage; an embedding counts as when it was made, not as it was found in the cache."""
        spent_s, lookup_s = self._cache.spent_s, self._cache.lookup_s
        with self.clock.stage("other"):
            hits = search(self, asked)
        if self._cache.spent_s > spent_s:
            self.clock.add("embed", (self._cache.spent_s - spent_s) - (self._cache.lookup_s - lookup_s))
        return hits, self.clock.take()

    def lexical(self, asked: JudgedQuery) -> list[Hit]:
        """By words alone."""
        tokens = text.query_tokens(asked.question, asked.language)
        return self._open(asked.language).lexical(" ".join(tokens), _DEPTH)

    def dense(self, asked: JudgedQuery) -> list[Hit]:
        """By meaning alone."""
        return self._open(asked.language).dense(self._embedder.embed_queries([asked.question])[0], _DEPTH)

    def plain(self, asked: JudgedQuery) -> Query:
        """The question in its own words."""
        return Query(question=asked.question, language=asked.language)

    def expanded(self, asked: JudgedQuery) -> Query:
        """The question with the lexicon's other words for it."""
        understood = Interpretation(language=asked.language, intent=Intent.QUESTION, self_contained=asked.question)
        with self.clock.stage("expand"):
            return self._expander.expand(understood)

    def reformulated(self, asked: JudgedQuery) -> Query:
        """The question with the lexicon's other words and the generator's."""
        if self._phrases is None:
            raise ValueError("the generator's words need a generator")
        return self._phrases.add_to(self.expanded(asked), self.clock)

    def fused(self, query: Query, k: int = _DEPTH) -> list[Hit]:
        """By words and by meaning."""
        reader, vectors = self._open(query.language), self._vectors(query)
        with self.clock.stage("fuse"):
            return self._retriever.retrieve(query, k=k, reader=reader, vectors=vectors)

    def reranked(self, query: Query) -> list[Hit]:
        """The candidates of the answering line in their final order."""
        reader, vectors = self._open(query.language), self._vectors(query)
        return self._search.find(query, reader, vectors, stage=lambda name: self.clock.stage(_CALLED.get(name, name)))

    def _vectors(self, query: Query) -> list[Vectors]:
        return list(self._embedder.embed_queries([query.question, *query.expansions]))

    def _open(self, language: Language) -> IndexReader:
        with self.clock.stage("open"):
            reader = self._store.open(language, self._cache.fingerprint)
        return cast(IndexReader, _Timed(reader, self.clock))


Way = Callable[[SearchLine, JudgedQuery], list[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A way to search, and what it needs that a plain index does not give."""

    search: Way
    needs_sentences: bool = False  # vectors of single sentences
    needs_generator: bool = False
    needs_pseudo: bool = False  # an index that pseudo medical histories and questions are part of


CONFIGURATIONS = {
    "lexical": Configuration(search=lambda line, asked: line.lexical(asked)),
    "dense": Configuration(search=lambda line, asked: line.dense(asked)),
    "fused": Configuration(search=lambda line, asked: line.fused(line.plain(asked))),
    "reranked": Configuration(search=lambda line, asked: line.reranked(line.plain(asked)), needs_sentences=True),
    "expanded": Configuration(search=lambda line, asked: line.reranked(line.expanded(asked)), needs_sentences=True),
    "generator": Configuration(
        search=lambda line, asked: line.reranked(line.reformulated(asked)), needs_sentences=True, needs_generator=True
    ),
    "pseudo": Configuration(
        search=lambda line, asked: line.reranked(line.expanded(asked)),
        needs_sentences=True,
        needs_generator=True,
        needs_pseudo=True,
    ),
}


class Phrases:
    """The generator's words for questions; each question is put to it once, and its seconds are kept with the answer."""

    def __init__(self, model: LanguageModel, cache: CachedTexts) -> None:
        self._model = model
        self._reformulator = Reformulator(model)
        self._cache = cache

    def add_to(self, query: Query, clock: StageClock) -> Query:
        """The query with one more expansion, if the generator gave one."""
        key = f"{self._model.name}\n{StagePrompt.load(query.language, 'interpret')!r}\n{query.expansions!r}\n{query.question}"
        kept = self._cache.get(key)
        if kept is None:
            own = StageClock()
            with own.stage("generate"):
                told = self._reformulator.reformulate(query, Budget(max_tokens=_PHRASE_TOKENS))
            kept = self._cache.put(key, {"expansions": list(told.expansions), "seconds": own.take()["generate"]})
        clock.add("generate", kept["seconds"])
        return Query(question=query.question, language=query.language, intent=query.intent, expansions=tuple(kept["expansions"]))


class _Timed:
    """Stands for a part of the product and times each of its methods."""

    def __init__(self, inner: object, clock: StageClock) -> None:
        self._inner = inner
        self._clock = clock

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the part has
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def timed(*args: Any, **options: Any) -> Any:  # noqa: ANN401
            with self._clock.stage(_CALLED.get(name, name)):
                return value(*args, **options)

        return timed
