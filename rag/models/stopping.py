"""Where a completion ends: role markers and stop strings, of which not even a part may be shown."""

import re
from collections.abc import Sequence

# Markers of the chat format, and the invented next turn of a model that plays both sides.
ROLE_MARKERS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "\nUtente:",
    "\nPaziente:",
    "\nAssistente:",
    "\nUsuario:",
    "\nPaciente:",
    "\nAsistente:",
    "\nUser:",
    "\nAssistant:",
)
_SPECIAL = re.compile(
    r"<\|[^<>\n]{0,60}\|>|</?(?:s|think|tool_call|tool_response|start_of_turn|end_of_turn)>|\[/?INST\]", re.IGNORECASE
)


def strip_special(text: str) -> str:
    """`text` of a patient or a source with every chat marker replaced by a space, so that it cannot open a turn of its own.

    A space, not nothing: what stands left and right of a removed marker could join into another one.
    """
    return _SPECIAL.sub(" ", text)


class StopFilter:
    """Passes decoded text on up to the first stop string, keeping back what could be the beginning of one."""

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._stops = tuple(dict.fromkeys(s for s in (*stop, *ROLE_MARKERS) if s))
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """Add decoded `text`; returns what may be shown now. After a stop string, `stopped` is true and nothing more comes."""
        if self.stopped:
            return ""
        text = self._held + text
        ends = [position for stop in self._stops if (position := text.find(stop)) >= 0]
        if ends:
            self.stopped, self._held = True, ""
            return text[: min(ends)]
        keep = self._possible_beginning(text)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was kept back, once the completion has ended without a stop string."""
        held, self._held = self._held, ""
        return held

    def _possible_beginning(self, text: str) -> int:
        longest = 0
        for stop in self._stops:
            for length in range(min(len(stop) - 1, len(text)), longest, -1):
                if text.endswith(stop[:length]):
                    longest = length
                    break
        return longest
