"""How well a generator's grades choose the sentences that answer a question: with worked examples, without, and by retrieval."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.evaluation.alignment import evidence_of
from bot.evaluation.run_records import RunRecords, code_digest
from bot.evaluation.shipped import read_lines
from bot.progress import Counted
from locales.language import Language
from rag.errors import ModelError
from rag.models.protocols import Budget, LanguageModel, Prompt
from rag.scorer import EvidenceScorer
from rag.types import GradedEvidence

_STRICT, _LENIENT = 4, 3  # labels that count as evidence
_FIRST = 3  # sentences kept by their order alone


def evaluate_evidence_grades(rows_file: Path, generator: LanguageModel | None, cache: Path, progress: Counted) -> dict[str, Any]:
    """Grade the candidates of each question and compare what is kept with the labels.

    Args:
        rows_file: Lines of ``{id, lang, question, sentences, labels}``, a label of 1 to 5 a sentence; sentences in no order.
        generator: Grades; without one only the rows that need none.
        cache: Where records are kept, so that a run that was killed goes on.
        progress: Told how many are done.

    Returns:
        Rows of precision, recall and F1, strict (labels of 4 and 5) and lenient (3 and more), for each way to choose.

    Raises:
        SetUnreadable: If the file is not of that form.
    """
    rows = read_lines(rows_file, "id", "lang", "question", "sentences", "labels")
    about = {"set": rows_file.name, "code": code_digest(), "generator": generator.name if generator else None}
    records = RunRecords(cache, "evidence", about)
    chosen: dict[str, list[tuple[set[int], Sequence[int]]]] = {"all candidates": [], "any three": []}
    for number, row in enumerate(rows, start=1):
        labels = row["labels"]
        chosen["all candidates"].append((set(range(len(labels))), labels))
        chosen["any three"].append((set(range(min(_FIRST, len(labels)))), labels))
        for way, model in _ways(generator).items():
            kept = records.once(way, row["id"], lambda model=model, row=row: _graded(model, row))["kept"]  # type: ignore[misc]
            chosen.setdefault(way, []).append((set(kept), labels))
        progress("graded questions", number, len(rows))
    return {"about": about, "n": len(rows), "rows": [_row(way, found) for way, found in chosen.items()]}


def _ways(generator: LanguageModel | None) -> dict[str, LanguageModel]:
    return {"few-shot grades": generator, "zero-shot grades": _WithoutExamples(generator)} if generator else {}


def _graded(model: LanguageModel, row: Mapping[str, Any]) -> dict[str, Any]:
    """The places of the kept sentences; where the generator gives no grades, those that the product keeps then."""
    proof = [evidence_of(sentence, row["lang"], place) for place, sentence in enumerate(row["sentences"])]
    try:
        graded: GradedEvidence | None = EvidenceScorer(model).score(
            row["question"], proof, Language(row["lang"]), budget=Budget(max_tokens=100)
        )
    except ModelError:
        graded = None
    kept = graded.kept if graded else proof[:_FIRST]
    places = {item.place: number for number, item in enumerate(proof)}
    return {"kept": sorted(places[item.place] for item in kept), "grades": list(graded.grades) if graded else []}


def _row(way: str, found: Sequence[tuple[set[int], Sequence[int]]]) -> dict[str, Any]:
    row: dict[str, Any] = {"chosen_by": way}
    for name, least in (("strict", _STRICT), ("lenient", _LENIENT)):
        right = sum(sum(labels[place] >= least for place in kept) for kept, labels in found)
        kept_all = sum(len(kept) for kept, _ in found)
        wanted = sum(sum(label >= least for label in labels) for _, labels in found)
        precision, recall = right / max(1, kept_all), right / max(1, wanted)
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        row |= {f"{name}_precision": round(precision, 3), f"{name}_recall": round(recall, 3), f"{name}_f1": round(f1, 3)}
    return row


class _WithoutExamples:
    """A generator whose prompts lose their worked examples."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def chat_prompt(
        self,
        system: str,
        examples: Sequence[tuple[str, str]],  # noqa: ARG002 - left out
        message: str,
        *,
        before: Sequence[tuple[str, str]] = (),
    ) -> Prompt:
        return self._model.chat_prompt(system, (), message, before=before)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the generator has
        return getattr(self._model, name)
