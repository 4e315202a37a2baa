"""How near a text is to a reference, and how much it tells: ROUGE-L, BLEU, greedy matching of vectors, TF-IDF.

The words are the product's own, because the tokenizer that ROUGE brings with it drops every letter with an accent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer
from sacrebleu.metrics.bleu import BLEU
from sklearn.feature_extraction.text import TfidfVectorizer

from locales.language import Language
from rag.models.protocols import Embedder
from rag.text import content_tokens, split_sentences, stem, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How much of a text is in its reference, how much of the reference is in it, and both together; each 0 to 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BleuScore:
    """BLEU of a set of texts, 0 to 100, and its penalty for texts shorter than their references, 0 to 1 (1 is none)."""

    score: float
    brevity_penalty: float


def rouge_l(text: str, reference: str, language: Language) -> Overlap:
    """The longest common subsequence of words (ROUGE-L, Lin 2004)."""
    return _rouge("rougeL", text, reference, language)


def rouge_n(text: str, reference: str, language: Language, n: int) -> Overlap:
    """The runs of `n` words that two texts share (ROUGE-N, Lin 2004)."""
    return _rouge(f"rouge{n}", text, reference, language)


def bleu(texts: Sequence[str], references: Sequence[str], order: int = 4) -> BleuScore:
    """BLEU of all texts together (Papineni 2002), one reference each, as sacreBLEU counts it with its `intl` tokenizer.

    That one also parts “¿” and “«” from words, as its default does not.

    Args:
        texts: What is judged.
        references: Against what, one each.
        order: The longest run of words that is counted; 1 for BLEU-1.
    """
    scored = BLEU(tokenize="intl", max_ngram_order=order).corpus_score(list(texts), [list(references)])
    return BleuScore(score=scored.score, brevity_penalty=scored.bp)


def meteor(text: str, reference: str, language: Language) -> float:
    """METEOR (Banerjee and Lavie 2005), 0 to 1, by equal words and equal stems.

    Its third step, synonyms, is left out: the word net that it looks them up in is one of English words.
    """
    from nltk.translate.meteor_score import single_meteor_score  # two seconds to import

    told = (words(reference, language), words(text, language))
    return float(single_meteor_score(*told, preprocess=str, stemmer=_Stems(language), wordnet=_NoSynonyms()))


def informativeness(texts: Sequence[str], language: Language) -> list[float]:
    """How much each text tells: the sum of its TF-IDF weights, of unit length together, over content words.

    A long text of many different and rare words has a high one. Frequencies are counted over `texts` alone, so figures of
    different sets of texts cannot be compared. A text without content words has 0.
    """
    if not any(content_tokens(text, language) for text in texts):
        return [0.0] * len(texts)
    model = TfidfVectorizer(analyzer=lambda text: content_tokens(text, language))
    return [float(total) for total in np.asarray(model.fit_transform(texts).sum(axis=1)).ravel()]


def informative_difference(one: str, other: str, told_by_one: float, told_by_other: float, language: Language) -> float:
    """What one text tells more than another, less if they say it in the same words: `(1 − ROUGE-L)·(tfidf − tfidf)`."""
    return (1.0 - rouge_l(one, other, language).f1) * (told_by_one - told_by_other)


def embedding_overlap(text: str, reference: str, embedder: Embedder, background: float = 0.0) -> Overlap:
    """Match each sentence to the nearest of the other text, greedily, as BERTScore (Zhang 2020) does with tokens.

    Args:
        text: What is judged; an empty one has 0.
        reference: Against what.
        embedder: Gives the vectors of sentences, as passages.
        background: The cosine of unrelated texts, which becomes 0, as BERTScore rescales by a baseline.
    """
    of_text, of_reference = sentences(text), sentences(reference)
    if not of_text or not of_reference:
        return Overlap(precision=0.0, recall=0.0, f1=0.0)
    cosines = embedder.embed_passages(of_text) @ embedder.embed_passages(of_reference).T
    precision = _rescaled(float(cosines.max(axis=1).mean()), background)
    recall = _rescaled(float(cosines.max(axis=0).mean()), background)
    total = precision + recall
    return Overlap(precision=precision, recall=recall, f1=2 * precision * recall / total if total > 0 else 0.0)


def sentences(text: str) -> list[str]:
    """The sentences of a text, list items each for itself, headings left out."""
    prose = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [prose[start:end] for start, end in split_sentences(prose)]


def _rescaled(cosine: float, background: float) -> float:
    return max(0.0, (cosine - background) / (1.0 - background))


def _rouge(kind: str, text: str, reference: str, language: Language) -> Overlap:
    scored = RougeScorer([kind], tokenizer=_Words(language)).score(reference, text)[kind]
    return Overlap(precision=scored.precision, recall=scored.recall, f1=scored.fmeasure)


class _Words(Tokenizer):  # type: ignore[misc]  # the library has no types
    def __init__(self, language: Language) -> None:
        self._language = language

    def tokenize(self, text: str) -> list[str]:
        return words(text, self._language)


@dataclass(frozen=True, slots=True)
class _Stems:
    """As NLTK asks for a stemmer."""

    language: Language

    def stem(self, word: str) -> str:
        return stem(word, self.language)


class _NoSynonyms:
    """As NLTK asks for a word net."""

    def synsets(self, word: str) -> tuple[()]:  # noqa: ARG002 - NLTK's own signature
        return ()
