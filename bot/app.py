"""The composition root: the place that puts the concrete parts together, and the life of the process."""

import asyncio
import contextlib
import time
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette

from bot.consent import ConsentDesk
from bot.conversation import Conversation
from bot.errors import StartRefused
from bot.health import HealthCheck
from bot.inference_worker import InferenceWorker
from bot.intake import IntakeDesk
from bot.intake_mode import IntakeMode
from bot.loading import load_gate, load_renderer, load_texts, rag_settings
from bot.messengers import build_messengers
from bot.metrics import Metrics
from bot.operations import Operations
from bot.operator_routes import OperatorRoutes
from bot.parts import Parts
from bot.patient_limits import PatientLimits
from bot.patient_registry import PatientRegistry
from bot.process import Server, at_home, stopped_by_signals
from bot.program_routes import ProgramRoutes
from bot.registries import claim_registry, hash_key, patient_registry
from bot.safety import SafetyGate
from bot.sessions import Sessions
from bot.settings import Settings
from bot.start_checks import check_fitness
from bot.streaming import PACES
from bot.telemetry import Telemetry, quieten_loop
from bot.web import web_app
from channels.base import Channel
from ingest.disease_tree import disease_tree
from locales.catalog import Catalog
from locales.language import Language
from rag.answerer import Answerer
from rag.build import build_answerer, build_intake
from rag.documents import Document
from rag.errors import RagError
from rag.languages import identify
from rag.models.protocols import Embedder, LanguageModel

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
    telemetry = Telemetry(hash_key(settings))
    metrics = Metrics(telemetry)
    if channels is None:
        channels = build_messengers(settings, catalog, metrics)
    answerer = build_answerer(rag_settings(settings), language_model=language_model, embedder=embedder)
    gate = load_gate(answerer.embedder)
    is_outdated = check_fitness(settings, {channel.platform for channel in channels}, answerer, telemetry)
    if answerer.is_extractive:
        telemetry.warning("no_generator_answers_are_quotes", model=settings.generator)
    worker = InferenceWorker(limit=settings.queue_limit, run_limit_s=settings.answer_deadline_s)
    sessions = Sessions(idle_s=settings.session_idle_s, limit=settings.session_limit)
    operations = Operations(settings, channels, catalog, telemetry, metrics, lambda: worker.depth, rebuilds=is_outdated)
    health = HealthCheck(
        worker=worker,
        channels={channel.platform: channel for channel in channels},
        live_version=lambda language: answerer.reader(language).version,
        view=operations.view,
        telemetry=telemetry,
        sessions=lambda: len(sessions),
        max_index_age_h=settings.index_max_age_h,
    )

    def registry_fails(error: BaseException) -> None:
        telemetry.failure("registry", error)
        metrics.note_registry_failure()
        health.note_registry_failure()

    patients = patient_registry(settings, registry_fails)
    parts = Parts(
        channels=health.channels,
        gate=gate,
        answerer=answerer,
        worker=worker,
        sessions=sessions,
        registry=claim_registry(settings, registry_fails),
        renderer=load_renderer(settings),
        directory=directory,
        telemetry=telemetry,
        clock=time.monotonic,
        metrics=metrics,
        admin=operations.admin,
        mode=settings.mode,
        intake=_intake(settings, answerer, gate),
        consent=ConsentDesk(patients, time.monotonic) if settings.consent else None,
        limits=PatientLimits(a_minute=settings.patient_limit, in_all_a_minute=settings.total_limit, clock=time.monotonic),
        debounce_s=settings.debounce_s,
        find_document=lambda document_id: _find_document(answerer, document_id),
        paces=PACES if settings.streaming else {},
    )
    return App(settings, parts, patients, answerer, catalog, operations, health)


class App:
    """The running bot: messengers, web server and inference thread on one event loop."""

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        patients: PatientRegistry,
        answerer: Answerer,
        catalog: Catalog,
        operations: Operations,
        health: HealthCheck,
    ) -> None:
        self._patients = patients
        self.conversation = Conversation(parts)
        self.is_extractive = answerer.is_extractive
        self._settings = settings
        self._parts = parts
        self._answerer = answerer
        self._operations = operations
        self._programs = ProgramRoutes(settings, parts, answerer, operations)
        self._health = health
        health.turns = lambda: self.conversation.running
        operators = OperatorRoutes(
            settings, health, parts.metrics, operations.view, operations.schedule, catalog, parts.telemetry
        )
        routes = [route for channel in parts.channels.values() for route in channel.routes()]
        self.asgi: Starlette = web_app(
            routes + self._programs.routes + operators.routes,
            find_document=parts.find_document,
            health=health.look,
            catalog=catalog,
            directory=parts.directory,
        )
        self._presence = contextlib.ExitStack()
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
            StartRefused: If the port is taken, or a backup is being restored.
        """
        quieten_loop(asyncio.get_running_loop())
        self._presence.enter_context(at_home(self._settings.home))
        try:
            await self._parts.registry.open()
            await self._patients.open()
            self._parts.worker.start()
            await self._parts.worker.run("warm", lambda _deadline, _cancelled: self._warm())
            self._health.models_loaded = True
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
        await self._patients.close()
        self._presence.close()
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
