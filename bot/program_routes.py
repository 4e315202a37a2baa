"""The routes for other programs, as far as the operator has switched them on."""

from collections.abc import Hashable

from starlette.routing import BaseRoute

from bot.api_access import Bearers, Scope
from bot.chatbot_api import ChatbotApi
from bot.errors import StartRefused
from bot.events_api import EventsApi
from bot.operations import Operations
from bot.parts import Parts
from bot.second_reading import SecondReader
from bot.settings import Settings
from ingest.errors import SourceUnreadable
from ingest.events import find_cms_source
from ingest.sources import SourceRow
from rag.answerer import Answerer
from rag.replies import AnsweringRun
from rag.types import Question


class ProgramRoutes:
    """Content events with SALUS_CMS_SECRET, questions and runs with tokens of these scopes; nothing without.

    Args:
        settings: What the operator decided.
        parts: What a conversation is made of; programs share gate, models and renderer with patients.
        answerer: The answering line.
        operations: Carries out events and starts runs.

    Raises:
        StartRefused: If events are switched on and no source takes them.
    """

    def __init__(self, settings: Settings, parts: Parts, answerer: Answerer, operations: Operations) -> None:
        cms = _cms_source(settings)
        self.routes: list[BaseRoute] = []
        self._reader: SecondReader | None = None
        if settings.cms_secret and cms:
            self.routes += EventsApi(settings.cms_secret, settings.home, operations.events.wake, parts.telemetry).routes()
        bearers = Bearers(settings.api_tokens)
        if bearers.knows(Scope.QUERY, Scope.REINDEX):
            self._reader = SecondReader(parts.gate, parts.telemetry)

            async def ask(key: Hashable, question: Question) -> AnsweringRun:
                return await parts.worker.run(
                    key,
                    lambda deadline, cancelled: answerer.answer(
                        question, deadline=deadline, cancelled=cancelled, mode=settings.mode
                    ),
                )

            self.routes += ChatbotApi(
                bearers,
                parts.gate,
                self._reader,
                ask,
                parts.renderer,
                operations.runner,
                operations.view,
                parts.telemetry,
                cms_source=cms.id if cms else None,
            ).routes()

    def close(self) -> None:
        """Let go of the gate's thread."""
        if self._reader is not None:
            self._reader.close()


def _cms_source(settings: Settings) -> SourceRow | None:
    if settings.cms_secret is None:
        return None
    try:
        return find_cms_source(settings.sources, settings.cms_source)
    except SourceUnreadable as error:
        raise StartRefused(f"SALUS_CMS_SECRET is set, and {error}") from error
