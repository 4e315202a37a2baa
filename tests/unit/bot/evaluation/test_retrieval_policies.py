import pytest

from bot.evaluation.retrieval_policies import filtered, names, weighted
from rag.types import Hit
from tests import builders


def hit(name: str, score: float, *, title: str = "Altro", heading: str = "Sintomi", text: str = "Nulla.") -> Hit:
    return Hit(chunk=builders.chunk(text, chunk_id=name, title=title, heading_path=(heading,)), score=score)


def order(hits: list[Hit]) -> list[str]:
    return [one.chunk_id for one in hits]


HITS = [
    hit("first", 3.0),
    hit("text", 2.7, text="Con l'asma si fischia."),
    hit("title", 2.4, title="Asma"),
    hit("heading", 2.3, heading="L'asma allergica"),
    hit("both", 1.7, title="Asma", text="L'asma passa."),
]


def test_a_weight_moves_passages_that_name_the_topic_up_and_drops_none() -> None:
    assert order(weighted(HITS, "asma")) == ["title", "both", "text", "first", "heading"]


def test_a_filter_keeps_only_what_names_the_topic_in_title_or_text_in_its_order() -> None:
    assert order(filtered(HITS, "asma")) == ["text", "title", "both"]


@pytest.mark.parametrize(
    ("text", "name"), [("La DEPRESIÓN leve", "depresión"), ("con la depresion", "depresión"), ("Mal di testa", "mal di testa")]
)
def test_names_are_found_whatever_their_case_and_accents(text: str, name: str) -> None:
    assert names(text, name)
    assert not names("Otra cosa", name)
