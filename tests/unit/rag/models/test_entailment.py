import sys

import pytest

from rag.errors import ModelError, ModelUnavailable
from rag.models.entailment import CrossEncoderScorer, entailment_class


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({0: "entailment", 1: "neutral", 2: "contradiction"}, 0),
        ({0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}, 1),
        ({0: "not_entailment", 1: "entailment"}, 1),
    ],
)
def test_the_class_of_entailment_is_known_by_its_name(labels: dict[int, str], place: int) -> None:
    assert entailment_class(labels) == place


@pytest.mark.parametrize("labels", [{0: "LABEL_0"}, {0: "relevant", 1: "irrelevant"}, {}])
def test_a_model_that_tells_no_entailment_is_refused(labels: dict[int, str]) -> None:
    with pytest.raises(ModelError, match="which of its classes"):
        entailment_class(labels)


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(ModelUnavailable, match="pip install"):
        CrossEncoderScorer("some/model")
