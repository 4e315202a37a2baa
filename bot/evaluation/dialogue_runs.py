"""Puts the evaluations with a simulated patient together from settings: models, index, records."""

from dataclasses import replace
from typing import Any

from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.dialogues import Rounds, evaluate_dialogues
from bot.evaluation.dialogues import conditions as played_under
from bot.evaluation.diseases import NoGenerator
from bot.evaluation.interpretation import StorySearch, evaluate_interpretation
from bot.evaluation.interpretation import conditions as searched_under
from bot.evaluation.run_records import RunRecords, code_digest, corpus_of
from bot.evaluation.shipped import Half
from bot.evaluation.simulated_patient import read_cases
from bot.loading import load_gate, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from ingest.disease_tree import disease_tree
from locales.language import Language
from rag.build import build_answerer, build_intake
from rag.index_reader import IndexReader
from rag.models.load import NO_MODEL, load_embedder, load_generator
from rag.models.protocols import Embedder, LanguageModel
from rag.store import IndexStore


def run_interpretation(
    settings: Settings,
    half: Half,
    progress: Counted,
    *,
    with_generator: bool,
    limit: int | None = None,
    embedder: Embedder | None = None,
    generator: LanguageModel | None = None,
) -> dict[str, Any]:
    """Search the stories of a half's cases as written and said anew; `generator` stands in for the configured one.

    Raises:
        NoGenerator: If one is wanted and none is configured.
        RagError: If models or index fail.
    """

    def load() -> LanguageModel:
        model = generator or load_generator(
            settings.generator, settings.home, threads=settings.threads, server=settings.generator_server
        )
        if model is None:
            raise NoGenerator("Messages are said anew by a generator, and SALUS_GENERATOR names none.")
        return model

    plain = embedder or load_embedder(settings.embedder, settings.home, settings.threads)
    cached, store = CachedEmbedder(plain, settings.home / "eval"), IndexStore(settings.home / "index")
    search = StorySearch(lambda language: store.open(language, plain.fingerprint), cached)
    everything = read_cases(half)
    about = {
        "half": half.value,
        "generator": (generator.name if generator else settings.generator) if with_generator else "none",
        "embedder": plain.fingerprint,
        "corpus": corpus_of(search.open_reader),
        "code": code_digest(),
        **searched_under(everything),
    }
    try:
        records = RunRecords(settings.home / "eval", "interpretation", about)
        return evaluate_interpretation(everything[:limit], search, load if with_generator else None, records, about, progress)
    finally:
        cached.save()


def run_dialogues(
    settings: Settings,
    half: Half,
    progress: Counted,
    *,
    limit: int | None = None,
    embedder: Embedder | None = None,
) -> dict[str, Any]:
    """Play the cases of a half against the intake over the published index; no generator takes part.

    Raises:
        RagError: If models or index fail.
    """
    plain = embedder or load_embedder(settings.embedder, settings.home, settings.threads)
    cached, store = CachedEmbedder(plain, settings.home / "eval"), IndexStore(settings.home / "index")

    def open_reader(language: Language) -> IndexReader:
        return store.open(language, plain.fingerprint)

    def open_rounds() -> Rounds:
        quoting = replace(rag_settings(settings), generator=NO_MODEL)
        answerer = build_answerer(quoting, embedder=cached, open_reader=open_reader)
        gate = load_gate(plain)
        return Rounds(build_intake(answerer, disease_tree, lambda text: gate.read(text).red_flag is None), gate)

    everything = read_cases(half)
    about = {
        "half": half.value,
        "embedder": plain.fingerprint,
        "corpus": corpus_of(open_reader),
        "code": code_digest(),
        **played_under(everything),
    }
    try:
        records = RunRecords(settings.home / "eval", "dialogues", about)
        return evaluate_dialogues(everything[:limit], open_rounds, records, about, progress)
    finally:
        cached.save()
