"""Brings an answer from a web page into the plain form, and takes out of a doctor's answer what names anybody."""

from collections.abc import Callable, Collection
from copy import deepcopy
from html import unescape

import regex
from lxml.html import HtmlElement

from ingest.extraction.blocks import lines_of, plain_form, plain_of_markup
from ingest.extraction.contacts import CONTACT
from ingest.extraction.deidentify import is_named
from ingest.extraction.hidden import remove_hidden
from ingest.extraction.identity_words import IdentityWords
from ingest.extraction.tables import unfold
from ingest.extraction.tree import drop
from ingest.importers.plain import plain_lines
from locales.language import Language
from rag.text import split_sentences

_TAG = regex.compile(r"</?[a-zA-Z][^<>]*>")
_HEADING_MARK = regex.compile(r"(?m)^#{1,6}(?= )")
_CAPITALISED = regex.compile(r"\p{Lu}\p{L}{2,}")
_IT_TITLES = frozenset({"dott", "dottor", "dottore", "dottoressa", "prof", "professore", "specialista", "utente", "anonimo"})
_ES_TITLES = frozenset({"doctor", "doctora", "dra", "médico", "especialista", "usuario", "usuaria", "invitado", "anónimo"})
_NO_NAMES = _IT_TITLES | _ES_TITLES | {"medico"}
# What follows a closing is a signature, with address and consulting hours; a longer text after it is more than that.
_LONGEST_SIGNATURE_WORDS = 60


def plain_answer(text: str) -> str:
    """Bring an answer, HTML or plain text, into the plain form; its own headings stand below that of the answer."""
    unescaped = unescape(text)
    plain = plain_of_markup(unescaped) if _TAG.search(unescaped) else plain_lines(unescaped)
    return _HEADING_MARK.sub("###", plain)


def plain_element(element: HtmlElement, without: Collection[HtmlElement] = ()) -> str:
    """Bring an element of a page into the plain form, without some of the elements in it and without what it quotes."""
    part = deepcopy(element)
    part.tail = None
    unwanted = [twin for own, twin in zip(element.iter(), part.iter(), strict=True) if own in without]
    for twin in [*unwanted, *part.iter("blockquote")]:
        if twin is not part:
            drop(twin)
    remove_hidden(part)
    unfold(part)
    return _HEADING_MARK.sub("###", plain_form(lines_of(part)))


def one_line(text: str) -> str:
    """A title or a role, HTML or plain, as one line of words."""
    return " ".join(plain_answer(text).replace("### ", "").replace("\n- ", "\n").split())


def without_people(text: str, language: Language) -> str:
    """Leave out the signature of a doctor's answer, in the plain form, and every sentence that tells who somebody is.

    A sentence goes as a whole: what stays is what the doctor wrote, word for word.
    """
    signed = _without_signature(text, IdentityWords.load(language))
    return _without_sentences(signed, lambda sentence: CONTACT.search(sentence) is not None or is_named(sentence, language))


def without_named_sentences(text: str, names: Collection[str]) -> str:
    """Leave out the sentences of an answer that hold a name which the page itself gives to one of its people."""
    pattern = _names_pattern(names)
    return _without_sentences(text, lambda sentence: pattern.search(sentence) is not None)


def without_names(text: str, names: Collection[str]) -> str:
    """Leave out of a question the names that the page itself gives to its people."""
    return _names_pattern(names).sub("", text)


def _without_sentences(text: str, is_unwanted: Callable[[str], bool]) -> str:
    """Leave sentences out, and the list below a lead-in that goes: it would read as if something else led to it."""
    kept: list[str] = []
    has_lost_lead = False
    for line in text.split("\n"):
        is_item = line.lstrip().startswith("- ")
        if has_lost_lead and (is_item or not line):
            continue
        spans = split_sentences(line)
        spoken = [line[start:end] for start, end in spans if not is_unwanted(line[start:end])]
        has_lost_lead = len(spoken) < len(spans) and line.endswith(":")
        if len(spoken) == len(spans):
            kept.append(line)
        elif spoken:
            kept.append(line[: spans[0][0]] + " ".join(spoken))
        else:
            kept.append("")
    return plain_lines("\n".join(kept))


def _names_pattern(names: Collection[str]) -> regex.Pattern[str]:
    """Full names in any case, and their parts where they begin with a capital. A lone common word as a nickname is no name."""
    full = [name.strip() for name in names if len(name.strip()) > 2]
    parts = {part for name in full for part in _CAPITALISED.findall(name) if part.lower() not in _NO_NAMES}
    telling = [name for name in full if not (name.isalpha() and name.islower()) and name.lower() not in _NO_NAMES]
    forms = [rf"(?i:(?<!\w){regex.escape(name)}(?!\w))" for name in telling] + [rf"\b{regex.escape(part)}\b" for part in parts]
    return regex.compile("|".join(forms) or r"(?!)")


def _without_signature(text: str, words: IdentityWords) -> str:
    for start, _ in split_sentences(text)[1:]:
        if words.farewell.match(text, start) and len(text[start:].split()) <= _LONGEST_SIGNATURE_WORDS:
            return text[:start]
    return text
