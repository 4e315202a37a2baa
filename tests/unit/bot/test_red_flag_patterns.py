"""What a pattern matches, and how a message becomes words."""

import pytest

from bot.red_flag_patterns import PatternMatcher
from bot.red_flag_tokens import tokenise
from bot.red_flag_vocabulary import PatternError


def matches(pattern: str, text: str, **options: dict[str, str]) -> bool:
    matcher = PatternMatcher(
        {"test.concept": [pattern]},
        classes=options.get("classes", {}),
        spelling=options.get("spelling", {}),
        numbers={"due": 2, "trentotto": 38},
        negators=["non", "no"],
    )
    return bool(matcher.find(tokenise(text, {})))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("dolore al petto", "Dolore al PETTO!"),
        ("dolor* ..2 petto", "dolori forti al petto"),
        ("petto|torace", "il torace"),
        ("infarto|attacco_di_cuore adesso", "un attacco di cuore adesso"),
        ("non si? sveglia", "non sveglia"),
        ("ha #1-3 mesi", "ha due mesi"),
        ("#38-42", "ha 38,5 di febbre"),
        ("#38-42", "ha 38e5"),
        ("#38-42", "trentotto"),
        ("l'infarto", "l’infarto"),
        ("petto", "pe\u0074\u0300to"),
        ("convulsion*", "combulsionando"),
        ("pecho", "pexo"),
        ("vivir", "bibir"),
        ("ahogo", "aogo"),
        ("quiero", "kiero"),
        ("morire", "m o r i r e"),
        ("suicidio", "su1c1dio"),
        ("suicidio", "suic*dio"),
        ("aiuto", "aiutooooo"),
        ("non respira", "non\nrespira"),
    ],
)
def test_a_pattern_matches(pattern: str, text: str) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("dolor* ..2 petto", "dolore che poi è andato fino al petto"),
        ("dolor* ..4 petto", "dolore ma non al petto"),
        ("sviene", "viene"),
        ("muerte", "suerte"),
        ("petto", "letto"),
        ("magnet*", "magnesio"),
        ("<!da #1-3 mesi", "da due mesi"),
        ("muoio !dal|di", "muoio dal ridere"),
        ("#38-42 !anni", "ho 40 anni"),
        ("non respira", "non. Respira"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, text: str) -> None:
    assert not matches(pattern, text)


def test_a_class_stands_for_its_words() -> None:
    assert matches("mio @relative non", "mio padre non", classes={"relative": "padre|madre"})


def test_an_abbreviation_is_read_in_full() -> None:
    assert matches("non respira", "nn respira", spelling={"nn": "non"})


@pytest.mark.parametrize("pattern", [".. petto", "@nobody dorme", "petto||torace"])
def test_an_unreadable_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        matches(pattern, "petto")
