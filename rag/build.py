"""Puts the answering line together from settings: the only place in `rag` that names its concrete parts."""

from locales.language import Language
from rag.answerer import Answerer, OpenReader
from rag.errors import ModelUnavailable
from rag.evidence import EvidenceSelector
from rag.expander import Expander, Lexicon
from rag.interpreter import Interpreter
from rag.models.load import load_embedder, load_generator
from rag.models.protocols import Embedder, LanguageModel
from rag.paraphraser import Paraphraser
from rag.retriever import Retriever
from rag.search import Search
from rag.settings import RagSettings
from rag.store import IndexStore
from rag.writer import Writer


def build_answerer(
    settings: RagSettings,
    *,
    language_model: LanguageModel | None = None,
    embedder: Embedder | None = None,
    open_reader: OpenReader | None = None,
) -> Answerer:
    """Load the models and open the index.

    A generator that is configured but not on this machine is no error: the answerer is then extractive and says so.

    Args:
        settings: Where models and indexes lie, and which are used.
        language_model: Stands in for the configured generator.
        embedder: Stands in for the configured embedder.
        open_reader: Stands in for the published indexes.

    Raises:
        ModelError: If a model is broken, or the embedder is missing.
    """
    embedder = embedder or load_embedder(settings.embedder, settings.home, settings.threads)
    language_model = language_model or _generator(settings)
    open_reader = open_reader or _published(settings, embedder)
    paraphraser = Paraphraser(language_model) if language_model is not None and settings.generator_expansion else None
    return Answerer(
        open_reader=open_reader,
        embedder=embedder,
        interpreter=Interpreter(),
        expander=Expander({language: Lexicon.load(language) for language in Language}),
        paraphraser=paraphraser,
        search=Search(Retriever(open_reader, embedder)),
        selectors={language: EvidenceSelector(language, embedder) for language in Language},
        writer=Writer(language_model) if language_model is not None else None,
        max_chunks=settings.max_context_chunks,
        similarity_threshold=settings.similarity_threshold,
    )


def _published(settings: RagSettings, embedder: Embedder) -> OpenReader:
    store = IndexStore(settings.home / "index")
    return lambda language: store.open(language, embedder.fingerprint)


def _generator(settings: RagSettings) -> LanguageModel | None:
    try:
        return load_generator(settings.generator, settings.home, threads=settings.threads)
    except ModelUnavailable:
        return None
