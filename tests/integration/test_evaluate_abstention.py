"""Questions judged through a real index, as the answering line judges them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.evaluation.abstention import evaluate_abstention
from rag.store import IndexStore
from tests.fakes import HashEmbedder
from tests.integration.pages import ITALIAN, Page, publish

EMBEDDER = HashEmbedder()
COVERED = [("c1", "fever", "quanto dura la febbre alta"), ("c2", "cough", "la tosse secca dura molto"), ("c3", "gout", "tosse?")]
OTHERS = [("n1", "near_miss", "che cos'è il glaucoma"), ("o1", "off_topic", "chi ha vinto il derby")]


def page(topic: str, title: str, text: str) -> Page:
    made = Page(topic, title, text)
    made.document, made.chunk = replace(made.document, topic=topic), replace(made.chunk, topic=topic)
    return made


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def figures(tmp_path: Path) -> dict[str, Any]:
    store = IndexStore(tmp_path / "index")
    publish(
        store,
        page("fever", "Febbre", "La febbre alta dura tre giorni."),
        page("cough", "Tosse", "La tosse secca dura due settimane."),
        embedder=EMBEDDER,
    )
    covered = [{"id": name, "lang": "it", "topic": topic, "text": text} for name, topic, text in COVERED]
    others = [{"id": name, "lang": "it", "label": label, "text": text} for name, label, text in OTHERS]
    told: list[int] = []
    found = evaluate_abstention(
        [write(tmp_path / "covered.jsonl", covered)],
        [write(tmp_path / "others.jsonl", others)],
        lambda language: store.open(language, EMBEDDER.fingerprint),
        EMBEDDER,
        lambda _what, done, _of: told.append(done),
    )
    assert told == [1, 2, 3, 4, 5]
    return found


def test_each_question_is_judged_by_the_page_that_the_line_would_answer_from(tmp_path: Path) -> None:
    (row,) = figures(tmp_path)["languages"]

    assert (row["language"], row["is_calibrated"]) == (ITALIAN.value, False)
    assert row["questions"] == {"right": 2, "astray": 1, "near_miss": 1, "off_topic": 1}
    assert row["auc"]["off_topic"]["area"] == 1.0
    assert row["decided"]["right"] == 1.0
    assert row["decided"]["off_topic"] == 0.0


def test_the_similarity_of_each_page_found_is_held_against_its_topic(tmp_path: Path) -> None:
    told = figures(tmp_path)["languages"][0]["reliability"]["similarity"]

    assert 0 < told["n"] <= 10
    assert sum(one["observed"] * one["n"] for one in told["bins"]) == 2  # the own pages of two questions
