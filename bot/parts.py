"""What a conversation is made of."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bot.admin import Admin
from bot.consent import ConsentDesk
from bot.inference_worker import InferenceWorker
from bot.intake import IntakeDesk
from bot.metrics import Metrics
from bot.patient_limits import PatientLimits
from bot.proof import FindDocument
from bot.registry import ClaimRegistry
from bot.renderer import Renderer
from bot.safety import SafetyGate
from bot.sessions import Sessions
from bot.streaming import PACES, Pace
from bot.telemetry import Telemetry
from channels.base import Channel
from channels.messages import Platform
from locales.emergency import EmergencyDirectory
from rag.replies import AnsweringRun
from rag.types import Detail, Mode, Question, SupportedSentence


class AnswersQuestions(Protocol):
    """What the conversation needs of the answering line."""

    @property
    def is_extractive(self) -> bool:
        """Whether answers are quotes."""

    def answer(
        self,
        question: Question,
        *,
        deadline: float,
        cancelled: Callable[[], bool],
        on_sentence: Callable[[SupportedSentence], None],
        mode: Mode,
        quote_only: bool,
        detail: Detail = Detail.USUAL,
        said: Collection[tuple[str, int]] = (),
    ) -> AnsweringRun:
        """Answer a question, in the inference thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a conversation is made of. `answerer` is None while models or index are out of order, `admin` where nobody is one."""

    channels: Mapping[Platform, Channel]
    gate: SafetyGate
    answerer: AnswersQuestions | None
    worker: InferenceWorker
    sessions: Sessions
    registry: ClaimRegistry
    renderer: Renderer
    directory: EmergencyDirectory
    telemetry: Telemetry
    clock: Callable[[], float]
    metrics: Metrics = field(default_factory=Metrics)
    admin: Admin | None = None
    mode: Mode = Mode.FAST  # unless the patient chose another
    consent: ConsentDesk | None = None  # None where nobody is asked for it
    limits: PatientLimits | None = None
    debounce_s: float = 0.0  # within which a patient's messages are one question
    find_document: FindDocument = lambda _: None
    intake: IntakeDesk | None = None  # None where nothing is asked back
    paces: Mapping[Platform, Pace] = field(default_factory=lambda: PACES)  # none where answers are not shown as they grow
