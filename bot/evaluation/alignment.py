"""How well the aligner tells a supported sentence from one that changes its evidence."""

from collections import Counter
from pathlib import Path
from typing import Any

from bot.evaluation.shipped import read_lines
from locales.language import Language
from rag.aligner import Aligner
from rag.documents import Authority, Chunk, Sentence
from rag.types import Draft, Evidence


def evaluate_alignment(pairs: Path, name: str = "alignment") -> dict[str, Any]:
    """Align each labelled sentence with its evidence.

    Args:
        name: Of the set, as the rows call it.
        pairs: Lines of ``{id, lang, evidence: [sentences], sentence, label: supported | unsupported, edit}``.

    Returns:
        Rows of precision, recall and n for each language; the edits that were let through by mistake; for each language and kind
        of sentence, how many were accepted and how many there are.

    Raises:
        SetUnreadable: If the file is not of that form.
    """
    aligners = {language.value: Aligner(language) for language in Language}
    counts: dict[str, Counter[str]] = {language: Counter() for language in aligners}
    kinds: dict[str, Counter[str]] = {}
    let_through = []
    for row in read_lines(pairs, "id", "lang", "evidence", "sentence", "label"):
        evidence = [evidence_of(sentence, row["lang"], place) for place, sentence in enumerate(row["evidence"])]
        accepted = aligners[row["lang"]].align(Draft(text=row["sentence"]), evidence) is not None
        supported = row["label"] == "supported"
        counts[row["lang"]][f"{'accepted' if accepted else 'dropped'}_{'supported' if supported else 'unsupported'}"] += 1
        kind = kinds.setdefault(f"{row['lang']} {row.get('edit')}", Counter(accepted=0, n=0))
        kind.update(accepted=int(accepted), n=1)
        if accepted and not supported:
            let_through.append({"id": row["id"], "edit": row.get("edit")})
    return {
        "rows": [_row(f"{name}_{language}", count) for language, count in counts.items()],
        "let_through": let_through,
        "kinds": {kind: dict(counted) for kind, counted in sorted(kinds.items())},
    }


def _row(name: str, count: Counter[str]) -> dict[str, Any]:
    accepted = count["accepted_supported"] + count["accepted_unsupported"]
    supported = count["accepted_supported"] + count["dropped_supported"]
    return {
        "set": name,
        "precision": round(count["accepted_supported"] / accepted, 4) if accepted else 1.0,  # nothing false was let through
        "recall": round(count["accepted_supported"] / supported, 4) if supported else 0.0,
        "accepted": accepted,
        "n": count.total(),
    }


def evidence_of(sentence: str, language: str, place: int) -> Evidence:
    """The sentence as a page of one passage would offer it."""
    chunk = Chunk(
        chunk_id=f"pair-{place}",
        document_id="pair",
        source_id="pair",
        url=None,
        title="",
        publisher="",
        authority=Authority.PUBLISHER,
        language=Language(language),
        heading_path=(),
        text=sentence,
        sentences=(),
        position=place,
    )
    return Evidence(chunk=chunk, sentence=Sentence(text=sentence, start=0, end=len(sentence)), strength=1.0)
