"""Puts the questions of the bank to a new version of an index, and fits to it when it answers."""

import hashlib
from collections.abc import Sequence, Set

import numpy as np

from locales.language import Language
from rag.calibration import Calibration, FirstPages, chosen_threshold, fitted_similarity, fitted_weights
from rag.coverage import THRESHOLD, WEIGHTS
from rag.documents import DocumentKind, pages_hash
from rag.expander import Expander, Lexicon
from rag.index_reader import IndexReader
from rag.interpreter import Interpreter
from rag.models.protocols import Embedder, Vectors
from rag.page_judge import JudgedPage, PageJudge
from rag.question_bank import COVERED, OPEN, AnsweredBank, BankQuestion, Labels, bank, pages_on, uncovered_names
from rag.retriever import Retriever
from rag.search import Search
from rag.similarity import best_hits, similarity_signs
from rag.types import Hit, Question

FEWEST_PAGES = 40
"""Pages below which an index is not calibrated."""

_FEWEST_COVERED = 60  # questions of the bank; with fewer, what was fitted to the starter corpus is nearer to the truth
# Questions put to the index: each takes 50 to 100 ms.
_MOST_COVERED, _MOST_OTHERS, _MOST_ELSEWHERE = 300, 300, 120
_MOST_ASKED = 2_000  # questions of the pages themselves; each takes 25 ms to embed
_FIRST_PAGES = 5  # pages of a question that the similarity is fitted to
_SEED = 7


class Calibrator:
    """Calibrates versions of one or more languages, embedded with one embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._interpreter = Interpreter()
        self._expander = Expander({language: Lexicon.load(language) for language in Language})

    def is_current(self, language: Language, reader: IndexReader) -> bool:
        """Whether a version was calibrated itself, as this release does it; it may hold on to what another one left."""
        known = reader.calibration
        if known is None or known.similarity is None or known.digest != _digest(bank(language)):
            return False
        return known.pages == pages_hash(reader.pages())

    def calibrate(self, language: Language, reader: IndexReader) -> Calibration | None:
        """Fit to a version; None for one that is too small, or covers too little of the bank, for figures to mean anything.

        Raises:
            ModelError: If the embedder fails.
        """
        questions, pages = bank(language), reader.pages()
        if len(pages) < FEWEST_PAGES:
            return None
        names = [(page.title, page.synonyms) for page in pages]
        on_topic, labels = pages_on(questions, names, language)
        if (labels == COVERED).sum() < _FEWEST_COVERED:
            return None
        digest = _digest(questions)
        asked = [text for page in pages if page.kind is DocumentKind.ARTICLE for text in page.asked][:_MOST_ASKED]
        of_bank = self._embedded(questions, digest, reader.calibration)
        of_pages = self._embedder.embed_queries(asked) if asked else of_bank[:0]
        known = AnsweredBank(
            vectors=np.concatenate([of_bank, of_pages]),
            labels=np.concatenate([labels, np.full(len(asked), COVERED, dtype=np.int8)]),
            uncovered=uncovered_names(questions, labels, names, language),
        )
        provisional = reader.calibrated(Calibration(weights=WEIGHTS, threshold=THRESHOLD, bank=known, digest=digest))
        signs, is_right, found = [], [], []
        for place in _sample(questions, labels):
            judged, hits = self._judge(language, provisional, questions[place], known, place)
            if judged is not None:
                right_pages = {pages[at].document_id for at in on_topic[place]}
                signs.append(judged.signs)
                is_right.append(judged.document_id in right_pages)
                found.append((best_hits(hits)[:_FIRST_PAGES], right_pages))
        if not any(is_right) or all(is_right):
            return None
        right = np.array(is_right)
        weights = fitted_weights(signs, right)
        threshold = chosen_threshold(weights, signs, right)
        first = [_first_pages(hits, weights.probability(sign), on) for sign, (hits, on) in zip(signs, found, strict=True)]
        return Calibration(
            weights=weights,
            threshold=threshold,
            bank=known,
            digest=digest,
            pages=pages_hash(pages),
            similarity=fitted_similarity(first),
        )

    def _embedded(self, questions: Sequence[BankQuestion], digest: str, live: Calibration | None) -> Vectors:
        """The bank embedded, which takes half a minute, unless the last calibration has it embedded already."""
        if live is not None and live.digest == digest and live.bank.vectors.shape[1] == self._embedder.dimension:
            return live.bank.vectors[: len(questions)]
        return self._embedder.embed_queries([question.text for question in questions])

    def _judge(
        self, language: Language, reader: IndexReader, asked: BankQuestion, answered: AnsweredBank, place: int
    ) -> tuple[JudgedPage | None, Sequence[Hit]]:
        """The page that would answer a question of the bank, and all hits; none where nothing is found at all."""
        interpretation = self._interpreter.interpret(Question(text=asked.text, language=language))
        query = self._expander.expand(interpretation)
        others = [query.question] if query.question != asked.text else []
        vectors = [answered.vectors[place], *self._embedder.embed_queries([*others, *query.expansions])]
        if others:
            vectors = vectors[1:]
        hits = Search(Retriever(lambda _: reader, self._embedder)).find(query, reader, vectors)
        if not hits:
            return None, hits
        judged = PageJudge(language).page(interpretation, hits, reader, vectors[0], expansions=query.expansions, without=place)
        return judged, hits


def _first_pages(hits: Sequence[Hit], coverage: float, right_pages: Set[str]) -> FirstPages:
    return FirstPages(
        signs=similarity_signs(hits, coverage),
        is_right=[hit.chunk.document_id in right_pages for hit in hits],
        is_covered=bool(right_pages),
    )


def _sample(questions: Sequence[BankQuestion], labels: Labels) -> list[int]:
    """Places of the questions that are put to the index: some of each kind, the same for the same bank and index."""
    generator = np.random.default_rng(_SEED)
    places = generator.permutation(len(questions))
    kinds = (
        ([place for place in places if labels[place] == COVERED], _MOST_COVERED),
        ([place for place in places if labels[place] not in (COVERED, OPEN) and questions[place].topic], _MOST_OTHERS),
        ([place for place in places if not questions[place].topic], _MOST_ELSEWHERE),
    )
    return sorted(int(place) for kind, most in kinds for place in kind[:most])


def _digest(questions: Sequence[BankQuestion]) -> str:
    return hashlib.sha256("\n".join(f"{one.topic}\t{one.names}\t{one.text}" for one in questions).encode()).hexdigest()
