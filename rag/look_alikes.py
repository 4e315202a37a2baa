"""Letters that only look like those of Italian and Spanish: another alphabet's, full-width ones, those of a decorative font."""

import re
import unicodedata

# Cyrillic and Greek letters that cannot be told from Latin ones on a screen. α, β, γ and μ are not among them: "TNFα" and "μg"
# are written so on purpose.
_CYRILLIC = dict(zip("асеорхуіјѕһԁԛԝАВСЕНІЈКМОРЅТУХ", "aceopxyijshdqwABCEHIJKMOPSTYX", strict=True))
_GREEK = dict(zip("ονρικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovpikuxABEZHIKMNOPTYX", strict=True))
_LATIN = str.maketrans(_CYRILLIC | _GREEK)
# The dotless i, and small capitals, which no Italian or Spanish word has.
_VARIANTS = str.maketrans(dict(zip("ıɑɡɪʟɴʀʙᴀᴄᴅᴇɢʜᴊᴋᴍᴏᴘᴛᴜᴠᴡʏᴢ", "iagilnrbacdeghjkmoptuvwyz", strict=True)))
_FOREIGN = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_WORD = re.compile(r"[^\W\d_]+")
_HAS_LATIN = re.compile(r"[a-zA-Z\u00c0-\u024f]")

# ff to st in one sign, circled and full-width letters and digits, and the bold, slanted and script letters made for formulas.
_DECORATED = re.compile(r"[\ufb00-\ufb06\u24b6-\u24e9\uff01-\uff5e\U0001d400-\U0001d7ff]+")


def in_latin(text: str) -> str:
    """Write in Latin letters what only looks so; a word of another alphabet, and a Greek letter beside a word, stay."""
    if text.isascii():
        return text
    plain = _DECORATED.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text).translate(_VARIANTS)
    return _WORD.sub(_unmixed, plain) if _FOREIGN.search(plain) else plain


def _unmixed(found: "re.Match[str]") -> str:
    """A word of two alphabets in Latin letters if it can be written so, else as it was."""
    word = found.group()
    if not _HAS_LATIN.search(word):
        return word
    written = word.translate(_LATIN)
    return word if _FOREIGN.search(written) else written
