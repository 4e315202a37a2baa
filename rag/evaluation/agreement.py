"""How far raters agree: Krippendorff's alpha of all of them together, and the mean weighted kappa of each two."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

Ratings = Mapping[tuple[str, str], Any]
"""By rater and item: a score, or a name."""


def krippendorff_alpha(ratings: Ratings, *, nominal: bool = False) -> float | None:
    """Alpha (Krippendorff 2011): 1 for full agreement, 0 for that of chance; items that a rater left out are allowed.

    Args:
        ratings: Numbers, whose squared distance counts, or names if `nominal`.
        nominal: Whether any two different ratings are as far apart as any others.

    Returns:
        None where it means nothing: no item was rated twice, or all that was given is one and the same rating.
    """
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import binary_distance, interval_distance

    twice = _rated_twice(ratings)
    if len(set(twice.values())) < 2:
        return None
    data = [(rater, item, value) for (rater, item), value in twice.items()]
    return float(AnnotationTask(data, distance=binary_distance if nominal else interval_distance).alpha())


def mean_kappa(ratings: Ratings, categories: Sequence[Hashable], *, nominal: bool = False) -> float | None:
    """Cohen's kappa, with quadratic weights unless `nominal`, as the mean of all pairs of raters (Light 1971).

    Returns:
        None where no two raters have items in common with more than one rating among them.
    """
    from sklearn.metrics import cohen_kappa_score

    raters = sorted({rater for rater, _ in ratings})
    found = []
    for one, other in combinations(raters, 2):
        items = sorted(item for rater, item in ratings if rater == one and (other, item) in ratings)
        first, second = [ratings[one, item] for item in items], [ratings[other, item] for item in items]
        if len({*first, *second}) > 1:
            weights = None if nominal else "quadratic"
            found.append(float(cohen_kappa_score(first, second, labels=list(categories), weights=weights)))
    return float(np.mean(found)) if found else None


def _rated_twice(ratings: Ratings) -> dict[tuple[str, str], Any]:
    count: dict[str, int] = {}
    for _, item in ratings:
        count[item] = count.get(item, 0) + 1
    return {key: value for key, value in ratings.items() if count[key[1]] > 1}
