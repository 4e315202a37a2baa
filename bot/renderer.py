"""Turns an outcome into the message that a patient reads; the only place where an outcome becomes text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.commands import COUNTRY_PAYLOAD, LANGUAGE_PAYLOAD, MODE_PAYLOAD, OFFERED_COUNTRIES, WIPE_PAYLOAD
from bot.consent import ACCEPT_PAYLOAD, DECLINE_PAYLOAD
from bot.escalation import emergency_line, emergency_numbers_message, escalation_message
from bot.follow_ups import follow_up_buttons
from bot.intake_messages import clarification_message, overview_message
from bot.opening import Opening
from bot.outcomes import Apology, Escalation, Notice, Outcome, Proof, Topic
from bot.proof import proof_message
from bot.safety import Level
from bot.source_address import SourceAddresses
from channels.messages import Button, OutboundLink, OutboundMessage, Platform
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory, LineKind
from locales.language import Language
from rag.documents import Authority, DocumentKind
from rag.replies import Abstention, AbstentionKind, Answer, Clarification, ClarificationKind, Overview, Preface
from rag.types import Mode, Source, SupportedSentence

_EMERGENCY = "{emergency}"
"""Stands in a source's sentence where the reader's own emergency number belongs."""

_NO_VALUES: Mapping[str, str] = {}
_BY_PLATFORM = {Topic.CONSENT, Topic.PRIVACY, Topic.ERASED}
_TELLS_WHO = {Topic.FIRST_CONTACT, Topic.CONSENT, Topic.PRIVACY}
_WITH_HELPLINE = {AbstentionKind.NO_EVIDENCE, AbstentionKind.IN_OTHER_LANGUAGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Whom a message is rendered for."""

    platform: Platform
    country: str | None = None
    is_new: bool = False  # nothing has been said to this patient before
    answer_number: str | None = None  # by which the buttons under this answer know it
    can_delete: bool = False  # the bot can delete messages of this chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """What patients are told of who runs the bot: a person to turn to, and who else computes answers, if anybody does."""

    human_contact: str | None = None
    remote_party: str | None = None


class Renderer:
    """Renders outcomes in both languages."""

    def __init__(
        self,
        catalog: Catalog,
        directory: EmergencyDirectory,
        addresses: SourceAddresses,
        *,
        operator: Operator = Operator(),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._catalog = catalog
        self._operator = operator
        self._directory = directory
        self.addresses = addresses
        self._now = now

    def render(self, outcome: Outcome, reader: Reader, *, about_emergency: bool = False) -> OutboundMessage:
        """The message for an outcome.

        Args:
            outcome: What the turn ended in.
            reader: Whom it is for.
            about_emergency: The question is about a condition that can be an emergency: the number comes first.
        """
        message = self._body(outcome, reader)
        if about_emergency and isinstance(outcome, Answer | Abstention | Clarification | Overview):
            message = self._with_emergency_line(message, outcome.language, reader)
        if message.buttons:
            message = replace(message, buttons_hint=self._catalog.text(outcome.language, "button.hint"))
        return message

    def begin(self, opening: Opening, reader: Reader, sentences: Sequence[SupportedSentence]) -> OutboundMessage:
        """An answer as far as it goes, without links and closing; what `render` makes of the whole begins with it."""
        leading = self._leading(opening.language, reader, opening.preface, extractive=opening.extractive)
        message = OutboundMessage(paragraphs=(*leading, self._flow(sentences, opening.language, reader)))
        return self._with_emergency_line(message, opening.language, reader) if opening.about_emergency else message

    def disclaimer(self, answer: Answer, country: str | None) -> tuple[str, ...]:
        """What closes every answer; the second paragraph is there when a source has not been reviewed."""
        closing = self._text(answer.language, "disclaimer", country)
        return closing, *self._unreviewed(answer.sources, answer.language, country)

    def with_number(self, text: str, language: Language, country: str | None) -> str:
        """A source's text with the reader's own emergency number in its place."""
        return text.replace(_EMERGENCY, self._directory.emergency_number(country, language))

    def _body(self, outcome: Outcome, reader: Reader) -> OutboundMessage:
        match outcome:
            case Answer():
                return self._answer(outcome, reader)
            case Abstention():
                return self._abstention(outcome, reader)
            case Clarification():
                return self._clarification(outcome, reader)
            case Overview():
                return self._overview(outcome, reader)
            case Escalation():
                return self._escalation(outcome, reader)
            case Proof():
                return self._proof(outcome, reader)
            case _:
                return self._of_itself(outcome, reader)

    def _of_itself(self, outcome: Notice | Apology, reader: Reader) -> OutboundMessage:
        """What the bot says about itself."""
        return self._notice(outcome, reader) if isinstance(outcome, Notice) else self._apology(outcome, reader)

    def _clarification(self, clarification: Clarification, reader: Reader) -> OutboundMessage:
        if clarification.kind is ClarificationKind.INTAKE:
            return clarification_message(clarification, self._catalog)
        return self._plain(clarification.language, f"clarification.{clarification.kind.value}", reader)

    def _answer(self, answer: Answer, reader: Reader) -> OutboundMessage:
        language = answer.language
        leading = self._leading(language, reader, answer.preface, extractive=answer.extractive)
        hurried = (self._text(language, "hurried_notice", reader.country),) if answer.hurried else ()
        further = tuple(OutboundLink(label=f"{link.title} — {link.publisher}", url=link.url) for link in answer.further_reading)
        return OutboundMessage(
            paragraphs=(*leading, self._flow(answer.sentences, language, reader), *hurried),
            links_heading=self._text(language, "sources_heading", reader.country),
            links=self._source_links(answer.sources, language),
            further_heading=self._text(language, "further_heading", reader.country) if further else "",
            further_links=further,
            closing=self.disclaimer(answer, reader.country),
            buttons=follow_up_buttons(reader.answer_number, language, self._catalog) if reader.answer_number else (),
        )

    def _leading(self, language: Language, reader: Reader, preface: Preface | None, *, extractive: bool) -> tuple[str, ...]:
        """What is said before the sentences of an answer."""
        told = [f"preface.{preface.value}"] if preface is not None else []
        told += ["extractive_notice"] if extractive and reader.is_new else []
        return tuple(self._text(language, key, reader.country) for key in told)

    def _flow(self, sentences: Sequence[SupportedSentence], language: Language, reader: Reader) -> str:
        return _flow([self.with_number(sentence.text, language, reader.country) for sentence in sentences])

    def _apology(self, apology: Apology, reader: Reader) -> OutboundMessage:
        if not apology.shown:
            return self._plain(apology.language, "apology", reader)
        # What has been shown stays, so its sources are named, too.
        used = [item for sentence in apology.shown for item in sentence.evidence]
        sources = {item.chunk.document_id: Source.of(item.chunk, similarity=item.similarity) for item in used}
        key = "stopped.interrupted" if apology.is_wished else "apology.interrupted"
        message = self._plain(apology.language, key, reader)
        return replace(
            message,
            paragraphs=(self._flow(apology.shown, apology.language, reader), *message.paragraphs),
            links_heading=self._text(apology.language, "sources_heading", reader.country),
            links=self._source_links(tuple(sources.values()), apology.language),
            closing=self._unreviewed(tuple(sources.values()), apology.language, reader.country),
        )

    def _proof(self, proof: Proof, reader: Reader) -> OutboundMessage:
        language = proof.language
        return proof_message(
            proof,
            self._catalog,
            self.addresses,
            lambda text: self.with_number(text, language, reader.country),
            lambda source: self._remark(source, language),
        )

    def _overview(self, overview: Overview, reader: Reader) -> OutboundMessage:
        language, country = overview.language, reader.country
        message = overview_message(
            overview, self._catalog, self.addresses, lambda text: self.with_number(text, language, country)
        )
        closing = (self._text(language, "disclaimer", country), *self._unreviewed(overview.sources, language, country))
        return replace(message, closing=closing)

    def _with_emergency_line(self, message: OutboundMessage, language: Language, reader: Reader) -> OutboundMessage:
        line = emergency_line(language, reader.country, self._catalog, self._directory)
        return replace(message, paragraphs=(line, *message.paragraphs), emphasis=True)

    def _unreviewed(self, sources: Sequence[Source], language: Language, country: str | None) -> tuple[str, ...]:
        if not any(source.authority is Authority.DEMONSTRATION for source in sources):
            return ()
        return (self._text(language, "disclaimer.demonstration", country),)

    def _source_links(self, sources: Sequence[Source], language: Language) -> tuple[OutboundLink, ...]:
        return tuple(self.addresses.link(source, self._remark(source, language)) for source in sources)

    def _remark(self, source: Source, language: Language) -> str:
        """What a reader should know of a source beside its name."""
        remarks = []
        if source.kind is DocumentKind.FORUM:
            remarks.append(self._catalog.text(language, "source.forum"))
        if source.language is not language:
            remarks.append(self._in_language(source, language))
        return ", ".join(remarks)

    def _in_language(self, source: Source, language: Language) -> str:
        return self._catalog.text(language, f"source.other_language.{source.language.value}")

    def _abstention(self, abstention: Abstention, reader: Reader) -> OutboundMessage:
        message = self._pointer(abstention, reader) if abstention.sources else self._refusal(abstention, reader)
        lines = self._directory.lines(reader.country, LineKind.NON_URGENT)
        if abstention.kind in _WITH_HELPLINE and lines:
            line = self._catalog.text(abstention.language, "abstention.non_urgent", number=lines[0].number)
            message = replace(message, paragraphs=(*message.paragraphs, line))
        return message

    def _refusal(self, abstention: Abstention, reader: Reader) -> OutboundMessage:
        return self._plain(abstention.language, f"abstention.{abstention.kind.value}", reader)

    def _pointer(self, abstention: Abstention, reader: Reader) -> OutboundMessage:
        """Name the pages in another language: nothing in them is quoted."""
        language, sources = abstention.language, abstention.sources
        values = {"in_which": self._in_language(sources[0], language)}
        key = f"abstention.{abstention.kind.value}"
        return OutboundMessage(
            paragraphs=tuple(self._text(language, key, reader.country, values).split("\n\n")),
            links_heading=self._text(language, f"{key}.heading", reader.country, values),
            links=self._source_links(sources, language),
            closing=self._unreviewed(sources, language, reader.country),
        )

    def _escalation(self, escalation: Escalation, reader: Reader) -> OutboundMessage:
        red_flag = escalation.red_flag
        in_crisis = red_flag.level is Level.CRISIS
        if escalation.repeated and in_crisis and not red_flag.third_person:
            red_flag = replace(red_flag, follow_up=True)
        message = escalation_message(red_flag, escalation.language, reader.country, self._now(), self._catalog, self._directory)
        if escalation.repeated and not in_crisis:
            message = replace(message, paragraphs=message.paragraphs[:1])
        if red_flag.level is Level.ABUSE and reader.can_delete:
            wipe = Button(label=self._catalog.text(escalation.language, "button.wipe"), payload=WIPE_PAYLOAD)
            message = replace(message, buttons=(wipe,))
        return message

    def _notice(self, notice: Notice, reader: Reader) -> OutboundMessage:
        if notice.topic is Topic.EMERGENCY_NUMBERS:
            return emergency_numbers_message(notice.language, reader.country, self._now(), self._catalog, self._directory)
        key = f"{notice.topic.value}.{reader.platform.value}" if notice.topic in _BY_PLATFORM else notice.topic.value
        values = dict(notice.values)
        if "mode" in values:
            values["mode"] = self._catalog.text(notice.language, f"mode.{values['mode']}")
        if "country" in values:
            values["country"] = self._catalog.text(notice.language, f"country.{values['country']}")
        message = self._plain(notice.language, key, reader, **values)
        told = tuple(self._of_operator(notice.language)) if notice.topic in _TELLS_WHO else ()
        return replace(message, paragraphs=(*message.paragraphs, *told), buttons=self._choices(notice))

    def _of_operator(self, language: Language) -> Iterator[str]:
        if self._operator.remote_party:
            yield self._catalog.text(language, "operator.remote_party", party=self._operator.remote_party)
        if self._operator.human_contact:
            yield self._catalog.text(language, "operator.human_contact", contact=self._operator.human_contact)

    def _choices(self, notice: Notice) -> tuple[Button, ...]:
        def button(key: str, payload: str) -> Button:
            return Button(label=self._catalog.text(notice.language, key), payload=payload)

        match notice.topic:
            case Topic.CONSENT | Topic.CONSENT_AGAIN:
                return (button("button.accept", ACCEPT_PAYLOAD), button("button.decline", DECLINE_PAYLOAD))
            case Topic.LANGUAGE_ASK:
                return tuple(button(f"language.{code.value}", LANGUAGE_PAYLOAD + code.value) for code in Language)
            case Topic.MODE_ASK:
                return tuple(button(f"mode.{mode.value}", MODE_PAYLOAD + mode.value) for mode in Mode)
            case Topic.COUNTRY_ASK:
                return tuple(button(f"country.{code}", COUNTRY_PAYLOAD + code) for code in OFFERED_COUNTRIES)
            case _:
                return ()

    def _plain(self, language: Language, key: str, reader: Reader, **values: str) -> OutboundMessage:
        return OutboundMessage(paragraphs=tuple(self._text(language, key, reader.country, values).split("\n\n")))

    def _text(self, language: Language, key: str, country: str | None, values: Mapping[str, str] = _NO_VALUES) -> str:
        number = self._directory.emergency_number(country, language)
        return self._catalog.text(language, key, **{"n": number, **values})


def _flow(sentences: list[str]) -> str:
    """Sentences as running text; one that is a list, or follows one, begins a line of its own."""
    text = ""
    for sentence in sentences:
        ended = sentence if sentence.rstrip().endswith((".", "!", "?", "…", ":", ";", "»", ")")) else f"{sentence.rstrip()}."
        separator = "\n" if "\n" in ended or "\n" in text.rpartition("\n\n")[2] else " "
        text = f"{text}{separator}{ended}" if text else ended
    return text
