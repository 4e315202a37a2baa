"""Two hundred patients write at the same moment: `python -m tests.load.webhooks [--users N] [--real]`.

Three bursts: first words, questions while the generator is busy (a fifth of them delivered twice), and three questions each
in a row. Exit status 1 if a message was refused, lost, answered twice or out of order; slowness is only told.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from locales.language import Language
from tests.doubles import BotApiDouble, TwilioDouble
from tests.load.bot_process import BotProcess, running_bot
from tests.load.burst import Acknowledgement, Burst, milliseconds
from tests.load.home import own_home
from tests.load.patients import Delivery, Inbox, Patient, address_of, asks_for_consent, kinds

ASKED_P99_MS = 200.0
_STUB_DELAY_S = 0.5
_TWICE = 5  # every fifth message is delivered twice
_QUIET_S = 4.0  # longer than any pause of a bot that has not finished
_APART_S = 2.5  # between two questions of one patient: longer than what is read as one message
_HELLO = {Language.ITALIAN: "Buongiorno", Language.SPANISH: "Buenos días"}
# Each with the title of the page that answers it.
QUESTIONS = {
    Language.ITALIAN: (
        ("Quanto dura l'influenza?", "Influenza"),
        ("Che cos'è l'asma?", "Asma"),
        ("Quali sono le cause della pressione alta?", "Pressione alta"),
    ),
    Language.SPANISH: (
        ("¿Cuánto dura la gripe?", "Gripe"),
        ("¿Qué es el asma?", "Asma"),
        ("¿Cuáles son las causas de la tensión alta?", "Presión arterial alta"),
    ),
}
_SETTINGS: dict[str, object] = {"whatsapp_pace_s": 0}  # the double takes as many a second as it gets
_SERVED = frozenset({"answer", "busy", "slow_down", "apology", "other"})
_ANY_KIND = _SERVED | {"queue_position", "searching"}

OUT = Console(soft_wrap=True)


@dataclass
class Report:
    """What was measured, and what went wrong."""

    rows: list[tuple[str, dict[str, float], dict[str, float]]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def note(self, name: str, sent: Sequence[Acknowledgement], baseline: Sequence[Acknowledgement]) -> None:
        self.rows.append((name, milliseconds(sent), milliseconds(baseline)))
        refused = Counter(each.status for each in sent if not 200 <= each.status < 300)
        if refused:
            self.faults.append(f"{name}: not acknowledged: {dict(refused)}")

    def expect(self, name: str, what: str, numbers: Sequence[int]) -> None:
        """Note a fault if any patient is concerned."""
        OUT.print(f"{name}: {what}: {len(numbers)}")
        if numbers:
            self.faults.append(f"{name}: {what}: {len(numbers)} (patients {list(numbers)[:5]}…)")


@dataclass
class Scene:
    """A bot, its patients, and the two sides of the wire."""

    bot: BotProcess
    inbox: Inbox
    burst: Burst
    patients: Sequence[Patient]
    report: Report

    async def post(self, name: str, deliveries: Sequence[Delivery]) -> None:
        """Post everything at once, and the same number of requests for an empty page just before."""
        baseline = await self.burst.baseline(self.bot.url, len(deliveries))
        self.report.note(name, await self.burst.post(self.bot.url, deliveries), baseline)

    async def quiet(self, within_s: float) -> None:
        """Wait until nothing has been sent or changed for a while."""
        until, seen, since = time.monotonic() + within_s, -1, time.monotonic()
        while time.monotonic() < until and time.monotonic() - since < _QUIET_S:
            if seen != self.inbox.activity:
                seen, since = self.inbox.activity, time.monotonic()
            await asyncio.sleep(0.1)

    async def heard(self, before: dict[Patient, int], within_s: float, *, of: frozenset[str] = _ANY_KIND) -> None:
        """Wait until everybody has got something of these kinds since then, and then until it is quiet."""
        until = time.monotonic() + within_s
        while time.monotonic() < until and not all(of & set(found) for found in self.new(before).values()):
            await asyncio.sleep(0.5)
        await self.quiet(within_s)

    def new(self, before: dict[Patient, int]) -> dict[Patient, list[str]]:
        """The kinds of what each patient got since then."""
        texts = self.inbox.by_address()
        return {who: kinds(texts.get(address_of(who), [])[before[who] :]) for who in self.patients}

    def seen(self) -> dict[Patient, int]:
        """How many messages each patient has on the screen."""
        texts = self.inbox.by_address()
        return {who: len(texts.get(address_of(who), [])) for who in self.patients}


async def meet(scene: Scene) -> None:
    """Everybody writes for the first time; who is asked for consent gives it."""
    await scene.post("first words", [who.writes(_HELLO[who.language]) for who in scene.patients])
    await scene.heard(dict.fromkeys(scene.patients, 0), 120)
    silent = [who.number for who in scene.patients if not scene.inbox.texts(who)]
    scene.report.expect("first words", "patients without a reply", silent)
    asked = [who for who in scene.patients if asks_for_consent(scene.inbox.texts(who))]
    if asked:
        before = scene.seen()
        await scene.post("consent", [who.accepts() for who in asked])
        await scene.heard(before, 120)


async def ask_at_once(scene: Scene, stranger: Patient) -> None:
    """Everybody asks one question while the generator works; a fifth of the messages comes twice."""
    for delivery in (stranger.writes(_HELLO[stranger.language]), stranger.accepts()):
        await scene.burst.post(scene.bot.url, [delivery])
        await scene.quiet(30)
    before = scene.seen()
    await scene.burst.post(scene.bot.url, [stranger.writes(QUESTIONS[stranger.language][0][0])])
    deliveries = [who.writes(_question(who, who.number)[0]) for who in scene.patients]
    await scene.post("questions", deliveries + deliveries[::_TWICE])
    await scene.heard(before, 300, of=_SERVED)
    got = {who: Counter(found) for who, found in scene.new(before).items()}
    OUT.print("questions: replies:", dict(sum(got.values(), Counter())))
    scene.report.expect("questions", "patients without answer or busy sentence", _those(got, lambda n: not _SERVED & set(n)))
    double = _those(got, lambda n: n["answer"] + n["busy"] + n["apology"] > 1)
    scene.report.expect("questions", "patients answered twice", double)


async def ask_in_a_row(scene: Scene) -> None:
    """Everybody asks three questions, one after the other, faster than they are answered."""
    before = scene.seen()
    for turn in range(3):
        await scene.post(f"question {turn + 1} of 3", [who.writes(_question(who, turn)[0]) for who in scene.patients])
        await asyncio.sleep(_APART_S)
    await scene.heard(before, 600, of=_SERVED)
    titles = {who: _titles(who, scene.inbox.texts(who)[before[who] :]) for who in scene.patients}
    wanted = {language: [title for _, title in questions] for language, questions in QUESTIONS.items()}
    lost = [who.number for who, found in titles.items() if len(found) < 3]
    scene.report.expect("in a row", "patients with fewer than three answers", lost)
    scene.report.expect("in a row", "patients with more", [who.number for who, found in titles.items() if len(found) > 3])
    mixed = [who.number for who, found in titles.items() if len(found) == 3 and found != wanted[who.language]]
    scene.report.expect("in a row", "patients whose order was not kept", mixed)


def _those(got: dict[Patient, Counter[str]], is_so: Callable[[Counter[str]], bool]) -> list[int]:
    return [who.number for who, numbers in got.items() if is_so(numbers)]


def _question(patient: Patient, turn: int) -> tuple[str, str]:
    questions = QUESTIONS[patient.language]
    return questions[turn % len(questions)]


def _titles(patient: Patient, texts: Sequence[str]) -> list[str]:
    """Which pages the answers name as their source, in order."""
    answers = [text for text, kind in zip(texts, kinds(texts), strict=True) if kind == "answer"]
    return [_title(patient, text) for text in answers]


def _title(patient: Patient, text: str) -> str:
    heading = "Fuentes" if patient.language is Language.SPANISH else "Fonti"
    below = text.rpartition(heading)[2].casefold()
    return next((title for _, title in QUESTIONS[patient.language] if title.casefold() in below), "?")


@asynccontextmanager
async def scene(users: int, report: Report, *, real: bool, **settings: object) -> AsyncIterator[Scene]:
    delay_s = None if real else _STUB_DELAY_S
    async with BotApiDouble() as telegram, TwilioDouble() as twilio:
        with own_home() as home, Burst() as burst:
            async with running_bot(home, telegram, twilio, stub_delay_s=delay_s, settings=settings | _SETTINGS) as bot:
                yield Scene(bot, Inbox(telegram, twilio), burst, [Patient(number) for number in range(users)], report)


async def measure(users: int, *, real: bool) -> Report:
    """Play the three scenes."""
    report = Report()
    async with scene(users, report, real=real) as playing:
        await meet(playing)
        await ask_at_once(playing, Patient(users + 1_000))
        tell_trouble(playing)
        OUT.print(f"memory of the bot: {playing.bot.memory_bytes('VmHWM') / 2**20:.0f} MB at most")
    async with scene(users, report, real=real, queue_limit=3 * users, total_limit=1_000_000) as playing:
        await meet(playing)
        await ask_in_a_row(playing)
        tell_trouble(playing)
    return report


def tell_trouble(playing: Scene) -> None:
    """Print what the bot logged as gone wrong, and how often."""
    failed = [event for event in playing.bot.events if event.get("level") in ("warning", "error")]
    for words, number in Counter(f"{one['event']} {one.get('error', '')} {one.get('where', '')}" for one in failed).items():
        OUT.print(f"the bot's log: {number} times {words}")


def tell(report: Report, *, real: bool) -> bool:
    """Print the table; true when nothing went wrong."""
    table = Table(title=f"Acknowledgements, ms, {'real' if real else 'scripted'} generator (asked: p99 ≤ {ASKED_P99_MS:.0f})")
    for heading in ("burst", "p50", "p99", "max", "empty page p50", "p99", "max", "p99 to p99"):
        table.add_column(heading, justify="left" if heading == "burst" else "right")
    for name, own, base in report.rows:
        figures = [f"{value:.0f}" for value in (*own.values(), *base.values())]
        table.add_row(name, *figures, f"{own['p99'] / base['p99']:.1f}")
    OUT.print(table)
    slow = [name for name, own, _ in report.rows if own["p99"] > ASKED_P99_MS]
    if slow:
        OUT.print(f"[yellow]Slower than asked on this machine at this moment: {', '.join(slow)}.[/yellow]")
    for fault in report.faults:
        OUT.print(f"[red]{fault}[/red]")
    return not report.faults


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--real", action="store_true", help="with the small real generator")
    wanted = parser.parse_args()
    report = asyncio.run(measure(wanted.users, real=wanted.real))
    sys.exit(0 if tell(report, real=wanted.real) else 1)


if __name__ == "__main__":
    main()
