"""Which addresses a crawl has asked for, how far from a start page they are, and which it may still ask for."""

import math
from enum import Enum, auto


class Step(Enum):
    """What is to be done with an address that was found."""

    ASK = auto()
    FOLLOW = auto()  # it has been read already, and its links count now
    NOTHING = auto()


class Frontier:
    """Caps of pages and depth, kept without a word: a calendar without end just stops.

    An address that a sitemap, a feed or an earlier crawl named has no depth, and its links are not followed until a chain of
    links from a start page reaches it.
    """

    def __init__(self, *, max_pages: int, max_depth: int) -> None:
        self._max_pages = max_pages
        self._max_depth = max_depth
        self._asked: set[str] = set()
        self._read: set[str] = set()
        self._depths: dict[str, int] = {}
        self.is_full = False

    def __len__(self) -> int:
        return len(self._asked)

    def find(self, url: str, depth: int | None = None, *, counts: bool = True) -> Step:
        """Take an address that was found, `depth` links away from a start page.

        Args:
            url: A canonical address.
            depth: None when no chain of links led here.
            counts: False for the target of a redirect, whose page has been counted.
        """
        if depth is not None and depth > self._max_depth:
            return Step.NOTHING
        is_nearer = depth is not None and depth < self._depths.get(url, math.inf)
        if url not in self._asked:
            if counts and len(self._asked) >= self._max_pages:
                self.is_full = True
                return Step.NOTHING
            self._asked.add(url)
            self._note_depth(url, depth)
            return Step.ASK
        if is_nearer:
            self._note_depth(url, depth)
            return Step.FOLLOW if url in self._read else Step.NOTHING
        return Step.NOTHING

    def mark_read(self, url: str) -> None:
        """Note that the page is there, so that its links can be followed."""
        self._read.add(url)

    def depth(self, url: str) -> int | None:
        """Links between a start page and this address, as far as is known."""
        return self._depths.get(url)

    def depth_of_links(self, url: str) -> int | None:
        """How deep the links of a page are; None when they are not to be followed."""
        depth = self._depths.get(url)
        return depth + 1 if depth is not None and depth < self._max_depth else None

    def _note_depth(self, url: str, depth: int | None) -> None:
        if depth is not None:
            self._depths[url] = depth
