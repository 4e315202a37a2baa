"""Says why a question is not answered; where only a text is wanting, points to one in another language if there surely is one."""

from collections.abc import Callable, Mapping, Sequence

from locales.language import Language
from rag.evidence import EvidenceSelector
from rag.index_reader import IndexReader
from rag.models.protocols import Vectors
from rag.replies import Abstention, AbstentionKind
from rag.signpost import Signpost
from rag.stopwatch import Stopwatch
from rag.types import Hit, Intent, Interpretation

_OF_INTENT = {Intent.OWN_DOSE: AbstentionKind.OWN_DOSE, Intent.READING: AbstentionKind.READING}
_FOR_WANT_OF_TEXT = {AbstentionKind.NO_CONTENT, AbstentionKind.NO_EVIDENCE}


class Refuser:
    """Makes the abstention of a question for which there is no evidence."""

    def __init__(
        self,
        open_reader: Callable[[Language], IndexReader],
        selectors: Mapping[Language, EvidenceSelector],
        similarity_threshold: float,
    ) -> None:
        self._open_reader = open_reader
        self._selectors = selectors
        self._similarity_threshold = similarity_threshold
        self._signpost = Signpost()

    def kind_of(self, interpretation: Interpretation, reader: IndexReader) -> AbstentionKind:
        """Why the pages of the patient's own language do not answer."""
        if interpretation.intent in _OF_INTENT:
            return _OF_INTENT[interpretation.intent]
        return self._selectors[interpretation.language].abstention_kind(interpretation, reader)

    def refuse(
        self,
        kind: AbstentionKind,
        interpretation: Interpretation,
        vectors: Sequence[Vectors],
        watch: Stopwatch,
        hits: Sequence[Hit] = (),
    ) -> Abstention:
        """Say why not, or point to a page.

        Args:
            kind: Why the patient's own language does not answer.
            interpretation: The question understood.
            vectors: The embedded question and expansions, in this order.
            watch: Told the seconds of the stage `other_language`.
            hits: What was found in the patient's own language, if anything could be read there.
        """
        language = interpretation.language
        if kind in _FOR_WANT_OF_TEXT and interpretation.intent not in _OF_INTENT:
            held = frozenset(hit.chunk.topic for hit in hits if hit.chunk.topic)
            with watch.stage("other_language"):
                page = self._signpost.find(interpretation, vectors, self._open_reader, held_topics=held)
            if page is not None and page.similarity >= self._similarity_threshold:
                return Abstention(kind=AbstentionKind.IN_OTHER_LANGUAGE, language=language, sources=(page,))
        return Abstention(kind=kind, language=language)
