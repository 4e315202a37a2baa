"""The figures of a set of answers: what they are made of, and their seconds."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from bot.asker import Asked
from locales.language import Language
from rag.answerer import Answerer
from rag.composer import MAX_WORDS
from rag.languages import identify
from rag.replies import Answer
from rag.types import Evidence, SentenceKind, SupportedSentence


def summary(asked: Sequence[Asked], rows: Sequence[dict[str, Any]], answerer: Answerer) -> dict[str, Any]:
    """Figures over all answers; seconds are p50 and p95, shares are 0 to 1.

    `outside_model` is the share of the total that neither prefill nor decode took.
    """
    answers = [(one, one.outcome) for one in asked if isinstance(one.outcome, Answer)]
    sentences = [sentence for _, answer in answers for sentence in answer.sentences]
    written = [s for s in sentences if s.kind is SentenceKind.WRITTEN]
    dropped = sum(answer.dropped for _, answer in answers)
    drafted = len(sentences) + dropped
    return {
        "generator": answerer.generator_name,
        "questions": len(asked),
        "answers": len(answers),
        "answers_with_a_written_sentence": _share(
            [any(s.kind is SentenceKind.WRITTEN for s in answer.sentences) for _, answer in answers]
        ),
        "sentences": {
            "written": round(len(written) / max(1, drafted), 4),
            "quoted": round((len(sentences) - len(written)) / max(1, drafted), 4),
            "dropped": round(dropped / max(1, drafted), 4),
        },
        "words_within_limit": _share([_words(answer) <= MAX_WORDS for _, answer in answers]),
        "right_language": _share([_speaks(one, row.get("lang")) for one, row in zip(asked, rows, strict=True)]),
        "with_span": _share([_has_span(sentence) for sentence in sentences]),
        "with_disclaimer": _share([bool(one.message.closing) for one, _ in answers]),
        "with_link": _share([bool(one.message.links) for one, _ in answers]),
        "links_not_retrieved": sum(_foreign_links(answer) for _, answer in answers),
        "first_sentence_s": _percentiles([one.timings_s["first_sentence"] for one, _ in answers]),
        "first_written_s": _percentiles([one.timings_s["first_written"] for one, a in answers if _has_written(a)]),
        "total_s": _percentiles([one.timings_s["total"] for one, _ in answers]),
        "total_s_with_written": _percentiles([one.timings_s["total"] for one, a in answers if _has_written(a)]),
        "total_s_quotes_only": _percentiles([one.timings_s["total"] for one, a in answers if not _has_written(a)]),
        "outside_model": _outside_model([one for one, _ in answers]),
        "total_by_model_time": _total_by_model_time([one for one, a in answers if one.timings_s.get("decode")]),
        "stages_s": _stages([one for one, _ in answers]),
        "hurried": sum(answer.hurried for _, answer in answers),
    }


def _has_span(sentence: SupportedSentence) -> bool:
    """Whether each piece of evidence is a span that really stands in its passage, whatever signs a list is told with."""
    return bool(sentence.evidence) and all(map(_stands, sentence.evidence))


def _stands(item: Evidence) -> bool:
    span = _words_of(item.chunk.text[item.sentence.start : item.sentence.end])
    return bool(span) and f" {span} " in f" {_words_of(item.sentence.text)} "


def _words_of(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))


def _total_by_model_time(answered: Sequence[Asked]) -> dict[str, float] | None:
    """What an answer takes over the prefill and decode of the same tokens, where the generator was used."""
    return _percentiles([one.timings_s["total"] / (one.timings_s["prefill"] + one.timings_s["decode"]) for one in answered])


def _stages(answered: Sequence[Asked]) -> dict[str, float]:
    """Mean seconds of each stage, over all answers."""
    names = sorted({name for one in answered for name in one.timings_s})
    return {name: round(float(np.mean([one.timings_s.get(name, 0.0) for one in answered])), 3) for name in names}


def _has_written(answer: Answer) -> bool:
    return any(sentence.kind is SentenceKind.WRITTEN for sentence in answer.sentences)


def _words(answer: Answer) -> int:
    return sum(len(sentence.text.split()) for sentence in answer.sentences)


def _speaks(one: Asked, lang: str | None) -> bool:
    """Whether the text is in the language of the question, by its own words and not by what the outcome says of itself."""
    language = Language(lang) if lang else one.outcome.language
    return identify("\n".join(one.message.paragraphs)).language is language and one.outcome.language is language


def _foreign_links(answer: Answer) -> int:
    retrieved = {item.chunk.document_id for sentence in answer.sentences for item in sentence.evidence}
    return sum(source.document_id not in retrieved for source in answer.sources)


def _outside_model(answered: Sequence[Asked]) -> float | None:
    total = sum(one.timings_s["total"] for one in answered)
    inside = sum(one.timings_s.get("prefill", 0.0) + one.timings_s.get("decode", 0.0) for one in answered)
    return round(1 - inside / total, 4) if total and inside else None


def _share(found: Sequence[bool]) -> float | None:
    return round(sum(found) / len(found), 4) if found else None


def _percentiles(seconds: Sequence[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    p50, p95 = np.percentile(seconds, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3)}
