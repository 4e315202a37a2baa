"""Links that open a page at the words that were quoted, where the page and the browser allow it (text fragments)."""

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

_LONGEST_WHOLE = 8  # words; a longer quote is named by its first and last words, so that the link stays short
_EDGE_WORDS = 4
_MOST_QUOTES = 3
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def at_quotes(url: str, quotes: Sequence[str]) -> str:
    """The address of a page with its quotes marked; unchanged where no browser could find them.

    Args:
        url: The publisher's own address of the page.
        quotes: The words as they stand on the page; where a browser does not find them, the page opens at its top.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.lower().endswith(".pdf") or ":~:" in url:
        return url
    directives = [directive for directive in map(_directive, quotes[:_MOST_QUOTES]) if directive]
    if not directives:
        return url
    # A fragment that is there already stays: ":~:" ends what the page itself sees of it.
    return f"{url}{'' if '#' in url else '#'}:~:{'&'.join(directives)}"


def _directive(words: str) -> str:
    # Extraction may have added or dropped a full stop or a bullet; bare words are found either way.
    bare = _EDGES.sub("", words).split()
    if not bare:
        return ""
    if len(bare) <= _LONGEST_WHOLE:
        return f"text={_encoded(bare)}"
    return f"text={_encoded(bare[:_EDGE_WORDS])},{_encoded(bare[-_EDGE_WORDS:])}"


def _encoded(words: Sequence[str]) -> str:
    """Percent-encoded; a dash too, which at either end would make a prefix or suffix of the words."""
    return quote(" ".join(words), safe="").replace("-", "%2D")
