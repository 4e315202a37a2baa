"""How far an intake goes."""

from enum import StrEnum


class IntakeMode(StrEnum):
    """Whether questions are asked back, and whether the pages found are then listed.

    Why `FULL` is not the default: docs/intake.md.
    """

    OFF = "off"
    CLARIFY = "clarify"
    FULL = "full"
