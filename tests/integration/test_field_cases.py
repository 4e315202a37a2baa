"""Field cases with their own words, over a real index: filters, context limits, prefixes, long passages, keywords, citations."""

import ast
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import rag
from ingest.chunker import Chunker
from ingest.ledger import Ledger
from ingest.pipeline import RunOptions, ingest
from ingest.run import index_directory, ledger_path
from ingest.sources import SourceRow
from locales.language import Language
from rag.answerer import Answerer
from rag.build import build_answerer
from rag.errors import ModelError
from rag.index_reader import IndexReader
from rag.models.e5 import E5Embedder
from rag.models.protocols import Budget, Embedder, Prompt, Usage, Vectors
from rag.prompting import StagePrompt
from rag.replies import Abstention, AbstentionKind, Answer
from rag.reranker import Reranker
from rag.retriever import Retriever
from rag.settings import RagSettings
from rag.store import IndexStore
from rag.text import query_tokens
from rag.types import Candidate, Mode, Query, Question, SentenceKind
from tests.builders import document
from tests.fakes import HashEmbedder, ScriptedLanguageModel
from tests.integration.pages import Page, publish

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


def page(title: str, text: str, language: str = "it", topic: str = "flu") -> str:
    return f"---\ntopic: {topic}\nlanguage: {language}\ntitle: {title}\n---\n## {title}\n\n{text}\n"


async def read_in(home: Path, pages: dict[str, str], embedder: Embedder, *, full: bool = False) -> None:
    """Write pages, and let a run take them in."""
    for name, text in pages.items():
        (home / "pages").mkdir(parents=True, exist_ok=True)
        (home / "pages" / f"{name}.md").write_text(text, encoding="utf-8")
    row = SourceRow.model_validate({"id": "s", "kind": "folder", "path": home / "pages", "publisher": "Editore"})
    options = RunOptions(configured=["s"], full=full)
    async with Ledger.open(ledger_path(home)) as ledger:
        await ingest([row], IndexStore(index_directory(home)), embedder, ledger, lock=home / "lock", options=options)


def answerer(home: Path, embedder: Any, model: Any = None) -> Answerer:
    return build_answerer(RagSettings(home=home, generator="none"), language_model=model, embedder=embedder)


# H19


def written_filters() -> Iterator[tuple[str, ast.expr]]:
    """What is given to `where` and `delete` in the package that owns the index."""
    for path in Path(rag.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if not isinstance(called, ast.Attribute) or called.attr not in {"where", "delete"}:
                continue
            if ast.unparse(called.value) != "np":
                yield path.name, cast(ast.Call, node).args[0]


def test_no_filter_is_put_together_where_it_is_used_h19() -> None:
    found = list(written_filters())
    assert len(found) >= 3
    assert [(name, ast.unparse(given)) for name, given in found if not isinstance(given, ast.Name | ast.Constant)] == []


# H29


def test_a_publication_between_the_two_searches_of_a_question_leaves_it_one_version_h29(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, embedder = IndexStore(tmp_path / "index"), HashEmbedder()
    cough = Page("b", "Tosse", "La tosse secca")
    publish(store, Page("a", "Pellagra", "La pellagra viene da una carenza."), cough)
    search_by_meaning, publications = IndexReader.nearest, [Page("c", "Xerostomia", "La xerostomia è bocca asciutta.")]

    def interrupted(reader: IndexReader, vector: Vectors, k: int) -> list[Candidate]:
        candidates = search_by_meaning(reader, vector, k)
        while publications:
            publish(IndexStore(tmp_path / "index"), publications.pop(), retired=["a"])
        return candidates

    monkeypatch.setattr(IndexReader, "nearest", interrupted)
    retriever = Retriever(lambda language: store.open(language, embedder.fingerprint), cast(Embedder, embedder))
    hits = retriever.retrieve(Query(question="pellagra o xerostomia?", language=ITALIAN))

    (added,) = [hit for hit in hits if hit.chunk.document_id == "c"]
    assert {hit.chunk.document_id for hit in hits} == {"b", "c"}
    assert added.score > 0
    assert added.dense > 0.3
    assert added.lexical > 0
    assert hits == retriever.retrieve(Query(question="pellagra o xerostomia?", language=ITALIAN))


# H23


class StrictModel(ScriptedLanguageModel):
    """Refuses what does not fit its context, as a real one does."""

    def complete(
        self,
        prompt: Prompt,
        *,
        budget: Budget,
        temperature: float,
        stop: Sequence[str] = (),
        usage: Usage | None = None,
        grammar: str | None = None,
    ) -> Iterator[str]:
        needed = self.count_tokens(prompt.prefix) + self.count_tokens(prompt.body) + budget.max_tokens
        if needed > self.context_tokens:
            raise ModelError(f"{needed} tokens in a context of {self.context_tokens}")
        return super().complete(prompt, budget=budget, temperature=temperature, stop=stop, usage=usage, grammar=grammar)


TURN = "Ho una tosse che non passa e le racconto tutto. " + "E poi ancora una cosa da dire. " * 25
LONG_MESSAGE = ("Quanto dura l'influenza? " + "L'influenza mi dà febbre, sto a letto. " * 110)[:3_983] + " Che cosa faccio?"
LONG_PAGES = {
    f"flu{number}": page(
        f"Influenza {number}", f"L'influenza di tipo {number} dà febbre. " + "Passa con il riposo a letto. " * 60
    )
    for number in range(6)
}


@pytest.fixture(scope="module")
def long_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("long")
    asyncio.run(read_in(home, LONG_PAGES, cast(Embedder, HashEmbedder(dimension=4096))))
    return home


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("text", "earlier"),
    [
        ("Che cosa fare per l'influenza?", (TURN[:800],) * 15),
        (LONG_MESSAGE, ()),
        ("e per i bambini?", (*(TURN[:800],) * 14, "Quanto dura l'influenza?")),
    ],
    ids=["fifteen long turns", "one long message", "a follow-up to them"],
)
def test_rules_question_and_room_for_the_answer_are_kept_however_much_was_said_h23(
    long_home: Path, mode: Mode, text: str, earlier: tuple[str, ...]
) -> None:
    assert sum(map(len, earlier)) > 11_000 or len(text) == 4_000
    model = StrictModel("1 2 3", "L'influenza dà febbre.")
    run = answerer(long_home, HashEmbedder(dimension=4096), model).answer(Question(text=text, earlier=earlier), mode=mode)

    assert isinstance(run.reply, Answer | Abstention)
    assert model.prompts
    rules = {StagePrompt.load(ITALIAN, stage).system for stage in ("write", "score", "interpret")}
    for prompt in model.prompts:
        assert any(prompt.prefix.startswith(rule) for rule in rules)
        assert "influenza" in prompt.body
        assert model.count_tokens(prompt.prefix) + model.count_tokens(prompt.body) < model.context_tokens


# H25


class Spy:
    """Notes what reaches the encoder, which writes each prefix itself."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.queries: list[str] = []
        self.passages: list[str] = []

    def query(self, texts: list[str]) -> Vectors:
        self.queries.extend(texts)
        return cast(Vectors, self._engine.query(texts))

    def passage(self, texts: list[str]) -> Vectors:
        self.passages.extend(texts)
        return cast(Vectors, self._engine.passage(texts))

    def token_count(self, text: str, is_query: bool) -> int:
        return int(self._engine.token_count(text, is_query))


async def test_every_query_and_passage_gets_its_prefix_once_in_the_first_build_the_reindex_and_a_question_h25(
    tmp_path: Path,
) -> None:
    embedder = E5Embedder(threads=1)
    embedder._engine = spy = Spy(embedder._engine)
    pages = {"fiebre": page("Fiebre", "La fiebre es el aumento de la temperatura del cuerpo.", "es", "fever_adults")}
    built = []
    for full in (False, True):
        await read_in(tmp_path, pages, embedder, full=full)
        built.append([text for text in spy.passages if "aumento de la temperatura" in text])
        spy.passages.clear()
    answerer(tmp_path, embedder).answer(Question(text="¿qué es la fiebre?"))

    assert built[0]
    assert built[1] == built[0]
    assert "¿qué es la fiebre?" in spy.queries
    assert "¿qué es la fiebre?" not in spy.passages
    told = [*spy.queries, *spy.passages, *built[0], *built[1]]
    assert [text for text in told if text.lower().startswith(("query", "passage"))] == []  # the engine writes it, nobody else


def test_the_engine_writes_one_prefix_of_the_models_own_h25() -> None:
    engine = E5Embedder(threads=1)._engine
    for is_query, prefix in ((True, "query: "), (False, "passage: ")):
        without = engine.token_count("fiebre alta", is_query)
        of_prefix = engine.token_count(prefix + "fiebre alta", is_query) - without
        assert of_prefix > 1
        assert engine.token_count("a", is_query) == 1 + of_prefix + 1 + 1  # between the marks at both ends, once


# H26


def test_each_chunk_of_a_long_page_is_within_the_models_own_tokens_and_the_last_sentence_is_found_h26(tmp_path: Path) -> None:
    real = E5Embedder(threads=1)
    text = " ".join(f"Questa frase numero {n} parla di altre cose della vita." for n in range(300))
    last = "La posologia dello xilotrimene è decisa dal medico."
    _, surfaces = Chunker(real.count_tokens).chunks(document(title="Xilotrimene", text=f"{text} {last}"))
    assert len(f"{text} {last}".split()) > 3_000
    assert max(real.count_tokens(surface.text) for surface in surfaces) <= real.max_tokens

    embedder = HashEmbedder(dimension=4096)
    embedder.count_tokens = real.count_tokens  # type: ignore[method-assign]
    pages = {"xilotrimene": page("Xilotrimene", f"{text} {last}"), "tosse": page("Tosse", "La tosse secca.", topic="cough")}
    asyncio.run(read_in(tmp_path, pages, cast(Embedder, embedder)))
    hits = answerer(tmp_path, embedder).find(Question(text="Qual è la posologia dello xilotrimene?"))
    assert any(sentence.text == last for hit in hits[:3] for sentence in hit.chunk.sentences)


# H27, H28


def found(store: IndexStore, embedder: HashEmbedder, question: str, language: Language = ITALIAN) -> list[str]:
    retriever = Retriever(lambda wanted: store.open(wanted, embedder.fingerprint), cast(Embedder, embedder))
    query = Query(question=question, language=language)
    statistics = store.open(language, embedder.fingerprint).statistics
    hits = Reranker().rerank(query, retriever.retrieve(query), statistics)
    return [hit.chunk.document_id for hit in hits]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_exact_match_comes_first_in_an_index_of_one_or_two_pages_and_none_breaks_h27(tmp_path: Path, count: int) -> None:
    store, embedder = IndexStore(tmp_path / "index"), HashEmbedder()
    publish(store, *[Page("a", "La febbre alta", "La febbre alta"), Page("b", "La tosse secca", "La tosse secca")][:count])
    assert found(store, embedder, "febbre")[:1] == ["a"][:count]


PAGES_OF_H28 = {
    "a": page("Emicrania", "L'emicrania è un mal di testa che pulsa.", topic="headache"),
    "b": page("Pressione", "Cause dell’ipertensione: sale e peso.", topic="high_blood_pressure"),
    "c": page("Tosse", "Perché viene la tosse di notte.", topic="cough"),
    "d": page("Termometro", "Si chiama il medico oltre 38,5 gradi.", topic="fever_adults"),
    "e": page("Coronavirus", "Il COVID-19 si trasmette per via aerea.", topic="covid19"),
    "f": page("Vitamine", "La carenza di vitamina B12 dà anemia.", topic="anaemia"),
    "g": page("Fiebre", "La fiebre es una defensa del cuerpo.", "es", "fever_adults"),
    "h": page("Tos", "La tos seca molesta de noche.", "es", "cough"),
}


@pytest.fixture(scope="module")
def home_of_h28(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("h28")
    asyncio.run(read_in(home, PAGES_OF_H28, cast(Embedder, HashEmbedder())))
    return home


@pytest.mark.parametrize(
    ("query", "name", "language"),
    [
        ("emicrania", "a", ITALIAN),
        ("ipertensione?", "b", ITALIAN),
        ("ipertensione", "b", ITALIAN),
        ("dell'ipertensione", "b", ITALIAN),
        ("perche", "c", ITALIAN),
        ("38,5", "d", ITALIAN),
        ("covid-19", "e", ITALIAN),
        ("B12", "f", ITALIAN),
        ("¿qué es la fiebre?", "g", SPANISH),
    ],
)
def test_each_word_finds_its_page_by_words_alone_h28(home_of_h28: Path, query: str, name: str, language: Language) -> None:
    reader = IndexStore(index_directory(home_of_h28)).open(language, "hash-1")
    hits = reader.lexical(" ".join(query_tokens(query, language)), 5)
    assert [hit.chunk.document_id for hit in hits[:1]] == [f"s-{name}"]


# H36


THREE = {
    "a": page("Influenza", "L'influenza di solito guarisce in una settimana. Con l'influenza resti a casa e riposi."),
    "b": page("Influenza nei bambini", "Nei bambini l'influenza dura una settimana e può dare vomito.", topic="flu_children"),
    "c": page("Influenza negli anziani", "Negli anziani l'influenza dura una settimana o più.", topic="flu_elderly"),
}


@pytest.fixture(scope="module")
def home_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("three")
    asyncio.run(read_in(home, THREE, cast(Embedder, HashEmbedder(dimension=4096))))
    return home


def test_a_seventh_source_of_three_and_its_address_are_not_shown_h36(home_of_three: Path) -> None:
    model = ScriptedLanguageModel(
        "L'influenza di solito guarisce in una settimana [7] https://inventato.it. "
        "L'influenza di solito guarisce in una settimana [7]. Fonte 7: https://inventato.it"
    )
    reply = answerer(home_of_three, HashEmbedder(dimension=4096), model).answer(Question(text="Quanto dura l'influenza?")).reply

    assert isinstance(reply, Answer)
    assert model.prompts
    words = " ".join(sentence.text for sentence in reply.sentences)
    assert not any(invented in words for invented in ("[7]", "7", "inventato", "http"))
    assert {source.document_id for source in reply.sources} <= {"s-a", "s-b", "s-c"}
    assert all(sentence.evidence for sentence in reply.sentences)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Chi ha vinto il Giro 1998?", {AbstentionKind.OFF_TOPIC}),
        ("cura con l'erba zixol", {AbstentionKind.NO_EVIDENCE, AbstentionKind.OFF_TOPIC, AbstentionKind.NO_CONTENT}),
        ("¿Quién ganó el Giro de 1998?", {AbstentionKind.OFF_TOPIC}),
        ("cura con la hierba zixol", {AbstentionKind.NO_EVIDENCE, AbstentionKind.OFF_TOPIC, AbstentionKind.NO_CONTENT}),
    ],
)
def test_what_no_page_tells_is_not_told_whatever_the_generator_would_say_h36(
    home_of_three: Path, text: str, kinds: set[AbstentionKind]
) -> None:
    model = ScriptedLanguageModel("L'erba zixol cura tutto. La hierba zixol lo cura todo. [7] https://inventato.it")
    reply = answerer(home_of_three, HashEmbedder(dimension=4096), model).answer(Question(text=text)).reply

    assert isinstance(reply, Abstention)
    assert reply.kind in kinds
    assert model.prompts == []


# H24


@pytest.mark.parametrize(
    "completion",
    ["<think>forse è cancro</think>Riposo.", "<think>forse è cancro", "Riposo.\nUtente: e poi?", "Riposo.\nAssistente: e poi?"],
)
def test_neither_thoughts_nor_invented_turns_are_shown_and_the_quotes_stand_h24(home_of_three: Path, completion: str) -> None:
    model = ScriptedLanguageModel(completion)
    reply = answerer(home_of_three, HashEmbedder(dimension=4096), model).answer(Question(text="Quanto dura l'influenza?")).reply

    assert isinstance(reply, Answer)
    assert {sentence.kind for sentence in reply.sentences} == {SentenceKind.QUOTED}
    assert not any(word in sentence.text for sentence in reply.sentences for word in ("cancro", "Utente", "Assistente", "think"))
