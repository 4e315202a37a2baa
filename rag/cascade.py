"""The stages that the generator works in, in their order: score evidence, sum up, write, and align what it wrote."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext

from locales.language import Language
from rag.composer import Composer, joinable
from rag.errors import Cancelled, DeadlineExceeded, ModelError
from rag.models.protocols import Budget, LanguageModel, Usage
from rag.reformulator import Reformulator
from rag.scorer import EvidenceScorer, ungraded
from rag.stopwatch import Stopwatch
from rag.summarizer import Summarizer
from rag.types import Draft, Evidence, GradedEvidence, Interpretation, Mode, Query
from rag.writer import Writer

_CALM = 0.5  # of the newest run, against those before it, in what a stage is expected to take
_FORGETTING = 0.9  # of what a stage that was left out is expected to take: a slow hour must not switch it off for good
_BY_RETRIEVAL = 5  # sentences kept without grades: the opening, and two pairs
_PAIRS = 2  # sentences written by a precise answer after its summaries
# Sentences of one page that are summed up; fewer are joined in pairs. Three summed up by the 1.5B starter model came out copied:
# an answer in five held a written sentence, instead of nine in ten (docs/adr/0023).
_WORTH_SUMMING_UP = 5


class Cascade:
    """Drafts answers with a generator, stage by stage, within one budget.

    A stage that will probably not end in time is left out. So is one whose result could change nothing: five candidates, which
    all find room, are not graded, a few sentences of a page are not summed up, and what is said is not written again.

    Args:
        language_model: The generator.
        grades: Whether its grades of evidence are worth having; without them the order of retrieval stands.
    """

    def __init__(self, language_model: LanguageModel, *, grades: bool = True) -> None:
        self._model = language_model
        self._reformulator = Reformulator(language_model)
        self._scorer = EvidenceScorer(language_model) if grades else None
        self._summarizer = Summarizer(language_model)
        self._writer = Writer(language_model)
        self._usual_s: dict[str, float] = {}

    @property
    def generator_name(self) -> str:
        """The name of the generator."""
        return self._model.name

    def warm(self, language: Language, mode: Mode = Mode.FAST) -> None:
        """Evaluate the static part of the prompts of a mode now, so that the first patient does not wait for it."""
        self._writer.warm(language)
        if mode is Mode.PRECISE:
            self._reformulator.warm(language)
            self._summarizer.warm(language)

    def reformulate(self, query: Query, budget: Budget, watch: Stopwatch) -> Query:
        """The query with the message in clinical words as one more expansion, if there is time for it.

        Raises:
            Cancelled: If `budget.cancelled()` became true.
        """
        if not self._in_time("reformulate", budget):
            return query
        usage, begun = Usage(), time.monotonic()
        try:
            return self._reformulator.reformulate(query, budget, usage)
        finally:
            self._note("reformulate", time.monotonic() - begun, watch)
            _add(usage, watch)

    def compose(self, composer: Composer, interpretation: Interpretation, mode: Mode, budget: Budget, watch: Stopwatch) -> bool:
        """Draft what comes after the opening; whatever the generator does, nothing unsupported is shown.

        Returns:
            True when time did not suffice for the generator.

        Raises:
            Cancelled: If `budget.cancelled()` became true.
        """
        usage = Usage()
        try:
            with self._model.holding() if mode is Mode.PRECISE else nullcontext():
                if mode is Mode.PRECISE:
                    return self._precise(composer, interpretation, budget, usage, watch)
                return self._write(composer, interpretation, joinable(composer.evidence[1:]), budget, usage, watch)
        except Cancelled:
            raise
        except DeadlineExceeded:
            return True
        except ModelError:
            watch.mark("writing_failed")
            return False
        finally:
            _add(usage, watch)

    def _precise(
        self, composer: Composer, interpretation: Interpretation, budget: Budget, usage: Usage, watch: Stopwatch
    ) -> bool:
        graded = self._graded(composer.evidence, interpretation, budget, usage, watch)
        composer.prefer(graded.kept)
        wanted = composer.unsaid(graded.kept)
        if _worth_summing_up(wanted) and self._in_time("summarise", budget):
            drafts = self._summarizer.drafts(graded, wanted, interpretation.language, budget=budget, usage=usage)
            self._take(composer, drafts, wanted, "summarise", watch)
        tried: set[tuple[str, int]] = set()
        for _ in range(_PAIRS):
            pair = joinable([item for item in composer.unsaid(graded.kept) if item.place not in tried])
            if composer.says_enough or not pair:
                return False
            if self._write(composer, interpretation, pair, budget, usage, watch):
                return True
            tried |= {item.place for item in pair}
        return False

    def _graded(
        self, evidence: Sequence[Evidence], interpretation: Interpretation, budget: Budget, usage: Usage, watch: Stopwatch
    ) -> GradedEvidence:
        question, language = interpretation.self_contained, interpretation.language
        best = evidence[:_BY_RETRIEVAL]
        if self._scorer is None or len(evidence) <= len(best) or not self._in_time("score", budget):
            return ungraded(question, best, language)
        begun = time.monotonic()
        try:
            return self._scorer.score(question, evidence, language, budget=budget, usage=usage)
        except (Cancelled, DeadlineExceeded):
            raise
        except ModelError:  # the order of retrieval stands
            return ungraded(question, best, language)
        finally:
            self._note("score", time.monotonic() - begun, watch)

    def _write(
        self,
        composer: Composer,
        interpretation: Interpretation,
        material: Sequence[Evidence],
        budget: Budget,
        usage: Usage,
        watch: Stopwatch,
    ) -> bool:
        """Let the generator join `material`; returns True when time did not suffice."""
        if not material:
            return False
        for briefly in (False, True):
            if not self._in_time("write", budget):
                return True
            drafts = self._writer.drafts(
                interpretation.self_contained, material, interpretation.language, budget=budget, usage=usage, briefly=briefly
            )
            if not self._take(composer, drafts, material, "write", watch):
                break
        return False

    def _take(
        self, composer: Composer, drafts: Iterator[Draft], material: Sequence[Evidence], stage: str, watch: Stopwatch
    ) -> bool:
        """Align drafts as they come; the seconds of the generator and those of the aligner are told apart."""
        written = 0.0

        def timed() -> Iterable[Draft]:
            nonlocal written
            while True:
                begun = time.monotonic()
                try:
                    draft = next(drafts, None)
                finally:
                    written += time.monotonic() - begun
                if draft is None:
                    return
                yield draft

        begun = time.monotonic()
        try:
            return composer.take(timed(), material)
        finally:
            if isinstance(drafts, Generator):
                drafts.close()  # a completion that is not read to its end holds the model
            watch.add("align", time.monotonic() - begun - written)
            self._note(stage, written, watch)

    def _in_time(self, stage: str, budget: Budget) -> bool:
        """Whether a stage will probably end before the deadline, by what it has taken so far."""
        fits = time.monotonic() + self._usual_s.get(stage, 0.0) < budget.deadline
        if not fits and stage in self._usual_s:
            self._usual_s[stage] *= _FORGETTING
        return fits

    def _note(self, stage: str, seconds: float, watch: Stopwatch) -> None:
        watch.add(stage, seconds)
        usual = self._usual_s.get(stage, seconds)
        self._usual_s[stage] = usual + _CALM * (seconds - usual)


def _worth_summing_up(wanted: Sequence[Evidence]) -> bool:
    pages = [item.chunk.document_id for item in wanted]
    return len(set(pages)) > 1 or len(pages) >= _WORTH_SUMMING_UP


def _add(usage: Usage, watch: Stopwatch) -> None:
    watch.add("prefill", usage.prefill_s)
    watch.add("decode", usage.decode_s)
