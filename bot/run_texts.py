"""How a run is told to administrators: while it goes on, when it has ended, and as an alert."""

from collections.abc import Mapping
from datetime import datetime

from bot.admin_texts import AdminTexts
from channels.messages import OutboundMessage
from ingest.ledger import RunRow, RunStatus
from ingest.report import RunProgress, Step
from locales.language import Language

_FIGURES = ("new", "changed", "moved", "retired", "pages")
_MOST_PROBLEMS = 5
_LONGEST_PROBLEM = 240  # with the most problems, a summary still fits one message of any messenger that can change it


class RunTexts:
    """Words for runs, in one message each."""

    def __init__(self, texts: AdminTexts) -> None:
        self._texts = texts

    def begun(self, language: Language, source_id: str | None, *, full: bool) -> OutboundMessage:
        """A run was started and has nothing to show yet."""
        scope = "all" if source_id is None else "source"
        return self._texts.plain(language, f"begun.{'full' if full else 'update'}.{scope}", source=source_id)

    def under_way(self, language: Language, run: RunRow | None) -> OutboundMessage:
        """Why no second run was started, and how far the first is."""
        told = (self._texts.text(language, "under_way"),)
        return OutboundMessage(paragraphs=told + (self._position(language, run.progress, None) if run else ()))

    def progress(self, language: Language, run: RunRow, eta_s: float | None) -> OutboundMessage:
        """How far a run is."""
        heading = self._texts.text(language, "progress.heading")
        return OutboundMessage(paragraphs=(heading, *self._position(language, run.progress, eta_s)))

    def lost(self, language: Language, *, begun: bool) -> OutboundMessage:
        """The run's process is gone: without a last word if the run had `begun`, else without having begun."""
        return self._texts.plain(language, "ended.lost" if begun else "ended.not_begun")

    def summary(self, language: Language, run: RunRow) -> OutboundMessage:
        """How a run ended and what it did."""
        report = run.report or {}
        paragraphs = [
            self._texts.text(language, f"ended.{run.status.value}"),
            "\n".join(self._figures(language, run, report)),
            "\n".join(self._sources(language, report)),
            "\n".join(self._problems(language, report)),
        ]
        return OutboundMessage(paragraphs=tuple(paragraph for paragraph in paragraphs if paragraph))

    def alert(self, language: Language, run: RunRow) -> OutboundMessage:
        """The same, to administrators who did not ask."""
        heading = self._texts.text(
            language,
            "alert.run",
            moment=self._texts.moment(language, run.started),
            trigger=self._texts.trigger(language, run.trigger),
        )
        return OutboundMessage(paragraphs=(heading, *self.summary(language, run).paragraphs), emphasis=True)

    def overdue(self, language: Language, since: datetime, hours: float, *, ever: bool) -> OutboundMessage:
        """Nothing has succeeded for so long; `ever` is false when nothing did at all."""
        key = "alert.overdue" if ever else "alert.overdue.never"
        values = {"span": self._texts.span(language, hours * 3600), "moment": self._texts.moment(language, since)}
        return OutboundMessage(paragraphs=(self._texts.text(language, key, **values),), emphasis=True)

    def _position(self, language: Language, progress: RunProgress | None, eta_s: float | None) -> tuple[str, ...]:
        if progress is None:
            return (self._texts.text(language, "progress.preparing"),)
        number = self._texts.number
        values = {
            name: number(language, getattr(progress, name)) for name in ("done", "total", "new", "changed", "gone", "failed")
        }
        counted = "counted.of" if progress.total else "counted"
        step = progress.step if progress.step in set(Step) else "other"
        lines = [
            self._subject(language, progress.source),
            self._texts.text(language, counted, what=self._texts.text(language, f"step.{step}"), **values),
            self._texts.text(language, "progress.counts", **values),
        ]
        if eta_s is not None:
            lines.append(self._texts.text(language, "progress.eta", span=self._texts.span(language, eta_s)))
        return ("\n".join(lines),)

    def _subject(self, language: Language, subject: str) -> str:
        """What a step works on: a source, while publishing a language, or pages that were read in an earlier run."""
        if subject in set(Language):
            return self._texts.text(language, "progress.language", name=self._texts.language_name(Language(subject)))
        if " " in subject:  # no source has a space in its id
            return self._texts.text(language, "progress.earlier")
        return self._texts.text(language, "progress.source", source=subject)

    def _figures(self, language: Language, run: RunRow, report: Mapping[str, object]) -> list[str]:
        number = self._texts.number
        lines = []
        for figures in _mappings(report.get("languages")):
            of = figures.get("language")
            counts = {
                name: number(language, _count(figures.get(name))) for name in ("new", "changed", "moved", "retired", "pages")
            }
            if isinstance(of, str) and of in set(Language):
                name = self._texts.language_name(Language(of))
                lines.append(self._texts.text(language, "ended.figures", name=name, **counts))
        if run.status is RunStatus.COMPLETE and not any(_versions(report)):
            lines.append(self._texts.text(language, "ended.nothing_new"))
        if run.ended is not None:
            span = self._texts.span(language, (run.ended - run.started).total_seconds())
            lines.append(self._texts.text(language, "ended.duration", span=span))
        return lines

    def _sources(self, language: Language, report: Mapping[str, object]) -> list[str]:
        found = [(key, list_of_texts(report.get(key))) for key in ("refused_sources", "failed_sources", "refused_publications")]
        return [
            self._texts.text(language, f"ended.{key}", names=", ".join(self._name(name) for name in names))
            for key, names in found
            if names
        ]

    def _name(self, name: str) -> str:
        return self._texts.language_name(Language(name)) if name in set(Language) else name

    def _problems(self, language: Language, report: Mapping[str, object]) -> list[str]:
        problems = list_of_texts(report.get("problems"))
        if not problems:
            return []
        lines = [self._texts.text(language, "ended.problems")]
        lines += [f"* {_shortened(problem)}" for problem in problems[:_MOST_PROBLEMS]]
        if len(problems) > _MOST_PROBLEMS:
            more = self._texts.number(language, len(problems) - _MOST_PROBLEMS)
            lines.append(self._texts.text(language, "ended.more_problems", count=more))
        return lines


def list_of_texts(value: object) -> list[str]:
    """The texts of a list in a stored report; none where it holds something else."""
    return [str(entry) for entry in value] if isinstance(value, list | tuple) else []


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _versions(report: Mapping[str, object]) -> list[object]:
    return [figures.get("published_version") for figures in _mappings(report.get("languages"))]


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _shortened(problem: str) -> str:
    line = " ".join(problem.split())
    return line if len(line) <= _LONGEST_PROBLEM else f"{line[: _LONGEST_PROBLEM - 1]}…"
