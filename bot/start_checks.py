"""What must be in order before real patients can write to the bot."""

from collections.abc import Set

from bot.errors import StartRefused
from bot.settings import Settings, is_loopback
from bot.telemetry import Telemetry
from channels.messages import Platform
from locales.language import Language
from rag.answerer import Answerer
from rag.errors import IndexMissing, IndexOutdated


def check_fitness(settings: Settings, platforms: Set[Platform], answerer: Answerer, telemetry: Telemetry) -> bool:
    """Make sure that the configured messengers may be connected to what is published.

    Args:
        settings: What the operator decided.
        platforms: The messengers that are to be connected.
        answerer: Reads what is published.
        telemetry: Told what is missing without being a hindrance.

    Returns:
        Whether another release wrote what is published, so that a run must publish it anew.

    Raises:
        StartRefused: If unreviewed pages would meet real patients, or WhatsApp's would have no person to turn to.
        IndexMismatch: If the index was built with another embedder.
    """
    is_whatsapp = Platform.WHATSAPP in platforms and settings.has_whatsapp and not is_loopback(settings.twilio_api_base_url)
    if is_whatsapp and settings.human_contact is None:
        raise StartRefused(
            "A real WhatsApp account needs a person whom patients can reach: set SALUS_HUMAN_CONTACT to a telephone number, "
            "a mail address or a web page."
        )
    if is_whatsapp and settings.hash_key is None:
        raise StartRefused(
            "A real WhatsApp account needs SALUS_HASH_KEY, a long random secret: without it a restart forgets who wrote STOP."
        )
    is_telegram = Platform.TELEGRAM in platforms and settings.has_telegram and not is_loopback(settings.telegram_api_base_url)
    asks = any(token.get_secret_value().startswith("query:") for token in settings.api_tokens)
    has_programs = asks and not is_loopback(f"http://{settings.host}")
    is_unreviewed, is_outdated = _look_at_index(answerer, telemetry)
    if is_unreviewed and (is_telegram or is_whatsapp or has_programs) and not settings.allow_unreviewed:
        raise StartRefused(
            "The published pages are demonstration texts that no clinician has reviewed, and real people could be answered from "
            "them: by a messenger's real account, or by programs that SALUS_API_TOKENS lets ask at a SALUS_HOST beyond this "
            "machine. "
            "Publish reviewed sources (SALUS_SOURCES), or accept this with SALUS_ALLOW_UNREVIEWED=true."
        )
    return is_outdated


def _look_at_index(answerer: Answerer, telemetry: Telemetry) -> tuple[bool, bool]:
    """Whether anything published is unreviewed, and whether another release wrote any of it."""
    is_unreviewed = is_outdated = False
    for language in Language:
        try:
            is_unreviewed |= answerer.reader(language).is_demonstration
        except IndexMissing:
            telemetry.warning("nothing_published", language=language.value)
        except IndexOutdated:
            telemetry.warning("index_of_another_release", language=language.value, outcome="built_anew")
            is_outdated = True
    return is_unreviewed, is_outdated
