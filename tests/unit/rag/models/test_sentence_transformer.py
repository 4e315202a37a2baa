import pytest

from rag.models.sentence_transformer import Prefixes, prefixes_of


@pytest.mark.parametrize("name", ["multilingual-e5-large", "intfloat/multilingual-e5-small", "intfloat--e5-base-v2"])
def test_an_e5_model_gets_its_two_prefixes(name: str) -> None:
    assert prefixes_of(name, {"query": "", "document": ""}) == Prefixes("query: ", "passage: ")


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "BAAI/bge-m3"])
def test_a_model_without_a_scheme_gets_none(name: str) -> None:
    assert prefixes_of(name, {}) == Prefixes()


def test_what_a_model_states_itself_wins() -> None:
    stated = {"query": "task: search | query: ", "document": "title: none | text: "}
    assert prefixes_of("other-e5-like", stated) == Prefixes("task: search | query: ", "title: none | text: ")
