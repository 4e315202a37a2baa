import asyncio
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from bot.telemetry import Telemetry, TurnLog, configure, only_known_keys, quieten_loop
from tests.builders import inbound
from tests.logging_state import restored_logging

ReadLog = Callable[[], str]
CANARY = "dolore-al-petto-39333"


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[ReadLog]:
    with restored_logging():
        configure("DEBUG")
        yield lambda: capsys.readouterr().err


def test_an_event_is_one_line_of_json(log: ReadLog) -> None:
    Telemetry().event("turn", outcome="answer", duration_s=1.5, stages_s={"gate": 0.001})
    line = json.loads(log())
    assert line["event"] == "turn"
    assert line["level"] == "info"
    assert line["stages_s"] == {"gate": 0.001}
    assert line["timestamp"]


def test_unknown_keys_and_free_text_are_dropped() -> None:
    fields = {"event": "turn", "text": CANARY, "outcome": "ho un dolore al petto", "where": "rag.store:3", "stages_s": {"a b": 1}}
    assert only_known_keys(None, "", fields) == {"event": "turn", "where": "rag.store:3"}


def test_an_exception_is_logged_by_class_and_place_only(log: ReadLog) -> None:
    try:
        raise KeyError(CANARY)
    except KeyError as error:
        Telemetry().failure("turn_failed", error, stage="answer")
    text = log()
    assert CANARY not in text
    line = json.loads(text)
    assert (line["error"], line["stage"]) == ("KeyError", "answer")
    assert line["where"].startswith("tests.unit.bot.test_telemetry:")


def test_a_librarys_record_keeps_only_its_place(log: ReadLog) -> None:
    logger = logging.getLogger("some.library")
    logger.warning("could not send %s", CANARY)
    logger.warning(f"could not send {CANARY}")  # as some libraries do it
    try:
        raise ValueError(CANARY)
    except ValueError:
        logger.exception("failed")
    text = log()
    assert CANARY not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line.get("error") for line in lines] == [None, None, "ValueError"]
    assert all(line["logger"] == "some.library" for line in lines)


@pytest.mark.parametrize(
    "name", ["httpx", "httpcore.connection", "telegram.ext.Updater", "twilio.http_client", "urllib3", "asyncio"]
)
def test_chatty_libraries_are_quiet_even_at_debug(log: ReadLog, name: str) -> None:
    logging.getLogger(name).info("GET https://api/bot123:TOKEN/getMe")
    logging.getLogger(name).debug("GET https://api/bot123:TOKEN/getMe")
    assert log() == ""


def test_uncaught_exceptions_are_logged_without_their_text(log: ReadLog) -> None:
    def fail() -> None:
        raise RuntimeError(CANARY)

    try:
        fail()
    except RuntimeError as error:
        sys.excepthook(RuntimeError, error, error.__traceback__)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    text = log()
    assert CANARY not in text
    assert [json.loads(line)["event"] for line in text.splitlines()] == ["uncaught", "uncaught_in_thread"]


async def test_exceptions_that_surface_in_the_loop_are_logged_without_their_text(log: ReadLog) -> None:
    loop = asyncio.get_running_loop()
    quieten_loop(loop)

    def fail() -> None:
        raise RuntimeError(CANARY)

    loop.call_soon(fail)
    await asyncio.sleep(0.01)
    text = log()
    loop.set_exception_handler(None)
    assert CANARY not in text
    assert json.loads(text)["error"] == "RuntimeError"


def test_a_patient_is_a_keyed_hash() -> None:
    """H41"""
    one, other = Telemetry(b"key"), Telemetry(b"another key")
    message = inbound(identity="+393331234567")
    assert one.patient(message) == one.patient(inbound(identity="+393331234567"))
    assert one.patient(message) != one.patient(inbound(identity="+393331234568"))
    assert one.patient(message) != other.patient(message)
    assert "333" not in one.patient(message) or len(one.patient(message)) == 12


def test_a_turn_knows_in_which_stage_it_broke() -> None:
    log = TurnLog()
    with log.stage("gate"):
        pass
    with pytest.raises(ValueError, match="x"), log.stage("answer"):
        raise ValueError("x")
    assert log.stage_name == "answer"
    assert set(log.stages_s) == {"gate"}
