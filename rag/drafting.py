"""Makes drafts out of what a generator writes: finished sentences, bare of decoration, thoughts, invented turns and loops."""

import re
from collections.abc import Iterable, Iterator

from rag.text import split_sentences
from rag.types import Draft

_DECORATION = re.compile(r"^\s*(?:[-*•]|\d+[.)]|[A-F]\d{0,2}[:.)])\s+|\[\d+\]|\*\*|^\s*(?:Risposta|Respuesta)\s*:\s*")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)  # an unclosed one may still grow: all behind it is thought
# An invented next turn: the labels of chats, and those of the prompt's own form.
_TURN = re.compile(
    r"\s*(?:Utente|Paziente|Assistente|Domanda|Frasi|Usuario|Paciente|Asistente|Pregunta|Frases|User|Assistant)\s*:",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\{\w+\}")  # the emergency number, filled in later
_NOT_PROSE = re.compile(r"https?://|www\.|```|</?\w|[<>|]{2}|[{}]")
_LOOP = 3  # the same sentence so many times: nothing new will come


def drafts_of(pieces: Iterable[str]) -> Iterator[Draft]:
    """Yield each sentence as soon as it is finished, in order.

    Ends at an invented turn and once a generator repeats itself; what is no prose (a link, code, an unfinished sentence) is left
    out. Each draft is one sentence that nothing has been checked of.
    """
    seen: dict[str, int] = {}
    for sentence in _sentences(pieces):
        if _TURN.match(sentence):
            return
        seen[sentence] = seen.get(sentence, 0) + 1
        if seen[sentence] >= _LOOP:
            return
        if draft := _draft(sentence):
            yield draft


def _sentences(pieces: Iterable[str]) -> Iterator[str]:
    text = ""
    for piece in pieces:
        text += piece
        finished, text = _finished(text)
        yield from finished
    text = _THOUGHT.sub(" ", text)
    yield from (text[start:end] for start, end in split_sentences(text))


def _finished(text: str) -> tuple[list[str], str]:
    """Sentences that cannot grow any more, and what is still being written."""
    thought = text.rfind("<think>")
    if thought >= 0 and "</think>" not in text[thought:]:
        finished, rest = _finished(text[:thought])
        return finished, rest + text[thought:]
    text = _THOUGHT.sub(" ", text)
    spans = split_sentences(text)
    if len(spans) < 2:
        return [], text
    return [text[start:end] for start, end in spans[:-1]], text[spans[-1][0] :]


def _draft(sentence: str) -> Draft | None:
    plain = " ".join(_DECORATION.sub("", sentence).split())
    if plain and plain[-1] in ".!?" and not _NOT_PROSE.search(_PLACEHOLDER.sub("", plain)):
        return Draft(text=plain)
    return None
