"""Questions and runs of ingestion for programs: the same gate, answering line and words as in a chat, without a session."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Annotated, Any, Protocol, TypeVar

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.admin_texts import is_enabled
from bot.api_access import Bearers, Scope, error_reply, reply
from bot.asker import disclaimer_of, escalation_for, source_record, sources_of, text_of
from bot.errors import AlreadyRunning, Busy, RunNotStarted
from bot.ingestion_view import StartsRuns
from bot.outcomes import Outcome, from_reply, kind_of
from bot.rate_limit import RateLimit
from bot.renderer import Reader, Renderer
from bot.safety import GateReading
from bot.telemetry import Telemetry
from channels.messages import Platform
from channels.webhook import read_body
from ingest.ledger import SourceState
from ingest.sources import SourceRow
from locales.language import Language
from rag.errors import Cancelled
from rag.replies import AnsweringRun
from rag.types import Question, Source

QUERY_PATH = "/chatbot/query"
REINDEX_PATH = "/chatbot/reindex"
MAX_QUESTION_CHARACTERS = 4_000

_LARGEST_BODY = 64 * 1024  # every character of a question may be escaped with twelve bytes
_QUERIES_A_MINUTE = 60
_REINDEXES_A_MINUTE = 4
_REPEAT_AFTER_S = 30
_MOST_OF_A_KEY = 60  # characters of an unknown key that are shown

Ask = Callable[[Hashable, Question], Awaitable[AnsweringRun]]
"""Answers a question when the turn of its key has come; raises `Busy` or a `RagError`."""


class Reads(Protocol):
    """What is needed of the gate."""

    def read(self, text: str) -> GateReading:
        """Read a message."""


class ReadsAgain(Protocol):
    """What is needed of the second reading."""

    async def read(self, text: str, burst: tuple[str, ...], first: GateReading) -> GateReading:
        """Complete or correct what the gate read."""


class SeesSources(Protocol):
    """What is needed of the view of ingestion."""

    async def configured(self) -> tuple[SourceRow, ...]:
        """The rows of the source file."""

    async def source_states(self) -> dict[str, SourceState]:
        """How each source stands, by id."""


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    question: Annotated[str, StringConstraints(max_length=MAX_QUESTION_CHARACTERS, pattern=r"\S")] = Field(repr=False)
    language: Language | None = None


class _Reindex(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    source: str | None = None
    full: bool = Field(default=False, strict=True)


_Fields = Mapping[str, Any]
_Wanted = TypeVar("_Wanted", _Query, _Reindex)


class ChatbotApi:
    """The addresses that other programs call.

    Args:
        bearers: Who may call what.
        gate: Reads every question first.
        second_reader: Reads it again. One of its own: many calls must not hold up the messages of patients.
        ask: Answers a question; None while models or index are out of order.
        renderer: Words the reply.
        runner: Starts runs of ingestion.
        view: Tells which sources there are.
        telemetry: Notes outcomes, never a word of a question.
        cms_source: The source whose documents are named by it, a hyphen and the CMS's own content id.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        bearers: Bearers,
        gate: Reads,
        second_reader: ReadsAgain,
        ask: Ask | None,
        renderer: Renderer,
        runner: StartsRuns,
        view: SeesSources,
        telemetry: Telemetry,
        *,
        cms_source: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bearers = bearers
        self._gate = gate
        self._second_reader = second_reader
        self._ask = ask
        self._renderer = renderer
        self._runner = runner
        self._view = view
        self._telemetry = telemetry
        self._content_prefix = f"{cms_source}-" if cms_source else ""
        self._queries = RateLimit(_QUERIES_A_MINUTE, clock)
        self._reindexes = RateLimit(_REINDEXES_A_MINUTE, clock)

    def routes(self) -> list[BaseRoute]:
        """Routes for the web application."""

        async def query(request: Request) -> Response:
            return await self._unbroken(request, Scope.QUERY, self._query)

        async def reindex(request: Request) -> Response:
            return await self._unbroken(request, Scope.REINDEX, self._reindex)

        return [Route(QUERY_PATH, query, methods=["POST"]), Route(REINDEX_PATH, reindex, methods=["POST"])]

    async def _unbroken(
        self, request: Request, scope: Scope, answer: Callable[[Request, _Fields], Awaitable[Response]]
    ) -> Response:
        """Let in who may, and tell what breaks by nothing but its kind."""
        refusal = self._bearers.refusal(request, scope)
        if refusal is not None:
            self._telemetry.warning("api_refused", stage=scope.value, outcome=f"status_{refusal.status_code}")
            return refusal
        begun = time.monotonic()
        try:
            fields = await _read_fields(request)
            told = fields if isinstance(fields, Response) else await answer(request, fields)
        except (Busy, Cancelled):
            told = _later("too much is being asked now")
        except Exception as error:  # noqa: BLE001 - its text may hold the question
            self._telemetry.failure("api_failed", error, stage=scope.value)
            told = error_reply(500, "something broke; nothing was answered")
        duration_s = round(time.monotonic() - begun, 4)
        self._telemetry.event("api_call", stage=scope.value, outcome=f"status_{told.status_code}", duration_s=duration_s)
        return told

    async def _query(self, request: Request, fields: _Fields) -> Response:
        """Look for an emergency before anything else: it is answered also in a call that is otherwise wrong, or one too many."""
        text = _text_in(fields, "question")
        reading = await asyncio.to_thread(self._gate.read, text)
        reading = await self._second_reader.read(text, (), reading)
        if reading.red_flag is not None:
            return self._tell(escalation_for(reading.red_flag, text, _language_in(fields)), reading)
        query = _checked(_Query, fields)
        if isinstance(query, Response):
            return query
        key = self._bearers.key(request)
        if wait_s := self._queries.take(key):
            return _too_often(_QUERIES_A_MINUTE, wait_s)
        if self._ask is None:
            return _later("questions cannot be answered now")
        run = await self._ask(("api", key), Question(text=query.question, language=query.language))
        return self._tell(from_reply(run.reply), reading)

    def _tell(self, outcome: Outcome, reading: GateReading) -> Response:
        reader = Reader(platform=Platform.CONSOLE)
        message = self._renderer.render(outcome, reader, about_emergency=reading.about is not None)
        self._telemetry.event("api_answer", outcome=kind_of(outcome), language=outcome.language.value)
        return reply(
            {
                "answer": text_of(message),
                "sources": [self._source(source) for source in sources_of(outcome)],
                "outcome": kind_of(outcome),
                "language": outcome.language.value,
                "disclaimer": disclaimer_of(message),
            }
        )

    def _source(self, source: Source) -> dict[str, Any]:
        record = source_record(source, self._renderer.addresses)
        content_id = source.document_id.removeprefix(self._content_prefix)
        return {"contentId": content_id} | {name: record[name] for name in ("title", "url", "similarity")}

    async def _reindex(self, request: Request, fields: _Fields) -> Response:
        wanted = _checked(_Reindex, fields)
        if isinstance(wanted, Response):
            return wanted
        if wait_s := self._reindexes.take(self._bearers.key(request)):
            return _too_often(_REINDEXES_A_MINUTE, wait_s)
        refusal = await self._unreadable(wanted.source)
        if refusal is not None:
            return refusal
        try:
            await self._runner.start(source_id=wanted.source, full=wanted.full, trigger="api")
        except AlreadyRunning:
            return error_reply(409, "a run is going on already")
        except RunNotStarted:
            return _later("no run can be started now")
        return reply({"started": True}, 202)

    async def _unreadable(self, source_id: str | None) -> Response | None:
        """Why a source cannot be read; None when it can."""
        if source_id is None:
            return None
        row = next((row for row in await self._view.configured() if row.id == source_id), None)
        if row is None:
            return error_reply(404, "there is no such source", key="source")
        if not is_enabled(row, (await self._view.source_states()).get(source_id)):
            return error_reply(409, "the source is disabled", key="source")
        return None


async def _read_fields(request: Request) -> _Fields | Response:
    """What the body holds, nothing if it is empty; or why it cannot be read."""
    body = await read_body(request, _LARGEST_BODY)
    if body is None:
        return error_reply(413, f"a call has at most {_LARGEST_BODY:,} bytes")
    try:
        fields = _from_json(body) if body.strip() else {}
    except (ValueError, RecursionError):
        return error_reply(400, "the body is not JSON")
    return fields if isinstance(fields, dict) else error_reply(400, "the body is no JSON object")


def _from_json(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read JSON. Half of an emoji, which programs leave where they cut a text, is dropped: the rest may tell an emergency."""
    try:
        return pydantic_core.from_json(body)
    except ValueError:
        whole = json.dumps(json.loads(body.decode()), ensure_ascii=False).encode("utf-8", "ignore")
        return pydantic_core.from_json(whole)


def _checked(form: type[_Wanted], fields: _Fields) -> _Wanted | Response:
    """The fields if they fit the form; else a reply that names the first wrong key, and never a value."""
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"])[:_MOST_OF_A_KEY]
        return error_reply(422, first["msg"], key=key)


def _text_in(fields: _Fields, key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _language_in(fields: _Fields) -> Language | None:
    code = _text_in(fields, "language")
    return Language(code) if code in set(Language) else None


def _too_often(a_minute: int, wait_s: int) -> Response:
    return error_reply(429, f"at most {a_minute} calls a minute", {"Retry-After": str(wait_s)})


def _later(error: str) -> Response:
    return error_reply(503, error, {"Retry-After": str(_REPEAT_AFTER_S)})
