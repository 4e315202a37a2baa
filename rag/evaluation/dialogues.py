"""How well dialogues find a condition: hits and ranks by round, one round against several, and texts against their cases."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from locales.language import Language
from rag.evaluation.comparisons import mean, with_interval
from rag.evaluation.statistics import discordance, holm, paired_difference, signed_rank
from rag.evaluation.text_metrics import bleu, meteor, rouge_l, rouge_n

MEASURES = ("hit@1", "hit@3", "hit@5", "mrr@10")
TEXT_MEASURES = ("rouge-1", "rouge-2", "rouge-l", "meteor")
BLEU_ORDERS = (1, 2, 4)
SINGLE_ROUND = "single round"
WHOLE_STORY = "whole story"
ALL = "all"

_DEPTH = 10  # places of the reciprocal rank

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""By way to converse, a record a case, in the same order everywhere.

Each has `lang`; `ranks`, the place of the right condition before the first question and after each round, or None where it is
not among the candidates; `questions`; `answered`, a truth value a question; `escalated`, None or a mapping whose `round` tells
after which question a text was first taken for an emergency; and the texts `single_round`, `text` (the dialogue) and `reference`.
Dialogues are played to their end all the same.
"""


def measures_of(rank: int | None) -> dict[str, float]:
    """Hits at 1, 3 and 5 and the reciprocal of a rank, which is 0 after the tenth place."""
    hits = {f"hit@{k}": float(rank is not None and rank <= k) for k in (1, 3, 5)}
    return {**hits, "mrr@10": 1.0 / rank if rank is not None and rank <= _DEPTH else 0.0}


def dialogue_figures(dialogues: Records, stories: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is told of a run.

    Args:
        dialogues: The records of each way to converse.
        stories: Records of the same cases told at once, with `lang` and a single one of `ranks`.

    Returns:
        `rows` by set, way and round, with the mean and the 95 % interval of each measure, each way also as it would have gone if
        a dialogue ended where a text was taken for an emergency ("gate heeded"); `comparisons` by set: see `_compared`;
        `courses` by set and way: questions asked, the share of them that the case says something of, cases in which one was asked
        twice or a text was taken for an emergency; `texts` by set and way: dialogues against what their patients have.
    """
    told: dict[str, list[Any]] = {"rows": [], "comparisons": [], "courses": [], "texts": []}
    for name in _sets(stories):
        own = {way: _of(name, records) for way, records in dialogues.items()}
        heeded: dict[str, list[Mapping[str, Any]]] = {
            f"{way}, gate heeded": [_heeding(record) for record in records] for way, records in own.items()
        }
        own_stories = _of(name, stories)
        told["rows"] += [{"set": name, **row} for row in _rows(own | heeded, own_stories)]
        told["comparisons"] += [{"set": name, **row} for row in _compared(own, heeded, own_stories)]
        told["courses"] += [{"set": name, "way": way, **_course(records)} for way, records in own.items()]
        told["texts"] += [{"set": name, **row} for row in _texts(own)]
    return told


def _sets(records: Sequence[Mapping[str, Any]]) -> list[str]:
    languages = [language.value for language in Language if any(record["lang"] == language.value for record in records)]
    return [*languages, ALL] if len(languages) > 1 else languages


def _of(name: str, records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [record for record in records if name in (ALL, record["lang"])]


def _heeding(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record of the same dialogue, ended where a text was taken for an emergency."""
    if record["escalated"] is None:
        return record
    ranks, last = record["ranks"], max(record["escalated"]["round"] - 1, 0)
    return {**record, "ranks": [rank if at <= last else ranks[last] for at, rank in enumerate(ranks)]}


def _values(records: Sequence[Mapping[str, Any]], at: int) -> dict[str, list[float]]:
    counted = [measures_of(record["ranks"][at]) for record in records]
    return {measure: [one[measure] for one in counted] for measure in MEASURES}


def _rows(dialogues: Records, stories: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for way, records in dialogues.items():
        for at in range(len(records[0]["ranks"])):
            yield _row(way, at, records)
    yield _row(WHOLE_STORY, 0, stories)


def _row(way: str, at: int, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"way": way, "round": at, "n": len(records)}
    for measure, values in _values(records, at).items():
        row |= with_interval(measure, values)
    return row


def _compared(dialogues: Records, heeded: Records, stories: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The opening alone against each way to converse, and the whole story at once against those that are played to their end.

    Returns:
        Rows `first`, `second`, `measure`, `n`, `difference` with the bounds of its 95 % interval by a paired bootstrap; `gained`
        and `lost`, cases that went up and down; `p` of McNemar's exact test for hits and of the signed-rank test for ranks; and
        `p_holm`, the same by Holm's correction over all rows of the set.
    """
    ways = {**dialogues, **heeded}
    pairs = [(SINGLE_ROUND, _values(records, 0), way) for way, records in ways.items()]
    pairs += [(WHOLE_STORY, _values(stories, 0), way) for way in dialogues]
    rows: list[dict[str, Any]] = []
    for first, before, way in pairs:
        after = _values(ways[way], -1)
        told = {measure: _change(measure, before[measure], after[measure]) for measure in MEASURES}
        rows += [{"first": first, "second": way, "measure": measure, **row} for measure, row in told.items()]
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def _change(measure: str, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    change, moved = paired_difference(before, after), discordance(before, after)
    chance = moved.p if measure.startswith("hit") else signed_rank(before, after)
    told = {"difference": change.mean, "low": change.low, "high": change.high}
    rounded = {name: round(value, 4) for name, value in told.items()}
    return {"n": len(before), **rounded, "gained": moved.gained, "lost": moved.lost, "p": 1.0 if chance is None else chance}


def _course(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    asked = [record["questions"] for record in records]
    answered = [float(one) for record in records for one in record["answered"]]
    return {
        "n": len(records),
        "questions": mean([float(len(questions)) for questions in asked]),
        "most_questions": max(len(questions) for questions in asked),
        "without_a_question": sum(not questions for questions in asked),
        "answered": mean(answered),
        "asked_twice": sum(len(set(questions)) < len(questions) for questions in asked),
        "escalated": sum(record["escalated"] is not None for record in records),
    }


def _texts(dialogues: Records) -> Iterator[dict[str, Any]]:
    first = next(iter(dialogues.values()))
    yield {"way": SINGLE_ROUND, **_likeness(first, "single_round")}
    for way, records in dialogues.items():
        yield {"way": way, **_likeness(records, "text")}


def _likeness(records: Sequence[Mapping[str, Any]], key: str) -> dict[str, Any]:
    """Means a dialogue, and BLEU of all together."""
    figures: dict[str, list[float]] = {measure: [] for measure in TEXT_MEASURES}
    for record in records:
        text, reference, language = record[key], record["reference"], Language(record["lang"])
        figures["rouge-1"].append(rouge_n(text, reference, language, 1).f1)
        figures["rouge-2"].append(rouge_n(text, reference, language, 2).f1)
        figures["rouge-l"].append(rouge_l(text, reference, language).f1)
        figures["meteor"].append(meteor(text, reference, language))
    texts, references = [record[key] for record in records], [record["reference"] for record in records]
    scores = {f"bleu-{order}": round(bleu(texts, references, order).score, 2) for order in BLEU_ORDERS}
    return {"n": len(records), **{measure: mean(values) for measure, values in figures.items()}, **scores}
