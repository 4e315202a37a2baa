"""What administrators read: figures, dates and lists in their language. Patients' texts are the renderer's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from babel.dates import format_datetime, format_timedelta
from babel.numbers import format_decimal

from bot.metrics import Metrics
from channels.messages import Button, OutboundMessage
from ingest.ledger import PublishedIndex, RunRow, SourceState
from ingest.sources import SourceRow
from locales.catalog import Catalog
from locales.language import Language

CONFIRM_PAYLOAD = "admin:confirm:"
DISMISS_PAYLOAD = "admin:dismiss:"

_MOMENT = {Language.ITALIAN: "d MMMM y, 'ore' HH:mm", Language.SPANISH: "d 'de' MMMM 'de' y, HH:mm 'h'"}
_SHOWN_APART = ("answer", "abstention", "escalation")  # outcomes that are counted by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the bot and its knowledge stand at a moment."""

    publications: Mapping[Language, PublishedIndex]
    pages: Mapping[tuple[str, Language], int]
    latest: RunRow | None
    is_running: bool  # in this process
    next_run: datetime | None
    missed: datetime | None
    queue: int
    uptime_s: float


class AdminTexts:
    """Words, dates and numbers for administrators.

    Args:
        catalog: All texts; the administrators' begin with "admin.".
        zone: In which dates are told.
    """

    def __init__(self, catalog: Catalog, zone: tzinfo = UTC) -> None:
        self._catalog = catalog
        self._zone = zone

    def text(self, language: Language, key: str, **values: object) -> str:
        """One text; the key is given without "admin."."""
        return self._catalog.text(language, f"admin.{key}", **values)

    def trigger(self, language: Language, trigger: str) -> str:
        """Who began a run."""
        known = f"admin.trigger.{trigger}" in self._catalog.keys(language)
        return self.text(language, f"trigger.{trigger if known else 'other'}")

    def plain(self, language: Language, key: str, **values: object) -> OutboundMessage:
        """A message of one text."""
        return OutboundMessage(paragraphs=(self.text(language, key, **values),))

    def language_name(self, language: Language) -> str:
        """A language by its own name."""
        return self._catalog.text(language, f"language.{language.value}")

    def moment(self, language: Language, moment: datetime) -> str:
        """A date with its time, as people write it."""
        return format_datetime(moment, _MOMENT[language], tzinfo=self._zone, locale=language.value)

    def short_moment(self, language: Language, moment: datetime) -> str:
        """The same in figures, for a narrow column: it is not broken over two lines."""
        return format_datetime(moment, "short", tzinfo=self._zone, locale=language.value).replace(" ", "\N{NO-BREAK SPACE}")

    def span(self, language: Language, seconds: float) -> str:
        """A length of time, rounded to one unit."""
        return format_timedelta(timedelta(seconds=max(round(seconds), 0)), threshold=2, locale=language.value)

    def number(self, language: Language, number: int) -> str:
        """A number with the separators of the language."""
        return format_decimal(number, locale=language.value)

    def confirmation(self, language: Language, source_id: str | None, token: str) -> OutboundMessage:
        """The question before a full rebuild, with its two buttons."""
        key = "confirm.all" if source_id is None else "confirm.source"
        return OutboundMessage(
            paragraphs=(self.text(language, key, source=source_id),),
            buttons=(
                Button(label=self.text(language, "confirm.yes"), payload=CONFIRM_PAYLOAD + token),
                Button(label=self.text(language, "confirm.no"), payload=DISMISS_PAYLOAD + token),
            ),
            buttons_hint=self._catalog.text(language, "button.hint"),
        )

    def status(self, language: Language, standing: Standing, now: datetime) -> OutboundMessage:
        """How everything stands."""
        return OutboundMessage(
            paragraphs=(
                self.text(language, "status.heading"),
                "\n".join(self._index_line(language, of, standing.publications.get(of), now) for of in Language),
                *(self._pages(language, of, standing.pages) for of in Language),
                "\n".join(self._run_lines(language, standing)),
                self.text(
                    language,
                    "status.process",
                    queue=self.number(language, standing.queue),
                    span=self.span(language, standing.uptime_s),
                ),
            )
        )

    def sources(
        self, language: Language, rows: Sequence[SourceRow], states: Mapping[str, SourceState], pages: Mapping[str, int]
    ) -> OutboundMessage:
        """Every configured source, and whether the next run reads it."""
        lines = [self._source_line(language, row, states.get(row.id), pages.get(row.id, 0)) for row in rows]
        return OutboundMessage(
            paragraphs=(self.text(language, "sources.heading"), "\n".join(lines), self.text(language, "sources.usage"))
        )

    def stats(self, language: Language, metrics: Metrics, uptime_s: float) -> OutboundMessage:
        """What was counted since the start."""
        counts: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for (of, platform, kind), count in metrics.turns.items():
            counts[self.language_name(of), self.text(language, f"platform.{platform.value}")][kind] = count
        lines = [self._stats_line(language, *key, kinds) for key, kinds in sorted(counts.items())]
        total = self.number(language, sum(metrics.turns.values()))
        return OutboundMessage(
            paragraphs=(
                self.text(language, "stats.heading", span=self.span(language, uptime_s), count=total),
                *(["\n".join(lines)] if lines else []),
                self.text(
                    language,
                    "stats.commands",
                    unknown=self.number(language, metrics.unknown_commands),
                    refused=self.number(language, metrics.admin_attempts),
                ),
            )
        )

    def _index_line(self, language: Language, of: Language, index: PublishedIndex | None, now: datetime) -> str:
        if index is None:
            return self.text(language, "status.no_index", name=self.language_name(of))
        return self.text(
            language,
            "status.index",
            name=self.language_name(of),
            version=self.number(language, index.version),
            moment=self.moment(language, index.published_at),
            span=self.span(language, (now - index.published_at).total_seconds()),
        )

    def _pages(self, language: Language, of: Language, pages: Mapping[tuple[str, Language], int]) -> str:
        mine = sorted((source_id, count) for (source_id, its_language), count in pages.items() if its_language is of)
        total = self.number(language, sum(count for _, count in mine))
        heading = self.text(language, "status.pages", name=self.language_name(of), count=total)
        return "\n".join((heading, *(f"* {source_id}: {self.number(language, count)}" for source_id, count in mine)))

    def _run_lines(self, language: Language, standing: Standing) -> list[str]:
        run, lines = standing.latest, []
        if run is None:
            lines.append(self.text(language, "status.no_run"))
        else:
            running = run.ended is None
            state = "elsewhere" if running and not standing.is_running else run.status.value
            lines.append(
                self.text(
                    language,
                    "status.run",
                    moment=self.moment(language, run.started),
                    trigger=self.trigger(language, run.trigger),
                    state=self.text(language, f"state.{state}"),
                )
            )
        if standing.next_run is None:
            lines.append(self.text(language, "status.no_next"))
        else:
            lines.append(self.text(language, "status.next", moment=self.moment(language, standing.next_run)))
        if standing.missed is not None:
            lines.append(self.text(language, "status.missed", moment=self.moment(language, standing.missed)))
        return lines

    def _source_line(self, language: Language, row: SourceRow, state: SourceState | None, pages: int) -> str:
        line = self.text(
            language,
            "sources.line",
            source=row.id,
            publisher=row.publisher,
            state=self.text(language, "sources.on" if is_enabled(row, state) else "sources.off"),
            count=self.number(language, pages),
        )
        if state is not None and state.read_at is not None:
            line += self.text(language, "sources.read", moment=self.moment(language, state.read_at))
        if state is not None and state.problem:
            line += "\n" + self.text(language, "sources.problem", problem=state.problem)
        return f"* {line}"

    def _stats_line(self, language: Language, of: str, platform: str, kinds: Mapping[str, int]) -> str:
        shown = {kind: self.number(language, kinds.get(kind, 0)) for kind in _SHOWN_APART}
        total = self.number(language, sum(kinds.values()))
        return "* " + self.text(language, "stats.line", name=of, platform=platform, count=total, **shown)


def is_enabled(row: SourceRow, state: SourceState | None) -> bool:
    """Whether the next run reads a source: as an administrator chose, else as its row says."""
    return row.enabled if state is None or state.enabled is None else state.enabled
