"""The messengers that are configured; their libraries are loaded only for those."""

from functools import partial

from bot.commands import command_menu
from bot.errors import StartRefused
from bot.metrics import Metrics
from bot.settings import Settings
from channels.base import Channel
from channels.messages import Platform
from locales.catalog import Catalog


def build_messengers(settings: Settings, catalog: Catalog, metrics: Metrics) -> list[Channel]:
    """Make the messengers that are configured; nothing is connected yet.

    Args:
        settings: What the operator decided.
        catalog: The texts of the command menu.
        metrics: Told what becomes of messages sent.

    Raises:
        StartRefused: If none is configured.
        ChannelMisconfigured: If one lacks a token, a secret or an address.
    """
    found: list[Channel] = []
    if settings.telegram_token is not None:
        found.append(_telegram(settings, settings.telegram_token.get_secret_value(), catalog))
    if settings.has_whatsapp:
        found.append(_whatsapp(settings, metrics))
    if not found:
        raise StartRefused("No messenger is configured: set SALUS_TELEGRAM_TOKEN, or the three Twilio settings for WhatsApp.")
    return found


def _telegram(settings: Settings, token: str, catalog: Catalog) -> Channel:
    from channels.telegram_channel import TelegramChannel

    secret = settings.telegram_webhook_secret
    return TelegramChannel(
        token,
        settings.telegram_mode,
        secret.get_secret_value() if secret else "",
        settings.public_base_url or "",
        settings.telegram_api_base_url,
        command_menu=command_menu(catalog),
    )


def _whatsapp(settings: Settings, metrics: Metrics) -> Channel:
    from channels.whatsapp_channel import WhatsAppChannel

    token = settings.twilio_auth_token
    return WhatsAppChannel(
        settings.twilio_account_sid or "",
        token.get_secret_value() if token else "",
        settings.whatsapp_from or "",
        settings.public_base_url or "",
        settings.twilio_api_base_url,
        pace_s=settings.whatsapp_pace_s,
        template_sid=settings.whatsapp_template_sid or "",
        discard=settings.whatsapp_discard,
        typing=settings.whatsapp_typing,
        on_status=partial(metrics.note_delivery_status, Platform.WHATSAPP),
    )
