from pathlib import Path

from bot.evaluation.cached_texts import CachedTexts


def test_what_was_put_is_there_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "eval" / "texts.jsonl"
    assert CachedTexts(path).put("a key", {"phrase": "età"}) == {"phrase": "età"}
    assert CachedTexts(path).get("a key") == {"phrase": "età"}
    assert CachedTexts(path).get("another") is None


def test_a_line_torn_by_a_kill_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    CachedTexts(path).put("first", 1)
    with path.open("a") as file:
        file.write('\n{"key": "ab')
    CachedTexts(path).put("second", 2)
    assert (CachedTexts(path).get("first"), CachedTexts(path).get("second")) == (1, 2)
