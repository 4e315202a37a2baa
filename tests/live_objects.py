"""Looks through every live object of the process for words that should be gone."""

import gc
import sys
import types
from array import array
from collections.abc import Sequence
from ctypes import Array
from typing import Any

import numpy as np

_TEXT = (str, bytes, bytearray, memoryview, array, Array, np.ndarray)
_SHORTEST_RUN = 4  # tokens in a row that are as good as the words


def holders_of(word: str, tokens: Sequence[int] = ()) -> list[str]:
    """Who holds `word` in a text or in bytes, or a run of `tokens` in a sequence of numbers, a description each; empty if nobody.

    Garbage is collected first. Local variables of running functions of all threads are looked at too. The very objects `word` and
    `tokens` do not count: whoever asks has to know them.
    """
    gc.collect()
    found = []
    for holder in gc.get_objects():
        if isinstance(holder, types.FrameType) or holder is tokens:
            continue
        if _is_run(holder, tokens):
            found.append(f"{_described(holder)}: its tokens")
        found += [
            f"{_described(holder)}: {type(kept).__name__}" for kept in gc.get_referents(holder) if _holds(kept, word, tokens)
        ]
    for top in sys._current_frames().values():
        for frame in _frames_from(top):
            if any(_holds(value, word, tokens) for value in frame.f_locals.values()):
                found.append(f"a variable of {frame.f_code.co_qualname}")
    return found


def _frames_from(frame: types.FrameType | None) -> list[types.FrameType]:
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _holds(kept: Any, word: str, tokens: Sequence[int]) -> bool:
    if not isinstance(kept, _TEXT) or kept is word:
        return False
    if isinstance(kept, str):
        return word in kept
    try:
        buffer: Any = kept
        raw = memoryview(buffer).tobytes()
    except (TypeError, ValueError, BufferError):  # released, or of objects, which are looked at by themselves
        return False
    packed = array("i", tokens[:_SHORTEST_RUN]).tobytes()
    return word.encode() in raw or (len(tokens) >= _SHORTEST_RUN and packed in raw)


def _is_run(holder: Any, tokens: Sequence[int]) -> bool:
    if not isinstance(holder, list | tuple) or len(tokens) < _SHORTEST_RUN or len(holder) < _SHORTEST_RUN:
        return False
    run = list(tokens[:_SHORTEST_RUN])
    starts = (place for place, item in enumerate(holder) if type(item) is int and item == run[0])
    return any(list(holder[place : place + _SHORTEST_RUN]) == run for place in starts)


def _described(holder: Any) -> str:
    kind = type(holder)
    keys = f" with {sorted(map(str, holder))[:6]}" if isinstance(holder, dict) and len(holder) < 40 else ""
    owners = [type(owner).__qualname__ for owner in gc.get_referrers(holder) if not isinstance(owner, types.FrameType)][:3]
    return f"{kind.__module__}.{kind.__qualname__}{keys} of {owners}"
