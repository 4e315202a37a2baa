"""How long answers take on this machine, and how quickly webhooks are acknowledged while the generator works."""

import asyncio
import json
from typing import Any

from bot.asker import Asker
from bot.evaluation.acknowledgement import measure_acknowledgements
from bot.evaluation.answer_figures import summary
from bot.evaluation.answers import ask_all
from bot.evaluation.shipped import bench_questions, read_lines
from bot.loading import load_gate, load_renderer, rag_settings
from bot.progress import Counted
from bot.settings import Settings
from rag.build import build_answerer

_QUESTIONS_A_LANGUAGE = 10
_WEBHOOKS = 50


def bench(settings: Settings, *, as_json: bool, progress: Counted) -> None:
    """Answer twenty everyday questions, warm, then post webhooks to a busy bot, and print the figures.

    Raises:
        RagError: If models or index fail.
    """
    rows = read_lines(bench_questions(), "id", "lang", "text")
    chosen = [row for lang in ("it", "es") for row in [r for r in rows if r["lang"] == lang][:_QUESTIONS_A_LANGUAGE]]
    answerer = build_answerer(rag_settings(settings))
    answerer.warm()
    asker = Asker(load_gate(answerer.embedder), load_renderer(settings), lambda: answerer)
    asked = list(ask_all(asker, chosen, progress))
    figures: dict[str, Any] = {"answers": summary(asked, chosen, answerer)}
    progress("webhooks while the generator works", 0, 0)
    questions = [row["text"] for row in chosen]
    figures["acknowledgement"] = asyncio.run(measure_acknowledgements(settings, questions, count=_WEBHOOKS))
    print(json.dumps(figures, ensure_ascii=False, indent=None if as_json else 2))  # noqa: T201
