"""Plays dialogues between the intake and a simulated patient, as Sun et al. (2025) did with generators for both parts."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from bot.evaluation import simulated_patient
from bot.evaluation.run_records import RunRecords
from bot.evaluation.simulated_patient import Case, PatientReply, SimulatedPatient
from bot.progress import Counted
from bot.safety import SafetyGate
from rag.evaluation.dialogues import dialogue_figures
from rag.intake import MAX_QUESTIONS, Assessment, Intake
from rag.intake_features import ReplyKind
from rag.intake_replies import read_reply
from rag.intake_story import Story
from rag.replies import IntakeQuestion

_STORY = "whole story"
_PATIENCE = 10  # questions: an intake that asks more than it may is shown to, but need not be played for ever
_PLAYED = 2  # raised when dialogues come to be played in another way


class Way(StrEnum):
    """How a simulated patient replies."""

    TAPS = "taps"
    OWN_WORDS = "own words"


@dataclass(slots=True)
class Dialogue:
    """A dialogue as it is played: what was said, and where the right page stood."""

    case: Case
    story: Story
    assessment: Assessment
    ranks: list[int | None]
    told: list[str]  # by either side
    gated: list[str] = field(default_factory=list)  # of the patient, as the gate has read it
    questions: list[str] = field(default_factory=list)
    answered: list[bool] = field(default_factory=list)
    escalated: dict[str, Any] | None = None  # the first

    def as_row(self, single_round: str, quoted: str) -> dict[str, Any]:
        """As it is kept. A dialogue that had fewer questions keeps its order of candidates to the last round."""
        ranks = [*self.ranks, *[self.ranks[-1]] * MAX_QUESTIONS][: MAX_QUESTIONS + 1]
        return {
            "lang": self.case.language.value,
            "condition": self.case.condition,
            "ranks": ranks,
            "questions": self.questions,
            "answered": self.answered,
            "escalated": self.escalated,
            "single_round": single_round,
            "text": "\n".join([*self.told, quoted]).strip(),
            "reference": self.case.told,
        }


class Rounds:
    """Plays cases against the product's intake and safety gate.

    Args:
        intake: Asks.
        gate: Reads each text of the patient before the intake does.
    """

    def __init__(self, intake: Intake, gate: SafetyGate) -> None:
        self._intake = intake
        self._gate = gate

    def play(self, case: Case, way: Way) -> dict[str, Any]:
        """The record of a dialogue: see `rag.evaluation.dialogues.Records`.

        It is played to its end, also where a text was taken for an emergency: what the intake finds is one thing, and whether the
        gate is right another.
        """
        patient, dialogue = SimulatedPatient(case), self._open(case, case.opening)
        single_round = "\n".join([case.opening, self._quoted(dialogue)]).strip()
        self._gated(dialogue, case.opening, "opening")
        while (question := dialogue.assessment.question) is not None and len(dialogue.questions) < _PATIENCE:
            self._round(dialogue, patient, question, way)
        return dialogue.as_row(single_round, self._quoted(dialogue))

    def tell(self, case: Case) -> dict[str, Any]:
        """The record of a case whose patient says everything at once, and is asked nothing."""
        return {"lang": case.language.value, "ranks": self._open(case, case.story).ranks}

    def _open(self, case: Case, text: str) -> Dialogue:
        story = self._intake.begin(text, case.language)
        assessment = self._intake.assess(story)
        return Dialogue(case, story, assessment, ranks=[_rank(assessment, case)], told=[text])

    def _round(self, dialogue: Dialogue, patient: SimulatedPatient, question: IntakeQuestion, way: Way) -> None:
        dialogue.questions.append(question.name)
        dialogue.told.append(question.text)
        if question.choices:
            said = self._choose(dialogue, patient, question, way)
        else:
            reply = patient.reply(question.text)
            dialogue.answered.append(reply.fact is not None)
            said = _taps(dialogue, question, reply) if way is Way.TAPS else _writes(dialogue, question, reply)
        self._gated(dialogue, said, question.name)
        dialogue.assessment = self._intake.assess(dialogue.story, dialogue.assessment)
        dialogue.ranks.append(_rank(dialogue.assessment, dialogue.case))

    def _choose(self, dialogue: Dialogue, patient: SimulatedPatient, question: IntakeQuestion, way: Way) -> str:
        """Choose what the patient has; a choice among sentences is tapped in either way."""
        place = patient.choose([choice.text for choice in question.choices])
        dialogue.answered.append(place is not None)
        if place is not None and question.choices[place].feature:
            return _picks(dialogue, question, place, patient.reply(question.choices[place].text), way)
        kind = ReplyKind.UNSURE if place is None else ReplyKind.YES
        dialogue.story = dialogue.story.replying(question, kind, choice=place)
        said = "" if place is None else question.choices[place].text
        dialogue.told += [said] if said else []
        return said

    def _gated(self, dialogue: Dialogue, said: str, at: str) -> None:
        """Let the gate read a text as it reads one that arrives: with the patient's messages before it, then once more."""
        if not said:
            return
        reading = self._gate.reread(said, dialogue.gated, self._gate.read(said, dialogue.gated))
        dialogue.gated.append(said)
        if reading.red_flag is not None and dialogue.escalated is None:
            dialogue.escalated = {"category": reading.red_flag.category, "at": at, "round": len(dialogue.questions)}

    def _quoted(self, dialogue: Dialogue) -> str:
        overview = self._intake.overview(dialogue.story, dialogue.assessment)
        return "\n".join(page.symptom.sentence.text for page in overview.excerpts) if overview is not None else ""


def evaluate_dialogues(
    cases: Sequence[Case],
    open_rounds: Callable[[], Rounds],
    records: RunRecords,
    about: Mapping[str, Any],
    progress: Counted,
) -> dict[str, Any]:
    """Play each case in each way, and let each patient say everything at once.

    Args:
        cases: Who plays.
        open_rounds: Loads who asks; not called if all has been played before.
        records: Keeps each dialogue.
        about: What is told of the run.
        progress: Told how far it is.

    Returns:
        `about`; what `dialogue_figures` makes of the dialogues; and `escalations`, texts that were taken for an emergency.

    Raises:
        RagError: If models or index fail.
    """
    opened = cache(open_rounds)
    played: dict[str, list[dict[str, Any]]] = {way.value: [] for way in Way}
    stories: list[dict[str, Any]] = []
    for number, case in enumerate(cases, start=1):
        for way in Way:
            row = records.once(way.value, case.case_id, lambda case=case, way=way: opened().play(case, way))  # type: ignore[misc]
            played[way.value].append(row)
        stories.append(records.once(_STORY, case.case_id, lambda case=case: opened().tell(case)))  # type: ignore[misc]
        progress("dialogues", number, len(cases))
    return {
        "about": {**about, "cases": len(cases), "fingerprint": records.fingerprint, "records": records.path.name},
        **dialogue_figures(played, stories),
        "escalations": [
            {"id": row["id"], "way": way, **row["escalated"]} for way, rows in played.items() for row in rows if row["escalated"]
        ],
    }


def conditions(cases: Sequence[Case]) -> dict[str, Any]:
    """What of the measuring itself the records depend on."""
    rules = Path(simulated_patient.__file__).read_bytes()
    return {
        "cases_sha256": hashlib.sha256("\n".join(map(repr, cases)).encode()).hexdigest()[:16],
        "patient_sha256": hashlib.sha256(rules).hexdigest()[:16],
        "most_questions": MAX_QUESTIONS,
        "played": _PLAYED,
    }


def _taps(dialogue: Dialogue, question: IntakeQuestion, reply: PatientReply) -> str:
    """Reply by a button; a yes to a red-flag question is read by the gate as the question's own statement."""
    dialogue.story = dialogue.story.replying(question, reply.kind)
    if reply.kind is not ReplyKind.YES:
        return ""
    dialogue.told.append(question.statement)
    return question.statement if question.is_red_flag else ""


def _picks(dialogue: Dialogue, question: IntakeQuestion, place: int, reply: PatientReply, way: Way) -> str:
    """Choose a feature by its button, which the gate reads by its rules alone, or name it and say what there is to say of it."""
    if way is Way.TAPS:
        dialogue.story = dialogue.story.replying(question, ReplyKind.YES, choice=place)
        dialogue.told += question.affirmed((place,))
        return ""
    label = question.choices[place].text
    text = f"{label}. {reply.text}" if reply.kind is ReplyKind.YES else label
    spoken = read_reply(question, text, dialogue.case.language)
    dialogue.story = dialogue.story.replying(question, spoken.kind or ReplyKind.UNSURE, rest=spoken.rest, choice=spoken.chosen)
    dialogue.told.append(text)
    return text


def _writes(dialogue: Dialogue, question: IntakeQuestion, reply: PatientReply) -> str:
    """Reply in own words, read as the intake reads them; what is neither yes nor no is what the patient says beside."""
    spoken = read_reply(question, reply.text, dialogue.case.language)
    dialogue.story = dialogue.story.replying(question, spoken.kind or ReplyKind.UNSURE, rest=spoken.rest)
    dialogue.told.append(reply.text)
    return f"{question.statement}. {reply.text}" if spoken.kind is ReplyKind.YES and question.is_red_flag else reply.text


def _rank(assessment: Assessment, case: Case) -> int | None:
    topics = list(dict.fromkeys(candidate.topic for candidate in assessment.candidates))
    return topics.index(case.condition) + 1 if case.condition in topics else None
