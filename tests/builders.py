"""Builders of values for tests: sensible defaults, and whatever a test is about as an override."""

import itertools
from datetime import UTC, datetime
from typing import Any

from bot.safety import Level, RedFlag
from channels.messages import InboundMessage, MessageKind, Patient, Platform
from ingest.sources import SourceKind, SourceRow, load_sources
from locales.language import Language
from rag.documents import Authority, Chunk, Document, Sentence
from rag.replies import Answer
from rag.types import Evidence, Mode, SentenceKind, Source, SupportedSentence

_numbers = itertools.count(1)


def patient(identity: str = "42", platform: Platform = Platform.TELEGRAM) -> Patient:
    return Patient(platform=platform, identity=identity, address=identity)


def inbound(text: str = "Che cosa fare per la febbre?", **changes: Any) -> InboundMessage:
    sender = changes.pop("sender", None) or patient(changes.pop("identity", "42"), changes.pop("platform", Platform.TELEGRAM))
    values: dict[str, Any] = {
        "message_id": f"m{next(_numbers)}",
        "sender": sender,
        "chat": sender.address,
        "text": text,
        "kind": MessageKind.TEXT,
        "received_at": datetime(2026, 1, 2, 10, 0, tzinfo=UTC),
    }
    return InboundMessage(**(values | changes))


def red_flag(**changes: Any) -> RedFlag:
    return RedFlag(**({"category": "heart", "level": Level.CALL_NOW} | changes))


def chunk(text: str = "La febbre è una difesa del corpo.", **changes: Any) -> Chunk:
    values: dict[str, Any] = {
        "chunk_id": "starter-it-fever#1",
        "document_id": "starter-it-fever",
        "source_id": "starter-it",
        "url": None,
        "title": "Febbre",
        "publisher": "Salus (testo dimostrativo)",
        "authority": Authority.DEMONSTRATION,
        "language": Language.ITALIAN,
        "heading_path": ("Febbre",),
        "text": text,
        "sentences": (Sentence(text=text, start=0, end=len(text)),),
        "position": 0,
    }
    return Chunk(**(values | changes))


def evidence(text: str = "La febbre è una difesa del corpo.", **changes: Any) -> Evidence:
    cut = chunk(text, **changes)
    return Evidence(chunk=cut, sentence=cut.sentences[0], strength=0.9)


def sentence(text: str = "La febbre è una difesa del corpo.", **changes: Any) -> SupportedSentence:
    values: dict[str, Any] = {"text": text, "kind": SentenceKind.QUOTED, "evidence": (evidence(text),), "alignment": 1.0}
    return SupportedSentence(**(values | changes))


def source(**changes: Any) -> Source:
    values: dict[str, Any] = {
        "document_id": "starter-it-fever",
        "title": "Febbre",
        "publisher": "Editore",
        "url": "https://esempio.it/febbre",
        "similarity": 0.8,
        "authority": Authority.PUBLISHER,
        "language": Language.ITALIAN,
    }
    return Source(**(values | changes))


def answer(*sentences: SupportedSentence, **changes: Any) -> Answer:
    values: dict[str, Any] = {
        "sentences": sentences or (sentence(),),
        "sources": (source(),),
        "language": Language.ITALIAN,
        "mode": Mode.FAST,
    }
    return Answer(**(values | changes))


def document(**changes: Any) -> Document:
    values: dict[str, Any] = {
        "document_id": "starter-it-fever",
        "source_id": "starter-it",
        "url": None,
        "title": "Febbre",
        "publisher": "Editore",
        "authority": Authority.PUBLISHER,
        "language": Language.ITALIAN,
        "text": "La febbre è una difesa.\n\n## Sintomi\n\nSono:\n- brividi\n- sudore",
        "reviewed_on": None,
        "fetched_at": datetime(2026, 1, 2, tzinfo=UTC),
        "content_hash": "x",
    }
    return Document(**(values | changes))


def starter_sources() -> list[SourceRow]:
    """The rows of the texts that ship with the project."""
    return [row for row in load_sources() if row.kind is SourceKind.FOLDER]
