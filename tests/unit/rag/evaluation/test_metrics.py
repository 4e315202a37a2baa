import math

import pytest

from locales.language import Language
from rag.evaluation.datasets import JudgedQuery
from rag.evaluation.metrics import hit_at, judge, ndcg, percentile, reciprocal_rank

RANKING = ["a", "b", "c", "d"]


def test_a_hit_counts_only_among_the_first() -> None:
    assert [hit_at(RANKING, {"c"}, k) for k in (1, 2, 3, 10)] == [0.0, 0.0, 1.0, 1.0]
    assert hit_at(RANKING, {"z"}, 10) == hit_at([], {"a"}, 10) == 0.0


def test_the_reciprocal_rank_is_that_of_the_first_right_one() -> None:
    assert reciprocal_rank(RANKING, {"b", "d"}) == 0.5
    assert reciprocal_rank(RANKING, {"d"}, k=3) == 0.0


def test_all_right_ones_first_is_the_best_gain() -> None:
    assert ndcg(RANKING, {"a", "b"}) == pytest.approx(1.0)
    assert ndcg(RANKING, {"b"}) == pytest.approx(1 / math.log2(3))
    assert ndcg(RANKING, set()) == 0.0
    assert ndcg(["a"], {str(number) for number in range(50)} | {"a"}) < 1.0


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, share) for share in (0.5, 0.95, 1.0)] == [50.0, 95.0, 100.0]
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([], 0.5) == 0.0


def test_a_ranking_is_judged_by_the_right_documents_of_its_question() -> None:
    query = JudgedQuery(query_id="1", language=Language.ITALIAN, question="?", gold=frozenset({"b"}), set_name="uno")
    judged = judge(query, RANKING, {"dense": 0.1})
    assert judged.set_name == "uno"
    assert judged.figures["hit@1"] == 0.0
    assert judged.figures["hit@3"] == judged.figures["hit@10"] == 1.0
    assert judged.figures["mrr@10"] == 0.5
