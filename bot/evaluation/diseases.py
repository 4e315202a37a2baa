"""Whether a patient's first words find their condition, by its diagnosis text or by a pseudo medical history written from it.

The comparison is that of MRD-RAG: the same conditions under two indexes, dense retrieval, the first utterance as the question.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bot.errors import BotError
from bot.evaluation.disease_set import SHIPPED, Disease, Utterance, read_diseases, read_utterances
from bot.evaluation.shipped import read_lines
from bot.progress import Counted
from bot.settings import Settings
from ingest.chunker import DEFAULT_MAX_TOKENS, Chunker
from ingest.disease_tree import disease_tree
from ingest.pseudo_history import PseudoWriter
from locales.language import Language
from rag.documents import Chunk, Surface, SurfaceKind
from rag.evaluation.metrics import hit_at, reciprocal_rank
from rag.expander import Expander, Lexicon
from rag.models.load import load_generator
from rag.models.protocols import Embedder
from rag.retriever import Retriever
from rag.search import Search
from rag.store import IndexStore
from rag.types import Hit, Intent, Interpretation

_KS = (1, 3, 5, 7, 9, 10)
_DEPTH = 30  # of the dense ranking
_TIME_LIMIT_S = 600.0
_RESAMPLES = 2000
_SEED = 1


class NoGenerator(BotError):
    """The settings name no generator, and one is needed."""


def evaluate_diseases(
    embedder: Embedder, *, writer: PseudoWriter | None, cache_dir: Path, progress: Counted, data: Path = SHIPPED
) -> dict[str, Any]:
    """Publish the starter conditions and further ones under each index, and look for the condition of each utterance.

    Args:
        embedder: Embeds texts and utterances.
        writer: Writes the pseudo histories; without one only the diagnosis texts are measured.
        cache_dir: Where written histories are kept, by page and version of the writer.
        progress: Told how far it is.
        data: The folder of the set: `{lang}.jsonl` and `utterances_{lang}.jsonl`.

    Returns:
        `rows` by language, index and way of counting: MRR@10 with its bootstrap interval of 95 %, resampled by condition, hits at
        1, 3, 5, 7, 9 and 10, and the number of utterances. A `strict` hit is the condition itself; a `lenient` one is also one
        that bears its name, is one of its aliases, or is its parent. The indexes are `diagnosis`; `history`, in which a
        condition without a history that passed keeps its diagnosis text; `both`; and `diagnosis, product` and `both, product`,
        searched as the answering line does. The set "… with a history" leaves out utterances of conditions that fell back.
        `histories` counts by language what was written and what fell back, and names the latter.

    Raises:
        SetUnreadable: If a file of the set is missing or malformed, or an utterance names an unknown condition.
        ModelError: If embedder or generator fail.
    """
    diseases = read_diseases(data)
    utterances = read_utterances(data, diseases)
    histories = write_histories(diseases, writer, cache_dir, progress) if writer else None
    report: dict[str, Any] = {"rows": []}
    for language in Language:
        own = {disease.id: disease for disease in diseases if disease.language is language}
        told = [utterance for utterance in utterances if utterance.language is language]
        written = None if histories is None else {key: histories[language, key] for key in own}
        report["rows"] += list(_rows(own, told, written, embedder, progress))
    if histories is not None:
        report["histories"] = {language.value: _counts(language, histories) for language in Language}
    return report


def load_writer(settings: Settings) -> PseudoWriter:
    """The writer over the configured generator, with time enough on a slow machine: what passes shall not depend on its speed.

    Raises:
        NoGenerator: If none is configured.
        ModelUnavailable: If it is not on this machine.
    """
    model = load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
    if model is None:
        raise NoGenerator("Pseudo histories need a generator; --without-generator measures the diagnosis texts alone.")
    return PseudoWriter(model, time_limit_s=_TIME_LIMIT_S)


def write_histories(
    diseases: Sequence[Disease], writer: PseudoWriter, cache_dir: Path, progress: Counted
) -> dict[tuple[Language, str], str | None]:
    """The pseudo history of each condition, None where no text passed the checks; what was written before is not written again.

    Raises:
        ModelError: If the generator fails; what is whole by then is kept.
    """
    path = cache_dir / "pseudo_histories.jsonl"
    cache_dir.mkdir(parents=True, exist_ok=True)
    known = {row["key"]: row["history"] for row in read_lines(path, "key", "history")} if path.exists() else {}
    found: dict[tuple[Language, str], str | None] = {}
    for number, disease in enumerate(diseases, start=1):
        key = hashlib.sha256(f"{writer.version}\n{disease.page.content_hash}".encode()).hexdigest()
        if key not in known:
            texts = writer.write(disease.page, disease_tree(disease.page), cancelled=lambda: False)
            known[key] = next(iter(texts.histories), None)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "history": known[key]}, ensure_ascii=False) + "\n")
        found[disease.language, disease.id] = known[key]
        progress("pseudo histories", number, len(diseases))
    return found


def _counts(language: Language, histories: Mapping[tuple[Language, str], str | None]) -> dict[str, Any]:
    own = {disease: history for (of, disease), history in histories.items() if of is language}
    fell_back = sorted(disease for disease, history in own.items() if history is None)
    return {"written": len(own) - len(fell_back), "fell_back": len(fell_back), "fell_back_to_the_diagnosis_text": fell_back}


_Find = Callable[[Utterance], list[Hit]]
_Found = tuple[Utterance, list[str]]  # with the ids of the conditions found, best first


def _rows(
    diseases: Mapping[str, Disease],
    utterances: Sequence[Utterance],
    histories: Mapping[str, str | None] | None,
    embedder: Embedder,
    progress: Counted,
) -> Iterator[dict[str, Any]]:
    """The rows of one language."""
    language = next(iter(diseases.values())).language.value
    with _searches(diseases, histories, embedder) as searches:
        for index, search in searches.items():
            found: list[_Found] = []
            for number, utterance in enumerate(utterances, start=1):
                found.append((utterance, list(dict.fromkeys(hit.chunk.document_id for hit in search(utterance)))))
                progress(f"{language}, {index}", number, len(utterances))
            sets = {language: found}
            if histories is not None:
                sets[f"{language} with a history"] = [one for one in found if histories[one[0].disease]]
            for name, told in sets.items():
                for counted in ("lenient", "strict") if told else ():
                    yield {"set": name, "index": index, "counted": counted, **_figures(told, diseases, counted)}


@contextmanager
def _searches(
    diseases: Mapping[str, Disease], histories: Mapping[str, str | None] | None, embedder: Embedder
) -> Iterator[dict[str, _Find]]:
    """Publish each index in the store of the product, and give the search over each; they go away afterwards."""
    with tempfile.TemporaryDirectory(prefix="salus-eval-") as folder:
        stores = {"diagnosis": _published(Path(folder) / "diagnosis", diseases, embedder)}
        if histories is not None:
            told = {key: history for key, history in histories.items() if history}
            stores["history"] = _published(Path(folder) / "history", diseases, embedder, replaced=told)
            stores["both"] = _published(Path(folder) / "both", diseases, embedder, added=told)
        searches = {name: _dense(store, embedder) for name, store in stores.items()}
        yield searches | {
            f"{name}, product": _as_answering(store, embedder) for name, store in stores.items() if name != "history"
        }


def _dense(store: IndexStore, embedder: Embedder) -> _Find:
    def search(utterance: Utterance) -> list[Hit]:
        reader = store.open(utterance.language, embedder.fingerprint)
        return reader.dense(embedder.embed_queries([utterance.text])[0], _DEPTH)

    return search


def _as_answering(store: IndexStore, embedder: Embedder) -> _Find:
    """By meaning and by words, with the lexicon's other words, fused and reranked."""
    line = Search(Retriever(lambda language: store.open(language, embedder.fingerprint), embedder))
    expander = Expander({language: Lexicon.load(language) for language in Language})

    def search(utterance: Utterance) -> list[Hit]:
        understood = Interpretation(language=utterance.language, intent=Intent.QUESTION, self_contained=utterance.text)
        query = expander.expand(understood)
        reader = store.open(utterance.language, embedder.fingerprint)
        return line.find(query, reader, list(embedder.embed_queries([query.question, *query.expansions])))

    return search


def _published(
    folder: Path,
    diseases: Mapping[str, Disease],
    embedder: Embedder,
    *,
    replaced: Mapping[str, str] | None = None,
    added: Mapping[str, str] | None = None,
) -> IndexStore:
    """Publish the conditions, each found by its diagnosis text, by its `replaced` text instead, or by its `added` one too.

    Aliases are no part of it: the starter pages have many words of patients among theirs, which would decide the comparison.
    """
    chunker = Chunker(embedder.count_tokens, min(embedder.max_tokens, DEFAULT_MAX_TOKENS))
    documents = [
        replace(d.page, document_id=d.id, text=d.diagnosis_text, synonyms=(), asked=(), topic=None) for d in diseases.values()
    ]
    chunks: list[Chunk] = []
    surfaces: list[Surface] = []
    for document in documents:
        cut, faces = chunker.chunks(document)
        chunks += cut
        surfaces += _told(document.document_id, faces, replaced or {}, added or {})
    store = IndexStore(folder)
    store.publish(
        documents[0].language,
        documents=documents,
        chunks=chunks,
        surfaces=surfaces,
        vectors=embedder.embed_passages([surface.text for surface in surfaces]),
        embedder=embedder,
        full=True,
    )
    return store


def _told(disease: str, surfaces: Sequence[Surface], replaced: Mapping[str, str], added: Mapping[str, str]) -> Iterable[Surface]:
    first, *others = surfaces
    yield replace(first, text=replaced[disease]) if disease in replaced else first
    yield from others
    if disease in added:
        yield Surface(kind=SurfaceKind.PSEUDO_HISTORY, text=added[disease], chunk_id=first.chunk_id)


def _figures(found: Sequence[_Found], diseases: Mapping[str, Disease], counted: str) -> dict[str, Any]:
    reciprocals: dict[str, list[float]] = {}
    hits: dict[int, list[float]] = {k: [] for k in _KS}
    for utterance, ranking in found:
        meant = diseases[utterance.disease]
        gold = {meant.id} if counted == "strict" else {key for key, other in diseases.items() if meant.accepts(other)}
        reciprocals.setdefault(meant.id, []).append(reciprocal_rank(ranking, gold))
        for k in _KS:
            hits[k].append(hit_at(ranking, gold, k))
    every = [value for values in reciprocals.values() for value in values]
    low, high = _interval(list(reciprocals.values()))
    return {
        "mrr@10": round(sum(every) / len(every), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        **{f"hit@{k}": round(sum(values) / len(values), 4) for k, values in hits.items()},
        "n": len(found),
    }


def _interval(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The bootstrap interval of 95 % of the mean of all values, whole groups drawn anew: those of a group are alike."""
    sums, sizes = np.array([sum(group) for group in groups]), np.array([len(group) for group in groups])
    drawn = np.random.default_rng(_SEED).integers(0, len(groups), size=(_RESAMPLES, len(groups)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
