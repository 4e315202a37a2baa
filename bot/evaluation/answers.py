"""What answers are made of and how long they take: one record a question, and a summary for each mode."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bot.asker import Asked, Asker
from bot.evaluation.answer_figures import summary
from bot.evaluation.published_shape import PublishedShape
from bot.evaluation.shipped import SetUnreadable, read_lines
from bot.loading import load_gate, load_renderer, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from locales.language import Language
from rag.build import build_answerer
from rag.models.load import load_embedder, load_generator
from rag.types import Mode


def evaluate_answers(
    settings: Settings,
    questions: Path,
    progress: Counted,
    *,
    modes: Sequence[Mode] = (Mode.FAST,),
    published: int = 0,
    show: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Answer each question in each mode, warm, and measure.

    Args:
        settings: Which models, and where the index is.
        questions: Lines of ``{id, lang, text}``.
        progress: Told how far it is.
        modes: How the questions are answered, one mode after the other.
        published: So many questions, evenly spread, are also answered in the shape of published pipelines: a summary call a
            page and no prefix kept.
        show: Given the record of each answer, as `salus ask --json` prints it.

    Returns:
        A summary for each mode by its name; `published` compares seconds, in the same run.

    Raises:
        SetUnreadable: If the file is not of that form.
        RagError: If models or index fail.
    """
    rows = read_lines(questions, "id", "text")
    for row in rows:
        if row.get("lang") not in (None, *Language):
            raise SetUnreadable(f"{questions}, {row['id']}: no language has the name {str(row['lang'])[:20]!r}.")
    generator = load_generator(settings.generator, settings.home, threads=settings.threads, server=settings.generator_server)
    embedder = load_embedder(settings.embedder, settings.home, settings.threads)
    answerer = build_answerer(rag_settings(settings), language_model=generator, embedder=embedder)
    asker = Asker(load_gate(answerer.embedder), load_renderer(settings), lambda: answerer)
    figures: dict[str, Any] = {"generator": answerer.generator_name, "questions": questions.name, "n": len(rows), "modes": {}}
    seconds: dict[str, list[float]] = {}
    for mode in modes:
        answerer.warm(mode)
        asked = []
        for row, one in zip(rows, ask_all(asker, rows, progress, mode), strict=True):
            asked.append(one)
            show({"id": row["id"], **asker.record(one)})
        seconds[mode.value] = [one.timings_s["total"] for one in asked]
        figures["modes"][mode.value] = summary(asked, rows, answerer)
    if published and generator is not None:
        figures["published"] = _published(rows, published, seconds, PublishedShape(answerer, generator), progress)
    return figures | {"seconds": seconds}


def ask_all(asker: Asker, rows: Sequence[dict[str, Any]], progress: Counted, mode: Mode = Mode.FAST) -> Iterator[Asked]:
    """Ask the questions of a set one after another."""
    for number, row in enumerate(rows, start=1):
        yield asker.ask(row["text"], mode=mode)
        progress(f"{mode.value} answers", number, len(rows))


def _published(
    rows: Sequence[dict[str, Any]], count: int, seconds: dict[str, list[float]], shape: PublishedShape, progress: Counted
) -> dict[str, Any]:
    """Seconds of the same questions in the published shape, and how many times faster each mode was."""
    places = [round(place) for place in np.linspace(0, len(rows) - 1, min(count, len(rows)))]
    took = []
    for number, place in enumerate(places, start=1):
        begun = time.monotonic()
        shape.answer(rows[place]["text"], rows[place].get("lang"))
        took.append(time.monotonic() - begun)
        progress("published shape", number, len(places))
    ratios = {
        mode: [other / max(own[place], 1e-3) for other, place in zip(took, places, strict=True)] for mode, own in seconds.items()
    }
    return {
        "questions": len(places),
        "seconds_p50": round(float(np.median(took)), 2),
        "times_faster_p50": {mode: round(float(np.median(found)), 2) for mode, found in ratios.items()},
        "times_faster_least": {mode: round(min(found), 2) for mode, found in ratios.items()},
    }
