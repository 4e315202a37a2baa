"""The development cases against the trees of the starter pages alone: no index, no embedder, all pages found alike."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ingest.disease_tree import disease_tree
from ingest.importers.folder import read_folder
from locales.language import Language
from rag.intake_choice import Found, weigh
from rag.intake_features import FeatureLexicon
from rag.intake_pages import read_profile
from tests.builders import starter_sources

CASES = Path(__file__).parents[2] / "data" / "intake"

every_language = pytest.mark.parametrize("language", list(Language))


def cases(language: Language) -> list[dict[str, Any]]:
    lines = (CASES / f"cases_{language.value}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def pages(language: Language) -> list[Found]:
    rows = [row for row in starter_sources() if row.id == f"starter-{language.value}"]
    lexicon = FeatureLexicon.load(language)
    documents = [document for row in rows for document in read_folder(row.path or Path(), row)]
    return [Found(profile=read_profile(document, disease_tree, lexicon), score=0.0) for document in documents]


def rank(language: Language, condition: str, told: Mapping[str, bool]) -> int:
    weights = weigh(pages(language), told)
    own = next(weight for page, weight in zip(pages(language), weights, strict=True) if page.profile.topic == condition)
    return sum(weight > own for weight in weights) + 1


def replies(language: Language, case: Mapping[str, Any]) -> dict[str, bool]:
    """What the patient would reply to each feature's question, by the words that the question shares with a fact."""
    found = {}
    for name, feature in FeatureLexicon.load(language).features.items():
        words = set(feature.question.lower().strip("¿?").replace(",", "").split())
        fact = next((fact for fact in case["facts"] if words & set(fact["words"])), None)
        if fact is not None:
            found[name] = fact["has"]
    return found


@every_language
def test_there_are_cases_of_conditions_that_the_starter_pages_treat(language: Language) -> None:
    topics = {page.profile.topic for page in pages(language)}
    assert len(cases(language)) >= 12
    assert {case["condition"] for case in cases(language)} <= topics


@every_language
def test_most_facts_of_a_case_can_be_asked_for(language: Language) -> None:
    asked = [len(replies(language, case)) for case in cases(language)]
    assert min(asked) >= 4


@every_language
def test_replies_bring_the_right_page_forward(language: Language) -> None:
    lexicon = FeatureLexicon.load(language)
    before, after = [], []
    for case in cases(language):
        told = lexicon.told(case["opening"])
        before.append(rank(language, case["condition"], told) <= 5)
        after.append(rank(language, case["condition"], told | replies(language, case)) <= 5)
    assert sum(after) >= 0.9 * len(after)
    assert sum(after) > sum(before)
