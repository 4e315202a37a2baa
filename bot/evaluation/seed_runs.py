"""Puts the evaluations of published chatbots together from settings: models, index, records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from bot.errors import BotError
from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.compare import GoldPages, evaluate_comparison, read_gold_questions
from bot.evaluation.compare import conditions as compared_under
from bot.evaluation.compared_systems import COMPARED, ComparedSystems, System
from bot.evaluation.diseases import NoGenerator
from bot.evaluation.retrieval_policies import Policy, PolicySearch
from bot.evaluation.run_records import RunRecords, code_digest, corpus_of
from bot.evaluation.traceability import PolicyLine, evaluate_traceability, read_topic_questions
from bot.evaluation.traceability import conditions as traced_under
from bot.loading import load_renderer, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from rag.answerer import OpenReader
from rag.build import build_answerer
from rag.models.load import NO_MODEL, load_embedder, load_generator
from rag.models.protocols import Embedder, LanguageModel
from rag.retriever import Retriever
from rag.store import IndexStore


class UnknownSystem(BotError):
    """There is no such way to answer; the message names those that there are."""


def run_traceability(
    settings: Settings,
    progress: Counted,
    *,
    limit: int | None = None,
    embedder: Embedder | None = None,
    generator: LanguageModel | None = None,
) -> dict[str, Any]:
    """Trace the answers to the shipped choice of questions under each policy; `generator` stands in for the configured one.

    Raises:
        RagError: If models or index fail.
    """
    plain = embedder or load_embedder(settings.embedder, settings.home, settings.threads)
    cached = CachedEmbedder(plain, settings.home / "eval")
    open_reader = _published(settings, cached)
    load = cache(
        lambda: (
            generator
            or load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
        )
    )
    everything = read_topic_questions()
    about = _about(settings, plain, open_reader, traced_under(everything), generator)

    def open_line(policy: Policy) -> PolicyLine:
        search = PolicySearch(Retriever(open_reader, cached), policy)
        model = load()
        chosen = rag_settings(settings) if model else replace(rag_settings(settings), generator=NO_MODEL)
        answerer = build_answerer(chosen, language_model=model, embedder=cached, open_reader=open_reader, search=search)
        return PolicyLine(search=search, answerer=answerer, open_reader=open_reader)

    try:
        return evaluate_traceability(
            everything[:limit], open_line, RunRecords(settings.home / "eval", "traceability", about), about, progress
        )
    finally:
        cached.save()


def run_comparison(
    settings: Settings,
    progress: Counted,
    *,
    systems: Sequence[str] = (),
    limit: int | None = None,
    embedder: Embedder | None = None,
    generator: LanguageModel | None = None,
) -> dict[str, Any]:
    """Compare ways to answer on the shipped choice of questions; `generator` stands in for the configured one.

    Raises:
        UnknownSystem: If one of `systems` is none.
        NoGenerator: If none is configured: three of the ways are nothing but a generator.
        NoGoldPage: If the index lacks the page of a question.
        RagError: If models or index fail.
    """
    chosen = systems_of(systems)
    if generator is None and settings.generator.strip().lower() in {"", NO_MODEL}:
        raise NoGenerator("The comparison needs a generator, and SALUS_GENERATOR names none.")
    plain = embedder or load_embedder(settings.embedder, settings.home, settings.threads)
    open_reader = _published(settings, plain)
    everything = read_gold_questions()
    about = _about(settings, plain, open_reader, compared_under(everything), generator)
    questions = everything[:limit]
    gold = GoldPages.of(open_reader, questions)
    matching = CachedEmbedder(plain, settings.home / "eval")
    try:
        return evaluate_comparison(
            questions,
            chosen,
            partial(_open_systems, settings, plain, open_reader, generator),
            gold,
            matching,
            RunRecords(settings.home / "eval", "compare", about),
            about,
            progress,
        )
    finally:
        matching.save()


def _open_systems(
    settings: Settings, embedder: Embedder, open_reader: OpenReader, generator: LanguageModel | None
) -> ComparedSystems:
    model = generator or load_generator(
        settings.generator, settings.home, threads=settings.threads, server=settings.generator_server
    )
    if model is None:
        raise NoGenerator("The comparison needs a generator, and SALUS_GENERATOR names none.")
    answerer = build_answerer(rag_settings(settings), language_model=model, embedder=embedder, open_reader=open_reader)
    answerer.warm()
    renderer = load_renderer(settings)
    return ComparedSystems(
        answerer=answerer,
        generator=model,
        open_reader=open_reader,
        fill=lambda text, language: renderer.with_number(text, language, None),
    )


def _about(
    settings: Settings,
    embedder: Embedder,
    open_reader: OpenReader,
    conditions: Mapping[str, Any],
    generator: LanguageModel | None,
) -> dict[str, Any]:
    """What records depend on: models, settings of the answering line, corpus, code, and how is measured."""
    chosen = rag_settings(settings)
    return {
        "generator": generator.name if generator else settings.generator,
        "embedder": embedder.fingerprint,
        "generator_expansion": chosen.generator_expansion,
        "max_context_chunks": chosen.max_context_chunks,
        "similarity_threshold": chosen.similarity_threshold,
        "corpus": corpus_of(open_reader),
        "code": code_digest(),
        **conditions,
    }


def _published(settings: Settings, embedder: Embedder) -> OpenReader:
    store = IndexStore(settings.home / "index")
    return lambda language: store.open(language, embedder.fingerprint)


def systems_of(names: Sequence[str]) -> list[System]:
    """Ways to answer by their names, or those that are compared unless asked otherwise.

    Raises:
        UnknownSystem: If one is none.
    """
    known = {system.value.lower(): system for system in System}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise UnknownSystem(f"There is no way to answer {unknown[0]!r}; there are {', '.join(System)}.")
    return [known[name.lower()] for name in names] or list(COMPARED)
