from collections.abc import Iterator

import pytest

from rag.errors import ModelError
from rag.models.completion_events import completion_events

END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def piece(text: str) -> bytes:
    return b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}}]}\r\n\r\n' % text.encode()


def told(*chunks: bytes) -> str:
    return "".join(event.text for event in completion_events(chunks))


def test_pieces_are_read_however_they_are_cut() -> None:
    whole = piece("però ") + b": a comment\n\nevent: x\n" + piece("sì") + END
    assert told(*(whole[place : place + 1] for place in range(len(whole)))) == "però sì"


def test_nothing_is_read_after_the_end() -> None:
    def chunks() -> Iterator[bytes]:
        yield piece("uno") + END
        raise AssertionError("read on")

    assert "".join(event.text for event in completion_events(chunks())) == "uno"


def test_thoughts_and_roles_are_no_text() -> None:
    role = b'data: {"choices": [{"delta": {"role": "assistant", "content": null, "reasoning_content": "hm"}}]}\n\n'
    assert told(role, piece("uno"), END) == "uno"


@pytest.mark.parametrize(
    "chunk",
    [
        b"data: {not json\n\n",
        b"data: [1, 2]\n\n",
        b'data: {"choices": "many"}\n\n',
        b'data: {"error": {"message": "the prompt is too long"}}\n\n',
        b'{"choices": [{"message": {"content": "not a stream"}}]}',
        b"<html>",
        b"",
        piece("broken off"),
        b"data: " + b"x" * 300_000,
    ],
)
def test_anything_else_is_an_error_without_its_words(chunk: bytes) -> None:
    with pytest.raises(ModelError, match="The generator's server") as caught:
        list(completion_events([chunk]))

    assert "prompt" not in str(caught.value)
