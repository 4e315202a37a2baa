"""Cuts a page into chunks that the embedder reads to their last word, and names what each is found by."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from ingest.outline import Section, Unit, sections
from locales.language import Language
from rag.documents import Chunk, Document, DocumentKind, Sentence, Surface, SurfaceKind
from rag.personal_advice import is_personal
from rag.sentences import Section as PageSection
from rag.sentences import SentenceWords

# Part of what an unchanged page is recognised by: raise it when the same page would be cut or embedded in another way.
CHUNKER_VERSION = "2"

# The starter embedder reads 512 tokens. A section of 300 words is about 450 and stays whole: its sentences are judged one by
# one later, so a long chunk costs no precision, while a cut would part a warning from what it limits.
DEFAULT_MAX_TOKENS = 480

_EMERGENCY = {Language.ITALIAN: "numero di emergenza", Language.SPANISH: "número de emergencia"}
_SYNONYMS_PER_SURFACE = 16

CountTokens = Callable[[str], int]


class Chunker:
    """Cuts pages at their headings, and longer sections at paragraphs, then sentences, then words; nothing is left out."""

    def __init__(self, count_tokens: CountTokens, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self._count_tokens = count_tokens
        self._max_tokens = max_tokens

    def chunks(self, document: Document) -> tuple[list[Chunk], list[Surface]]:
        """Cut a page.

        Returns:
            The chunks in the order of the page, none of them longer than `max_tokens` with title and headings, and their
            surfaces: one passage each, up to two questions for the first chunk of each section, and each synonym of the page by
            itself for the one that tells the symptoms. Of a question with its answer, the question is embedded.
        """
        chunks: list[Chunk] = []
        surfaces: list[Surface] = []
        for section in sections(document.text, document.title):
            first = len(chunks)
            header = self._short_header(document.title, section.heading_path)
            for units in self._packed(section, header, document.language):
                chunk = _chunk(document, section, units, position=len(chunks))
                text = _asked(document, section) or _passage(header, chunk.text, document.language)
                chunks.append(chunk)
                surfaces.append(Surface(kind=SurfaceKind.PASSAGE, text=text, chunk_id=chunk.chunk_id))
            surfaces.extend(_questions(document, section, chunks[first].chunk_id))
        surfaces.extend(_names(document, chunks))
        return chunks, surfaces

    def _packed(self, section: Section, header: str, language: Language) -> list[list[Unit]]:
        """Units of a section in as few groups as fit, whole blocks together where they can be."""

        def fits(units: Sequence[Unit]) -> bool:
            return self._count_tokens(_passage(header, _render(units)[0], language)) <= self._max_tokens

        if fits(section.units):
            return [list(section.units)]
        groups: list[list[Unit]] = [[]]
        for _, members in groupby(section.units, key=lambda unit: unit.block):
            block = list(members)
            if fits([*groups[-1], *block]):
                groups[-1].extend(block)
                continue
            whole = [block] if fits(block) else [[piece] for unit in block for piece in _torn(unit, fits)]
            groups.append([])
            for part in whole:
                if groups[-1] and not fits([*groups[-1], *part]):
                    groups.append([])
                groups[-1].extend(part)
        return [group for group in groups if group]

    def _short_header(self, title: str, heading_path: Sequence[str]) -> str:
        """Title and headings as one line of at most half the tokens, so that text always has room."""
        header = _header(title, heading_path)
        while self._count_tokens(header) > self._max_tokens // 2 and len(header) > 1:
            header = header[: len(header) // 2].rstrip()
        return header


def sentence_text(chunk: Chunk, sentence: Sentence) -> str:
    """A sentence as it is embedded as a passage, with the title that says what it is about."""
    return _passage(_header(chunk.title, ()), sentence.text, chunk.language)


def _passage(header: str, text: str, language: Language) -> str:
    """Text as it is embedded. The place of the emergency number is named: its number is known only when a patient reads it."""
    return f"{header} {text}".replace("{emergency}", _EMERGENCY[language])


def _header(title: str, heading_path: Sequence[str]) -> str:
    return " ".join(part if part.endswith((".", "?", "!", ":")) else f"{part}." for part in (title, *heading_path))


def _asked(document: Document, section: Section) -> str | None:
    """The question that a passage answers, embedded in its place; None for an article.

    Questions resemble what patients write more than answers do, which hold a doctor's terms and more than was asked.
    """
    match document.kind:
        case DocumentKind.ARTICLE:
            return None
        case DocumentKind.FAQ:
            return section.heading_path[-1] if section.heading_path else document.title
        case DocumentKind.FORUM:
            return document.asked[0] if document.asked else document.title


def _questions(document: Document, section: Section, chunk_id: str) -> list[Surface]:
    """What the section answers: "title: heading", and the same with the page's synonyms.

    A section without a heading has no question of its own: its title would make every section of a subject equally near.
    """
    if not section.heading_path or document.kind is not DocumentKind.ARTICLE:
        return []
    heading = section.heading_path[-1]
    heading = heading if heading[:2].isupper() else heading[0].lower() + heading[1:]
    names = [document.title, ", ".join(document.synonyms[:_SYNONYMS_PER_SURFACE])]
    return [Surface(kind=SurfaceKind.QUESTION, text=f"{name}: {heading}", chunk_id=chunk_id) for name in names if name]


def _names(document: Document, chunks: Sequence[Chunk]) -> list[Surface]:
    """Each other name of the page, and what is or was asked about it: who types only a name mostly tells what is felt."""
    passage = 1 if document.kind is DocumentKind.FORUM else 0  # a thread's passage is found by its first question
    names = (*document.synonyms, *document.asked[passage:])
    return [Surface(kind=SurfaceKind.QUESTION, text=name, chunk_id=symptom_chunk(chunks).chunk_id) for name in names if chunks]


def symptom_chunk(chunks: Sequence[Chunk]) -> Chunk:
    """The passage of a page that tells the symptoms; its first one where none does. Never empty."""
    words = SentenceWords.load(chunks[0].language)
    return next((chunk for chunk in chunks if words.section(chunk) is PageSection.SYMPTOMS), chunks[0])


def _chunk(document: Document, section: Section, units: Sequence[Unit], position: int) -> Chunk:
    text, sentences = _render(units)
    if document.kind is DocumentKind.FORUM:  # what was said to one person is true of nobody else
        sentences = [sentence for sentence in sentences if not is_personal(sentence.text, document.language)]
    return Chunk(
        chunk_id=f"{document.document_id}:{position}",
        document_id=document.document_id,
        source_id=document.source_id,
        url=document.url,
        title=document.title,
        publisher=document.publisher,
        authority=document.authority,
        language=document.language,
        heading_path=section.heading_path,
        text=text,
        sentences=tuple(sentences),
        position=position,
        reviewed_on=document.reviewed_on,
        topic=document.topic,
        synonyms=document.synonyms,
        further_reading=document.further_reading,
        kind=document.kind,
    )


def _render(units: Sequence[Unit]) -> tuple[str, list[Sentence]]:
    """Text of a chunk and its sentences. Lead-ins that an earlier chunk holds are repeated above the items that need them."""
    present = set(units)
    repeated: list[Unit] = []
    for lead in units[0].leads if units else ():
        if lead.shown and lead not in present:
            repeated.append(replace(lead, block=units[0].block, quotable=False))
    text = ""
    sentences: list[Sentence] = []
    previous: Unit | None = None
    for unit in (*repeated, *units):
        text += _separator(previous, unit)
        start = len(text)
        text += unit.text
        if unit.quotable:
            sentences.append(Sentence(text=unit.quote, start=start, end=len(text)))
        previous = unit
    return text, sentences


def _separator(previous: Unit | None, unit: Unit) -> str:
    marker = "" if unit.level is None else "  " * unit.level + "- "
    if previous is None:
        return marker
    if previous.block != unit.block:
        return "\n\n" + marker
    return "\n" + marker if unit.level is not None or previous.level is not None else " "


def _torn(unit: Unit, fits: Callable[[Sequence[Unit]], bool]) -> list[Unit]:
    """The unit itself, or its pieces where it alone is too long; a piece is never evidence, it may have lost its "not"."""
    if len(unit.text) < 2 or fits([unit]):
        return [unit]
    middle = len(unit.text) // 2
    cut = unit.text.find(" ", middle)
    cut = cut if cut != -1 else unit.text.rfind(" ", 1, middle)
    cut = cut if cut > 0 else middle
    halves = (unit.text[:cut].strip(), unit.text[cut:].strip())
    return [piece for half in halves if half for piece in _torn(replace(unit, text=half, leads=(), quotable=False), fits)]
