"""What comes of reading one page: documents, or the reason why it is none."""

from dataclasses import dataclass
from enum import StrEnum

from rag.documents import Document

# Part of what an unchanged page is recognised by: raise it when the same bytes would give another document.
EXTRACTOR_VERSION = "1"


class Refusal(StrEnum):
    """Why a page that was fetched is not taken."""

    BROKEN_ENCODING = "broken_encoding"
    WRONG_LANGUAGE = "wrong_language"
    NOT_FOUND_PAGE = "not_found_page"  # says "page not found" with status 200
    SCRIPT_SHELL = "script_shell"  # empty without JavaScript
    CONSENT_BANNER = "consent_banner"  # nothing but the cookie banner
    TOO_SHORT = "too_short"
    RESERVED = "reserved"  # the page reserves text and data mining, or asks not to be indexed
    NOT_READABLE = "not_readable"  # neither HTML nor a PDF with text
    NO_ANSWER = "no_answer"  # a forum question that no doctor has answered
    DUPLICATE = "duplicate"  # the same text stands under another address


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Documents of a page, or why there are none. `canonical_url` is the address that the page itself names, if any."""

    documents: tuple[Document, ...] = ()
    refusal: Refusal | None = None
    canonical_url: str | None = None
