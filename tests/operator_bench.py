"""The operator's routes over figures that tests set."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
from pydantic import SecretStr
from starlette.applications import Starlette

from bot.health import HealthCheck
from bot.metrics import DeliveryFailure, Metrics
from bot.operator_routes import OperatorRoutes
from bot.outcomes import Escalation, Notice, Topic
from bot.settings import load_settings
from bot.telemetry import Telemetry
from channels.messages import Platform
from ingest.ledger import PublishedIndex, RunStatus, SourceState
from locales.catalog import Catalog
from locales.language import Language
from rag.replies import Abstention, AbstentionKind
from rag.types import Mode
from tests.builders import answer, red_flag
from tests.ingestion_fakes import NOON, FakeIngestion, FakeTime, run_row, source_row

CATALOG = Catalog.load()
IT, ES = Language
TELEGRAM, WHATSAPP = Platform.TELEGRAM, Platform.WHATSAPP
WATCHES, ADMINISTERS, ASKS = "watches-figures-0123", "administers-it-01234", "asks-questions-01234"
TOKENS = tuple(SecretStr(token) for token in (f"metrics:{WATCHES}", f"admin:{ADMINISTERS}", f"query:{ASKS}"))


class Worker:
    is_alive = True
    depth = 2


@dataclass
class Polled:
    seconds_since_poll: float = 2.0


class OperatorBench:
    """The operator's routes over figures that tests set."""

    def __init__(self, *, client: str = "10.0.0.7", tokens: tuple[SecretStr, ...] = TOKENS, **settings: Any) -> None:
        self.time, self.ingestion, self.metrics = FakeTime(), FakeIngestion(), Metrics()
        self.ingestion.indexes = {IT: PublishedIndex(version=3, published_at=NOON)}
        health = HealthCheck(
            worker=Worker(),
            channels={TELEGRAM: Polled()},
            live_version=lambda _: 3,
            view=self.ingestion,
            telemetry=Telemetry(),
            clock=self.time,
            now=self.time.now,
            models_loaded=True,
        )
        self.routes = OperatorRoutes(
            load_settings(api_tokens=tokens, **settings),
            health,
            self.metrics,
            self.ingestion,
            None,
            CATALOG,
            Telemetry(),
            clock=self.time,
        )
        transport = httpx.ASGITransport(Starlette(routes=self.routes.routes), client=(client, 1))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async def get(self, path: str, token: str | None = None, **headers: str) -> httpx.Response:
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        return await self.http.get(path, headers=shown | headers)

    async def login(self, token: str = ADMINISTERS, lang: str = "it", **headers: str) -> httpx.Response:
        return await self.http.post(f"/admin?lang={lang}", data={"token": token}, headers=headers)


def busy() -> OperatorBench:
    """A bot that has worked for a while, and not without trouble."""
    bench = OperatorBench()
    metrics, ingestion = bench.metrics, bench.ingestion
    ingestion.rows = (
        source_row("medlineplus", publisher="National Library of Medicine", language=ES),
        source_row("humanitas", publisher="Humanitas"),
        source_row("forum", publisher="Un forum di pazienti", enabled=False, disabled_because="Consent is needed."),
    )
    ingestion.counts = {("humanitas", IT): 1890, ("medlineplus", ES): 2204}
    ingestion.indexes = {
        IT: PublishedIndex(version=41, published_at=NOON - timedelta(days=3)),
        ES: PublishedIndex(version=17, published_at=NOON - timedelta(hours=8)),
    }
    problem = "https://www.humanitas.example/malattie/una-pagina-dal-nome-lungo: HTTP 503, tried again tomorrow"
    ingestion.states = {
        "humanitas": SourceState(
            source_id="humanitas", publisher="Humanitas", read_at=NOON, pages=1890, problem=problem, enabled=None
        ),
        "medlineplus": SourceState(
            source_id="medlineplus", publisher="NLM", read_at=NOON, pages=2204, problem=None, enabled=None
        ),
    }
    report = {"languages": [{"language": "it", "new": 12, "changed": 40, "retired": 2}]}
    ingestion.history = [
        run_row(1, RunStatus.COMPLETE, report=report, trigger="schedule"),
        run_row(2, RunStatus.FAILED, trigger="admin", scope="humanitas"),
        run_row(3, RunStatus.PARTIAL, report=report, trigger="schedule"),
    ]
    for seconds, count in ((0.4, 3), (1.6, 12), (2.4, 31), (4.2, 18), (7.0, 6), (25.0, 1)):
        for _ in range(count):
            metrics.note(answer(), TELEGRAM, Mode.FAST)
            metrics.note_turn("answer", TELEGRAM, seconds, {"gate": 0.004, "reread": 0.03, "answer": seconds - 0.2, "send": 0.1})
            metrics.note_answering({"retrieve": 0.02, "rerank": 0.2, "write": seconds / 2, "first_sentence": seconds / 3})
    metrics.note(Escalation(red_flag=red_flag(), language=ES), WHATSAPP)
    metrics.note(Abstention(kind=AbstentionKind.NO_EVIDENCE, language=ES), WHATSAPP)
    metrics.note_feedback(IT, True, ["humanitas"])
    metrics.note_feedback(ES, False, ["medlineplus"])
    metrics.note_delivery_failure(WHATSAPP, DeliveryFailure.REFUSED)
    metrics.note_delivery_status(WHATSAPP, "undelivered", "63016")
    metrics.note_limited(TELEGRAM)
    metrics.note(Notice(topic=Topic.UNKNOWN_COMMAND, language=IT), TELEGRAM)
    metrics.note_admin_attempt(TELEGRAM)
    return bench
