"""Takes the words of a piece of HTML apart into headings, paragraphs and list items."""

import re
from html.parser import HTMLParser


def html_blocks(html: str) -> list[str]:
    """The blocks of a piece of HTML in the marks of the plain form: `## ` headings, `- ` items two spaces deeper for each level.

    Scripts and styles say nothing; of all other mark-up the words are kept. Nothing can fail: wrong HTML gives other blocks.
    """
    reader = _BlockReader()
    reader.feed(html)
    reader.close()
    return reader.blocks()


class _BlockReader(HTMLParser):
    """Collects headings, paragraphs and list items; all other mark-up is dropped and its words are kept."""

    _HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
    _BLOCKS = frozenset({"p", "div", "tr", "table", "blockquote", "section"})
    _SILENT = frozenset({"script", "style"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._mark = ""
        self._lists = 0
        self._silent = 0

    def blocks(self) -> list[str]:
        """What was read so far, a heading, paragraph or item each."""
        self._end_block()
        return self._blocks

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Begin a block where the mark-up does."""
        if tag in self._SILENT:
            self._silent += 1
        elif tag in {"ul", "ol"}:
            self._end_block()
            self._lists += 1
        elif tag == "li":
            self._begin_block("  " * (max(self._lists, 1) - 1) + "- ")
        elif tag in self._HEADINGS:
            self._begin_block("## ")
        elif tag in self._BLOCKS and not self._mark:
            self._end_block()
        elif tag in self._BLOCKS or tag in {"br", "td", "th"}:
            self._words.append(" " if self._mark or tag != "br" else "\n")

    def handle_endtag(self, tag: str) -> None:
        """End a block where the mark-up does."""
        if tag in self._SILENT:
            self._silent = max(self._silent - 1, 0)
        elif tag in {"ul", "ol"}:
            self._end_block()
            self._lists = max(self._lists - 1, 0)
        elif tag == "li" or tag in self._HEADINGS or (tag in self._BLOCKS and not self._mark):
            self._end_block()

    def handle_data(self, data: str) -> None:
        """Keep the words; how the source is wrapped into lines says nothing."""
        if not self._silent:
            self._words.append(re.sub(r"\s+", " ", data))

    def _begin_block(self, mark: str) -> None:
        self._end_block()
        self._mark = mark

    def _end_block(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self._words).split("\n"))
        text = "\n".join(line for line in lines if line)
        if text:
            self._blocks.append(self._mark + text)
        self._words, self._mark = [], ""
