"""Everything that a turn can end in. Outcomes are values; the renderer matches them all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from bot.safety import RedFlag
from locales.language import Language
from rag.replies import Abstention, Answer, Clarification, Courtesy, Overview, Reply
from rag.types import SupportedSentence


class Topic(StrEnum):
    """What a notice says; the value is its key in the catalog."""

    GREETING = "courtesy.greeting"
    THANKS = "courtesy.thanks"
    ABOUT = "courtesy.about"
    OTHER_LANGUAGE = "courtesy.other_language"
    FIRST_CONTACT = "first_contact"
    CONSENT = "consent"
    CONSENT_AGAIN = "consent.again"
    CONSENT_GIVEN = "consent.given"
    CONSENT_DECLINED = "consent.declined"
    OPTED_OUT = "opted_out"
    START = "start"
    HELP = "help"
    PRIVACY = "privacy"
    ERASED = "erased"
    NEW_SESSION = "new_session"
    LANGUAGE_ASK = "language_ask"
    LANGUAGE_SET = "language_set"
    MODE_ASK = "mode_ask"
    MODE_SET = "mode_set"
    COUNTRY_ASK = "country_ask"
    COUNTRY_SET = "country_set"
    COUNTRY_SET_OTHER = "country_set.other"
    UNKNOWN_COMMAND = "unknown_command"
    ONLY_TEXT = "only_text"
    TOO_LONG = "too_long"
    SLOW_DOWN = "slow_down"
    QUEUE_POSITION = "queue_position"
    BUSY = "busy"
    PROOF = "proof"
    PROOF_GONE = "proof.gone"
    STOPPED = "stopped"
    NOTHING_RUNS = "stopped.nothing"
    LIMITED = "limited"
    FEEDBACK = "feedback"
    NO_PLAINER = "no_plainer"
    NO_MORE = "no_more"
    EMERGENCY_NUMBERS = "emergency_numbers"
    ABUSE_IN_GROUP = "abuse_in_group"
    MESSAGES_DELETED = "messages_deleted"
    MESSAGES_KEPT = "messages_kept"
    SEARCHING = "searching"


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """A red flag was read in the patient's words: the reply says whom to call, now."""

    red_flag: RedFlag
    language: Language
    repeated: bool = False  # the same category was escalated in this session minutes ago


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The bot speaks about itself; nothing in it needs evidence."""

    topic: Topic
    language: Language
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apology:
    """The question was not answered, or not to its end: `shown` are the sentences that were there before.

    Something broke, unless the patient wished it (`is_wished`).
    """

    language: Language
    shown: tuple[SupportedSentence, ...] = ()
    is_wished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Where each sentence of the last answer comes from.

    `fetched_on` tells, by document, when a page was read whose date of review is not known.
    """

    answer: Answer
    fetched_on: Mapping[str, date] = field(default_factory=dict)

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return self.answer.language


Outcome = Answer | Clarification | Abstention | Overview | Escalation | Notice | Apology | Proof


def from_reply(reply: Reply) -> Outcome:
    """The outcome that a reply of the answering line amounts to."""
    if isinstance(reply, Courtesy):
        return Notice(topic=Topic(f"courtesy.{reply.kind.value}"), language=reply.language)
    return reply


def kind_of(outcome: Outcome) -> str:
    """The word for an outcome in the command line's JSON and in the log: its name in lower case."""
    return type(outcome).__name__.lower()
