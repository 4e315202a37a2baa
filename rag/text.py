"""Words and sentences of Italian and Spanish text, cut in one way for the index, the query and every comparison between them."""

import re
import threading
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

import Stemmer

from locales.language import Language
from rag.look_alikes import in_latin

_STEMMERS = {Language.ITALIAN: "italian", Language.SPANISH: "spanish"}

# Apostrophes as keyboards, word processors and hurried patients write them; all become the plain one.
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ‛′＇`´", "'"))
# Soft hyphens, zero-width and direction marks, and accents that no letter takes: words struck through, or heaped with them.
_INVISIBLE = re.compile(r"[\u00ad\u0300-\u036f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_BLANKS = re.compile(r"[^\S\n]+")

# Letters and digits stay together across a hyphen only where a digit is on one side: covid-19 and omega-3 are one token,
# medico-chirurgico is two.
_LETTER = r"[^\W\d_]"
_COMPOUND = rf"[^\W_]+(?:-(?=\d)[^\W_]+|(?<=\d)-(?={_LETTER})[^\W_]+)+"
_WORD = rf"{_LETTER}[^\W_]*"
_NUMBER = rf"\d+(?:[.,]\d+)*(?:%|{_LETTER}*)"
_TOKEN = re.compile(rf"(?P<compound>{_COMPOUND})|(?P<word>{_WORD})|(?P<number>{_NUMBER})")
_LETTER_AND_NUMBER = re.compile(rf"({_LETTER})-(\d+)")

# What is left of an Italian word before an apostrophe. These carry no meaning of their own, so they are no tokens at all;
# cos', dov', com' and quand' do, and keep their stem.
_ELIDED_WORDS = (
    "l un d c s m t v n gl all dall dell nell sull coll quest quell bell sant tutt senz anch cert alcun nessun ciascun "
    "grand buon degl agl dagl negl sugl mezz altr prim"
)
_ELIDED = frozenset(_ELIDED_WORDS.split())

_local = threading.local()


_EUPHONY = {
    Language.ITALIAN: ((re.compile(r"\be (?=[eèé])"), "ed "),),
    Language.SPANISH: ((re.compile(r"\by (?=h?[ií](?![aeo]))"), "e "), (re.compile(r"\bo (?=h?[oó])"), "u ")),
}


def normalise(text: str) -> str:
    """Give `text` one spelling: NFC, Latin look-alikes, plain apostrophes, no invisible characters, single blanks.

    Case and line ends stay.
    """
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFC", text).translate(_APOSTROPHES))
    return _BLANKS.sub(" ", in_latin(seen)).strip()


def fold(text: str) -> str:
    """Lower case without accents, save for ñ, which is a letter of its own: "año" must never become "ano"."""
    if text.isascii():
        return text.lower()
    kept = unicodedata.normalize("NFC", text).lower().replace("ñ", "\0")
    bare = "".join(mark for mark in unicodedata.normalize("NFD", kept) if not unicodedata.combining(mark))
    return bare.replace("\0", "ñ")


def words(text: str, language: Language) -> list[str]:
    """Folded words, unstemmed, in order: elided articles gone, a decimal with a point, `covid-19` and `b12` in one piece."""
    return [word for word, _, _ in word_spans(normalise(text), language)]


def word_spans(text: str, language: Language) -> list[tuple[str, int, int]]:
    """`words` of a normalised text, each with its offsets in it."""
    found = []
    for match in _TOKEN.finditer(text):
        word = fold(match.group())
        if match.lastgroup == "word" and _is_elided(word, text, match.end(), match.start(), language):
            continue
        if match.lastgroup == "number":
            word = word.replace(",", ".")
        if _LETTER_AND_NUMBER.fullmatch(word):
            word = word.replace("-", "")
        found.append((word, match.start(), match.end()))
    return found


def stem(word: str, language: Language) -> str:
    """Snowball stem of one folded word; words with a digit stay whole."""
    if not word.isalpha():
        return word
    stemmed: str = _stemmer(language).stemWord(_with_accent(word, language))
    return fold(stemmed)


def lexical_tokens(text: str, language: Language) -> list[str]:
    """Stemmed tokens of `text`, stop words among them: a query may consist of nothing else ("perché?")."""
    return [stem(word, language) for word in words(text, language)]


def content_tokens(text: str, language: Language) -> list[str]:
    """Stemmed tokens of `text` without its stop words; empty when it has no other words."""
    without = stop_words(language)
    return [stem(word, language) for word in words(text, language) if word not in without]


def query_tokens(text: str, language: Language) -> list[str]:
    """What is searched for `text`: its content tokens, or all tokens when it has no content word, each once."""
    return list(dict.fromkeys(content_tokens(text, language) or lexical_tokens(text, language)))


def lexical_text(text: str, language: Language) -> str:
    """Tokens of `text` joined by blanks, as the full-text column holds them.

    A compound such as `covid-19` is followed by its wordy part, so that "covid" alone finds it too.
    """
    tokens: list[str] = []
    for word in words(text, language):
        tokens.append(stem(word, language))
        head = word.split("-")[0]
        if head != word and len(head) > 1 and head.isalpha():
            tokens.append(stem(head, language))
    return " ".join(tokens)


@cache
def stop_words(language: Language) -> frozenset[str]:
    """Folded function words of a language, from its `stopwords.toml`."""
    table = tomllib.loads(files("locales").joinpath(language.value, "stopwords.toml").read_text(encoding="utf-8"))
    return frozenset(fold(word) for group in table.values() for word in group)


def _is_elided(word: str, text: str, end: int, start: int, language: Language) -> bool:
    if start > 1 and word == "s" and text[start - 1] == "'":  # Crohn's
        return True
    return language is Language.ITALIAN and word in _ELIDED and text[end : end + 1] == "'"


def _with_accent(word: str, language: Language) -> str:
    """Restore the accents that Snowball's Spanish suffixes need: without them "operacion" and "operaciones" part ways."""
    if language is Language.SPANISH:
        if word.endswith(("cion", "sion")):
            return word[:-2] + "ón"
        if word.endswith("logia"):
            return word[:-2] + "ía"
    return word


def _stemmer(language: Language) -> Stemmer.Stemmer:
    """This thread's own stemmer: one object is not safe in two threads. It keeps no words, which may be a patient's."""
    stemmers = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(_STEMMERS[language], 0)
    stemmer: Stemmer.Stemmer = stemmers[language]
    return stemmer


# Written with a dot and followed by the rest of their sentence. Folded, without the last dot.
_ABBREVIATED_WORDS = (
    "es p.es ad.es ess p.ej ej dott dott.ssa dr dra drs dres prof prof.ssa sig sig.ra sig.na sr sra srta sres ing avv geom s ss "
    "sta sto d.ssa ud uds vd vds art artt n nn nr num pag pagg p pp cap capp fig figg tab vol cfr cf ca v vs vid ref tel int ext "
    "uu cod max approx aprox av avda c.so p.za n.b nb op cit loc lett segg ee ee.uu a.c d.c sost cpr gtt"
)
_ABBREVIATIONS = frozenset(_ABBREVIATED_WORDS.split())
_END = re.compile(r"(?P<mark>[.!?…]+)(?P<closing>[\"'”’»)\]]*)(?=\s|$)")
_BEFORE_DOT = re.compile(rf"(?:({_LETTER}[^\W_]*)\s+)?({_LETTER}(?:{_LETTER}|\.)*)$")
_OPENING = "¿¡\"'“‘«(["
_MARKER = re.compile(r"\s*(?:#{1,6}\s+|[-*•·–—‣◦]\s+|\(?\d{1,2}[.)]\s+|\(?[a-zA-Z]\)\s+)?")


def euphonic(text: str, language: Language) -> str:
    """A sentence with "and" and "or" as they are spoken before the same vowel: "ed è", "e hijos", "u horas"."""
    for pattern, spoken in _EUPHONY[language]:
        text = pattern.sub(spoken, text)
    return text


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Find the sentences of `text`, each with its closing mark.

    A line end always ends a sentence, so a list item and a heading stand alone; their markers (`- `, `1. `, `## `) lie outside.
    Abbreviations (p. es., dott., ej., Dr.), initials, decimals and a colon do not end one.

    Returns:
        (start, end) offsets into `text`, in order, none empty; between them lie only blanks and markers.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        spans.extend(_split_line(text, start, start + len(line)))
        start += len(line)
    return spans


def _split_line(text: str, start: int, end: int) -> list[tuple[int, int]]:
    marker = _MARKER.match(text, start, end)
    begin = marker.end() if marker else start
    spans = []
    for match in _END.finditer(text, begin, end):
        if not _ends_sentence(text, begin, match, end):
            continue
        spans.append((begin, match.end()))
        begin = match.end()
    spans.append((begin, end))
    return [span for span in (_stripped(text, *span) for span in spans) if _has_words(text, *span)]


def _ends_sentence(text: str, begin: int, match: "re.Match[str]", end: int) -> bool:
    follows = text[match.end() : end].lstrip()
    if not follows:
        return True
    first = follows[1:2] if follows[0] in _OPENING and len(follows) > 1 else follows[0]
    if match["mark"] != ".":
        # "… disse: «Perché?» e uscì": a lower-case letter after the closing quote, or after an ellipsis, continues.
        return not first.islower() or (not match["closing"] and match["mark"][-1] in "?!")
    if first.islower():
        return False
    return match["closing"] != "" or not _is_abbreviation(text[begin : match.start()].lstrip())


def _is_abbreviation(before: str) -> bool:
    """Whether a dot after `before`, the sentence so far, belongs to an abbreviation or to an initial of a name."""
    found = _BEFORE_DOT.search(before)
    if found is None:
        return False
    word, previous = found[2], found[1]
    folded = fold(word)
    if folded in _ABBREVIATIONS or ("." in folded and folded.rpartition(".")[2] in _ABBREVIATIONS):
        return True
    # "J. Smith", "John F. Kennedy", but "l'epatite C.", "Vitamina C." and "39 °C." end there.
    is_letter = len(word) == 1 and word.isupper() and not before[: -len(word)].rstrip().endswith("°")
    return is_letter and (previous is None or (previous[0].isupper() and found.start(1) > 0))


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


def _has_words(text: str, start: int, end: int) -> bool:
    return any(letter.isalnum() for letter in text[start:end])
