"""What a page's headers reserve: being read by machines, being indexed, having its links followed."""

from collections.abc import Iterable, Iterator, Mapping

from ingest.crawler.job import PRODUCT

_NOT_TO_BE_READ = {"noindex", "none", "noai"}
_NOT_TO_BE_FOLLOWED = {"nofollow", "none"}
# Directives whose value stands behind a colon, so that it is not taken for the name of a crawler.
_WITH_VALUE = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


def is_reserved(headers: Mapping[str, Iterable[str]]) -> bool:
    """True when the headers (names in lower case) reserve text and data mining or ask not to be indexed."""
    mining = {value.strip() for value in headers.get("tdm-reservation", ())}
    return "1" in mining or bool(_NOT_TO_BE_READ & set(_robots_directives(headers)))


def is_nofollow(headers: Mapping[str, Iterable[str]]) -> bool:
    """True when the headers ask that the page's links are not followed."""
    return bool(_NOT_TO_BE_FOLLOWED & set(_robots_directives(headers)))


def _robots_directives(headers: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Directives of X-Robots-Tag for every crawler or for this one; "name: a, b" speaks to one crawler alone."""
    for value in headers.get("x-robots-tag", ()):
        is_for_us = True
        for part in value.lower().split(","):
            name, colon, directive = part.partition(":")
            if colon and name.strip() not in _WITH_VALUE:
                is_for_us = name.strip() in {PRODUCT.lower(), "*"}
                part = directive
            if is_for_us:
                yield part.strip()
