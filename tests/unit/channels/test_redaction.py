import io
import logging
from collections.abc import Iterator

import httpx
import pytest
import telegram.ext

from channels.redaction import quieten_libraries
from channels.telegram_channel import TelegramChannel
from channels.whatsapp_channel import WhatsAppChannel

TOKEN = "123456:very-secret-token"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.mark.parametrize("name", ["httpx", "httpcore.http11", "telegram.ext.ExtBot", "telegram.request.HTTPXRequest"])
def test_h41_requests_and_updates_are_not_logged_even_at_debug(name: str, log: io.StringIO) -> None:
    logger = logging.getLogger(name)
    quieten_libraries(TOKEN)
    logger.setLevel(logging.DEBUG)
    logger.info("HTTP Request: POST https://api.telegram.org/bot%s/sendMessage", TOKEN)
    logger.debug("dolore al petto")
    assert log.getvalue() == ""


def test_h41_a_warning_keeps_its_wording_and_loses_what_varies(log: io.StringIO) -> None:
    quieten_libraries(TOKEN)
    logger = logging.getLogger("telegram.ext.Updater")
    quieten_libraries()
    try:
        raise ValueError(f"dolore al petto, token {TOKEN}")
    except ValueError as error:
        logger.exception("Error while parsing updates! Received data was %r", "dolore al petto", exc_info=error)
    logger.warning(f"The token {TOKEN} was rejected")
    assert "Error while parsing updates! Received data was %r (ValueError)" in log.getvalue()
    assert "dolore" not in log.getvalue()
    assert TOKEN not in log.getvalue()


def test_h41_no_repr_shows_a_secret() -> None:
    telegram_channel = TelegramChannel(TOKEN, "webhook", "hook-secret", "https://bot.esempio.it")
    whatsapp_channel = WhatsAppChannel("AC" + "0" * 32, "twilio-secret", "+39020000", "https://bot.esempio.it")
    shown = f"{telegram_channel!r} {whatsapp_channel!r} {logging.getLogger('telegram').filters}"
    assert not any(secret in shown for secret in (TOKEN, "hook-secret", "twilio-secret", "+39020000"))


def test_the_libraries_that_are_silenced_are_the_ones_used() -> None:
    assert httpx.__name__ in logging.root.manager.loggerDict
    assert telegram.ext.ExtBot.__module__.startswith("telegram")
