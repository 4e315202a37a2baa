"""Counts of what the bot did since it started, for administrators: no text, no identity."""

from collections import Counter
from collections.abc import Mapping

from bot.outcomes import Notice, Outcome, Topic, kind_of
from bot.telemetry import Telemetry
from channels.messages import Platform
from locales.language import Language


class Tally:
    """Turns by language, messenger and kind of outcome, unknown commands, and strangers who tried an administrator's command."""

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        self._telemetry = telemetry or Telemetry()
        self._turns: Counter[tuple[Language, Platform, str]] = Counter()
        self.unknown_commands = 0
        self.admin_attempts = 0

    @property
    def turns(self) -> Mapping[tuple[Language, Platform, str], int]:
        """How many turns ended in each way."""
        return self._turns

    def note(self, outcome: Outcome, platform: Platform) -> None:
        """Count a turn by what it ended in."""
        self._turns[outcome.language, platform, kind_of(outcome)] += 1
        if isinstance(outcome, Notice) and outcome.topic is Topic.UNKNOWN_COMMAND:
            self.unknown_commands += 1
            self._telemetry.event("unknown_command", platform=platform.value)

    def note_admin_attempt(self, platform: Platform) -> None:
        """Count somebody who is no administrator, or writes in a group, and used an administrator's command."""
        self.admin_attempts += 1
        self._telemetry.warning("admin_command_refused", platform=platform.value)
