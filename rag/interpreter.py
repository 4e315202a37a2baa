"""Understands a message before anything is searched: its language, what it wants, whom it is about, and what it follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from locales.language import Language
from rag.intents import IntentWords, folded, stripped
from rag.languages import identify
from rag.temperature import FeverWords
from rag.text import normalise, stop_words
from rag.types import Intent, Interpretation, Population, Question

_WORD = regex.compile(r"[\p{L}\p{N}]+")
_WHICH = regex.compile(r"\s+(?:(?:di|de)\s+)?(?:tipo|grado|stadio|estadio)\s+(?:\d|[ivx]{1,3}|[a-e])\b")
_NEXT_WORD = regex.compile(r" \p{L}{3,}")

_EARLIER: Final = 6  # messages looked back at; a topic older than this is no longer what "e per i bambini?" means
_FOLLOW_UP_WORDS = 12  # a longer message names what it is about
_BARE_WORDS = 4  # "che devo fare?": nothing in so few common words can be searched
_UNKNOWN_WORDS = 2
_WHOLE_BASE_WORDS = 15  # an earlier message up to this long is kept whole before "e per i bambini?"
_SPAN_WORDS = 6

# Populations that change what should be found, so that their word stays in the search.
_STEERING = (Population.PREGNANCY, Population.INFANT, Population.CHILD)
# First-person wording ("mi fa male …") ends these: the patient now speaks of themselves. A pregnancy is the patient's own.
_OTHERS = (Population.CHILD, Population.INFANT, Population.ELDERLY, Population.ADULT)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message without its greetings, as written and folded letter by letter."""

    text: str
    folded: str


@dataclass(frozen=True, slots=True)
class _Standing:
    """How far a message stands without its history: `leans` when it continues something, `is_bare` when it says nothing alone."""

    leans: bool
    is_elliptic: bool
    is_bare: bool


class Interpreter:
    """Reads questions by rules and word lists alone: the same message is always understood in the same way, in milliseconds."""

    def __init__(self) -> None:
        self._words = {language: IntentWords.load(language) for language in Language}

    def interpret(self, question: Question) -> Interpretation:
        """Understand a question; a follow-up is completed from the patient's own earlier words, never from answers."""
        reading = identify(question.text, question.language or question.language_prior)
        language = question.language or reading.language
        text = normalise(question.text)
        plain = Interpretation(language=language, intent=Intent.QUESTION, self_contained=text, population=question.population)
        if any(words.injection.search(folded(text)) for words in self._words.values()):
            return _with(plain, intent=Intent.OFF_TOPIC)
        if reading.is_other:
            return _with(plain, other_language=True)
        words = self._words[language]
        courtesy = _courtesy(folded(text), words)
        if courtesy is not None:
            return _with(plain, intent=courtesy)
        return _Reader(words, language).read(plain, _bare(text, words), question)


def _with(
    plain: Interpretation, *, intent: Intent = Intent.QUESTION, other_language: bool = False, needs_context: bool = False
) -> Interpretation:
    return Interpretation(
        language=plain.language,
        intent=intent,
        self_contained=plain.self_contained,
        population=plain.population,
        is_follow_up=needs_context,
        needs_context=needs_context,
        other_language=other_language,
    )


def _courtesy(text: str, words: IntentWords) -> Intent | None:
    """Greeting or thanks when a message says nothing else."""
    rest = words.courtesy.sub(" ", text)
    if _WORD.search(rest):
        return None
    if words.thanks.search(text):
        return Intent.THANKS
    return Intent.GREETING if words.greeting.search(text) else None


def _bare(text: str, words: IntentWords) -> _Message:
    """Take greetings and thanks from both ends: a greeting followed by a question is a question."""
    lower = folded(text)
    if len(lower) != len(text):  # a few letters fold to two; then the folded text has to do
        text = lower
    opening = words.opening.match(lower)
    start = opening.end() if opening else 0
    closing = words.closing.search(lower, start)
    end = closing.start() if closing else len(lower)
    if not _WORD.search(lower, start, end):
        start, end = 0, len(lower)
    return _Message(text[start:end].strip(), lower[start:end].strip())


class _Reader:
    """Reads messages of one language."""

    def __init__(self, words: IntentWords, language: Language) -> None:
        self._words = words
        self._fever = FeverWords.load(language)
        self._ignored = stop_words(language)

    def read(self, plain: Interpretation, message: _Message, question: Question) -> Interpretation:
        """Read what is neither courtesy nor in another language."""
        fever = self._fever.implied(message.folded, None)
        plainly = self._words.without_other_senses(message.folded)
        about_health = bool(fever) or self._words.has_health_word(plainly)
        if not about_health and plainly != message.folded:
            return _with(plain, intent=Intent.OFF_TOPIC)
        if not about_health and self._words.about.search(message.folded):
            return _with(plain, intent=Intent.ABOUT)
        if not about_health and self._words.off_topic.search(message.folded):
            return _with(plain, intent=Intent.OFF_TOPIC)
        earlier = [_bare(normalise(text), self._words) for text in question.earlier[-_EARLIER:]]
        standing = self._standing(message, bool(earlier))
        if fever and not standing.leans:
            standing = _Standing(leans=False, is_elliptic=False, is_bare=False)
        base = self._base(earlier) if standing.leans else None
        says_nothing = standing.is_bare and self._words.personal_intent(message.folded) is None
        if base is None and (says_nothing or not _WORD.search(message.folded)):
            return _with(plain, needs_context=True)
        complete = self._complete(message, standing, earlier, base)
        population = self._population(message, earlier, base, question.population)
        intent = self._intent(message, complete)
        return Interpretation(
            language=plain.language,
            intent=intent,
            self_contained=complete,
            population=population,
            is_follow_up=base is not None,
            implied=self._implied(folded(complete), intent, population),
        )

    def _implied(self, text: str, intent: Intent, population: Population | None) -> str:
        """A fever told by its degrees, or by nothing but a medicine for it whose dose is asked."""
        implied = self._fever.implied(text, population)
        if implied or intent is not Intent.OWN_DOSE:
            return implied
        topics = [text[start:end] for start, end in self._words.health_spans(text)]
        only_medicine = bool(topics) and all(self._fever.medicines.match(topic) for topic in topics)
        return self._fever.called(population) if only_medicine else ""

    def _standing(self, message: _Message, has_earlier: bool) -> _Standing:
        words, text = self._words, message.folded
        start = stripped(text)
        elliptic = words.elliptic.search(start) is not None
        if words.new_topic.search(text):
            return _Standing(leans=False, is_elliptic=False, is_bare=False)
        if words.health_spans(text):
            # "e la tosse?" and "e se ho anche la febbre?" continue; "e per l'ansia cosa si può fare?" asks anew.
            opener = words.openers.match(start)
            joins = elliptic and ((opener is not None and not words.frames.search(start, opener.end())) or words.joins(start))
            return _Standing(leans=joins, is_elliptic=joins, is_bare=False)
        count = len(_WORD.findall(text))
        unknown = words.unknown_words(text, self._ignored)
        leads_on = elliptic or words.openers.match(start) is not None or words.anaphora.search(start) is not None
        leans = count <= _FOLLOW_UP_WORDS and ((leads_on and len(unknown) <= _UNKNOWN_WORDS) or (has_earlier and not unknown))
        names_pregnancy = words.population_of(text) is Population.PREGNANCY
        is_empty = elliptic or (not unknown and (leads_on or count <= _BARE_WORDS))
        is_bare = is_empty and not names_pregnancy and (leans or count <= _BARE_WORDS)
        return _Standing(leans=leans, is_elliptic=elliptic, is_bare=is_bare)

    def _base(self, earlier: Sequence[_Message]) -> int | None:
        """Place of the latest earlier message that has a topic of its own."""
        places = range(len(earlier) - 1, -1, -1)
        return next((place for place in places if self._words.health_spans(earlier[place].folded)), None)

    def _complete(self, message: _Message, standing: _Standing, earlier: Sequence[_Message], base: int | None) -> str:
        """Put the topic of an earlier message before a follow-up: all of it when the follow-up has no question of its own."""
        if base is None:
            return message.text
        topic = earlier[base]
        before = self._standing(topic, base > 0)
        if before.leans:  # that one was a follow-up too: "e la tosse?"
            further = self._base(earlier[:base])
            whole = self._complete(topic, before, earlier[:base], further)
            topic = _Message(whole, folded(whole))
        opener = self._words.openers.match(stripped(message.folded))
        asks = self._words.frames.search(stripped(message.folded), opener.end() if opener else 0) is not None
        if standing.is_elliptic and not asks and len(_WORD.findall(topic.text)) <= _WHOLE_BASE_WORDS:
            return self._instead(topic, message) or f"{topic.text} {message.text}"
        between = earlier[base + 1 :]
        return f"{self._topic_words(topic, between, message)}: {message.text}"

    def _instead(self, topic: _Message, message: _Message) -> str | None:
        """The earlier question, asked of what this message names: "Quanto dura l'influenza?", "e la tosse?".

        None when the message names nothing, adds a condition ("e se …") or only goes on telling ("e mal di testa").
        """
        start = stripped(message.folded)
        opener = self._words.openers.match(start)
        goes_on = "?" not in message.text and self._words.symptom.search(topic.folded) is not None
        if opener is None or goes_on or not self._words.health_spans(start) or self._words.joins(start):
            return None
        spans = self._words.health_spans(topic.folded)
        first, last = spans[0][0], self._with_adjective(topic.folded, spans[-1][1])
        if len(_WORD.findall(topic.text[first:last])) > _SPAN_WORDS:
            return None
        before = self._words.determiners.sub("", topic.folded[:first])
        named = stripped(message.text)[opener.end() :].strip()
        return f"{topic.text[: len(before)]} {named}{topic.text[last:]}".strip()

    def _topic_words(self, topic: _Message, between: Sequence[_Message], message: _Message) -> str:
        """The words of an earlier message that name its topic, and whom it was about unless the follow-up says otherwise."""
        spans = self._words.health_spans(topic.folded)
        first, last = spans[0][0], self._with_adjective(topic.folded, spans[-1][1])
        span = topic.text[first:last]
        if len(_WORD.findall(span)) > _SPAN_WORDS:
            span = " ".join(dict.fromkeys(topic.text[start:end] for start, end in spans))
        if self._words.population_of(message.folded) is not None:
            return span
        for other in (*reversed(between), topic):
            found = self._words.population_words(other.folded, _STEERING)
            if found:
                return span if found in folded(span) else f"{span}, {found}"
        return span

    def _with_adjective(self, text: str, end: int) -> int:
        """End of the words after a topic that belong to it: "pressione alta", "diabete di tipo 2"."""
        if (which := _WHICH.match(text, end)) is not None:
            return which.end()
        following = _NEXT_WORD.match(text, end)
        if following is None or not self._words.unknown_words(following.group(), self._ignored):
            return end
        return following.end()

    def _intent(self, message: _Message, complete: str) -> Intent:
        personal = self._words.personal_intent(folded(complete))
        if personal is not None:
            return personal
        tells = self._words.symptom.search(message.folded) is not None and self._words.health_spans(message.folded)
        return Intent.SYMPTOM if tells else Intent.QUESTION

    def _population(
        self, message: _Message, earlier: Sequence[_Message], base: int | None, kept: Population | None
    ) -> Population | None:
        named = self._words.population_of(message.folded)
        if named is not None:
            return named
        if base is None:
            of_oneself = kept in _OTHERS and self._words.first_person.search(message.folded) is not None
            return None if of_oneself else kept
        before = (self._words.population_of(other.folded) for other in reversed(earlier[base:]))
        return kept or next((population for population in before if population is not None), None)
