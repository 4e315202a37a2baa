"""Takes out of a person's question what could tell who they are. What is left is embedded so that the page is found by it.

Recall comes before style: the text is never shown, so a gap in it does no harm, and a name does.
"""

from collections.abc import Iterator

import regex

from ingest.extraction.contacts import without_contacts
from ingest.extraction.identity_words import IdentityWords
from ingest.extraction.unknown_words import is_addressed, is_ordinary, without_unknown_names
from locales.language import Language
from rag.text import normalise, split_sentences

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_SURNAME = regex.compile(r"(?:\s(?:(?:de|la|del|di)\s)?\p{Lu}[\p{L}'-]+){1,2}|\s(?P<listed>\p{L}+)")
_SENTENCE_START = regex.compile(r"(?:^|[.!?:\n])[\s\"'«“(¿¡-]*$")
_LETTERS = regex.compile(r"\p{L}")
_JOINERS = frozenset({"d", "da", "de", "del", "desde", "di", "e", "in", "la", "y"})
_WORDS_OF_COURTESY = regex.compile(r"\p{L}[\p{L}']*|\d+")
_LAST_WORDS = regex.compile(r"(?<=[.!?]\s)[^.!?]{3,40}[.!]?$")
_ENDLESS_WORD = regex.compile(r"\w{60,}")  # no word, and slow to search
_CLAUSE_END = (",", ";", ":", ")")
_MOSTLY = 0.6  # a line with more capitals than this is shouted: its capitals tell nothing
_LONGEST_SMALL_WORD = 3
_LONGEST_SIGNATURE_WORDS = 4
_LETTERS_BEFORE = 40  # enough to see what a name stands after: "sindrome di"
_INFANT_MONTHS, _CHILD_YEARS, _GROWN_YEARS, _OLD_YEARS, _OLDEST_YEARS = 12, 12, 18, 65, 120
_BLANKS = regex.compile(r"[^\S\n]+")
_TIDYING = (
    (regex.compile(r"\(\W*\)"), " "),
    (_BLANKS, " "),
    (regex.compile(r" +([,.;:!?)])"), r"\1"),
    (regex.compile(r"[,;:](?:\s?[,;:])+"), ","),
    (regex.compile(r"[,;:]+(?=[.!?])"), ""),
    (regex.compile(r"(?m)(^|[.!?] )(?:\W*\b[ey]\b )?[\s,;:.)-]+"), r"\1"),
    (regex.compile(r"(?m)^(?:[ey] )"), ""),
)


def deidentified(text: str, language: Language) -> str:
    """Leave out names, places, contacts, numbers of documents and full dates, and make ages coarse.

    "mio figlio Luca di 3 mesi" becomes "mio figlio un lattante"; the age of an adult goes altogether. Medical figures and
    durations stay.
    """
    words = IdentityWords.load(language)
    lines = [_unshouted(line, words) for line in normalise(text).split("\n")]
    return "\n".join(line for line in _without_signature([_deidentified_line(line, words) for line in lines], words) if line)


def segmented(text: str, language: Language, count_words: int = 60) -> tuple[str, ...]:
    """Cut a question into pieces of whole sentences, at most `count_words` words each; greetings and thanks are left out.

    A sentence that alone is longer is cut after a comma where there is one, else between words.
    """
    pieces: list[list[str]] = [[]]
    for sentence in _telling_sentences(text, language):
        for part in _cut(sentence.split(), count_words):
            if pieces[-1] and len(pieces[-1]) + len(part) > count_words:
                pieces.append([])
            pieces[-1].extend(part)
    return tuple(" ".join(piece) for piece in pieces if piece)


def is_named(text: str, language: Language) -> bool:
    """Whether a text names a person, as far as the lists and cues of `deidentified` tell."""
    words = IdentityWords.load(language)
    return _without_names(text, words) != text or words.titled.search(text) is not None or is_addressed(text, words)


def names_told(text: str, language: Language) -> frozenset[str]:
    """The names that a person gives as their own, so that they can be looked for in the answers too."""
    words = IdentityWords.load(language)
    told = [found[0] for line in normalise(text).split("\n") for pattern in words.own for found in pattern.finditer(line)]
    told += [found["name"] for line in normalise(text).split("\n") if (found := words.signatures.search(line))]
    names = words.first_names | words.ambiguous_names
    capitalised = (word for part in told for word in _WORD.findall(part) if word[0].isupper() and len(word) > 2)
    return frozenset(word for word in capitalised if words.key(word) in names or not is_ordinary(word, words))


def _deidentified_line(line: str, words: IdentityWords) -> str:
    line = without_contacts(words.birth.sub(" ", _ENDLESS_WORD.sub(" ", line)))
    for pattern in words.places:
        line = pattern.sub(lambda found: found.groupdict().get("keep") or " ", line)
    line = _BLANKS.sub(" ", _without_names(line, words))
    line = _BLANKS.sub(" ", without_unknown_names(line, words))
    return _tidy(_with_coarse_ages(line, words))


def _unshouted(line: str, words: IdentityWords) -> str:
    letters, found = _LETTERS.findall(line), _WORD.findall(line)
    capitals = sum(letter.isupper() for letter in letters)
    is_shouted = len(letters) > 8 and capitals > _MOSTLY * len(letters)
    # "Dolore Al Fianco Destro" is a heading; "Gelsomina Trabucchi" is not, for it has no small word with a capital.
    small = [word for word in found[1:] if len(word) <= _LONGEST_SMALL_WORD and words.key(word) in words.ordinary]
    is_heading = bool(small) and sum(word[0].isupper() for word in found) > _MOSTLY * len(found) and small[0][0].isupper()
    return line.lower() if is_shouted or is_heading else line


def _without_names(line: str, words: IdentityWords) -> str:
    def taken(found: regex.Match[str]) -> str:
        key = words.key(found["name"].rstrip("."))
        if key in words.not_names or (_is_acronym(found["name"]) and key in words.capitalised):
            return found[0]
        return f"{found.groupdict().get('keep') or ''} "

    def taken_unless_ordinary(found: regex.Match[str]) -> str:
        key = words.key(found["name"])
        return found[0] if is_ordinary(key, words) and key not in words.ambiguous_names else taken(found)

    for pattern in words.name_cues:
        line = pattern.sub(taken, line)
    for pattern in words.loose_name_cues:
        line = pattern.sub(taken_unless_ordinary, line)
    return _without_listed_names(_without_signed_name(line, words), words)


def _is_acronym(word: str) -> bool:
    return word.isupper() and len(word) > 1


def _without_signed_name(line: str, words: IdentityWords) -> str:
    found = words.signatures.search(line)
    return found["keep"] if found and _is_signature(found["name"], words) else line


def _is_signature(text: str, words: IdentityWords) -> bool:
    """Whether a text is nothing but a name: few words, all capitalised, listed or unknown, and perhaps "di", "da"."""
    found = [word for word in _WORD.findall(text) if word not in _JOINERS]
    names = words.first_names | words.ambiguous_names
    named = [word for word in found if word[0].isupper() or words.key(word) in names or not is_ordinary(word, words)]
    return 0 < len(found) <= _LONGEST_SIGNATURE_WORDS and len(named) == len(found)


def _without_listed_names(line: str, words: IdentityWords) -> str:
    kept: list[str] = []
    position = 0
    for found in _WORD.finditer(line):
        if found.start() < position or not _is_listed_name(found, line, words):
            continue
        kept.append(line[position : found.start()])
        position = found.end() + _surname_length(line, found.end(), words)
    return "".join([*kept, line[position:]])


def _is_listed_name(found: regex.Match[str], line: str, words: IdentityWords) -> bool:
    key = words.key(found[0])
    is_sure = key in words.first_names
    if not is_sure and (key not in words.ambiguous_names or not found[0].istitle()):
        return False
    before = line[max(0, found.start() - _LETTERS_BEFORE) : found.start()]
    return not words.kept_after.search(before) and (is_sure or not _SENTENCE_START.search(before))


def _surname_length(line: str, start: int, words: IdentityWords) -> int:
    found = _SURNAME.match(line, start)
    if found is None or (found["listed"] and words.key(found["listed"]) not in words.surnames):
        return 0
    return len(found[0])


def _without_signature(lines: list[str], words: IdentityWords) -> list[str]:
    """Drop a last line that is nothing but capitalised words ("Kimberly", "Mario R."), or a last sentence of unknown ones."""
    kept = [line for line in lines if line]
    if len(kept) > 1 and _is_signature(kept[-1], words) and not kept[-1].endswith("?"):
        return kept[:-1]
    if kept and (last := _LAST_WORDS.search(kept[-1])) and _is_nothing_but_unknown(last[0], words):
        kept[-1] = kept[-1][: last.start()].rstrip()
    return kept


def _is_nothing_but_unknown(text: str, words: IdentityWords) -> bool:
    own = [word for word in _WORD.findall(text) if word not in _JOINERS]
    return _is_signature(text, words) and not any(is_ordinary(word, words) for word in own)


def _with_coarse_ages(line: str, words: IdentityWords) -> str:
    for pattern in words.ages:
        line = pattern.sub(lambda found: _coarse(found, words), line)
    return words.age_suffixes.sub(lambda found: _coarse_years(_number(found[0], words), words) or words.coarse["adult"], line)


def _coarse(found: regex.Match[str], words: IdentityWords) -> str:
    number, unit = _number(found["number"] if "number" in found.groupdict() else found[0], words), found.groupdict().get("unit")
    if number > _OLDEST_YEARS:
        return found[0]
    if unit and words.week_unit.fullmatch(unit):
        return words.coarse["infant"]
    if unit and words.month_unit.fullmatch(unit):
        return words.coarse["infant" if number < _INFANT_MONTHS else "child"]
    return _coarse_years(number, words)


def _coarse_years(years: float, words: IdentityWords) -> str:
    if years < 1:
        return words.coarse["infant"]
    if years <= _CHILD_YEARS:
        return words.coarse["child"]
    if years < _GROWN_YEARS:
        return words.coarse["teenager"]
    return words.coarse["elderly"] if years >= _OLD_YEARS else ""


def _number(text: str, words: IdentityWords) -> float:
    """A number in figures or words; 30 where it is a word for a grown-up's age that the list does not tell apart."""
    if digits := regex.search(r"\d+(?:[.,]\d+)?", text):
        return float(digits[0].replace(",", "."))
    lower = text.lower().strip()
    for word, number in words.numbers:
        if lower == word or (len(word) > 5 and any(part.startswith(word[:-1]) for part in lower.split())):  # settan-tenne
            return number
    return 30


def _tidy(line: str) -> str:
    for pattern, replacement in _TIDYING:
        line = pattern.sub(replacement, line)
    return line.strip()


def _telling_sentences(text: str, language: Language) -> Iterator[str]:
    courtesy = IdentityWords.load(language).courtesy
    for start, end in split_sentences(text):
        found = _WORDS_OF_COURTESY.findall(text[start:end])
        if not all(courtesy.fullmatch(word) for word in found):
            yield text[start:end]


def _cut(words: list[str], count_words: int) -> Iterator[list[str]]:
    while len(words) > count_words:
        ends = [index for index in range(count_words // 2, count_words) if words[index].endswith(_CLAUSE_END)]
        cut = ends[-1] + 1 if ends else count_words
        yield words[:cut]
        words = words[cut:]
    yield words
