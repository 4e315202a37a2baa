"""Cutting a long reply into parts a messenger accepts: at a paragraph, a line, a sentence or a word, never inside an address."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from channels.markup import Block, Span, block_text, slice_block

Render = Callable[[Block], str]

_SENTENCE_END = re.compile(r"[.!?…][\"»”’')\]]*\s+(?=[^\Wa-zà-ÿ_]|[¿¡«“\"(•*-])")
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_JOINER = "\u200d"
_JOINS = (_JOINER, "\ufe0f", "\u20e3")
_ROOM_FOR_NUMBER = len("\n\n100/100")
# A line or sentence end is taken only if the part before it is not a stump; a word boundary always is.
_LEAST_FILLED = {"line": 0.4, "sentence": 0.25}


def utf16_length(text: str) -> int:
    """Length as Telegram counts it, in UTF-16 units: an emoji is two (H02)."""
    return len(text) + sum(character > "\uffff" for character in text)


def split(blocks: Sequence[Block], render: Render, limit: int) -> list[list[Block]]:
    """Deal blocks out over as few parts as order and whole paragraphs allow.

    Blocks are cut before they get their markup, so every part is valid by itself. No word is lost or repeated; only the white
    space at a cut goes.

    Args:
        blocks: The reply's blocks in order.
        render: Gives a block the messenger's markup.
        limit: The most UTF-16 units of a part with its markup. A messenger that counts characters accepts these too.

    Returns:
        The blocks of each part; `join` makes the text.
    """
    parts: list[list[Block]] = []
    for block in blocks:
        for piece in _pieces(block, render, limit):
            if parts and utf16_length(join([*parts[-1], piece], render)) <= limit:
                parts[-1].append(piece)
            else:
                parts.append([piece])
    return parts


def numbered_parts(blocks: Sequence[Block], render: Render, limit: int) -> list[list[Block]]:
    """As `split`; where there are several parts, each ends with which of how many it is ("1/3"), so that none is missed.

    The number stands below, because what must be read first, such as an emergency number, stands above.
    """
    parts = split(blocks, render, limit)
    if len(parts) <= 1:
        return parts
    parts = split(blocks, render, limit - _ROOM_FOR_NUMBER)
    return [[*part, (Span(text=f"{number}/{len(parts)}"),)] for number, part in enumerate(parts, start=1)]


def join(part: Sequence[Block], render: Render) -> str:
    """The text of one part, blocks separated by an empty line."""
    return "\n\n".join(render(block) for block in part)


def _pieces(block: Block, render: Render, limit: int) -> list[Block]:
    pieces: list[Block] = []
    rest = block
    while utf16_length(render(rest)) > limit:
        fitting = _longest_fitting(rest, render, limit)
        end = _best_cut(rest, fitting)
        if end == 0:
            # An address that no part can hold is useless when cut: its words stay, it goes.
            rest = _without_leading_address(rest)
            continue
        pieces.append(_trimmed(rest, 0, end))
        rest = _trimmed(rest, end, len(block_text(rest)))
    pieces.append(rest)
    return [piece for piece in pieces if block_text(piece).strip()]


def _longest_fitting(block: Block, render: Render, limit: int) -> int:
    low, high = 0, len(block_text(block))
    while low < high:
        middle = (low + high + 1) // 2
        if utf16_length(render(slice_block(block, 0, middle))) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _best_cut(block: Block, fitting: int) -> int:
    """Offset of the best place to end a part that may hold `fitting` characters; 0 if an address fills it alone."""
    text = block_text(block)
    linked = _link_ranges(block)

    def last(pattern: str | re.Pattern[str], least: float) -> int:
        ends = (found.end() for found in re.finditer(pattern, text[: fitting + 1]))
        fit = [end for end in ends if least * fitting < end <= fitting + 1 and not _inside(end, linked)]
        return min(fit[-1], fitting) if fit else 0

    return (
        last(r"\n+", _LEAST_FILLED["line"])
        or last(_SENTENCE_END, _LEAST_FILLED["sentence"])
        or last(r"\s+", 0)
        or _cut_within_word(text, fitting)
    )


def _cut_within_word(text: str, fitting: int) -> int:
    for address in _ADDRESS.finditer(text):
        if address.start() < fitting < address.end():
            return address.start()
    end = fitting
    while 1 < end < len(text) and _one_sign(text[:end], text[end]):
        end -= 1
    return end


def _one_sign(before: str, after: str) -> bool:
    """Whether a reader sees one sign across the cut: an accent, a skin tone, a joined emoji, the second half of a flag."""
    if unicodedata.combining(after) or after in _JOINS or before[-1] == _JOINER or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    flag_letters = re.search(r"[\U0001f1e6-\U0001f1ff]*$", before)
    return bool(flag_letters and len(flag_letters[0]) % 2 and "\U0001f1e6" <= after <= "\U0001f1ff")


def _without_leading_address(block: Block) -> Block:
    first, *others = block
    if first.url:
        return (type(first)(text=first.text, bold=first.bold), *others)
    address = _ADDRESS.match(block_text(block))
    return slice_block(block, address.end() if address else 1, len(block_text(block)))


def _link_ranges(block: Block) -> list[tuple[int, int]]:
    ranges, position = [], 0
    for span in block:
        if span.url:
            ranges.append((position, position + len(span.text)))
        position += len(span.text)
    return ranges


def _inside(offset: int, ranges: list[tuple[int, int]]) -> bool:
    return any(start < offset < end for start, end in ranges)


def _trimmed(block: Block, start: int, end: int) -> Block:
    text = block_text(block)[start:end]
    left = len(text) - len(text.lstrip())
    return slice_block(block, start + left, start + max(left, len(text.rstrip())))
