"""How well a long, worried message finds its page: as written, in the lexicon's words too, and said anew as a short search."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from bot.evaluation.run_records import RunRecords
from bot.evaluation.simulated_patient import Case
from bot.progress import Counted
from locales.language import Language
from rag.answerer import OpenReader
from rag.evaluation.comparisons import compared, mean, with_interval
from rag.evaluation.dialogues import ALL, MEASURES, measures_of
from rag.evaluation.statistics import holm
from rag.expander import Expander, Lexicon
from rag.models.protocols import Budget, Embedder, LanguageModel
from rag.reformulator import MAX_WORDS, Reformulator
from rag.retriever import Retriever
from rag.search import Search
from rag.types import Intent, Interpretation, Query

_SYSTEM = "interpreted query"  # of the records


class Phrasing(StrEnum):
    """What is searched for a message."""

    OWN = "own words"
    LEXICON = "own words + lexicon"
    INTERPRETED = "own words + interpreted query"
    BOTH = "own words + lexicon + interpreted query"
    ALONE = "interpreted query alone"


WITHOUT_GENERATOR = (Phrasing.OWN, Phrasing.LEXICON)


@dataclass(frozen=True, slots=True)
class StorySearch:
    """The product's search for one page of a topic."""

    open_reader: OpenReader
    embedder: Embedder

    def rank(self, query: Query, topic: str) -> int | None:
        """The place of the first page on a topic, each page counted once; None if it is not among the candidates."""
        reader = self.open_reader(query.language)
        vectors = list(self.embedder.embed_queries([query.question, *query.expansions]))
        hits = Search(Retriever(self.open_reader, self.embedder)).find(query, reader, vectors)
        topics = list(dict.fromkeys(hit.chunk.topic or hit.chunk.document_id for hit in hits))
        return topics.index(topic) + 1 if topic in topics else None


def plain_query(text: str, language: Language) -> Query:
    """A message searched as it was written."""
    return Query(question=text, language=language, intent=Intent.QUESTION)


def evaluate_interpretation(
    cases: Sequence[Case],
    search: StorySearch,
    open_generator: Callable[[], LanguageModel] | None,
    records: RunRecords,
    about: Mapping[str, Any],
    progress: Counted,
) -> dict[str, Any]:
    """Search each case's story in each phrasing.

    Args:
        cases: Whose stories are searched.
        search: Finds the page.
        open_generator: Loads what says a story anew; not called if all have been said anew before. Without it only the phrasings
            are measured that need none.
        records: Keeps what the generator said.
        about: What is told of the run.
        progress: Told how far it is.

    Returns:
        `about`; `rows` by set and phrasing, each measure with its 95 % interval; `comparisons` by set, of each phrasing with the
        own words alone: see `rag.evaluation.comparisons`; and with a generator `said`: how often it gave nothing usable, in
        which case the message stays as it was, and how many words a query has.

    Raises:
        RagError: If models or index fail.
    """
    said = _said_anew(cases, open_generator, records, progress) if open_generator else {}
    phrasings = tuple(Phrasing) if open_generator else WITHOUT_GENERATOR
    expander = Expander({language: Lexicon.load(language) for language in Language})
    values: dict[str, dict[str, list[float]]] = {}
    for phrasing in phrasings:
        values[phrasing.value] = {measure: [] for measure in MEASURES}
        for number, case in enumerate(cases, start=1):
            rank = search.rank(_query(phrasing, case, said.get(case.case_id), expander), case.condition)
            for measure, value in measures_of(rank).items():
                values[phrasing.value][measure].append(value)
            progress(f"search: {phrasing.value}", number, len(cases))
    told = {"about": {**about, "cases": len(cases), "fingerprint": records.fingerprint}, **_figures(cases, values)}
    return told | ({"said": _counts(said)} if open_generator else {})


def conditions(cases: Sequence[Case]) -> dict[str, Any]:
    """What of the measuring itself the records depend on."""
    told = "\n".join(f"{case.case_id}\t{case.story}" for case in cases)
    return {"stories_sha256": hashlib.sha256(told.encode()).hexdigest()[:16], "most_words": MAX_WORDS}


def _said_anew(
    cases: Sequence[Case], open_generator: Callable[[], LanguageModel], records: RunRecords, progress: Counted
) -> dict[str, str | None]:
    opened = cache(lambda: Reformulator(open_generator()))
    said: dict[str, str | None] = {}
    for number, case in enumerate(cases, start=1):
        kept = records.once(_SYSTEM, case.case_id, lambda case=case: {"query": _say(opened(), case)})  # type: ignore[misc]
        said[case.case_id] = kept["query"]
        progress("interpreted queries", number, len(cases))
    return said


def _say(reformulator: Reformulator, case: Case) -> str | None:
    told = reformulator.reformulate(plain_query(case.story, case.language), Budget(max_tokens=1))
    return told.expansions[0] if told.expansions else None


def _query(phrasing: Phrasing, case: Case, said: str | None, expander: Expander) -> Query:
    if phrasing is Phrasing.ALONE:
        return plain_query(said or case.story, case.language)
    own = plain_query(case.story, case.language)
    expansions: tuple[str, ...] = ()
    if phrasing in (Phrasing.LEXICON, Phrasing.BOTH):
        own = expander.expand(Interpretation(language=case.language, intent=Intent.QUESTION, self_contained=case.story))
        expansions = own.expansions
    if phrasing in (Phrasing.INTERPRETED, Phrasing.BOTH) and said:
        expansions = (*expansions, said)
    return Query(question=own.question, language=own.language, intent=own.intent, expansions=expansions)


def _figures(cases: Sequence[Case], values: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any]:
    languages = [language.value for language in Language if any(case.language is language for case in cases)]
    rows: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []
    for name in [*languages, ALL] if len(languages) > 1 else languages:
        places = [at for at, case in enumerate(cases) if name in (ALL, case.language.value)]
        own = {way: {key: [told[at] for at in places] for key, told in measures.items()} for way, measures in values.items()}
        for way, measures in own.items():
            row: dict[str, Any] = {"set": name, "phrasing": way, "n": len(places)}
            for measure, told in measures.items():
                row |= with_interval(measure, told)
            rows.append(row)
        comparisons += [{"set": name, **row} for row in _against_own_words(own)]
    return {"rows": rows, "comparisons": comparisons}


def _against_own_words(values: Mapping[str, Mapping[str, Sequence[float]]]) -> list[dict[str, Any]]:
    own = Phrasing.OWN.value
    rows = [row for way in values if way != own for row in compared({own: values[own], way: values[way]})]
    return [row | {"p_holm": chance} for row, chance in zip(rows, holm([row["p"] for row in rows]), strict=True)]


def _counts(said: Mapping[str, str | None]) -> dict[str, Any]:
    lengths = [len(query.split()) for query in said.values() if query]
    return {
        "nothing_usable": len(said) - len(lengths),
        "words": mean([float(one) for one in lengths]),
        "most_words": max(lengths, default=0),
    }
