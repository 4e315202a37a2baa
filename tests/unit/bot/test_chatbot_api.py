import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Hashable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from structlog.testing import capture_logs

from bot.api_access import Bearers
from bot.chatbot_api import ChatbotApi, _Query
from bot.errors import Busy, RunNotStarted
from bot.inference_worker import InferenceWorker
from bot.renderer import Renderer
from bot.safety import GateReading, Level
from bot.second_reading import SecondReader
from bot.source_address import SourceAddresses
from bot.telemetry import Telemetry, configure
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.errors import Cancelled, ModelError
from rag.replies import Abstention, AbstentionKind, AnsweringRun, Courtesy, NoticeKind, Reply
from rag.types import Question
from tests.builders import answer, red_flag, sentence, source
from tests.fakes import ScriptedAnswerer, ScriptedGate
from tests.ingestion_fakes import FakeIngestion
from tests.logging_state import restored_logging

ASKS, OTHER, STEERS = "asks-questions-0123", "asks-as-well-012345", "steers-runs-0123456"
QUERY, REINDEX = "/chatbot/query", "/chatbot/reindex"
FEVER = "Che cosa fare per la febbre?"


class LateGate(ScriptedGate):
    """Finds an emergency only at the second reading."""

    def reread(self, text: str, earlier: Any = (), first: GateReading | None = None) -> GateReading:
        return GateReading(red_flag=red_flag()) if "strano" in text else first or GateReading()


class Bench:
    """The addresses and what stands behind them."""

    def __init__(self, *replies: Reply | Exception, gate: ScriptedGate | None = None, **changes: Any) -> None:
        self.now = 1000.0
        self.answerer = ScriptedAnswerer(*replies)
        self.keys: list[Hashable] = []
        self.gate = gate or ScriptedGate({"petto": red_flag(), "pecho": red_flag()}, about=["infarto"])
        self.ingestion = FakeIngestion()
        telemetry = Telemetry()
        self.second_reader = SecondReader(self.gate, telemetry)
        parts: dict[str, Any] = {
            "bearers": Bearers([SecretStr(f"query:{ASKS}"), SecretStr(f"query:{OTHER}"), SecretStr(f"reindex:{STEERS}")]),
            "gate": self.gate,
            "second_reader": self.second_reader,
            "ask": self.ask,
            "renderer": Renderer(Catalog.load(), EmergencyDirectory.load(), SourceAddresses("https://bot.example.org")),
            "runner": self.ingestion,
            "view": self.ingestion,
            "telemetry": telemetry,
            "clock": lambda: self.now,
        }
        self.api = ChatbotApi(**(parts | changes))
        transport = httpx.ASGITransport(Starlette(routes=self.api.routes()))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://bot")

    async def ask(self, key: Hashable, question: Question) -> AnsweringRun:
        self.keys.append(key)
        return self.answerer.answer(question)

    async def query(self, question: Any = FEVER, *, token: str = ASKS, **fields: Any) -> httpx.Response:
        return await self.post(QUERY, {"question": question} | fields, token)

    async def post(self, path: str, content: Any, token: str | None) -> httpx.Response:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return await self.http.post(path, content=body, headers=headers)

    async def close(self) -> None:
        await self.http.aclose()
        self.second_reader.close()


Make = Callable[..., Bench]


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    opened: list[Bench] = []

    def build(*replies: Reply | Exception, **changes: Any) -> Bench:
        opened.append(Bench(*(replies or (answer(),)), **changes))
        return opened[-1]

    yield build
    for bench in opened:
        await bench.close()


async def test_answer_comes_with_its_sources_and_the_disclaimer(make: Make) -> None:
    page = source(url=None, similarity=0.83456)
    bench = make(answer(sentence("Beva molto."), sentence("Chiami {emergency}."), sources=(page,)))
    reply = await bench.query()
    assert reply.status_code == 200
    told = reply.json()
    assert "112" in told.pop("disclaimer")
    assert told == {
        "answer": "Beva molto. Chiami 112.",
        "sources": [
            {
                "contentId": "starter-it-fever",
                "title": "Febbre",
                "url": "https://bot.example.org/sources/starter-it-fever",
                "similarity": 0.8346,
            }
        ],
        "outcome": "answer",
        "language": "it",
    }
    assert reply.headers["cache-control"] == "no-store"


async def test_page_of_the_cms_is_named_by_its_own_content_id(make: Make) -> None:
    bench = make(answer(sources=(source(document_id="portale-dengue-1"), source())), cms_source="portale")
    told = (await bench.query()).json()
    assert [page["contentId"] for page in told["sources"]] == ["dengue-1", "starter-it-fever"]


async def test_language_asked_for_is_passed_on_and_may_be_left_out(make: Make) -> None:
    bench = make()
    await bench.query(language="es")
    await bench.query(language=None)
    await bench.query()
    assert [question.language for question in bench.answerer.questions] == [Language.SPANISH, None, None]
    assert {question.text for question in bench.answerer.questions} == {FEVER}


async def test_calls_with_one_token_share_one_place_in_the_queue(make: Make) -> None:
    bench = make()
    for token in (ASKS, ASKS, OTHER):
        await bench.query(token=token)
    first, second, third = bench.keys
    assert first == second != third
    assert ASKS not in repr(bench.keys)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (Abstention(kind=AbstentionKind.NO_EVIDENCE, language=Language.ITALIAN), "abstention"),
        (Courtesy(kind=NoticeKind.GREETING, language=Language.ITALIAN), "notice"),
    ],
)
async def test_what_is_no_answer_has_words_and_no_sources(make: Make, given: Reply, outcome: str) -> None:
    told = (await make(given).query()).json()
    assert (told["outcome"], told["sources"], told["disclaimer"]) == (outcome, [], "")
    assert told["answer"]


async def test_question_about_an_emergency_condition_shows_the_number_first(make: Make) -> None:
    told = (await make().query("cos'è l'infarto?")).json()
    assert "112" in told["answer"].split("\n\n")[0]


async def test_emergency_is_answered_without_the_models(make: Make) -> None:
    bench = make(ask=None)
    italian, spanish = await bench.query("ho dolore al petto"), await bench.query("tengo dolor de pecho")
    assert (italian.status_code, italian.json()["outcome"], italian.json()["sources"]) == (200, "escalation", [])
    assert "112" in italian.json()["answer"]
    assert "911" in spanish.json()["answer"]
    assert spanish.json()["language"] == "es"


async def test_emergency_of_the_second_reading_is_answered_too(make: Make) -> None:
    bench = make(gate=LateGate())
    told = (await bench.query("il nonno è strano", language="es")).json()
    assert (told["outcome"], told["language"]) == ("escalation", "es")
    assert bench.answerer.questions == []


async def test_emergency_is_answered_also_beyond_the_limit_and_in_a_wrong_call(make: Make) -> None:
    bench = make()
    for _ in range(60):
        await bench.query()
    assert (await bench.query()).status_code == 429
    wrong: tuple[dict[str, Any], ...] = ({}, {"language": "de"}, {"language": 3}, {"extra": 1})
    for fields in wrong:
        assert (await bench.query("ho dolore al petto", **fields)).json()["outcome"] == "escalation"
    assert (await bench.query("ho dolore al petto. " + "bla " * 2000)).json()["outcome"] == "escalation"


async def test_sixty_questions_a_minute_for_each_token(make: Make) -> None:
    bench = make()
    assert [(await bench.query()).status_code for _ in range(61)] == [200] * 60 + [429]
    refused = await bench.query()
    assert refused.headers["retry-after"] == "1"
    assert (await bench.query(token=OTHER)).status_code == 200
    bench.now += 1
    assert (await bench.query()).status_code == 200
    assert len(bench.answerer.questions) == 62


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({}, "question"),
        (b"", "question"),
        ({"question": None}, "question"),
        ({"question": ["canary"]}, "question"),
        ({"question": 7}, "question"),
        ({"question": " \n"}, "question"),
        ({"question": "canary " * 600}, "question"),
        ({"question": "canary", "language": "canary"}, "language"),
        ({"question": "canary", "language": 1}, "language"),
        ({"question": "canary", "mode": "canary"}, "mode"),
    ],
)
async def test_wrong_call_is_refused_by_the_name_of_its_key(make: Make, content: Any, key: str) -> None:
    bench = make()
    reply = await bench.post(QUERY, content, ASKS)
    assert (reply.status_code, reply.json()["key"]) == (422, key)
    assert "canary" not in reply.text
    assert bench.answerer.questions == []


async def test_question_of_four_thousand_characters_is_taken(make: Make) -> None:
    assert (await make().query("è" * 4000)).status_code == 200
    assert (await make().query("😀" * 4000)).status_code == 200
    assert (await make().query("è" * 4001)).status_code == 422


@pytest.mark.parametrize("body", [b"{canary", b"[" * 5000, b'["canary"]', b'"canary"', b"\xff\xfe", b"null"])
async def test_body_that_is_no_object_is_refused(make: Make, body: bytes) -> None:
    reply = await make().post(QUERY, body, ASKS)
    assert reply.status_code == 400
    assert "canary" not in reply.text


async def test_half_of_an_emoji_does_not_hide_an_emergency(make: Make) -> None:
    cut = b'{"question": "ho dolore al petto \\ud83d"}'  # as a program leaves it that cuts a text in the middle
    assert (await make().post(QUERY, cut, ASKS)).json()["outcome"] == "escalation"


async def test_half_of_an_emoji_in_the_name_of_a_key_can_be_told(make: Make) -> None:
    reply = await make().post(QUERY, b'{"question": "canary", "x\\ud83d": 1}', ASKS)
    assert (reply.status_code, reply.json()["key"]) == (422, "x")


async def test_body_beyond_all_measure_is_refused(make: Make) -> None:
    assert (await make().post(QUERY, b" " * 65_537, ASKS)).status_code == 413


@pytest.mark.parametrize("path", [QUERY, REINDEX])
async def test_without_a_known_token_nothing_is_read(make: Make, path: str) -> None:
    bench = make()
    for token in (None, "", "guessed-token-0123456"):
        reply = await bench.post(path, {"question": "ho dolore al petto"}, token)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, 'Bearer realm="salus"')
    assert bench.gate.read_texts == []
    assert bench.ingestion.started == []


async def test_token_of_the_other_scope_is_refused(make: Make) -> None:
    bench = make()
    assert (await bench.query(token=STEERS)).status_code == 403
    assert (await bench.post(REINDEX, {}, ASKS)).status_code == 403


@pytest.mark.parametrize(
    ("error", "status"),
    [(Busy("full canary"), 503), (Cancelled("canary"), 503), (ModelError("canary"), 500), (ValueError("canary"), 500)],
)
async def test_what_breaks_is_told_without_its_text(make: Make, error: Exception, status: int) -> None:
    with capture_logs() as events:
        reply = await make(error).query()
    assert reply.status_code == status
    assert ("retry-after" in reply.headers) == (status == 503)
    assert "canary" not in reply.text
    assert "canary" not in str(events)


async def test_without_models_or_index_the_caller_is_asked_to_come_back(make: Make) -> None:
    assert (await make(ask=None).query()).status_code == 503


async def test_second_reading_that_breaks_takes_no_answer_away(make: Make) -> None:
    bench = make()

    def fail(*_: object) -> GateReading:
        raise ModelError("canary")

    bench.gate.reread = fail  # type: ignore[method-assign]
    assert (await bench.query()).json()["outcome"] == "answer"
    assert (await bench.query("dolore al petto")).json()["outcome"] == "escalation"


async def test_crisis_is_answered_with_its_own_words(make: Make) -> None:
    bench = make(gate=ScriptedGate({"morire": red_flag(category="self_harm", level=Level.CRISIS)}))
    told = (await bench.query("voglio morire")).json()
    assert told["outcome"] == "escalation"
    assert len(told["answer"].split("\n\n")) > 1


async def test_full_queue_of_the_real_worker_is_told_as_busy(make: Make) -> None:
    worker = InferenceWorker(limit=1, run_limit_s=5)
    answerer = ScriptedAnswerer(answer(), delay_s=0.3)

    async def ask(key: Hashable, question: Question) -> AnsweringRun:
        return await worker.run(
            key, lambda deadline, cancelled: answerer.answer(question, deadline=deadline, cancelled=cancelled)
        )

    bench = make(ask=ask)
    worker.start()
    statuses = [reply.status_code for reply in await asyncio.gather(*(bench.query() for _ in range(4)))]
    await worker.stop()
    assert sorted(statuses) == [200, 200, 503, 503]


async def test_run_is_started_as_it_was_asked_for(make: Make) -> None:
    bench = make()
    reply = await bench.post(REINDEX, {"source": "humanitas", "full": True}, STEERS)
    assert (reply.status_code, reply.json()) == (202, {"started": True})
    assert bench.ingestion.started == [{"source_id": "humanitas", "full": True, "trigger": "api"}]


@pytest.mark.parametrize("body", [b"", b"{}", b'{"source": null}'])
async def test_without_a_word_all_sources_are_read(make: Make, body: bytes) -> None:
    bench = make()
    assert (await bench.post(REINDEX, body, STEERS)).status_code == 202
    assert bench.ingestion.started == [{"source_id": None, "full": False, "trigger": "api"}]


async def test_second_run_is_refused_while_one_goes_on(make: Make) -> None:
    bench = make()
    statuses = [reply.status_code for reply in await asyncio.gather(*(bench.post(REINDEX, {}, STEERS) for _ in range(2)))]
    assert sorted(statuses) == [202, 409]
    assert len(bench.ingestion.started) == 1


async def test_unknown_and_disabled_sources_start_nothing(make: Make) -> None:
    bench = make()
    unknown, disabled = [await bench.post(REINDEX, {"source": name}, STEERS) for name in ("canary", "forum")]
    assert (unknown.status_code, disabled.status_code) == (404, 409)
    assert "canary" not in unknown.text
    assert bench.ingestion.started == []


@pytest.mark.parametrize(
    ("fields", "key"), [({"full": "yes"}, "full"), ({"full": 1}, "full"), ({"source": 3}, "source"), ({"all": True}, "all")]
)
async def test_wrong_wish_is_refused_by_the_name_of_its_key(make: Make, fields: dict[str, Any], key: str) -> None:
    bench = make()
    reply = await bench.post(REINDEX, fields, STEERS)
    assert (reply.status_code, reply.json()["key"]) == (422, key)
    assert bench.ingestion.started == []


async def test_four_runs_a_minute_may_be_asked_for(make: Make) -> None:
    bench = make()
    statuses = [(await bench.post(REINDEX, {}, STEERS)).status_code for _ in range(5)]
    assert statuses == [202, 409, 409, 409, 429]
    assert (await bench.post(REINDEX, {}, STEERS)).headers["retry-after"] == "15"


@pytest.mark.parametrize(("failure", "status"), [(RunNotStarted("canary"), 503), (OSError("canary"), 500)])
async def test_run_that_does_not_start_is_told(make: Make, failure: Exception, status: int) -> None:
    bench = make()
    bench.ingestion.start_failure = failure
    reply = await bench.post(REINDEX, {}, STEERS)
    assert reply.status_code == status
    assert "canary" not in reply.text


async def test_other_methods_are_not_allowed(make: Make) -> None:
    bench = make()
    assert (await bench.http.get(QUERY)).status_code == (await bench.http.get(REINDEX)).status_code == 405


def test_question_is_not_in_the_repr_of_a_call() -> None:
    assert "febbre" not in repr(_Query(question=FEVER))


async def test_no_word_and_no_token_is_left_in_the_log_or_on_disk_h41(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    unknown = "unknown-token-0123456"
    canaries = ("zanzibar", "petto", ASKS, OTHER, STEERS, unknown)
    with restored_logging():
        configure("DEBUG")
        bench = make(answer(), ValueError("cannot embed zanzibar"))
        for text in ("zanzibar e febbre", "zanzibar rompe", "zanzibar e dolore al petto", "zanzibar " * 500, ["zanzibar"]):
            await bench.query(text)
        await bench.query("zanzibar", zanzibar="zanzibar")
        for token in (unknown, STEERS, OTHER):
            await bench.query("zanzibar", token=token)
        await bench.post(QUERY, b"zanzibar", ASKS)
        await bench.post(REINDEX, {"source": "zanzibar"}, STEERS)
    out, err = capfd.readouterr()
    assert err.count('"event": "api_call"') >= 8
    assert '"error": "ValueError"' in err
    assert [canary for canary in canaries if canary in out + err] == []
    assert files(tmp_path) == []
