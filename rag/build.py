"""Puts the answering line together from settings: the only place in `rag` that names its concrete parts."""

from collections.abc import Callable

from locales.language import Language
from rag.answerer import Answerer, OpenReader
from rag.cascade import Cascade
from rag.errors import ModelUnavailable
from rag.evidence import EvidenceSelector
from rag.expander import Expander, Lexicon
from rag.intake import PASSAGES, Intake
from rag.intake_pages import TreeOf
from rag.interpreter import Interpreter
from rag.models.entailment import CrossEncoderScorer
from rag.models.load import grades_evidence, load_embedder, load_generator
from rag.models.protocols import Embedder, LanguageModel
from rag.retriever import Retriever
from rag.search import Search
from rag.settings import RagSettings
from rag.store import IndexStore


def build_answerer(
    settings: RagSettings,
    *,
    language_model: LanguageModel | None = None,
    embedder: Embedder | None = None,
    open_reader: OpenReader | None = None,
    search: Search | None = None,
) -> Answerer:
    """Load the models and open the index.

    A generator that is configured but not on this machine is no error: the answerer is then extractive and says so.

    Args:
        settings: Where models and indexes lie, and which are used.
        language_model: Stands in for the configured generator.
        embedder: Stands in for the configured embedder.
        open_reader: Stands in for the published indexes.
        search: Stands in for the product's own.

    Raises:
        ModelError: If a model is broken, or the embedder is missing.
    """
    embedder = embedder or load_embedder(settings.embedder, settings.home, settings.threads)
    language_model = language_model or _generator(settings)
    open_reader = open_reader or _published(settings, embedder)
    return Answerer(
        open_reader=open_reader,
        embedder=embedder,
        interpreter=Interpreter(),
        expander=Expander({language: Lexicon.load(language) for language in Language}),
        search=search or Search(Retriever(open_reader, embedder)),
        selectors={language: EvidenceSelector(language, embedder) for language in Language},
        entailment=CrossEncoderScorer(settings.entailment, threads=settings.threads) if settings.entailment else None,
        cascade=Cascade(language_model, grades=grades_evidence(settings.generator)) if language_model is not None else None,
        always_reformulates=settings.generator_expansion,
        max_chunks=settings.max_context_chunks,
        similarity_threshold=settings.similarity_threshold,
    )


def build_intake(answerer: Answerer, tree_of: TreeOf, may_offer: Callable[[str], bool] = lambda _: True) -> Intake:
    """An intake over the index and with the embedder of an answering line.

    Args:
        answerer: The answering line.
        tree_of: Builds the disease information tree of a page.
        may_offer: Whether a page's sentence may be offered as a choice.
    """
    return Intake(
        answerer.reader,
        answerer.embedder,
        Search(Retriever(answerer.reader, answerer.embedder), k=PASSAGES),
        Expander({language: Lexicon.load(language) for language in Language}),
        tree_of=tree_of,
        may_offer=may_offer,
    )


def _published(settings: RagSettings, embedder: Embedder) -> OpenReader:
    store = IndexStore(settings.home / "index")
    return lambda language: store.open(language, embedder.fingerprint)


def _generator(settings: RagSettings) -> LanguageModel | None:
    try:
        return load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
    except ModelUnavailable:
        return None
