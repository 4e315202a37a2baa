"""Keeps tokens, numbers and patients' words out of what the messenger libraries log (H41)."""

import logging
from collections.abc import Iterable

# These log request addresses (Telegram's hold the token), whole updates, and replies. `websockets` and the servers do not.
_LIBRARIES = ("httpx", "httpcore", "telegram", "twilio", "aiohttp")
_HIDDEN = "[hidden]"


class LibraryRecordFilter(logging.Filter):
    """Lets only warnings of the messenger libraries through, and of these only the fixed wording.

    What varies in a record (its arguments, the text of an exception) may hold a token or a patient's words; it is left out, an
    exception is named by its class, and known secrets are replaced wherever they still stand.
    """

    def __init__(self) -> None:
        super().__init__()
        self._secrets: set[str] = set()

    def __repr__(self) -> str:
        return "LibraryRecordFilter()"

    def hide(self, secrets: Iterable[str]) -> None:
        """Replace these wherever they appear from now on."""
        self._secrets.update(secret for secret in secrets if secret)

    def filter(self, record: logging.LogRecord) -> bool:
        """Reduce a record to what is safe to keep; records below WARNING are dropped."""
        if record.levelno < logging.WARNING:
            return False
        wording = str(record.msg)
        if record.exc_info and record.exc_info[0]:
            wording = f"{wording} ({record.exc_info[0].__name__})"
        for secret in self._secrets:
            wording = wording.replace(secret, _HIDDEN)
        record.msg, record.args, record.exc_info, record.exc_text, record.stack_info = wording, None, None, None, None
        return True


_filter = LibraryRecordFilter()


def quieten_libraries(*secrets: str) -> None:
    """Silence the messenger libraries below WARNING and redact the rest; to be called again after a late import of one.

    A filter works only on the logger it hangs on, so it is hung on every logger that the libraries have made.
    """
    _filter.hide(secrets)
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in tuple(logging.root.manager.loggerDict):
        if name.split(".", 1)[0] in _LIBRARIES:
            logging.getLogger(name).addFilter(_filter)
