"""Ways to answer that are compared: the generator alone, from passages, from summaries, and the product's verified line.

All but the product's write what nothing has checked. They exist for this comparison only; no patient is ever shown them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from locales.language import Language
from rag.answerer import Answerer, OpenReader
from rag.expander import Expander, Lexicon
from rag.interpreter import Interpreter
from rag.models.protocols import Budget, Embedder, LanguageModel, Prompt
from rag.prompting import StagePrompt
from rag.reformulator import Reformulator
from rag.replies import Answer
from rag.retriever import Retriever
from rag.search import Search
from rag.stopwatch import Stopwatch
from rag.types import Hit, Mode, Question

DOCUMENTS = 5
"""First passages that are written from, and among which a right one is looked for, as in the published pipeline."""

MAX_TOKENS = 200
"""Longest unverified answer: about 110 words."""

SUMMARY_TOKENS = 80
TEMPERATURE = 0.3
"""As in the published pipeline."""


class System(StrEnum):
    """A way to answer, by its name in the published comparison, or by the product's mode."""

    NO_RAG = "No-RAG"
    RAG = "R+Q+RR"
    SUMMARIES = "R+Q+RR+S"
    FAST = "Fast"
    PRECISE = "Precise"


COMPARED = (System.NO_RAG, System.RAG, System.SUMMARIES, System.FAST)
"""What is compared unless asked otherwise."""

_MODES = {System.FAST: Mode.FAST, System.PRECISE: Mode.PRECISE}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQuestion:
    """A question and the topic of the page that answers it."""

    question_id: str
    language: Language
    text: str
    topic: str


class ComparedSystems:
    """Answers a question in each way, with the seconds that it took.

    Args:
        answerer: The product's line, with the same generator.
        generator: Writes.
        open_reader: Opens the published index of a language.
        fill: Puts the emergency number where a source leaves it open.
    """

    def __init__(
        self,
        *,
        answerer: Answerer,
        generator: LanguageModel,
        open_reader: OpenReader,
        fill: Callable[[str, Language], str],
    ) -> None:
        self._answerer = answerer
        self._generator = generator
        self._open_reader = open_reader
        self._fill = fill
        self._embedder: Embedder = answerer.embedder
        self._interpreter = Interpreter()
        self._expander = Expander({language: Lexicon.load(language) for language in Language})
        self._reformulator = Reformulator(generator)
        self._search = Search(Retriever(open_reader, self._embedder))

    def record(self, system: System, asked: GoldQuestion) -> dict[str, Any]:
        """Answer, and tell the text, the topics of the first passages, and the seconds by stage, and of `all` together."""
        watch = Stopwatch()
        text, found = self._answer(system, asked, watch)
        watch.mark("all")
        if system in _MODES:
            found = self._answerer.find(_question(asked))[:DOCUMENTS]
        return {
            "lang": asked.language.value,
            "topic": asked.topic,
            "question": asked.text,
            "text": text.strip(),
            "found": None if system is System.NO_RAG else [hit.chunk.topic for hit in found],
            "stages_s": {stage: round(spent, 4) for stage, spent in watch.timings_s.items()},
        }

    def _answer(self, system: System, asked: GoldQuestion, watch: Stopwatch) -> tuple[str, Sequence[Hit]]:
        if system in _MODES:
            return self._verified(asked, _MODES[system], watch), ()
        if system is System.NO_RAG:
            with watch.stage("write"):
                return self._complete(self._prompt(asked, "compare_plain"), MAX_TOKENS), ()
        with watch.stage("retrieve"):
            hits = self._find(asked)
        documents = [f"{hit.chunk.title}. {_in_a_line(hit.chunk.text)}" for hit in hits]
        if system is System.SUMMARIES:
            with watch.stage("summarise"):
                documents = [self._summary(asked, passages) for passages in _by_page(hits)]
        with watch.stage("write"):
            return self._complete(self._fitting(asked, "compare_documents", documents, MAX_TOKENS), MAX_TOKENS), hits

    def _verified(self, asked: GoldQuestion, mode: Mode, watch: Stopwatch) -> str:
        run = self._answerer.answer(_question(asked), mode=mode)
        watch.timings_s |= run.timings_s
        if not isinstance(run.reply, Answer):
            return ""
        return self._fill(" ".join(sentence.text for sentence in run.reply.sentences), asked.language)

    def _find(self, asked: GoldQuestion) -> list[Hit]:
        interpretation = self._interpreter.interpret(_question(asked))
        query = self._reformulator.reformulate(self._expander.expand(interpretation), Budget(max_tokens=MAX_TOKENS))
        vectors = list(self._embedder.embed_queries([query.question, *query.expansions]))
        return self._search.find(query, self._open_reader(asked.language), vectors)[:DOCUMENTS]

    def _summary(self, asked: GoldQuestion, passages: Sequence[Hit]) -> str:
        """A page in few words, by one call."""
        texts = [_in_a_line(passage.chunk.text) for passage in passages]
        written = self._complete(self._fitting(asked, "compare_summary", texts, SUMMARY_TOKENS), SUMMARY_TOKENS)
        return f"{passages[0].chunk.title}. {_in_a_line(written)}"

    def _fitting(self, asked: GoldQuestion, stage: str, texts: Sequence[str], max_tokens: int) -> Prompt:
        """The prompt of a stage; the last texts are left out until it fits the context together with what is written."""
        for count in range(len(texts), 0, -1):
            prompt = self._prompt(asked, stage, texts[:count])
            tokens = self._generator.count_tokens(prompt.prefix) + self._generator.count_tokens(prompt.body)
            if tokens + max_tokens <= self._generator.context_tokens:
                return prompt
        return self._prompt(asked, stage)

    def _prompt(self, asked: GoldQuestion, stage: str, texts: Sequence[str] = ()) -> Prompt:
        words = StagePrompt.load(asked.language, stage)
        return words.prompt(self._generator, words.fill(question=asked.text, texts=list(texts)))

    def _complete(self, prompt: Prompt, max_tokens: int) -> str:
        return "".join(self._generator.complete(prompt, budget=Budget(max_tokens=max_tokens), temperature=TEMPERATURE))


def _by_page(hits: Sequence[Hit]) -> list[list[Hit]]:
    pages: dict[str, list[Hit]] = {}
    for hit in hits:
        pages.setdefault(hit.chunk.document_id, []).append(hit)
    return list(pages.values())


def _question(asked: GoldQuestion) -> Question:
    return Question(text=asked.text, language=asked.language)


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
