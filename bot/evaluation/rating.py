"""What clinicians' ratings say: how good the answers of each system are, which are preferred, and how far raters agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bot.evaluation.rating_returns import Key, Returned
from bot.evaluation.rating_words import ASPECTS, BEST, EQUAL
from rag.evaluation.agreement import krippendorff_alpha, mean_kappa
from rag.evaluation.comparisons import compared, with_interval
from rag.evaluation.statistics import holm, sign_test

OVERALL = "overall"
"""The mean of the five aspects, of answers that have them all."""

_ALL = "all"
_Means = dict[tuple[str, str], dict[str, float]]  # by system and question, each aspect's mean over raters


def analyse(returned: Returned, key: Key) -> dict[str, Any]:
    """Summarise what came back.

    Returns:
        `rows` by set and system: mean and 95 % interval of each aspect and of `overall`; an answer counts by the mean of its
        raters, and the bootstrap is over answers. `n` counts answers, `ratings` scores.
        `comparisons` by set: see `rag.evaluation.comparisons`.
        `preferences` by set and pair of systems: votes for the first, for the second and for neither; questions that most raters
        decided for each; p of the sign test over these questions, and by Holm's correction.
        `agreement` by set and aspect: alpha, mean weighted kappa, raters.
        `problems`: what could not be counted, or only in part.
    """
    sets = sorted({one["lang"] for one in key.answers.values()})
    sets += [_ALL] if len(sets) > 1 else []
    systems = list(dict.fromkeys(sorted(one["system"] for one in key.answers.values())))
    means = _means(returned, key)
    return {
        "about": {
            "systems": ", ".join(systems),
            "answers": len(key.answers),
            "pairs": len(key.pairs),
            "raters": len({rater for rater, *_ in returned.scores} | {rater for rater, _ in returned.preferences}),
            "scores": len(returned.scores),
            "preferences": len(returned.preferences),
        },
        "rows": [
            row for name in sets for system in systems if (row := _row(name, system, _in(name, means, key), returned, key))["n"]
        ],
        "comparisons": [{"set": name, **row} for name in sets for row in compared(_values(systems, _in(name, means, key), key))],
        "preferences": [row for name in sets for row in _preferred(name, systems, returned, key)],
        "agreement": [row for name in sets for row in _agreement(name, returned, key)],
        "problems": [problem.as_row() for problem in returned.problems],
    }


def _means(returned: Returned, key: Key) -> _Means:
    given: dict[tuple[str, str], dict[str, list[int]]] = {}
    for (_, code, aspect), score in returned.scores.items():
        one = key.answers[code]
        given.setdefault((one["system"], one["id"]), {}).setdefault(aspect, []).append(score)
    means: _Means = {}
    for answer, aspects in given.items():
        means[answer] = {aspect: float(np.mean(scores)) for aspect, scores in aspects.items()}
        if len(aspects) == len(ASPECTS):
            means[answer][OVERALL] = float(np.mean(list(means[answer].values())))
    return means


def _in(name: str, means: _Means, key: Key) -> _Means:
    own = {(one["system"], one["id"]) for one in key.answers.values() if name in (_ALL, one["lang"])}
    return {answer: aspects for answer, aspects in means.items() if answer in own}


def _row(name: str, system: str, means: _Means, returned: Returned, key: Key) -> dict[str, Any]:
    own = [aspects for (of, _), aspects in means.items() if of == system]
    codes = {code for code, one in key.answers.items() if one["system"] == system and name in (_ALL, one["lang"])}
    row: dict[str, Any] = {"set": name, "system": system, "n": len(own)}
    for aspect in (*ASPECTS, OVERALL):
        row |= with_interval(aspect, [aspects[aspect] for aspects in own if aspect in aspects])
    return row | {"ratings": sum(code in codes for _, code, _ in returned.scores)}


def _values(systems: Sequence[str], means: _Means, key: Key) -> dict[str, dict[str, list[float | None]]]:
    questions = list(dict.fromkeys(one["id"] for one in key.answers.values()))
    return {
        system: {
            aspect: [means.get((system, question), {}).get(aspect) for question in questions] for aspect in (*ASPECTS, OVERALL)
        }
        for system in systems
    }


def _preferred(name: str, systems: Sequence[str], returned: Returned, key: Key) -> list[dict[str, Any]]:
    rows = []
    for first, second in combinations(systems, 2):
        votes: dict[str, Counter[str]] = {}
        for (_, code), choice in returned.preferences.items():
            pair = key.pairs[code]
            if {pair["a"], pair["b"]} == {first, second} and name in (_ALL, pair["lang"]):
                votes.setdefault(pair["id"], Counter())[_chosen(choice, pair)] += 1
        if votes:
            rows.append({"set": name, "first": first, "second": second, **_decided(first, second, list(votes.values()))})
    chances = [row["p"] for row in rows]
    for row, adjusted in zip(rows, holm(chances), strict=True):
        row["p_holm"] = adjusted
    return rows


def _decided(first: str, second: str, votes: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    told = {what: sum(one.get(what, 0) for one in votes) for what in (first, second, EQUAL)}
    for_first = sum(one.get(first, 0) > one.get(second, 0) for one in votes)
    for_second = sum(one.get(second, 0) > one.get(first, 0) for one in votes)
    return {
        "votes_first": told[first],
        "votes_second": told[second],
        "votes_equal": told[EQUAL],
        "questions_first": for_first,
        "questions_second": for_second,
        "questions_equal": len(votes) - for_first - for_second,
        "p": sign_test(for_first, for_second),
    }


def _chosen(choice: str, pair: Mapping[str, str]) -> str:
    return EQUAL if choice == EQUAL else pair[choice]


def _agreement(name: str, returned: Returned, key: Key) -> list[dict[str, Any]]:
    rows = []
    for aspect in ASPECTS:
        scores = {
            (rater, code): score
            for (rater, code, of), score in returned.scores.items()
            if of == aspect and name in (_ALL, key.answers[code]["lang"])
        }
        kappa = mean_kappa(scores, range(BEST + 1))
        rows.append(_agreed(name, aspect, scores, krippendorff_alpha(scores), kappa))
    chosen = {
        (rater, code): _chosen(choice, key.pairs[code])
        for (rater, code), choice in returned.preferences.items()
        if name in (_ALL, key.pairs[code]["lang"])
    }
    kappa = mean_kappa(chosen, sorted(set(chosen.values())), nominal=True)
    return [*rows, _agreed(name, "preference", chosen, krippendorff_alpha(chosen, nominal=True), kappa)]


def _agreed(
    name: str, what: str, given: Mapping[tuple[str, str], Any], alpha: float | None, kappa: float | None
) -> dict[str, Any]:
    return {
        "set": name,
        "measure": what,
        "alpha": None if alpha is None else round(alpha, 4),
        "kappa": None if kappa is None else round(kappa, 4),
        "raters": len({rater for rater, _ in given}),
    }
