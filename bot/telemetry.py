"""What the bot writes about its own work: events with figures and keyed hashes, never a word of a patient, never a secret."""

import asyncio
import hashlib
import hmac
import json
import logging
import re
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import structlog

from channels.messages import InboundMessage

# A log line carries these keys and no other: whatever else code hands over is dropped, not printed.
_KEYS = frozenset(
    {"event", "level", "timestamp", "logger", "error", "where", "stage", "stages_s", "duration_s", "patient", "platform"}
    | {"outcome", "language", "count", "position", "model", "host", "port"}
)
# What a value may look like: names, figures, `module:line`. Free text does not fit.
_VALUE = re.compile(r"[\w.:/<>-]{0,80}")
_QUIET = ("httpx", "httpcore", "telegram", "twilio", "urllib3", "asyncio", "aiohttp", "aiosqlite", "filelock", "huggingface_hub")

Event = MutableMapping[str, Any]


def configure(level: str = "INFO") -> None:
    """Send our events and the libraries' to standard error, one JSON object a line."""
    structlog.configure(
        processors=[
            _add_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            only_known_keys,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = _StderrHandler()
    handler.setFormatter(_LibraryFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a logging error would print the record's arguments
    _quieten_hooks()


def _add_level(_: object, name: str, event: Event) -> Event:
    event["level"] = name
    return event


def only_known_keys(_: object, __: str, event: Event) -> Event:
    """Drop every key that is not on the list and every text that is more than a name."""
    return {key: value for key, value in event.items() if key in _KEYS and _is_plain(value)}


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return _VALUE.fullmatch(value) is not None or _is_moment(value)
    if isinstance(value, Mapping):
        return all(_is_plain(name) and isinstance(figure, int | float) for name, figure in value.items())
    return value is None or isinstance(value, bool | int | float)


def _is_moment(value: str) -> bool:
    return re.fullmatch(r"[\d:T.+Z-]{10,40}", value) is not None


def error_name(error: BaseException) -> str:
    """The class of an exception: all of it that is ever logged, together with where it was raised."""
    return type(error).__name__


def place_of(trace: TracebackType | None) -> str:
    """Where an exception was raised, as module and line."""
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__', '')}:{trace.tb_lineno}"


class Telemetry:
    """Writes the bot's events. `key` makes patients' hashes; without one a random key serves until the process ends."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._log = structlog.get_logger()

    def event(self, name: str, **fields: object) -> None:
        """Note that something happened."""
        self._log.info(name, **fields)

    def warning(self, name: str, **fields: object) -> None:
        """Note that something is not as it should be."""
        self._log.warning(name, **fields)

    def failure(self, name: str, error: BaseException, **fields: object) -> None:
        """Note an exception by its class and place, never by its text."""
        self._log.error(name, error=error_name(error), where=place_of(error.__traceback__), **fields)

    def patient(self, message: InboundMessage) -> str:
        """A keyed hash that tells patients apart without naming one."""
        identity = f"{message.sender.platform.value}\0{message.sender.identity}"
        return hmac.digest(self._key, identity.encode(), hashlib.sha256).hex()[:12]


class TurnLog:
    """Follows one turn: which stage it is in, and how long each took."""

    def __init__(self) -> None:
        self.stage_name = "receive"
        self.stages_s: dict[str, float] = {}
        self._started = time.monotonic()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage; when it raises, the turn knows where."""
        self.stage_name = name
        begun = time.monotonic()
        yield
        self.stages_s[name] = round(self.stages_s.get(name, 0.0) + time.monotonic() - begun, 4)

    @property
    def duration_s(self) -> float:
        """Seconds since the turn began."""
        return round(time.monotonic() - self._started, 4)


class _StderrHandler(logging.Handler):
    """Writes to whatever standard error is at that moment, like our own events."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")


class _LibraryFormatter(logging.Formatter):
    """Reduces a library's record to who, where and the class of its exception; its message may hold anything."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        fields = {
            "event": "library",
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "where": f"{record.module}:{record.lineno}",
        }
        if error is not None:
            fields |= {"error": error_name(error), "where": place_of(error.__traceback__)}
        return json.dumps(only_known_keys(None, "", fields))


def _quieten_hooks() -> None:
    """Exceptions that nobody caught are logged like the others: Python's own hooks would print their texts."""
    telemetry = Telemetry()

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            telemetry.failure("uncaught", error.with_traceback(trace))

    def uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            telemetry.failure("uncaught_in_thread", args.exc_value)

    def unraisable(args: Any) -> None:  # noqa: ANN401 - sys.UnraisableHookArgs exists for type checkers only
        if args.exc_value is not None:
            telemetry.failure("unraisable", args.exc_value)

    sys.excepthook = uncaught
    threading.excepthook = uncaught_in_thread
    sys.unraisablehook = unraisable


def quieten_loop(loop: asyncio.AbstractEventLoop) -> None:
    """The same for exceptions that surface in an event loop."""
    telemetry = Telemetry()

    def surfaced(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            telemetry.warning("loop_trouble")
        else:
            telemetry.failure("uncaught_in_loop", error)

    loop.set_exception_handler(surfaced)
