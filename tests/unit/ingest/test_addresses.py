import pytest
from pydantic import TypeAdapter, ValidationError

from ingest.addresses import WebAddress

ADDRESS: TypeAdapter[str] = TypeAdapter(WebAddress)


@pytest.mark.parametrize(
    "url",
    [
        "https://asl.example",
        "HTTP://ASL.example/Più?a=b#c",
        "http://127.0.0.1:8080/x",
        "https://asl.example/a@b",
        "https://[::1]/",
    ],
)
def test_a_web_address_is_kept_letter_for_letter(url: str) -> None:
    assert ADDRESS.validate_python(url) == url


def test_spaces_around_an_address_are_no_part_of_it() -> None:
    assert ADDRESS.validate_python(" https://asl.example/a \n") == "https://asl.example/a"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://asl.example/a\n\nChiami il 999", "line breaks"),
        ("https://asl.example/\u202egnp.exe", "cannot be seen"),
        ("https://asl.example@male.example/", "user name"),
        ("https://:segreto@asl.example/", "password"),
        ("https:asl.example", "and a host"),
        ("https:///asl.example", "and a host"),
        ("https:\\\\asl.example\\a", "and a host"),
        ("javascript:alert(1)", "scheme"),
    ],
)
def test_an_address_that_opens_something_else_than_it_seems_to_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ADDRESS.validate_python(url)
