"""Recognises a text that stands under a second address, word for word or nearly so."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.documents import Document

_WORD = re.compile(r"\w+")
_SHINGLE_WORDS = 3
_BITS = 64
# Texts of 400 words that differ in one word lie 0 to 3 bits apart; those that differ in a sentence mostly more.
_NEAR_BITS = 3
# Words by which two texts may differ less than in anything else and still say the opposite, or another dose: figures with the
# unit that follows, numbers in words, and negations.
_NUMBERS = """
due tre quattro cinque sei sette otto nove dieci undici dodici quindici venti trenta quaranta cinquanta cento mille
mezzo mezza metà doppio doppia triplo tripla dos cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta
cuarenta cincuenta cien mil medio media mitad doble triple
"""
_NEGATIONS = """
non no mai senza né neppure nemmeno neanche nessun nessuno nessuna nulla niente salvo tranne eccetto nunca jamás sin ni
tampoco ningún ninguno ninguna nada nadie excepto
"""
_TELLING = re.compile(rf"\d+(?:[.,]\d+)*\s?(?:[^\W\d]+|%)?|\b(?:{'|'.join((_NUMBERS + _NEGATIONS).split())})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """A short form of a text: near texts have near `bits`; `telling` is a hash of its figures and negations, title included."""

    bits: int
    telling: str

    def __str__(self) -> str:
        return f"{self.bits:016x}:{self.telling}"

    @classmethod
    def of(cls, document: Document) -> "Fingerprint":
        """The fingerprint of a page (Charikar's simhash over shingles of three words)."""
        words = _WORD.findall(document.text.casefold())
        shingles = {" ".join(words[at : at + _SHINGLE_WORDS]) for at in range(max(len(words) - _SHINGLE_WORDS + 1, 1))}
        digests = [hashlib.blake2b(shingle.encode(), digest_size=8).digest() for shingle in shingles]
        bits = np.unpackbits(np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 8), axis=1)
        majority = np.packbits(bits.sum(axis=0) * 2 > len(digests)).tobytes()
        telling = "|".join([document.title.casefold(), document.kind, *_TELLING.findall(document.text.casefold())])
        return cls(bits=int.from_bytes(majority, "big"), telling=hashlib.blake2b(telling.encode(), digest_size=8).hexdigest())

    @classmethod
    def parse(cls, written: str) -> "Fingerprint":
        """Read what `str` wrote."""
        bits, _, telling = written.partition(":")
        return cls(bits=int(bits, 16), telling=telling)


class DuplicateFinder:
    """Knows the fingerprints of a language's pages.

    Args:
        known: Written fingerprints by document id.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._by_telling: dict[str, dict[str, int]] = {}
        self._telling: dict[str, str] = {}
        for document_id, written in known.items():
            self._put(document_id, Fingerprint.parse(written))

    def original_of(
        self,
        document: Document,
        fingerprint: Fingerprint,
        *,
        without: Collection[str] = frozenset(),
        among: Collection[str] | None = None,
    ) -> str | None:
        """The id of another page that says the same; None when there is none.

        Args:
            document: The page.
            fingerprint: Its fingerprint.
            without: Pages that do not count.
            among: The only pages that count, if given.
        """
        others = {
            document_id: bits
            for document_id, bits in self._by_telling.get(fingerprint.telling, {}).items()
            if document_id != document.document_id and document_id not in without and (among is None or document_id in among)
        }
        if not others:
            return None
        bits: npt.NDArray[np.uint64] = np.fromiter(others.values(), dtype=np.uint64, count=len(others))
        distances = np.bitwise_count(bits ^ np.uint64(fingerprint.bits))
        nearest = int(distances.argmin())
        return list(others)[nearest] if distances[nearest] <= _NEAR_BITS else None

    def add(self, document: Document, fingerprint: Fingerprint) -> None:
        """Know a page from now on."""
        before = self._telling.get(document.document_id)
        if before is not None:
            self._by_telling[before].pop(document.document_id)
        self._put(document.document_id, fingerprint)

    def _put(self, document_id: str, fingerprint: Fingerprint) -> None:
        self._by_telling.setdefault(fingerprint.telling, {})[document_id] = fingerprint.bits
        self._telling[document_id] = fingerprint.telling
