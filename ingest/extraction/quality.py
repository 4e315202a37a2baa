"""Judges whether what was read is an article at all: error pages, shells, banners and other languages are refused."""

import re
from collections.abc import Sequence

from lxml.html import HtmlElement

from ingest.extraction.blocks import Line
from ingest.extraction.boilerplate import is_consent
from ingest.extraction.encoding import is_broken
from ingest.extraction.results import Refusal
from ingest.extraction.tree import elements
from ingest.extraction.web_words import WebWords, bare, begins_with_any, has_any
from locales.language import Language
from rag.languages import identify

FEWEST_WORDS = 40  # a definition alone, with the sentence when to see a doctor, has more
_ERROR_PAGE_WORDS = 120
_FEWEST_BESIDE_BANNER = 3  # "Scheda in preparazione." beside a banner is a short page, not a banner
_FEWEST_LINKS_OF_A_LIST = 3
_SHELL_ROOTS = re.compile(r"^(?:root|app|__next|__nuxt|main-app|app-root|gatsby-focus-wrapper|ember\d*|q-app|svelte)$")
_SAMPLES = 5
_SAMPLE_LETTERS = 600


def is_shell(tree: HtmlElement, words: WebWords) -> bool:
    """Whether a page as it came, nothing removed, looks like one that a script fills; true of many that also hold their text."""
    for element in elements(tree):
        if element.tag == "noscript" and has_any(bare("".join(element.itertext())[:2_000]), words.needs_script):
            return True
        if _SHELL_ROOTS.match(element.get("id", "")) and not any(text.strip() for text in element.itertext()):
            return True
    return False


def refusal_of_lines(
    lines: Sequence[Line], titles: Sequence[str], words: WebWords, *, shell: bool, banner_words: int
) -> Refusal | None:
    """Why the lines of an article are not taken, apart from their language; None if they are.

    Links alone are no article: a list of all diseases is a way to pages, not a page.
    """
    texts = [line.text for line in lines]
    if any(map(is_broken, texts)):
        return Refusal.BROKEN_ENCODING
    count = sum(len(line.text.split()) for line in lines if not (line.heading or line.linked))
    if is_not_found(titles, texts, count, words):
        return Refusal.NOT_FOUND_PAGE
    if count >= FEWEST_WORDS:
        return None
    if has_any(bare(" ".join(texts)), words.needs_script) or shell:
        return Refusal.SCRIPT_SHELL
    is_list = sum(line.linked for line in lines) >= _FEWEST_LINKS_OF_A_LIST
    is_banner = count < _FEWEST_BESIDE_BANNER < banner_words and not is_list
    return Refusal.CONSENT_BANNER if is_banner else Refusal.TOO_SHORT


def is_not_found(titles: Sequence[str], texts: Sequence[str], count: int, words: WebWords) -> bool:
    """Whether a page says that there is no such page: by one of its titles, or in a sentence when it has little else to say."""
    if any(_says_not_found(title, words) for title in titles):
        return True
    return count < _ERROR_PAGE_WORDS and any(_says_not_found(text, words) for text in texts)


def refusal_of_text(text: str, language: Language) -> Refusal | None:
    """Why a text is not taken whatever it is: lost characters, or another language in most of it."""
    if is_broken(text):
        return Refusal.BROKEN_ENCODING
    samples = _samples(text)
    foreign = sum(_is_foreign(sample, language) for sample in samples)
    return Refusal.WRONG_LANGUAGE if foreign * 2 > len(samples) else None


def _says_not_found(text: str, words: WebWords) -> bool:
    """Whether a text begins so; a single word or number says it only alone: "404 casi di morbillo" is news."""
    plain = bare(text)
    return plain in words.not_found or begins_with_any(plain, tuple(begin for begin in words.not_found if " " in begin))


def consent_words(lines: Sequence[Line], words: WebWords) -> int:
    """How many words of `lines` belong to consent banners."""
    return sum(len(line.text.split()) for line in lines if is_consent(line.text, words))


def _samples(text: str) -> list[str]:
    """Pieces from all over a text: one quotation in another language must not decide."""
    if len(text) <= _SAMPLES * _SAMPLE_LETTERS:
        return [text[at : at + _SAMPLE_LETTERS] for at in range(0, len(text), _SAMPLE_LETTERS) if len(text) - at >= 120 or not at]
    step = len(text) // _SAMPLES
    return [text[at : at + _SAMPLE_LETTERS] for at in range(0, step * _SAMPLES, step)]


def _is_foreign(sample: str, language: Language) -> bool:
    reading = identify(sample)
    return reading.is_other or reading.language is not language
