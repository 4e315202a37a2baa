"""Lets the generator say what a page tells for a diagnosis in the words of a patient, as search surfaces and nothing else.

A page says "articular swelling", a patient "my toe is red and hot": a pseudo medical history, written once from the page, is
nearer to what a patient will write than the page is. Nobody is ever shown such a text and no sentence is ever proved by it; yet
one that strays would lead a question to the wrong page, so each is judged against its page and dropped when in doubt.
"""

import hashlib
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex
from rapidfuzz import fuzz

from ingest.outline import sections
from locales.language import Language
from rag.disease_tree import DiseaseTree
from rag.documents import Document, DocumentKind, Sentence
from rag.errors import DeadlineExceeded
from rag.expander import Lexicon
from rag.languages import identify
from rag.models.protocols import Budget, LanguageModel, Prompt
from rag.prompting import StagePrompt
from rag.sentences import may_be_shown
from rag.text import content_tokens, fold, normalise, split_sentences, words

# Part of what a written text is kept under: raise it when the checks change so that other texts would pass.
PSEUDO_VERSION = "1"

_HISTORY, _QUESTIONS = "pseudo_history", "patient_questions"
_TEXT_WORDS = 70  # the symptoms of most pages; small generators copy longer texts instead of retelling them
_MAX_TOKENS = {_HISTORY: 90, _QUESTIONS: 90}
_TEMPERATURE = 0.1
_TIME_LIMIT_S = 60.0
_HISTORY_WORDS = range(6, 61)
_QUESTION_WORDS = range(3, 21)
_MOST_QUESTIONS = 4
# Content words that one sentence of the page has together: "why do I have a fever?" would lead every fever to each page that
# names one, and "red skin" to gout, which has a red joint in one sentence and stones under the skin in another.
_LEAST_TOGETHER = 2
_LEAST_GROUNDED_SHARE = 0.6
_ALIKE = 82  # of 100, edit similarity of two generated texts
_COPIED = 92  # the same of a sentence and one of the page
_COPIED_WORDS = 6

_DECORATION = regex.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s*")
_STRANGE = regex.compile(
    r"[^\P{L}\p{Latin}]|[<>{}\[\]|#*`@_=\\]|\p{So}|https?:|www\.|\b\w+\.(?:com|org|net|it|es|gov|info)\b|"
    r"(?i:\b(?:paziente|paciente|medico|médico|dottore|doctor|assistente|asistente|utente|usuario|user|assistant|system|domand[ae]|"
    r"preguntas?|rispost[ae]|respuestas?|testo|texto|nota)\s*:)"
)
_NUMBER = regex.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoTexts:
    """What was written for a page and passed: search surfaces, in the order in which they were written."""

    histories: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


class PseudoWriter:
    """Writes the pseudo medical history and the patient questions of articles. One thread owns it, as it owns its model."""

    def __init__(self, model: LanguageModel, *, time_limit_s: float = _TIME_LIMIT_S) -> None:
        self._model = model
        self._time_limit_s = time_limit_s

    @property
    def version(self) -> str:
        """What the texts of an unchanged page depend on: model, prompts and checks."""
        return f"{self._model.name}; pseudo {PSEUDO_VERSION}; prompts {_prompts_digest()}"

    def write(self, document: Document, tree: DiseaseTree, *, cancelled: Callable[[], bool]) -> PseudoTexts:
        """Write the texts of an article; a page of another kind has the words of those who asked, and gets none.

        The same page gives the same texts. When the time limit of the page passes, what is whole by then is judged and kept.

        Raises:
            Cancelled: If `cancelled()` becomes true.
            ModelError: If the generator fails.
        """
        text = _prose(tree.diagnosis_text(_TEXT_WORDS, with_headings=False))
        if document.kind is not DocumentKind.ARTICLE or not text:
            return PseudoTexts()
        deadline = time.monotonic() + self._time_limit_s
        told, asked = (
            self._complete(stage, document, text, Budget(max_tokens=tokens, deadline=deadline, cancelled=cancelled))
            for stage, tokens in _MAX_TOKENS.items()
        )
        judge = _Judge(document)
        history = judge.history(told)
        return PseudoTexts(histories=(history,) if history else (), questions=judge.questions(asked))

    def _complete(self, stage: str, document: Document, text: str, budget: Budget) -> str:
        """What the generator writes, from the opening on that keeps small ones from copying the example."""
        prompt_words = StagePrompt.load(document.language, stage)
        opening: str = _prompt_file(document.language, stage)["opening"]
        prompt = prompt_words.prompt(self._model, prompt_words.fill(title=document.title, text=text))
        written = opening
        try:
            for piece in self._model.complete(
                Prompt(prefix=prompt.prefix, body=prompt.body + opening), budget=budget, temperature=_TEMPERATURE
            ):
                written += piece
        except DeadlineExceeded:
            pass
        return written


class _Judge:
    """Judges generated texts by the page that they were written for."""

    def __init__(self, document: Document) -> None:
        self._language = document.language
        self._checks = _Checks.load(document.language)
        page = "\n".join((document.title, *document.synonyms, document.text))
        self._stems = frozenset(content_tokens(page, document.language))
        self._name_stems = self._said("\n".join((document.title, *document.synonyms)))
        self._numbers = self._checks.numbers_in(page)
        quotes = [unit.quote for section in sections(document.text, document.title) for unit in section.units]
        self._sentences = [" ".join(words(quote, self._language)) for quote in quotes]
        self._sentence_stems = [frozenset(content_tokens(quote, self._language)) for quote in quotes]

    def history(self, written: str) -> str | None:
        """The sentences in a patient's voice, as many as fit, if they say enough."""
        kept: list[str] = []
        for sentence in _whole_sentences(written):
            fits = len(" ".join([*kept, sentence]).split()) < _HISTORY_WORDS.stop
            if fits and self._is_told(sentence) and not self._is_known(sentence, kept):
                kept.append(sentence)
        text = " ".join(kept)
        is_enough = len(text.split()) in _HISTORY_WORDS and self._most_together(text) >= _LEAST_TOGETHER
        return text if is_enough and self._is_clean(text) else None

    def questions(self, written: str) -> tuple[str, ...]:
        """The questions that lead to this page, each said once."""
        kept: list[str] = []
        for line in written.split("\n"):
            question = " ".join(_DECORATION.sub("", line).split())
            if self._is_asked(question) and not _is_alike(question, kept, self._language):
                kept.append(question)
        return tuple(kept[:_MOST_QUESTIONS])

    def _is_told(self, sentence: str) -> bool:
        said = set(words(sentence, self._language))
        is_voice = bool(said & self._checks.first_person) and not said & self._checks.not_patient
        return is_voice and not sentence.endswith("?") and self._is_clean(sentence) and self._is_on_topic(sentence)

    def _is_known(self, sentence: str, kept: Sequence[str]) -> bool:
        """Said before, or copied from the page, which is found by its own sentences already."""
        own = " ".join(words(sentence, self._language))
        return _is_alike(sentence, kept, self._language) or any(fuzz.ratio(own, other) >= _COPIED for other in self._sentences)

    def _is_asked(self, question: str) -> bool:
        if not question.endswith("?") or question.count("?") > 1 or len(question.split()) not in _QUESTION_WORDS:
            return False
        names_page = bool(self._said(question) & self._name_stems)
        is_ours = names_page or self._most_together(question) >= _LEAST_TOGETHER
        return is_ours and self._is_on_topic(question) and self._is_clean(question)

    def _is_clean(self, text: str) -> bool:
        """Of the page's language, without numbers that the page does not have, doses, addresses, or pieces of the prompt."""
        if _STRANGE.search(text) or not self._checks.numbers_in(text) <= self._numbers:
            return False
        stated = text.rstrip("?¿: ")
        if not may_be_shown(Sentence(text=stated, start=0, end=len(stated))):
            return False
        reading = identify(text)
        return reading.language is self._language and not reading.is_other and not self._is_prompt(text)

    def _is_prompt(self, text: str) -> bool:
        own = words(text, self._language)
        runs = {tuple(own[at : at + _COPIED_WORDS]) for at in range(len(own) - _COPIED_WORDS + 1)}
        return bool(runs & self._checks.prompt_runs)

    def _is_on_topic(self, text: str) -> bool:
        grounded, said = self._grounded(text), self._said(text)
        return bool(grounded) and len(grounded) >= _LEAST_GROUNDED_SHARE * len(said)

    def _most_together(self, text: str) -> int:
        said = self._said(text)
        lay = self._said(self._lay_words(text))
        return max((len(said & stems) for stems in self._sentence_stems), default=0) + len(lay - self._stems)

    def _said(self, text: str) -> frozenset[str]:
        return frozenset(content_tokens(text, self._language)) - self._checks.generic

    def _grounded(self, text: str) -> frozenset[str]:
        """Content words that the page has too, or has in a clinical wording that the lexicon knows."""
        return self._said(text) & (self._stems | self._said(self._lay_words(text)))

    def _lay_words(self, text: str) -> str:
        """The words of a text that the lexicon knows as everyday ones for something that the page names."""
        plain = normalise(text)
        return " ".join(
            plain[found.start : found.end]
            for found in _lexicon(self._language).find(plain)
            if any(self._stems.issuperset(content_tokens(other, self._language)) for other in found.others)
        )


@dataclass(frozen=True, slots=True)
class _Checks:
    """The word lists of one language, and runs of words that would come from the prompts."""

    first_person: frozenset[str]
    not_patient: frozenset[str]
    generic: frozenset[str]
    number_words: Mapping[str, str]
    prompt_runs: frozenset[tuple[str, ...]]
    language: Language

    @classmethod
    def load(cls, language: Language) -> "_Checks":
        return _load_checks(language)

    def numbers_in(self, text: str) -> frozenset[str]:
        """The numbers of a text, in digits or words, in one form: "2" for "due", "38.5" for "38,5"."""
        digits = {number.replace(",", ".") for number in _NUMBER.findall(text)}
        return frozenset(digits | {self.number_words[word] for word in words(text, self.language) if word in self.number_words})


def _prose(text: str) -> str:
    """The text with each list in one line below its lead-in, and without the sentences that name the emergency number."""
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("- ") and lines:
            joint = " " if lines[-1].endswith(":") else ", "
            lines[-1] = lines[-1].rstrip(".;,") + joint + bare.removeprefix("- ")
        else:
            lines.append(bare.removeprefix("- "))
    kept = (" ".join(line[start:end] for start, end in split_sentences(line) if "{" not in line[start:end]) for line in lines)
    return "\n".join(line for line in kept if line)


def _whole_sentences(text: str) -> list[str]:
    found = [" ".join(_DECORATION.sub("", text[start:end]).split()) for start, end in split_sentences(text)]
    return [sentence for sentence in found if sentence.endswith((".", "!", "?", "…"))]


def _is_alike(text: str, others: Iterable[str], language: Language) -> bool:
    own, said = " ".join(words(text, language)), set(content_tokens(text, language))
    for other in others:
        heard = set(content_tokens(other, language))
        fewest = min(len(said), len(heard))
        if said == heard or (fewest > 1 and len(said & heard) == fewest):
            return True
        if fuzz.ratio(own, " ".join(words(other, language))) >= _ALIKE:
            return True
    return False


@cache
def _lexicon(language: Language) -> Lexicon:
    return Lexicon.load(language)


@cache
def _prompt_file(language: Language, stage: str) -> dict[str, Any]:
    return tomllib.loads((files("locales") / language.value / "prompts" / f"{stage}.toml").read_text(encoding="utf-8"))


@cache
def _prompts_digest() -> str:
    digest = hashlib.sha256()
    for language in Language:
        for stage in _MAX_TOKENS:
            digest.update((files("locales") / language.value / "prompts" / f"{stage}.toml").read_bytes())
    return digest.hexdigest()[:12]


@cache
def _load_checks(language: Language) -> _Checks:
    checks = _prompt_file(language, _HISTORY)["checks"]
    stages = [StagePrompt.load(language, stage) for stage in _MAX_TOKENS]
    texts = [text for stage in stages for text in (stage.system, *(part for example in stage.examples for part in example))]
    lines = [words(line, language) for text in texts for line in text.split("\n")]
    return _Checks(
        first_person=_folded(checks["first_person"]),
        not_patient=_folded(checks["not_patient"]),
        generic=frozenset(content_tokens(checks["generic"], language)),
        number_words={fold(word): str(number) for word, number in checks["numbers"].items()},
        prompt_runs=frozenset(
            tuple(line[at : at + _COPIED_WORDS]) for line in lines for at in range(len(line) - _COPIED_WORDS + 1)
        ),
        language=language,
    )


def _folded(listed: str) -> frozenset[str]:
    return frozenset(fold(word) for word in listed.split())
