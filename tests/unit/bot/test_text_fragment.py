import pytest

from bot.text_fragment import at_quotes

PAGE = "https://www.salute.example/febbre"


def test_a_short_quote_is_named_whole_and_without_its_full_stop() -> None:
    assert at_quotes(PAGE, ["La febbre è una difesa."]) == f"{PAGE}#:~:text=La%20febbre%20%C3%A8%20una%20difesa"


def test_a_long_quote_is_named_by_its_first_and_last_words() -> None:
    quote = "Los síntomas del dengue suelen empezar entre 4 y 10 días después de la picadura."
    expected = f"{PAGE}#:~:text=Los%20s%C3%ADntomas%20del%20dengue,despu%C3%A9s%20de%20la%20picadura"
    assert at_quotes(PAGE, [quote]) == expected


@pytest.mark.parametrize(
    ("sign", "encoded"),
    [("-", "%2D"), (",", "%2C"), ("&", "%26"), ("#", "%23"), ("%", "%25"), ("¿", "%C2%BF"), ("'", "%27"), ("/", "%2F")],
)
def test_signs_that_mean_something_in_a_fragment_are_encoded(sign: str, encoded: str) -> None:
    assert at_quotes(PAGE, [f"a {sign} b"]) == f"{PAGE}#:~:text=a%20{encoded}%20b"


def test_bullets_quotation_marks_and_line_breaks_are_no_part_of_the_words() -> None:
    assert at_quotes(PAGE, ["- «febbre\n  alta»;"]) == f"{PAGE}#:~:text=febbre%20alta"


def test_each_of_a_few_quotes_is_marked() -> None:
    assert at_quotes(PAGE, ["uno", "due"]) == f"{PAGE}#:~:text=uno&text=due"
    assert at_quotes(PAGE, list("abcdef")).count("text=") == 3


def test_a_fragment_of_the_page_itself_is_kept() -> None:
    assert at_quotes(f"{PAGE}#sintomi", ["febbre"]) == f"{PAGE}#sintomi:~:text=febbre"


@pytest.mark.parametrize(
    "url", ["file:///srv/febbre.md", "https://a.example/foglio.PDF", "https:///febbre", "ftp://a.example/x", f"{PAGE}#:~:text=a"]
)
def test_where_no_browser_could_find_the_words_the_address_is_unchanged(url: str) -> None:
    assert at_quotes(url, ["febbre"]) == url


@pytest.mark.parametrize("quotes", [[], ["…"], [""]])
def test_without_words_the_address_is_unchanged(quotes: list[str]) -> None:
    assert at_quotes(PAGE, quotes) == PAGE
