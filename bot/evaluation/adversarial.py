"""Whether a careless writer gets a changed number, unit or negation past the aligner: its drafts, one answer each."""

from collections import Counter
from pathlib import Path
from typing import Any

from bot.evaluation.alignment import evidence_of
from bot.evaluation.shipped import read_lines
from locales.language import Language
from rag.aligner import Aligner
from rag.composer import MAX_WORDS, Composer
from rag.drafting import drafts_of
from rag.limits import LimitWords
from rag.types import SupportedSentence


def evaluate_adversarial(drafts: Path) -> dict[str, Any]:
    """Compose an answer from each draft as the product does, the draft arriving a word at a time.

    Args:
        drafts: Lines of ``{id, lang, evidence: [sentences], draft, changed: [sentences of the draft], edit}``.

    Returns:
        How many were composed, the ids and edits of those that showed a changed sentence, and of faithful sentences how many.

    Raises:
        SetUnreadable: If the file is not of that form.
    """
    shown_changed, faithful, told = [], Counter[str](), Counter[str]()
    for row in read_lines(drafts, "id", "lang", "evidence", "draft", "changed"):
        shown, all_drafts = _composed(row)
        changed = {_bare(sentence) for sentence in row["changed"]}
        texts = [_bare(sentence.text) for sentence in shown]
        told[row["lang"]] += 1
        if any(text in changed for text in texts) or sum(len(sentence.text.split()) for sentence in shown) > MAX_WORDS:
            shown_changed.append({"id": row["id"], "edit": row.get("edit")})
        plain = [draft for draft in all_drafts if _bare(draft) not in changed]
        faithful["drafted"] += len(plain)
        faithful["shown"] += sum(_bare(draft) in texts for draft in plain)
    return {"n": told.total(), "by_language": dict(told), "changed_shown": shown_changed, "faithful": dict(faithful)}


def _composed(row: dict[str, Any]) -> tuple[list[SupportedSentence], list[str]]:
    language = Language(row["lang"])
    proof = [evidence_of(sentence, row["lang"], place) for place, sentence in enumerate(row["evidence"])]
    composer = Composer(Aligner(language), proof, lambda _: None, LimitWords.load(language))
    drafts = list(drafts_of(f"{word} " for word in row["draft"].split(" ")))
    composer.take(drafts)
    return composer.sentences, [draft.text for draft in drafts]


def _bare(text: str) -> str:
    """A sentence without case, marks and a leading yes or no, which the aligner cuts."""
    words = "".join(sign if sign.isalnum() else " " for sign in text.lower()).split()
    return " ".join(words[1:] if words[:1] and words[0] in {"sì", "si", "sí", "no"} else words)
