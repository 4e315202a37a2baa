from typing import Any

import numpy as np
import pytest

from bot.evaluation.cross_language import Lines, evaluate_cross_language
from bot.evaluation.shipped import SetUnreadable
from locales.language import Language
from rag.answerer import OpenReader
from rag.corpus import CorpusStatistics
from rag.documents import Document
from rag.errors import IndexMissing
from rag.models.protocols import Vectors
from rag.replies import Abstention, AbstentionKind, Reply
from rag.types import Hit
from tests import builders
from tests.fakes import HashEmbedder, ScriptedAnswerer
from tests.unit.bot.evaluation.conftest import WriteSet

IT, ES = Language
REFUSAL = Abstention(kind=AbstentionKind.NO_CONTENT, language=IT)
FLU = {"id": "1", "lang": "it", "topic": "flu", "text": "che cos'è l'influenza?"}
NEAR = {"id": "2", "lang": "it", "label": "near_miss", "text": "che cos'è la celiachia?"}


class TopicsReader:
    """An index with a page of one passage a topic, the first nearest."""

    statistics = CorpusStatistics(background_std=0.1)

    def __init__(self, *topics: str) -> None:
        self._hits = [
            Hit(chunk=builders.chunk(document_id=topic, topic=topic, language=ES), score=0.5 - place / 10, dense=0.5 - place / 10)
            for place, topic in enumerate(topics)
        ]

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        assert np.isfinite(vector).all()
        return self._hits[:k]

    def page(self, document_id: str, vector: Vectors) -> list[Hit]:
        assert vector is not None
        return [hit for hit in self._hits if hit.chunk.document_id == document_id]

    def get_document(self, document_id: str) -> Document:
        return builders.document(document_id=document_id, topic=document_id)


def pointing(topic: str) -> Reply:
    return Abstention(
        kind=AbstentionKind.IN_OTHER_LANGUAGE, language=IT, sources=(builders.source(document_id=topic, language=ES),)
    )


def measure(write_set: WriteSet, row: dict[str, str], reply: Reply, *topics: str, beside: Reply = REFUSAL) -> dict[str, Any]:
    """Evaluates one line that gives `reply` where its language is missing, and `beside` where everything is published."""
    reader: Any = TopicsReader(*topics)

    def build(open_reader: OpenReader) -> Any:
        try:
            open_reader(IT)
        except IndexMissing:
            return ScriptedAnswerer(reply)
        return ScriptedAnswerer(beside)

    lines = Lines.of(lambda _: reader, HashEmbedder(), build)
    path = write_set(row)
    files = ([path], []) if "topic" in row else ([], [path])
    return evaluate_cross_language(*files, lines, lambda *_: None)


def row(**changes: object) -> dict[str, object]:
    found: dict[str, object] = {"hit@1": 0.0, "hit@5": 1.0, "pointed_right": 0.0, "pointed_wrong": 0.0, "pointed_beside": 0.0}
    return {"set": "set_it", **found, "n": 1} | changes


def test_a_question_that_is_pointed_to_its_page_is_right(write_set: WriteSet) -> None:
    report = measure(write_set, FLU, pointing("flu"), "flu", "cold")
    assert report == {"rows": [row(**{"hit@1": 1.0}, pointed_right=1.0)], "wrong": []}


def test_a_question_that_is_pointed_to_another_page_is_wrong(write_set: WriteSet) -> None:
    report = measure(write_set, FLU, pointing("cold"), "cold", "flu")
    assert report["rows"] == [row(pointed_wrong=1.0)]
    assert report["wrong"] == [{"id": "1", "topic": "flu", "text": FLU["text"], "pointed": ["cold"]}]


def test_a_question_that_is_pointed_nowhere_is_neither(write_set: WriteSet) -> None:
    assert measure(write_set, FLU, REFUSAL, "cold", "flu") == {"rows": [row()], "wrong": []}


def test_a_near_miss_is_wrong_wherever_it_is_pointed(write_set: WriteSet) -> None:
    nothing = {"set": "near_miss_it", "hit@1": None, "hit@5": None, "pointed_right": None}
    assert measure(write_set, NEAR, REFUSAL, "flu")["rows"] == [row(**nothing)]
    assert measure(write_set, NEAR, pointing("flu"), "flu")["rows"] == [row(**nothing, pointed_wrong=1.0)]


def test_a_pointer_beside_pages_of_ones_own_language_is_counted_apart(write_set: WriteSet) -> None:
    assert measure(write_set, FLU, REFUSAL, "cold", "flu", beside=pointing("flu"))["rows"] == [row(pointed_beside=1.0)]


def test_a_file_of_another_form_is_refused(write_set: WriteSet) -> None:
    with pytest.raises(SetUnreadable):
        measure(write_set, {"id": "1", "lang": "it", "topic": "flu"}, REFUSAL)
