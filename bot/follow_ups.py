"""The buttons under an answer: its proof, the same in fewer and plainer sentences, more of it, and whether it was useful."""

import re
from enum import StrEnum

from channels.messages import Button
from locales.catalog import Catalog
from locales.language import Language

_PAYLOAD = re.compile(r"(?P<kind>[a-z]+):(?P<number>\d{1,18})")


class FollowUp(StrEnum):
    """What a button under an answer asks for; the value begins its payload."""

    PROOF = "proof"
    PLAINER = "plainer"
    MORE = "more"
    USEFUL = "useful"
    USELESS = "useless"


def follow_up_buttons(number: str, language: Language, catalog: Catalog) -> tuple[Button, ...]:
    """The buttons under the answer of this number."""
    return tuple(
        Button(label=catalog.text(language, f"button.{kind.value}"), payload=f"{kind.value}:{number}") for kind in FollowUp
    )


def read_follow_up(payload: str) -> tuple[FollowUp, str] | None:
    """What a tapped button asks for, and the number of its answer; None for another button's payload."""
    found = _PAYLOAD.fullmatch(payload)
    if found is None or found["kind"] not in set(FollowUp):
        return None
    return FollowUp(found["kind"]), found["number"]
