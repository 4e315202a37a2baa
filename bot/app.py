"""The composition root: the one place that names concrete classes, and the life of the process."""

import asyncio
import contextlib
import time
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette

from bot.commands import command_menu
from bot.conversation import Conversation
from bot.errors import StartRefused
from bot.inference_worker import InferenceWorker
from bot.intake import IntakeDesk
from bot.intake_mode import IntakeMode
from bot.loading import load_gate, load_renderer, load_texts, rag_settings
from bot.operations import Operations
from bot.parts import Parts
from bot.process import Server, stopped_by_signals
from bot.program_routes import ProgramRoutes
from bot.registry import ClaimRegistry
from bot.safety import SafetyGate
from bot.sessions import Sessions
from bot.settings import Settings, is_loopback
from bot.streaming import PACES
from bot.tally import Tally
from bot.telemetry import Telemetry, quieten_loop
from bot.web import web_app
from channels.base import Channel
from channels.messages import Platform
from ingest.disease_tree import disease_tree
from locales.catalog import Catalog
from locales.language import Language
from rag.answerer import Answerer
from rag.build import build_answerer, build_intake
from rag.documents import Document
from rag.errors import IndexMissing, RagError
from rag.languages import identify
from rag.models.protocols import Embedder, LanguageModel

_POLL_SILENCE_S = 180.0  # a poll is answered every ten seconds, also when nobody writes
_HTTP_GRACE_S = 5


def build(
    settings: Settings,
    *,
    language_model: LanguageModel | None = None,
    embedder: Embedder | None = None,
    channels: Sequence[Channel] | None = None,
) -> "App":
    """Put the bot together; nothing is connected yet.

    Args:
        settings: What the operator decided.
        language_model: Stands in for the configured generator.
        embedder: Stands in for the configured embedder.
        channels: Stand in for the configured messengers.

    Raises:
        StartRefused: If the parts do not fit together.
        ChannelMisconfigured: If a messenger lacks a token, a secret or an address.
        RagError: If a model cannot be loaded or the index was built with another embedder.
    """
    catalog, directory = load_texts()
    if channels is None:
        channels = _messengers(settings, catalog)
    answerer = build_answerer(rag_settings(settings), language_model=language_model, embedder=embedder)
    gate = load_gate(answerer.embedder)
    telemetry = Telemetry(_hash_key(settings))
    unreviewed = _check_index(answerer, telemetry)
    if unreviewed and _is_public(settings, channels) and not settings.allow_unreviewed:
        raise StartRefused(
            "The published pages are demonstration texts that no clinician has reviewed, and a real messenger is configured. "
            "Publish reviewed sources (SALUS_SOURCES), or accept this with SALUS_ALLOW_UNREVIEWED=true."
        )
    if answerer.is_extractive:
        telemetry.warning("no_generator_answers_are_quotes", model=settings.generator)
    worker, tally = InferenceWorker(limit=settings.queue_limit, run_limit_s=settings.answer_deadline_s), Tally(telemetry)
    operations = Operations(settings, channels, catalog, telemetry, tally, lambda: worker.depth)
    parts = Parts(
        channels={channel.platform: channel for channel in channels},
        gate=gate,
        answerer=answerer,
        worker=worker,
        sessions=Sessions(idle_s=settings.session_idle_s, limit=settings.session_limit),
        registry=ClaimRegistry(
            settings.home / "claims.sqlite", _hash_key(settings), on_trouble=lambda error: telemetry.failure("registry", error)
        ),
        renderer=load_renderer(settings),
        directory=directory,
        telemetry=telemetry,
        clock=time.monotonic,
        tally=tally,
        admin=operations.admin,
        mode=settings.mode,
        intake=_intake(settings, answerer, gate),
        find_document=lambda document_id: _find_document(answerer, document_id),
        paces=PACES if settings.streaming else {},
    )
    return App(settings, parts, answerer, catalog, operations)


class App:
    """The running bot: messengers, web server and inference thread on one event loop."""

    def __init__(self, settings: Settings, parts: Parts, answerer: Answerer, catalog: Catalog, operations: Operations) -> None:
        self.conversation = Conversation(parts)
        self.is_extractive = answerer.is_extractive
        self._settings = settings
        self._parts = parts
        self._answerer = answerer
        self._operations = operations
        self._programs = ProgramRoutes(settings, parts, answerer, operations)
        routes = [route for channel in parts.channels.values() for route in channel.routes()] + self._programs.routes
        self.asgi: Starlette = web_app(
            routes, find_document=parts.find_document, problems=self.problems, catalog=catalog, directory=parts.directory
        )
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._purger: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port that the web server listens on; useful when any free one was asked for."""
        assert self._server is not None  # noqa: S101 - a caller's mistake
        port: int = self._server.servers[0].sockets[0].getsockname()[1]
        return port

    async def start(self, *, with_web: bool = True) -> None:
        """Open the registry, warm the models up, listen, and connect to the messengers.

        Raises:
            ChannelMisconfigured: If a messenger refuses the credentials.
            ChannelUnreachable: If a messenger cannot be reached.
            StartRefused: If the port is taken.
        """
        quieten_loop(asyncio.get_running_loop())
        try:
            await self._parts.registry.open()
            self._parts.worker.start()
            await self._parts.worker.run("warm", lambda _deadline, _cancelled: self._warm())
            self._purger = asyncio.create_task(self._parts.sessions.purge_forever())
            if with_web:
                await self._listen()
            for channel in self._parts.channels.values():
                await channel.start(self.conversation.receive)
            if with_web:
                await self._operations.start()
        except BaseException:
            await self.stop()
            raise
        self._parts.telemetry.event("started", count=len(self._parts.channels))

    async def stop(self) -> None:
        """Take no more messages, finish or apologise for what is under way, and close everything."""
        self._parts.telemetry.event("stopping", count=self.conversation.running)
        if self._server is not None:
            self._server.should_exit = True  # no new connections: a messenger delivers again later
        await self._operations.stop()
        await self.conversation.finish(self._settings.shutdown_grace_s)
        for channel in self._parts.channels.values():
            await channel.stop()
        await self._parts.worker.stop()
        self.conversation.close()
        self._programs.close()
        if self._purger is not None:
            self._purger.cancel()
        background = [task for task in (self._purger, self._serving) if task is not None]
        await asyncio.gather(*background, return_exceptions=True)
        await self._parts.registry.close()
        self._parts.telemetry.event("stopped")

    async def serve(self) -> None:
        """Run until SIGTERM or Ctrl-C."""
        stop = asyncio.Event()
        with stopped_by_signals(stop):
            starting = asyncio.create_task(self.start())
            waiting = asyncio.create_task(stop.wait())
            await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
                return
            try:
                await starting
                await waiting
            finally:
                waiting.cancel()
            await self.stop()

    def problems(self) -> list[str]:
        """What keeps the bot from answering, in words that a monitor can show."""
        found = []
        if not self._parts.worker.is_alive:
            found.append("inference_stopped")
        for channel in self._parts.channels.values():
            silence_s = getattr(channel, "seconds_since_poll", None)
            if silence_s is not None and silence_s > _POLL_SILENCE_S:
                found.append(f"{channel.platform.value}_not_polled")
        return found

    def _warm(self) -> None:
        self._answerer.warm(self._settings.mode)
        identify("Una domanda di prova")  # the first use loads its tables, for a second during which the loop would stand still

    async def _listen(self) -> None:
        config = uvicorn.Config(
            self.asgi,
            host=self._settings.host,
            port=self._settings.port,
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_HTTP_GRACE_S,
        )
        self._server = Server(config)
        self._serving = asyncio.create_task(self._serve_http(self._server))
        while not self._server.started:
            if self._serving.done():
                await self._serving
            await asyncio.sleep(0.01)
        self._parts.telemetry.event("listening", host=self._settings.host, port=self.port)

    async def _serve_http(self, server: uvicorn.Server) -> None:
        try:
            await server.serve()
        except SystemExit:  # uvicorn's way of saying that it cannot listen
            raise StartRefused(
                f"Cannot listen on {self._settings.host}:{self._settings.port}: the port is taken or not allowed "
                "(SALUS_HOST, SALUS_PORT)."
            ) from None


def _intake(settings: Settings, answerer: Answerer, gate: SafetyGate) -> IntakeDesk | None:
    """Asks back about complaints, unless the operator wants none of it."""
    if settings.intake is IntakeMode.OFF:
        return None
    intake = build_intake(answerer, disease_tree, lambda sentence: gate.read(sentence).red_flag is None)
    return IntakeDesk(intake, answerer, settings.intake)


def _find_document(answerer: Answerer, document_id: str) -> Document | None:
    for language in Language:
        with contextlib.suppress(RagError):
            document = answerer.reader(language).get_document(document_id)
            if document is not None:
                return document
    return None


def _messengers(settings: Settings, catalog: Catalog) -> list[Channel]:
    """The messengers that are configured; their libraries are loaded only for those."""
    found: list[Channel] = []
    base_url = settings.public_base_url or ""
    if settings.telegram_token is not None:
        from channels.telegram_channel import TelegramChannel

        secret = settings.telegram_webhook_secret
        found.append(
            TelegramChannel(
                settings.telegram_token.get_secret_value(),
                settings.telegram_mode,
                secret.get_secret_value() if secret else "",
                base_url,
                settings.telegram_api_base_url,
                command_menu=command_menu(catalog),
            )
        )
    if settings.has_whatsapp:
        from channels.whatsapp_channel import WhatsAppChannel

        token = settings.twilio_auth_token
        found.append(
            WhatsAppChannel(
                settings.twilio_account_sid or "",
                token.get_secret_value() if token else "",
                settings.whatsapp_from or "",
                base_url,
                settings.twilio_api_base_url,
            )
        )
    if not found:
        raise StartRefused("No messenger is configured: set SALUS_TELEGRAM_TOKEN, or the three Twilio settings for WhatsApp.")
    return found


def _is_public(settings: Settings, channels: Sequence[Channel]) -> bool:
    """True when real patients can write: a messenger account at its real address, or programs on other machines."""
    platforms = {channel.platform for channel in channels}
    telegram = Platform.TELEGRAM in platforms and settings.has_telegram and not is_loopback(settings.telegram_api_base_url)
    whatsapp = Platform.WHATSAPP in platforms and settings.has_whatsapp and not is_loopback(settings.twilio_api_base_url)
    programs = bool(settings.api_tokens) and not is_loopback(f"http://{settings.host}")
    return telegram or whatsapp or programs


def _check_index(answerer: Answerer, telemetry: Telemetry) -> bool:
    """Whether anything published is unreviewed; an index of another embedder is refused by the reader itself."""
    unreviewed = False
    for language in Language:
        try:
            unreviewed |= answerer.reader(language).is_demonstration
        except IndexMissing:
            telemetry.warning("nothing_published", language=language.value)
    return unreviewed


def _hash_key(settings: Settings) -> bytes | None:
    return settings.hash_key.get_secret_value().encode() if settings.hash_key else None
