"""The routes for who watches over the bot: figures for Prometheus, and a page for people. Neither tells anything of a patient."""

import asyncio
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from bot.admin import Schedule
from bot.admin_page import AdminPage
from bot.admin_tables import Overview
from bot.api_access import Bearers, Scope
from bot.gauges import HealthGauges
from bot.health import HealthCheck
from bot.ingestion_view import IngestionView
from bot.metrics import Metrics
from bot.operator_access import COOKIE, SESSION_LASTS_S, BrowserSessions, caller_of, is_on_this_machine
from bot.rate_limit import RateLimit
from bot.run_follower import UNUSABLE
from bot.settings import Settings
from bot.telemetry import Telemetry
from channels.webhook import read_body
from locales.catalog import Catalog
from locales.language import Language

METRICS_PATH = "/metrics"
ADMIN_PATH = "/admin"

_LARGEST_FORM = 4096
_TRIES_A_MINUTE = 10


class OperatorRoutes:
    """`/metrics`, and `/admin` where a token opens it.

    Args:
        settings: What the operator decided.
        health: Tells how everything stands.
        metrics: What has been counted.
        view: Tells of sources.
        schedule: When runs begin by themselves, if they do.
        catalog: The texts.
        telemetry: Notes who was let in, by nothing but whether.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        settings: Settings,
        health: HealthCheck,
        metrics: Metrics,
        view: IngestionView,
        schedule: Schedule | None,
        catalog: Catalog,
        telemetry: Telemetry,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._public_base_url = settings.public_base_url
        self._bearers = Bearers(settings.api_tokens)
        self._health = health
        self._metrics = metrics
        self._view = view
        self._schedule = schedule
        self._page = AdminPage(catalog, ZoneInfo(settings.nightly_zone))
        self._telemetry = telemetry
        self._clock = clock
        self._started = clock()
        self._sessions = BrowserSessions(clock=clock)
        self._tries = RateLimit(_TRIES_A_MINUTE, clock)
        self.routes: list[BaseRoute] = [Route(METRICS_PATH, self._show_metrics)]
        if self._bearers.knows(Scope.ADMIN):
            self.routes += [Route(ADMIN_PATH, self._show_page), Route(ADMIN_PATH, self._take_form, methods=["POST"])]

    async def _show_metrics(self, request: Request) -> Response:
        refusal = self._bearers.refusal(request, Scope.METRICS)
        if refusal is not None and not is_on_this_machine(request, self._public_base_url):
            return refusal
        gauges = HealthGauges(await self._health.look())
        body = await asyncio.to_thread(lambda: generate_latest(self._metrics.registry) + generate_latest(gauges))
        return Response(body, media_type=CONTENT_TYPE_PLAIN_0_0_4, headers={"Cache-Control": "no-store"})

    async def _show_page(self, request: Request) -> Response:
        language, is_browser = _language_of(request), self._sessions.holds(request.cookies.get(COOKIE, ""))
        if not is_browser and "authorization" in request.headers:
            refusal = self._bearers.refusal(request, Scope.ADMIN)
            if refusal is not None:
                return refusal
        elif not is_browser:
            return self._html(self._page.login(language))
        return self._html(self._page.status(language, await self._overview(), is_browser=is_browser))

    async def _take_form(self, request: Request) -> Response:
        """Let a browser in that shows the token, or end its session; either leads back to the page."""
        language = _language_of(request)
        fields = await _fields_of(request)
        if "leave" in fields:
            self._sessions.close(request.cookies.get(COOKIE, ""))
            return self._back(language, "", 0)
        if wait_s := self._tries.take(caller_of(request, self._public_base_url)):
            self._telemetry.warning("admin_login", outcome="limited")
            page = self._page.login(language, "limited", seconds=wait_s)
            return self._html(page, 429, {"Retry-After": str(wait_s)})
        if Scope.ADMIN not in self._bearers.scopes_of(fields.get("token", "").strip()):
            self._telemetry.warning("admin_login", outcome="refused")
            return self._html(self._page.login(language, "refused"), 403)
        self._telemetry.event("admin_login", outcome="let_in")
        return self._back(language, self._sessions.open(), SESSION_LASTS_S)

    async def _overview(self) -> Overview:
        try:
            sources = await self._view.configured()
        except UNUSABLE as error:
            self._telemetry.failure("sources_unreadable", error)
            sources = None
        try:
            states, pages = await self._view.source_states(), await self._view.page_counts()
        except UNUSABLE as error:
            self._telemetry.failure("ledger_unusable", error)
            states, pages = {}, {}
        return Overview(
            health=await self._health.look(),
            metrics=self._metrics,
            sources=sources,
            states=states,
            pages=pages,
            uptime_s=self._clock() - self._started,
            next_run=self._schedule.next_run if self._schedule else None,
            missed=self._schedule.missed if self._schedule else None,
        )

    def _back(self, language: Language, session_id: str, lasts_s: int) -> Response:
        """Lead a browser to the page, with a session or, after 0 seconds, without."""
        back = RedirectResponse(f"?lang={language.value}", status_code=303, headers=self._page.headers)
        back.set_cookie(
            COOKIE,
            session_id,
            max_age=lasts_s,
            path=None,  # that of the page, whatever a proxy puts before it
            httponly=True,
            samesite="strict",
            secure=urlsplit(self._public_base_url or "").scheme == "https",
        )
        return back

    def _html(self, page: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        return HTMLResponse(page, status_code=status, headers=self._page.headers | (headers or {}))


async def _fields_of(request: Request) -> dict[str, str]:
    """The fields of a small form; none of one that is too large or malformed."""
    body = await read_body(request, _LARGEST_FORM)
    try:
        fields = parse_qs((body or b"").decode(), keep_blank_values=True, max_num_fields=8)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}


def _language_of(request: Request) -> Language:
    """The language that was chosen, else the first that the browser asks for and we speak, else Italian."""
    asked = [request.query_params.get("lang", ""), *_accepted(request.headers.get("accept-language", ""))]
    spoken = (tag.strip().lower().partition("-")[0] for tag in asked)
    return next((Language(code) for code in spoken if code in set(Language)), Language.ITALIAN)


def _accepted(header: str) -> list[str]:
    """The tags of an Accept-Language header, the most wanted first."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(",")[:20]:
        tag, _, quality = part.partition(";q=")
        try:
            wanted.append((float(quality or 1), tag))
        except ValueError:
            continue
    return [tag for _, tag in sorted(wanted, key=lambda item: -item[0])]
