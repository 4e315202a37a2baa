"""Which question an intake asks next, and how it is put: a choice of features, or a feature by yes or no."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rag.intake_choice import best_question, typical_features
from rag.intake_features import Feature, FeatureLexicon
from rag.intake_pages import PageProfile
from rag.replies import IntakeChoice, IntakeQuestion

MOST_CHOICES: Final = 4
_FEWEST_CHOICES = 2
_NARROW = 5  # candidates that a red-flag question is chosen for
_LEAST_BITS = 0.1
_LEAST_SHARE = 0.05  # of the best candidate's weight: what is typical of one far behind it looks out of place


def next_question(
    lexicon: FeatureLexicon,
    askable: Collection[str],
    profiles: Sequence[PageProfile],
    weights: Sequence[float],
    *,
    told: Collection[str] = (),
) -> IntakeQuestion | None:
    """The question that tells the foremost candidates apart; None if no feature does.

    It lets choose among features each of which is typical of another candidate: whoever knows none of them has lost one question,
    where four of yes or no would have been lost. A red flag is never among them. It is asked by itself, if no other feature
    tells more of the very first candidates.

    Args:
        lexicon: The features.
        askable: Names of those that have been neither told nor asked.
        profiles: The foremost candidates, best first.
        weights: What they weigh.
        told: Names of those that the patient has.
    """
    features = lexicon.features
    urgent = _urgent(features, askable, profiles[:_NARROW], weights[:_NARROW])
    if urgent is not None:
        return feature_question(features[urgent])
    plain = [name for name in askable if not features[name].is_red_flag]
    near = sum(weight >= _LEAST_SHARE * weights[0] for weight in weights)
    typical = typical_features(plain, profiles[:near], weights[:near], told=told, most=MOST_CHOICES)
    if len(typical) >= _FEWEST_CHOICES:
        return choice_question(lexicon, [features[name] for name in typical])
    return feature_question(features[typical[0]]) if typical else None


def feature_question(feature: Feature) -> IntakeQuestion:
    """Ask for a feature by yes or no."""
    return IntakeQuestion(name=feature.name, text=feature.question, statement=feature.statement, is_red_flag=feature.is_red_flag)


def choice_question(lexicon: FeatureLexicon, features: Sequence[Feature]) -> IntakeQuestion:
    """Ask which of some features have been noticed."""
    choices = tuple(
        IntakeChoice(text=one.label[:1].upper() + one.label[1:], feature=one.name, statement=one.statement) for one in features
    )
    return IntakeQuestion(name="|".join(one.name for one in features), text=lexicon.choosing, choices=choices)


def _urgent(
    features: Mapping[str, Feature], askable: Collection[str], profiles: Sequence[PageProfile], weights: Sequence[float]
) -> str | None:
    red_flags = [name for name in askable if features[name].is_red_flag]
    name = best_question(askable, red_flags, profiles, weights, least=_LEAST_BITS)
    return name if name in red_flags else None
