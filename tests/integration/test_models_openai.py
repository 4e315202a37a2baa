"""The generator on a server, over real connections: as it should be, and every way in which it goes wrong."""

import asyncio
import secrets
import socket
import time
from typing import Any

import pytest

from locales.language import Language
from rag.aligner import Aligner
from rag.cascade import Cascade
from rag.composer import Composer
from rag.errors import Cancelled, DeadlineExceeded, ModelError, ModelUnavailable
from rag.limits import LimitWords
from rag.models.openai_compatible import OpenAICompatibleModel
from rag.models.protocols import Budget, Usage
from rag.models.server_address import GeneratorServer
from rag.stopwatch import Stopwatch
from rag.types import Intent, Interpretation, Mode, SentenceKind
from tests import builders
from tests.doubles.openai_server import (
    KEY,
    MODEL,
    OpenAIServerDouble,
    Reply,
    event,
    redirects,
    refuses,
    says,
    sends,
    writes,
    writes_then_hangs,
    writes_without_end,
)
from tests.live_objects import holders_of

PATIENT = "zanzibar mi brucia"
EXAMPLES = [("Che cos'è il morbillo?", "Una malattia.")]


def complete(
    server: GeneratorServer,
    *,
    usage: Usage | None = None,
    stop: tuple[str, ...] = (),
    grammar: str | None = None,
    message: str = PATIENT,
    **budget: Any,
) -> str:
    model = OpenAICompatibleModel(MODEL, server)
    prompt = model.chat_prompt("Rispondi.", EXAMPLES, message)
    limited = Budget(**({"max_tokens": 30} | budget))
    return "".join(model.complete(prompt, budget=limited, temperature=0.1, stop=stop, usage=usage, grammar=grammar))


async def completed(server: OpenAIServerDouble, **options: Any) -> str:
    return await asyncio.to_thread(complete, server.address, **options)


async def failure(reply: Reply, **options: Any) -> ModelError:
    async with OpenAIServerDouble(reply) as server:
        with pytest.raises(ModelError) as caught:
            await completed(server, **options)
    return caught.value


async def test_a_completion_arrives_with_its_figures() -> None:
    usage = Usage()
    async with OpenAIServerDouble(writes("La tosse ", "passa", ".")) as server:
        assert await completed(server, usage=usage) == "La tosse passa."

    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (50, 40, 3)
    assert usage.prefill_s > 0


async def test_a_conversation_is_sent_as_messages_with_the_key() -> None:
    async with OpenAIServerDouble(writes("Sì.")) as server:
        await completed(server)

    sent = server.requests[0]
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert sent["messages"][-1]["content"] == PATIENT
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["stream"]) == (MODEL, 30, 0.1, True)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["host"] == server.url.removeprefix("http://").removesuffix("/v1")


async def test_pieces_come_as_they_are_written() -> None:
    def first_piece_after_s(server: GeneratorServer) -> float:
        model, begun = OpenAICompatibleModel(MODEL, server), time.monotonic()
        pieces = model.complete(model.chat_prompt("", [], "x"), budget=Budget(max_tokens=30), temperature=0.0)
        next(pieces)
        taken = time.monotonic() - begun
        pieces.close()  # type: ignore[attr-defined]
        return taken

    async with OpenAIServerDouble(writes(*"abcdefgh", pause_s=0.3)) as server:
        assert await asyncio.to_thread(first_piece_after_s, server.address) < 1.0
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_a_stop_string_ends_it_though_the_server_does_not_know_it() -> None:
    async with OpenAIServerDouble(writes_then_hangs("una riga", "\nUte", "nte: e poi")) as server:
        assert await completed(server, stop=("\n\n",)) == "una riga"
        await asyncio.wait_for(server.hung_up.wait(), 2)


@pytest.mark.parametrize("pieces", [(), ("La tosse ",)], ids=["while it reads", "while it writes"])
async def test_a_cancelled_completion_hangs_up_at_once(pieces: tuple[str, ...]) -> None:
    until = time.monotonic() + 0.5
    async with OpenAIServerDouble(writes_then_hangs(*pieces)) as server:
        with pytest.raises(Cancelled):
            await completed(server, cancelled=lambda: time.monotonic() > until)
        assert time.monotonic() - until < 0.5
        await asyncio.wait_for(server.hung_up.wait(), 2)


async def test_a_slow_server_is_left_at_the_deadline() -> None:
    begun = time.monotonic()
    assert isinstance(await failure(writes_then_hangs("La "), deadline=begun + 0.5), DeadlineExceeded)
    assert time.monotonic() - begun < 1.5


@pytest.mark.parametrize(
    "reply",
    [
        *(refuses(400), refuses(401), refuses(404), refuses(429), refuses(500), refuses(503)),
        *(says("<html>una pagina</html>"), says('{"choices": []}'), sends([])),
        *(sends([event("La tosse ")]), sends(["data: {\n\n"]), sends(['data: {"error": {"message": "no"}}\n\n'])),
        writes_without_end(),
        writes_without_end(""),
        redirects("http://127.0.0.1:1/v1/chat/completions"),
    ],
)
async def test_whatever_a_server_does_wrong_is_a_model_error_without_words_of_the_patient(reply: Reply) -> None:
    error = await failure(reply, deadline=time.monotonic() + 20)

    assert "zanzibar" not in repr(error)
    assert error.__cause__ is error.__context__ is None


async def test_a_server_that_is_down_is_found_out_at_once_and_then_left_alone_for_a_while() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = OpenAICompatibleModel(MODEL, GeneratorServer(url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1"))
        for _ in range(2):
            begun = time.monotonic()
            with pytest.raises(ModelUnavailable):
                next(model.complete(model.chat_prompt("", [], "x"), budget=Budget(max_tokens=5), temperature=0.0))
            assert time.monotonic() - begun < 1.0


async def test_a_server_that_comes_up_later_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.models.openai_compatible._REST_S", 0.0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = OpenAICompatibleModel(MODEL, GeneratorServer(url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1"))
        model.warm(model.chat_prompt("", [], "x").prefix)
    async with OpenAIServerDouble(writes("Sì.")) as server:
        model._server = server.address
        prompt = model.chat_prompt("", [], "x")
        pieces = await asyncio.to_thread(lambda: list(model.complete(prompt, budget=Budget(max_tokens=5), temperature=0.0)))

    assert pieces == ["Sì."]


async def test_a_name_that_leads_elsewhere_the_second_time_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = socket.getaddrinfo, []

    def rebound(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "llm.lan.example":
            return real(host, *args, **kwargs)
        asked.append(host)
        return real("127.0.0.1" if len(asked) == 1 else "203.0.113.7", *args, **kwargs)

    async with OpenAIServerDouble(writes("Sì.")) as server:
        monkeypatch.setattr(socket, "getaddrinfo", rebound)
        address = GeneratorServer(url=server.url.replace("127.0.0.1", "llm.lan.example"))
        with pytest.raises(ModelError, match="private network"):
            await asyncio.to_thread(complete, address)
    assert server.requests == []


async def test_the_name_is_looked_up_once_for_a_request_and_connected_to_as_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = socket.getaddrinfo, []

    def counted(host: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(host)
        return real("127.0.0.1" if host == "llm.lan.example" else host, *args, **kwargs)

    async with OpenAIServerDouble(writes("Sì.")) as server:
        address = GeneratorServer(url=server.url.replace("127.0.0.1", "llm.lan.example"))
        monkeypatch.setattr(socket, "getaddrinfo", counted)
        assert await asyncio.to_thread(complete, address) == "Sì."

    assert server.headers[0]["host"].startswith("llm.lan.example:")
    lookups = [host for host in asked if host == "llm.lan.example"]
    assert len(lookups) == 4  # at start, and for each of the three requests
    assert set(asked) == {"llm.lan.example", "127.0.0.1"}


async def test_proxies_of_the_environment_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with OpenAIServerDouble(writes("Sì.")) as server:
        assert await completed(server) == "Sì."


@pytest.mark.parametrize(
    ("owner", "fields"),
    [
        ("llamacpp", {"grammar": "root ::= [1-5]"}),
        ("me", {"grammar": "root ::= [1-5]"}),
        ("vllm", {"structured_outputs": {"grammar": "root ::= [1-5]"}, "guided_grammar": "root ::= [1-5]"}),
    ],
)
async def test_a_grammar_is_sent_as_the_server_takes_it(owner: str, fields: dict[str, Any]) -> None:
    async with OpenAIServerDouble(writes("4"), owned_by=owner) as server:
        assert await completed(server, grammar="root ::= [1-5]") == "4"

    assert fields.items() <= server.requests[0].items()


async def test_a_server_that_is_not_known_to_heed_grammars_is_not_asked_for_one() -> None:
    async with OpenAIServerDouble(writes("4"), owned_by="somebody") as server:
        with pytest.raises(ModelError, match="grammar"):
            await completed(server, grammar="root ::= [1-5]")

    assert server.requests == []


async def test_the_server_tells_its_room_and_whether_it_has_the_model() -> None:
    async with OpenAIServerDouble(writes("Sì."), context_tokens=1234) as server:
        model = OpenAICompatibleModel(MODEL, server.address)
        assert await asyncio.to_thread(lambda: model.context_tokens) == 1234
        assert (await asyncio.to_thread(OpenAICompatibleModel("another", server.address).ask)).has_model is False


@pytest.mark.parametrize("mode", [Mode.FAST, Mode.PRECISE])
@pytest.mark.parametrize("reply", [refuses(500), sends(["data: {\n\n"]), writes_without_end(), says("no")])
async def test_an_answer_is_quoted_when_the_server_fails(reply: Reply, mode: Mode) -> None:
    texts = ("La tosse passa in tre settimane.", "Con la tosse beva spesso acqua.", "Il fumo peggiora la tosse.")
    proof = [builders.evidence(text, chunk_id=f"cough#{place}", document_id="cough") for place, text in enumerate(texts)]
    composer = Composer(Aligner(Language.ITALIAN), proof, lambda _: None, LimitWords.load(Language.ITALIAN))
    asked = Interpretation(language=Language.ITALIAN, intent=Intent.QUESTION, self_contained="ho la tosse, che faccio?")
    watch = Stopwatch()
    async with OpenAIServerDouble(reply) as server:
        cascade = Cascade(OpenAICompatibleModel(MODEL, server.address))
        composer.open()
        await asyncio.to_thread(cascade.compose, composer, asked, mode, Budget(max_tokens=150), watch)
        composer.fill()

    assert server.requests
    assert "writing_failed" in watch.timings_s
    assert {sentence.kind for sentence in composer.sentences} == {SentenceKind.QUOTED}
    assert len(composer.sentences) > 1


async def test_nothing_of_a_prompt_is_left_after_a_completion() -> None:
    word = secrets.token_hex(8)
    async with OpenAIServerDouble(writes("Sì.")) as server:
        await completed(server, message=f"{word} mi brucia")
        with pytest.raises(Cancelled):
            await completed(server, message=f"{word} mi brucia", cancelled=lambda: True)
        server.reply = refuses(500)
        with pytest.raises(ModelError):
            await completed(server, message=f"{word} mi brucia")
        assert holders_of(word) != []  # what the server was sent
        server.requests.clear()
        await asyncio.sleep(0.3)  # for what was left to itself

    assert holders_of(word) == []
