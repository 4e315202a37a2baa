"""Takes out of a question the words that are on no list of names or places, and yet stand as names and places do.

A word counts as a name where it has a capital in mid-sentence, or stands after "mio marito" or "vivo a", and is none of the
ordinary words of its language.
"""

from collections.abc import Callable, Iterator, Sequence

import regex

from ingest.extraction.identity_words import IdentityWords

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_LOWER_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]++(?!')")
_SENTENCE_START = regex.compile(r"(?:^|[.!?:\n])[\s\"'«“(¿¡-]*$")
_BETWEEN = regex.compile(
    r"['-]|\s+(?:(?:d[eia]|del|dell[aeo]|dei|degli|delle|la|las|los|el|in|y|e)\s+|(?:d|dell|sant|nell)')*|\s*,\s+"
)
_DOSE = regex.compile(r"(?i)\s+\d+(?:[.,]\d+)?\s?(?:mg|mcg|µg|ml|g|gr|ui|u|gocce|gotas|cpr|cp)\b")
_PLACE_CUE = regex.compile(r"(?i)\b(?:ad?|da|in|en|desde)\s+$")  # "en Venta de Baños"
_LONGEST_ACRONYM = 5
_LETTERS_BEFORE = 40  # enough to see what a word stands after: "una compressa di"
_Word = regex.Match[str]


def without_unknown_names(line: str, words: IdentityWords) -> str:
    """Leave out capitalised words in mid-sentence that are not ordinary, with the capitalised ones they make one name with."""
    return _without_lower_names(_without_capitalised(line, words), words)


def is_ordinary(word: str, words: IdentityWords) -> bool:
    """Whether a word is of the language, of medicine or a known brand: whoever writes it is not known by it."""
    key = words.key(word)
    return key in words.ordinary or key in words.capitalised or words.endings.search(key) is not None


def is_addressed(sentence: str, words: IdentityWords) -> bool:
    """Whether a doctor's sentence calls somebody by a name that is on no list: "Auguri, Ulderico.", "Ulderico, la tosse …"."""
    found = words.address.search(sentence)
    return found is not None and not is_ordinary(found["name"], words)


def _without_capitalised(line: str, words: IdentityWords) -> str:
    unwanted = [found for chain in _chains(line) for found in _unwanted_of(chain, line, words)]
    return _without(line, unwanted)


def _without(line: str, unwanted: Sequence[_Word]) -> str:
    kept, position = [], 0
    for found in unwanted:
        kept.append(line[position : found.start()])
        position = found.end()
    return "".join([*kept, line[position:]])


def _chains(line: str) -> Iterator[list[_Word]]:
    """Capitalised words that may be one name: "Ponte San Pietro", "Gioia del Colle", "Teresio, Vasto"."""
    chain: list[_Word] = []
    for found in _WORD.finditer(line):
        if not found[0][0].isupper():
            continue
        if chain and _BETWEEN.fullmatch(line, chain[-1].end(), found.start()) is None:
            yield chain
            chain = []
        chain.append(found)
    if chain:
        yield chain


def _unwanted_of(chain: list[_Word], line: str, words: IdentityWords) -> list[_Word]:
    unknown = [found for found in chain if _is_unknown(found, line, words)]
    others = [found for found in chain if found not in unknown and _may_belong_to_a_name(found, line, words)]
    if unknown or (len(others) > 1 and _PLACE_CUE.search(_before(others[0], line))):
        return sorted((*unknown, *others), key=lambda found: found.start())
    return []


def _is_unknown(found: _Word, line: str, words: IdentityWords) -> bool:
    word, before = found[0], _before(found, line)
    if len(word) == 1 or _is_acronym(word) or is_ordinary(word, words):
        return False
    if _SENTENCE_START.search(before) and not words.after_a_name.match(line, found.end()):
        return False
    return not (words.kept_after.search(before) or words.treatments.search(before) or _DOSE.match(line, found.end()))


def _may_belong_to_a_name(found: _Word, line: str, words: IdentityWords) -> bool:
    is_plain = len(found[0]) > 1 and not _is_acronym(found[0]) and words.key(found[0]) not in words.capitalised
    return is_plain and _SENTENCE_START.search(_before(found, line)) is None and words.key(found[0]) not in words.not_names


def _before(found: _Word, line: str) -> str:
    return line[max(0, found.start() - _LETTERS_BEFORE) : found.start()]


def _is_acronym(word: str) -> bool:
    """Whether a word is one like "TSH", "IgG" or "CoV"."""
    return len(word) <= _LONGEST_ACRONYM and any(letter.isupper() for letter in word[1:])


def _without_lower_names(line: str, words: IdentityWords) -> str:
    """Leave out what is written without a capital: "mio marito kimberly", "sono ubalda di guspini", "abito a guspini"."""
    for cue in words.before_lower_names:
        line = _without_what_follows(cue, line, lambda word: _is_lower_name(word, words))
    return _without_what_follows(words.before_lower_places, line, lambda word: not is_ordinary(word, words))


def _is_lower_name(word: str, words: IdentityWords) -> bool:
    key = words.key(word)
    return key in words.ambiguous_names or not (is_ordinary(word, words) or words.adjectives.search(key))


def _without_what_follows(cue: regex.Pattern[str], line: str, is_name: Callable[[str], bool]) -> str:
    """Leave out the names after a cue, several if "e" or "di" joins them."""
    unwanted: list[_Word] = []
    for found in cue.finditer(line):
        position = max(found.end(), unwanted[-1].end() if unwanted else 0)
        while (word := _LOWER_WORD.match(line, position)) and is_name(word[0]):
            unwanted.append(word)
            between = _BETWEEN.match(line, word.end())
            if between is None or "," in between[0]:
                break
            position = between.end()
    return _without(line, unwanted)
