"""Puts back whatever setting up the bot's log changes in the process."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog


@contextmanager
def restored_logging() -> Iterator[None]:
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    root = logging.getLogger()
    level, handlers, raises = root.level, list(root.handlers), logging.raiseExceptions
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        root.setLevel(level)
        root.handlers[:] = handlers
        logging.raiseExceptions = raises
        structlog.reset_defaults()
