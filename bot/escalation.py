"""The reply to a red flag: the number to call in the first paragraph, and nothing that distracts from calling."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.safety import Level, RedFlag
from channels.messages import Button, OutboundMessage
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory, Line, LineChannel, LineKind
from locales.language import Language

ANSWER_PAYLOAD = "gate:answer"
"""Comes back when a patient says that it is no emergency and wants the question answered."""

_OFFERED = (LineKind.POISON, LineKind.CRISIS, LineKind.VIOLENCE, LineKind.MINORS, LineKind.NON_URGENT)


def emergency_line(language: Language, country: str | None, catalog: Catalog, directory: EmergencyDirectory) -> str:
    """The short line that opens an answer about a condition that can be an emergency."""
    return catalog.text(language, "emergency_line", n=directory.emergency_number(country, language))


def escalation_message(
    red_flag: RedFlag,
    language: Language,
    country: str | None,
    now: datetime,
    catalog: Catalog,
    directory: EmergencyDirectory,
) -> OutboundMessage:
    """Word the reply to a red flag.

    Args:
        red_flag: What the gate saw.
        language: The language to reply in.
        country: ISO 3166 code; None offers the numbers that the language makes likely.
        now: An aware datetime; lines that are closed at this moment in their country are not offered first.
        catalog: The texts.
        directory: The numbers.
    """
    wording = _Wording(language=language, country=country, now=now, catalog=catalog, directory=directory)
    paragraphs = _PARAGRAPHS[red_flag.level](wording, red_flag)
    buttons: tuple[Button, ...] = ()
    if red_flag.level not in (Level.CRISIS, Level.ABUSE):
        buttons = (Button(label=wording.text("button.not_emergency"), payload=ANSWER_PAYLOAD),)
    return OutboundMessage(paragraphs=paragraphs, buttons=buttons, emphasis=True)


def emergency_numbers_message(
    language: Language, country: str | None, now: datetime, catalog: Catalog, directory: EmergencyDirectory
) -> OutboundMessage:
    """The numbers of the patient's country that answer now, the emergency number first; arguments as of `escalation_message`."""
    wording = _Wording(language=language, country=country, now=now, catalog=catalog, directory=directory)
    told = [_with_local_number(wording, wording.text("emergency_numbers"))]
    for kind in _OFFERED:
        lines = wording.open_lines(kind)
        if lines:
            told.append(wording.text(f"emergency_numbers.{kind.value}", lines=lines))
    return OutboundMessage(paragraphs=(*told, wording.text("emergency_numbers.country")), emphasis=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    language: Language
    country: str | None
    now: datetime
    catalog: Catalog
    directory: EmergencyDirectory

    @property
    def n(self) -> str:
        return self.directory.emergency_number(self.country, self.language)

    @property
    def home(self) -> str | None:
        """The country whose help lines are offered: Italian without a country means Italy, Spanish could be any.

        A country that is told but not in the table has none: a line of Rome is of no use in Paris.
        """
        if self.directory.country(self.country):
            return self.country
        return "IT" if self.language is Language.ITALIAN and not self.country else None

    def text(self, key: str, **values: object) -> str:
        text = self.catalog.text(self.language, key, **{"n": self.n, **values})
        return text.replace(": \n", ":\n")  # a list of lines begins a line of its own

    def line(self, line: Line) -> str:
        parts = [line.name.get(self.language, ""), self.text(f"line.{line.channel.value}", number=line.number)]
        parts.append(line.note.get(self.language, ""))
        if line.free:
            parts.append(self.text("line.free"))
        if line.always:
            parts.append(self.text("line.always"))
        elif line.opens and line.closes:
            closes = line.closes.hour or 24
            parts.append(self.text("line.hours", opens=line.opens.hour, closes=closes))
        return ", ".join(part for part in parts if part)

    def open_lines(self, kind: LineKind) -> str:
        """The lines that answer now; in Spanish without a country, one line a country; empty when there is none."""
        if self.home:
            return "; ".join(self.line(line) for line in self.directory.open_lines(self.home, kind, self.now))
        if self.language is Language.ITALIAN or self.country:
            return ""
        rows = []
        for code in self.directory.countries:
            open_lines = self.directory.open_lines(code, kind, self.now)
            if open_lines and self.directory.knows_emergency_number(code) and code != "IT":
                country = self.text(f"country.{code}")
                rows.append("\n" + self.text("line.in_country", country=country, line=self.line(open_lines[0])))
        return ";".join(rows)


def _with_local_number(wording: _Wording, first: str) -> str:
    is_abroad = wording.country is not None or wording.language is Language.SPANISH
    if is_abroad and not wording.directory.knows_emergency_number(wording.country):
        return first + " " + wording.text("escalation.local_number")
    return first


def _call_now(wording: _Wording, red_flag: RedFlag) -> tuple[str, ...]:
    first = _with_local_number(wording, wording.text("escalation.call_now"))
    body = wording.text("escalation.call_now.body_other" if red_flag.third_person else "escalation.call_now.body")
    return (first, body, *_silent(wording))


def _silent(wording: _Wording) -> tuple[str, ...]:
    lines = wording.directory.lines(wording.home, LineKind.EMERGENCY)
    apps = [wording.line(line) for line in lines if line.channel is LineChannel.APP]
    return (wording.text("escalation.call_now.silent", line=apps[0]),) if apps else ()


def _go_today(wording: _Wording, red_flag: RedFlag) -> tuple[str, ...]:
    key = "escalation.go_today.other" if red_flag.third_person else "escalation.go_today"
    return (wording.text(key), wording.text("escalation.go_today.body"))


def _poison(wording: _Wording, _: RedFlag) -> tuple[str, ...]:
    body = wording.text("escalation.poison.body")
    if not wording.home:
        return (wording.text("escalation.poison.emergency"), body)
    adults = wording.open_lines(LineKind.POISON)
    children = wording.directory.open_lines(wording.home, LineKind.POISON_CHILDREN, wording.now)
    if not adults:
        return (wording.text("escalation.poison.emergency"), body)
    rows = [adults, *(wording.text("line.children", line=wording.line(line)) for line in children)]
    return (wording.text("escalation.poison", lines="; ".join(rows)), body)


def _crisis(wording: _Wording, red_flag: RedFlag) -> tuple[str, ...]:
    lines = wording.open_lines(LineKind.CRISIS)
    if red_flag.follow_up:
        return (wording.text("escalation.crisis.follow_up"), *_crisis_lines(wording, lines, "escalation.crisis.lines"))
    if red_flag.third_person:
        first = wording.text("escalation.crisis.other")
        if red_flag.under_way:
            first = wording.text("escalation.crisis.under_way") + " " + first
        minor = _minor(wording, "escalation.crisis.minor_other") if red_flag.minor else ()
        return (first, *_crisis_lines(wording, lines, "escalation.crisis.other_lines"), *minor)
    opening, danger = wording.text("escalation.crisis.opening"), wording.text("escalation.crisis.danger")
    if red_flag.under_way:
        first = wording.text("escalation.crisis.under_way") + " " + opening
    elif lines:
        first = f"{opening} {danger}"
    else:  # at night no line answers: the number that does comes first
        first = f"{danger} {opening}"
    minor = _minor(wording, "escalation.crisis.minor") if red_flag.minor else ()
    offered = _crisis_lines(wording, lines, "escalation.crisis.lines")
    closing = (wording.text("escalation.crisis.trusted"), wording.text("escalation.crisis.closing"))
    # At night the line for minors answers when the others tell only when they open.
    return (first, *(offered + minor if lines else minor + offered), *closing)


def _crisis_lines(wording: _Wording, lines: str, key: str) -> tuple[str, ...]:
    sentences = [wording.text(key, lines=lines)] if lines else []
    known = wording.directory.lines(wording.home, LineKind.CRISIS)
    closed = [line for line in known if line.opens]
    if not lines and closed and closed[0].opens:
        line = f"{closed[0].name.get(wording.language, '')} ({closed[0].number})".strip()
        sentences.append(wording.text("escalation.crisis.closed", line=line, opens=closed[0].opens.hour))
    unknown = [wording.line(line) for line in wording.directory.lines_of_unknown_hours(wording.home, LineKind.CRISIS)]
    if unknown:
        sentences.append(wording.text("escalation.crisis.during_service", lines="; ".join(unknown)))
    return (" ".join(sentences),) if sentences else ()


def _minor(wording: _Wording, key: str) -> tuple[str, ...]:
    lines = wording.open_lines(LineKind.MINORS) if wording.home else ""
    return (wording.text(key, lines=lines),) if lines else ()


def _abuse(wording: _Wording, red_flag: RedFlag) -> tuple[str, ...]:
    if red_flag.minor and not red_flag.third_person:
        return _abused_child(wording, red_flag)
    other = "other_" if red_flag.third_person else ""
    lines = wording.open_lines(LineKind.VIOLENCE)
    if red_flag.minor and wording.home:
        lines = "; ".join(part for part in (wording.open_lines(LineKind.MINORS), lines) if part)
    offered = (wording.text(f"escalation.abuse.{other}lines", lines=lines),) if lines else ()
    fault = wording.text(f"escalation.abuse.{other}no_fault")
    return (_abuse_first(wording, red_flag), *offered, fault, *_care(wording, red_flag), wording.text("escalation.abuse.phone"))


def _abuse_first(wording: _Wording, red_flag: RedFlag) -> str:
    opening, danger = wording.text("escalation.abuse.opening"), wording.text("escalation.abuse.danger")
    if red_flag.third_person:
        other = wording.text("escalation.abuse.other")
        return wording.text("escalation.call_now") + " " + other if red_flag.under_way else other
    if red_flag.under_way:
        return wording.text("escalation.abuse.under_way") + " " + opening
    return f"{opening} {danger}"


def _care(wording: _Wording, red_flag: RedFlag, ending: str = "") -> tuple[str, ...]:
    if red_flag.third_person and (red_flag.sexual_violence or red_flag.strangulation):
        return (wording.text("escalation.abuse.other_care"),)
    kinds = (("sexual_violence", red_flag.sexual_violence), ("strangulation", red_flag.strangulation))
    return tuple(wording.text(f"escalation.abuse.{kind}{ending}") for kind, present in kinds if present)


def _abused_child(wording: _Wording, red_flag: RedFlag) -> tuple[str, ...]:
    known = [
        *wording.directory.open_lines(wording.home, LineKind.MINORS, wording.now),
        *wording.directory.lines_of_unknown_hours(wording.home, LineKind.MINORS),
    ]
    formal = "_usted" if wording.country == "CO" or not known else ""  # in Colombia the formal form is the warm one
    adult = wording.text(f"escalation.abuse.child_adult{formal}")
    care = _care(wording, red_flag, ending="" if formal and wording.language is Language.SPANISH else "_child")
    if not known:
        return (wording.text("escalation.abuse.child_emergency"), adult, *care)
    lines = "; ".join(wording.line(line) for line in known)
    key = "escalation.abuse.child_usted" if formal else "escalation.abuse.child"
    phone = wording.text("escalation.abuse.phone" if formal else "escalation.abuse.phone_child")
    return (wording.text(key, lines=lines), adult, *care, phone)


_PARAGRAPHS: dict[Level, Callable[[_Wording, RedFlag], tuple[str, ...]]] = {
    Level.CALL_NOW: _call_now,
    Level.GO_TODAY: _go_today,
    Level.POISON: _poison,
    Level.CRISIS: _crisis,
    Level.ABUSE: _abuse,
}
