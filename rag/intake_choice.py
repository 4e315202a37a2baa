"""Which candidate fits what a patient has said, and which question would tell them apart best: plain Bayes over the pages' trees.

The scoring rule: a candidate weighs `exp(score / temperature)` of its retrieval score, times the probability of all that the
patient affirmed, times that of all that was denied to the power of `_DENIAL`, for many a patient lacks a symptom of the book.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.intake_pages import PageProfile

# Set on the development cases; figures in docs/adr/0022.
_TEMPERATURE = 1.0  # in the unit of retrieval scores
_FURTHEST = 2.5  # behind the best: no page is so far behind that two replies could not bring it to the front
_DENIAL = 0.6
_RED_FLAG = 0.7  # of what a red-flag question tells, since a yes ends the intake
_LEAST_WEIGHT = 1e-9
_LEAST_CHANCE = 0.02
_CHOSEN = 0.7  # of the weight, for the page whose sentence a patient has chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page among the candidates, with its retrieval score."""

    profile: PageProfile
    score: float


def weigh(found: Sequence[Found], told: Mapping[str, bool], chosen: str | None = None) -> list[float]:
    """How much each candidate weighs, in the order of `found`; together 1.

    Args:
        found: The candidates.
        told: Features by whether the patient has them, in their own words or in reply.
        chosen: The page whose sentence the patient has chosen, if any.
    """
    if not found:
        return []
    least = max(candidate.score for candidate in found) - _FURTHEST
    logs = [max(candidate.score, least) / _TEMPERATURE + _evidence(candidate.profile, told) for candidate in found]
    top = max(logs)
    weights = [math.exp(log - top) for log in logs]
    shares = [weight / sum(weights) for weight in weights]
    if not any(candidate.profile.document_id == chosen for candidate in found):
        return shares
    return [
        (1.0 - _CHOSEN) * share + _CHOSEN * (candidate.profile.document_id == chosen)
        for candidate, share in zip(found, shares, strict=True)
    ]


def information(feature: str, profiles: Sequence[PageProfile], weights: Sequence[float]) -> float:
    """What the reply to a question is expected to tell of the candidates, in bits; weights count as shares of their sum."""
    total = sum(weights)
    chances = [profile.chance(feature) for profile in profiles]
    overall = sum(weight * chance for weight, chance in zip(weights, chances, strict=True)) / total
    within = sum(weight * _entropy(chance) for weight, chance in zip(weights, chances, strict=True)) / total
    return _entropy(overall) - within


def best_question(
    features: Collection[str],
    red_flags: Collection[str],
    profiles: Sequence[PageProfile],
    weights: Sequence[float],
    *,
    least: float,
) -> str | None:
    """The feature whose question narrows the candidates most; None if none that a candidate names is expected to tell enough.

    Args:
        features: Those that may be asked.
        red_flags: Those of them to which a yes is an emergency.
        profiles: The foremost candidates.
        weights: What they weigh.
        least: Bits that a question must be expected to tell.
    """
    gains = {
        feature: information(feature, profiles, weights) * (_RED_FLAG if feature in red_flags else 1.0)
        for feature in features
        if any(profile.names(feature) for profile in profiles)
    }
    best = max(gains, key=lambda feature: gains[feature], default=None)
    return best if best is not None and gains[best] >= least else None


def typical_features(
    features: Collection[str],
    profiles: Sequence[PageProfile],
    weights: Sequence[float],
    *,
    told: Collection[str] = (),
    most: int,
) -> list[str]:
    """Features each of which is typical of another candidate, in the order of the candidates.

    Typical of a candidate, among those that it names, is the one that its patients affirm most often and those of the others
    least: `p · log(p / q)`, where `p` is its own chance and `q` the mean chance of the others by weight. Candidates that tell
    of nothing that was told offer none, as long as others do: their signs would look far-fetched beside it.

    Args:
        features: Those that may be asked.
        profiles: The foremost candidates, best first.
        weights: What they weigh.
        told: Features that the patient has.
        most: How many features are wanted at most.
    """
    typical: list[str] = []
    fitting = [any(profile.tells(name) for name in told) for profile in profiles]
    for place, profile in enumerate(profiles):
        if any(fitting) and not fitting[place]:
            continue
        others = [*profiles[:place], *profiles[place + 1 :]]
        shares = [*weights[:place], *weights[place + 1 :]]
        gains = {
            feature: _distinction(profile.chance(feature), _mean_chance(feature, others, shares))
            for feature in features
            if feature not in typical and profile.shows(feature)
        }
        best = max(gains, key=lambda feature: gains[feature], default=None)
        if best is not None and gains[best] > 0.0:
            typical.append(best)
        if len(typical) == most:
            break
    return typical


def _mean_chance(feature: str, profiles: Sequence[PageProfile], weights: Sequence[float]) -> float:
    chances = (weight * profile.chance(feature) for weight, profile in zip(weights, profiles, strict=True))
    return sum(chances) / max(sum(weights), _LEAST_WEIGHT)


def _distinction(chance: float, others: float) -> float:
    return chance * math.log(chance / max(others, _LEAST_CHANCE))


def _evidence(profile: PageProfile, told: Mapping[str, bool]) -> float:
    return sum(
        math.log(profile.chance(name)) if has else _DENIAL * math.log(1.0 - profile.chance(name)) for name, has in told.items()
    )


def _entropy(chance: float) -> float:
    return -sum(part * math.log2(part) for part in (chance, 1.0 - chance) if part > 0.0)
