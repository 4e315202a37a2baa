"""Decides how the bytes of a page are to be read, and mends or refuses what was broken before it came to us."""

import re

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

# Encodings that a page may ask for. A label beyond them (utf-7, unicode_escape) can turn harmless bytes into markup; and a page
# whose declaration could be read is in no wide encoding, whatever it says.
_ALLOWED = re.compile(r"utf-8|cp(?:125\d|866|949|932)|iso8859-\d+|koi8-[ru]|mac-roman|gb18030|gbk|big5|shift_jis|euc_(?:jp|kr)")
_REPLACEMENT = "\ufffd"

# UTF-8 read as Windows-1252: "Ã¨" for "è", "â€™" for "’", "Â°" for "°". Neither "Ã" nor "Â" nor "â€" is written in Italian or
# Spanish. The second bytes, 0x80 to 0xBF, as Windows-1252 shows them or, where it has none, as control characters.
_TRAIL = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MOJIBAKE = re.compile(rf"[ÃÂ][{_TRAIL}]|â[€‚][{_TRAIL}]")
_UNMENDED = re.compile(rf"Ã(?=[\s\w])|Ã[{_TRAIL}]|Â[{_TRAIL}]|â€")
_CONTROL = re.compile("[\u0080-\u009f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# In UTF-8 that was cut in places most accents are whole; in Latin-1 hardly two letters in a row look like one.
_ACCENTS_PER_LOSS = 4
_MOST_MENDINGS = 2  # text that went through the wrong reading twice


def decoded(body: bytes, content_type: str | None) -> str:
    """The text of a page.

    A byte order mark decides; then valid UTF-8, which text with accents in another encoding hardly ever is; then what the page
    says of itself, then its header. Both are wrong often enough that bytes which cannot be read so are read as Windows-1252, the
    encoding of the old pages of both languages. What no reading can give becomes U+FFFD, and `is_broken` tells it.
    """
    encoding, mark = read_bom(body)
    if encoding and mark:
        return mended(body[len(mark) :].decode(encoding, "replace"))
    if _is_utf8(body):
        return mended(body.decode("utf-8", "replace"))
    for declared in (html_body_declared_encoding(body), http_content_type_encoding(content_type), "cp1252"):
        if (text := _read(body, declared)) is not None:
            return mended(text)
    return mended(body.decode("cp1252", "replace"))


def mended(text: str) -> str:
    """`text` with UTF-8 that was read as Windows-1252 put right, and Windows-1252 read as Latin-1 too."""
    for _ in range(_MOST_MENDINGS):
        repaired = _MOJIBAKE.sub(_as_utf8, text)
        if repaired == text:
            break
        text = repaired
    return _CONTROL.sub(lambda found: _from_cp1252(ord(found[0])), text)


def is_broken(text: str) -> bool:
    """Whether characters of `text` are lost or stand for others, so that a word of it cannot be trusted."""
    return _REPLACEMENT in text or _UNMENDED.search(text) is not None


def _is_utf8(body: bytes) -> bool:
    """Whether the bytes are UTF-8; a page in UTF-8 that was cut or pasted into in a few places still is."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        lost = text.count(_REPLACEMENT)
        return len(_BEYOND_ASCII.findall(text)) - lost > _ACCENTS_PER_LOSS * lost
    return True


def _read(body: bytes, encoding: str | None) -> str | None:
    if not encoding or not _ALLOWED.fullmatch(encoding):
        return None
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        return None


def _as_utf8(found: "re.Match[str]") -> str:
    try:
        return b"".join(_cp1252_byte(c) for c in found[0]).decode("utf-8")
    except UnicodeError:
        return found[0]


def _cp1252_byte(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:
        return character.encode("latin-1")


def _from_cp1252(code: int) -> str:
    return bytes([code]).decode("cp1252", "ignore")
