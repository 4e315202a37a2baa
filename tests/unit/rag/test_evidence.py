"""Which sentences may support an answer, and when there are none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from locales.language import Language
from rag.corpus import CorpusStatistics, lexical_column
from rag.documents import Authority, Chunk, DocumentKind, Sentence
from rag.evidence import EvidenceSelector
from rag.models.protocols import Vectors
from rag.replies import AbstentionKind
from rag.sentences import Section, SentenceWords, may_be_shown
from rag.text import split_sentences
from rag.types import Evidence, Hit, Intent, Interpretation, Population
from tests.fakes import HashEmbedder

IT, ES = Language.ITALIAN, Language.SPANISH

FLU = {
    "Che cos'è": "L'influenza è un'infezione causata da un virus. Di solito l'influenza guarisce in una settimana.",
    "Sintomi": "L'influenza dà febbre e tosse. Nei bambini l'influenza può dare vomito. "
    "In gravidanza l'influenza può dare affanno.",
    "Che cosa fare": (
        "Con l'influenza si riposa e si beve spesso. L'influenza si cura con due compresse da 500 mg. "
        "L'ibuprofene può alleviare i dolori dell'influenza. Anche riposare, con l'influenza, serve molto. "
        "Con l'influenza si resta a casa. Con l'influenza si lavano le mani. Con l'influenza si arieggia la stanza."
    ),
    "Quando andare dal medico": "Senta il medico se la febbre dell'influenza dura molti giorni. Con l'influenza chiami il 118.",
}
PRESSURE = {"Che cos'è": "La pressione alta non dà sintomi. La pressione si misura al braccio."}


class OnePageReader:
    """Reads passages that lie in memory."""

    calibration = None

    def __init__(self, chunks: Sequence[Chunk], embedder: HashEmbedder) -> None:
        self.chunks = chunks
        self.embedder = embedder
        self.vectors = embedder.embed_passages([chunk.text for chunk in chunks])
        columns = [lexical_column(chunk).split() for chunk in chunks]
        frequency = Counter(token for column in columns for token in set(column))
        self.statistics = CorpusStatistics(
            n=len(chunks), avgdl=30.0, document_frequency=dict(frequency), background_mean=0.0, background_std=0.1
        )

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        cosines = self.vectors @ vector
        order = np.argsort(-cosines)[:k]
        std = self.statistics.background_std  # scores are in deviations, as those of a fused ranking
        return [Hit(chunk=self.chunks[i], score=float(cosines[i]) / std, dense=float(cosines[i])) for i in order]

    def page(self, document_id: str, vector: Vectors) -> list[Hit]:
        found = [hit for hit in self.dense(vector, len(self.chunks)) if hit.chunk.document_id == document_id]
        return sorted(found, key=lambda hit: hit.chunk.position)

    def sentence_vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vectors]:
        wanted = [chunk for chunk in self.chunks if chunk.chunk_id in chunk_ids]
        return {chunk.chunk_id: self.embedder.embed_passages([one.text for one in chunk.sentences]) for chunk in wanted}


def passages(title: str, sections: dict[str, str], language: Language = IT) -> list[Chunk]:
    made = []
    for position, (heading, text) in enumerate(sections.items()):
        spans = split_sentences(text)
        made.append(
            Chunk(
                chunk_id=f"{title}#{position}",
                document_id=title,
                source_id="s",
                url=None,
                title=title,
                publisher="Salus",
                authority=Authority.DEMONSTRATION,
                language=language,
                heading_path=(heading,),
                text=text,
                sentences=tuple(Sentence(text=text[start:end], start=start, end=end) for start, end in spans),
                position=position,
                reviewed_on=date(2026, 1, 1),
            )
        )
    return made


embedder = HashEmbedder(dimension=256)
selector = EvidenceSelector(IT, embedder)
reader = OnePageReader([*passages("Influenza", FLU), *passages("Pressione alta", PRESSURE)], embedder)


def ask(text: str, population: Population | None = None, expansions: tuple[str, ...] = ()) -> list[Evidence]:
    interpretation = Interpretation(language=IT, intent=Intent.QUESTION, self_contained=text, population=population)
    hits = reader.dense(embedder.embed_queries([text])[0], 5)
    return selector.select(interpretation, hits, reader, expansions=expansions)  # type: ignore[arg-type]


def texts(found: Sequence[Evidence]) -> list[str]:
    return [item.sentence.text for item in found]


def kind(text: str, population: Population | None = None) -> AbstentionKind:
    interpretation = Interpretation(language=IT, intent=Intent.QUESTION, self_contained=text, population=population)
    return selector.abstention_kind(interpretation, reader)  # type: ignore[arg-type]


def test_a_covered_question_gets_at_most_six_sentences_strongest_first() -> None:
    found = ask("cosa fare con l'influenza?")
    strengths = [item.strength for item in found]
    assert 1 <= len(found) <= 6
    assert strengths == sorted(strengths, reverse=True)
    assert all(0 <= strength <= 1 for strength in strengths)


def test_the_section_that_is_asked_for_comes_first() -> None:
    assert ask("quali sono i sintomi dell'influenza?")[0].chunk.heading_path == ("Sintomi",)
    assert ask("cosa fare con l'influenza?")[0].chunk.heading_path == ("Che cosa fare",)


def test_a_sentence_with_the_asked_duration_comes_first() -> None:
    assert texts(ask("quanto dura l'influenza?"))[0] == "Di solito l'influenza guarisce in una settimana."


@pytest.mark.parametrize(
    "text",
    [
        "chi ha vinto il derby?",
        "che pressione devo mettere nelle gomme della moto?",
        "come si fa la carbonara?",
        "che cos'è la celiachia?",
    ],
)
def test_what_the_index_does_not_cover_has_no_evidence(text: str) -> None:
    assert ask(text) == []


def test_no_hits_are_no_evidence() -> None:
    nothing = Interpretation(language=IT, intent=Intent.QUESTION, self_contained="influenza")
    assert selector.select(nothing, [], reader) == []  # type: ignore[arg-type]


def test_a_thread_with_nothing_general_leaves_the_answer_to_the_next_page() -> None:
    question = "Quanto dura l'influenza?"
    (thread,) = passages("Influenza da giorni", {"Risposta": "Quanto dura l'influenza nel suo caso lo dirà il suo medico."})
    thread = replace(thread, sentences=(), kind=DocumentKind.FORUM)
    with_thread = OnePageReader([thread, *reader.chunks], embedder)
    hits = [Hit(chunk=thread, score=20.0, dense=0.99), *reader.dense(embedder.embed_queries([question])[0], 5)]
    interpretation = Interpretation(language=IT, intent=Intent.QUESTION, self_contained=question)

    found = selector.select(interpretation, hits, with_thread)  # type: ignore[arg-type]

    assert found
    assert {item.chunk.title for item in found} == {"Influenza"}
    assert selector.select(interpretation, hits[:1], with_thread) == []  # type: ignore[arg-type]


def test_doses_and_telephone_numbers_are_never_evidence() -> None:
    shown = " ".join(texts(ask("cosa fare con l'influenza?")) + texts(ask("influenza, quando chiamare il medico?")))
    assert "500 mg" not in shown
    assert "118" not in shown


def test_what_to_do_comes_with_when_to_see_a_doctor() -> None:
    assert "Senta il medico se la febbre dell'influenza dura molti giorni." in texts(ask("cosa fare con l'influenza?"))


def test_a_question_about_a_child_prefers_the_sentence_about_children() -> None:
    found = texts(ask("quali sono i sintomi dell'influenza nei bambini?", Population.CHILD))
    assert found[0] == "Nei bambini l'influenza può dare vomito."
    assert "In gravidanza l'influenza può dare affanno." not in found


def test_a_sentence_about_pregnancy_is_for_pregnancy_alone() -> None:
    pregnancy = "In gravidanza l'influenza può dare affanno."
    assert pregnancy not in texts(ask("quali sono i sintomi dell'influenza?"))
    assert pregnancy in texts(ask("sintomi dell'influenza in gravidanza", Population.PREGNANCY))


def test_a_medicine_that_harms_is_not_quoted_to_a_pregnancy() -> None:
    harmful = "L'ibuprofene può alleviare i dolori dell'influenza."
    assert harmful in texts(ask("l'ibuprofene cura l'influenza?"))
    assert harmful not in texts(ask("l'ibuprofene cura l'influenza?", Population.PREGNANCY))


def test_a_pain_alone_chooses_no_page() -> None:
    assert ask("ho un dolore, cosa posso fare?") == []


def test_a_question_opens_with_what_to_do_and_not_with_prevention() -> None:
    found = texts(ask("mi sento male con l'influenza, cosa faccio?"))
    assert found[0] == "Con l'influenza si riposa e si beve spesso."


def test_an_implied_topic_counts_as_named() -> None:
    told = Interpretation(
        language=IT, intent=Intent.QUESTION, self_contained="sto male da ieri, cosa faccio?", implied="influenza"
    )
    hits = reader.dense(embedder.embed_queries([told.meaning])[0], 5)
    assert texts(selector.select(told, hits, reader))[0].startswith("Con l'influenza")  # type: ignore[arg-type]


def test_a_sentence_is_not_repeated() -> None:
    found = texts(ask("cosa fare con l'influenza?"))
    assert len(found) == len(set(found))


def test_the_same_question_always_gets_the_same_evidence() -> None:
    assert ask("quanto dura l'influenza?") == ask("quanto dura l'influenza?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("che cos'è la celiachia?", AbstentionKind.NO_EVIDENCE),
        ("come si cura l'orticaria", AbstentionKind.NO_EVIDENCE),
        ("chi ha vinto il derby?", AbstentionKind.OFF_TOPIC),
        ("che pressione devo mettere nelle gomme?", AbstentionKind.OFF_TOPIC),
        ("la corsa all'oro: cos'era la febbre dell'oro?", AbstentionKind.OFF_TOPIC),
        ("quanto pesa un elefante", AbstentionKind.OFF_TOPIC),
    ],
)
def test_a_refusal_tells_health_from_other_things(text: str, expected: AbstentionKind) -> None:
    assert kind(text) is expected


def test_a_sentence_tells_the_similarity_of_its_page() -> None:
    found = ask("come si cura l'influenza?")

    assert len({item.similarity for item in found if item.chunk.document_id == found[0].chunk.document_id}) == 1
    assert all(0 < item.similarity <= 1 for item in found)


@pytest.mark.parametrize(
    "text",
    [
        "Prenda 500 mg ogni sei ore.", "La dose è di 15 mg/kg.", "Si danno 20 gocce al giorno.", "Bastano due compresse.",
        "Tome una tableta cada ocho horas.", "Se dan 5 ml de jarabe.", "Chiami il 118.", "Llame al 911 de inmediato.",
        "Telefoni al numero verde 800 123 456.", "Marque 061 si empeora.", "Che cosa fare?",
    ],
)  # fmt: skip
def test_a_dose_a_number_or_a_question_may_not_be_shown(text: str) -> None:
    assert not may_be_shown(Sentence(text=text, start=0, end=len(text)))


@pytest.mark.parametrize(
    "text",
    [
        "Chiami il {emergency} se manca il respiro.", "Si parla di diabete da 126 mg/dl.", "La febbre dura 3 giorni.",
        "La pressione è alta da 140/90 mmHg.", "Con 38 °C o más consulte.", "Sotto i 3 mesi serve il pediatra.",
        "La quantità dipende dal peso.", "El dolor dura 15 minutos.",
    ],
)  # fmt: skip
def test_other_numbers_may_be_shown(text: str) -> None:
    assert may_be_shown(Sentence(text=text, start=0, end=len(text)))


@pytest.mark.parametrize(
    ("heading", "language", "section"),
    [
        ("Che cosa fare", IT, Section.REMEDIES),
        ("Quando chiamare il numero di emergenza", IT, Section.EMERGENCY),
        ("Quando andare dal medico", IT, Section.DOCTOR),
        ("Sintomi", IT, Section.SYMPTOMS),
        ("Che cos'è", IT, Section.NATURE),
        ("Cause", IT, Section.CAUSES),
        ("Qué es", ES, Section.NATURE),
        ("Síntomas", ES, Section.SYMPTOMS),
        ("Causas", ES, Section.CAUSES),
        ("Qué hacer", ES, Section.REMEDIES),
        ("Cuándo consultar", ES, Section.DOCTOR),
        ("Varie", IT, None),
    ],
)
def test_a_heading_tells_what_its_passage_is_for(heading: str, language: Language, section: Section | None) -> None:
    chunk = passages("T", {heading: "Testo."}, language)[0]
    assert SentenceWords.load(language).section(chunk) is section


@pytest.mark.parametrize(
    ("text", "language", "limits"),
    [
        ("Un lattante sotto i 3 mesi va visto subito.", IT, {Population.INFANT}),
        ("In gravidanza chieda al medico.", IT, {Population.PREGNANCY}),
        ("In gravidanza, dopo i 65 anni o con malattie croniche senta il medico.", IT, set()),
        ("Los niños pueden vomitar.", ES, {Population.CHILD}),
        ("Beba agua a menudo.", ES, set()),
        ("Senta il pediatra se dura.", IT, set()),
        ("Tra 3 e 6 mesi chiami il medico.", IT, {Population.INFANT}),
    ],
)
def test_whom_a_sentence_is_limited_to_is_read_from_its_words(text: str, language: Language, limits: set[Population]) -> None:
    assert SentenceWords.load(language).limits(text) == limits


@pytest.mark.parametrize(
    ("text", "language", "months", "fits"),
    [
        ("Un lattante sotto i 3 mesi va visto subito.", IT, 2, True),
        ("Un lattante sotto i 3 mesi va visto subito.", IT, 5, False),
        ("Tra 3 e 6 mesi chiami il pediatra.", IT, 2, False),
        ("Entre los tres y los seis meses debe verse el mismo día.", ES, 4, True),
        ("Un bebé menor de tres meses debe ir de inmediato.", ES, 48, False),
        ("Beba agua a menudo.", ES, 4, None),
        ("Tra 3 e 6 mesi chiami il pediatra.", IT, None, None),
    ],
)
def test_a_sentence_about_babies_of_some_months_is_for_these_alone(
    text: str, language: Language, months: int | None, fits: bool | None
) -> None:
    assert SentenceWords.load(language).fits_age(text, months) is fits


PSORIASIS = {
    IT: {
        "Che cos'è": "La psoriasi fa crescere troppo la pelle. La psoriasi non è contagiosa, nemmeno se si tocca la pelle.",
        "Cause": "La psoriasi nasce da difese troppo attive. Stress, fumo e alcol possono peggiorare la psoriasi.",
    },
    Language.SPANISH: {
        "Qué es": "La psoriasis hace crecer la piel demasiado rápido. La psoriasis no se contagia, ni siquiera al tocar la piel.",
        "Causas": "La psoriasis se debe a defensas demasiado activas. Estrés, tabaco y alcohol pueden empeorar la psoriasis.",
    },
}


@pytest.mark.parametrize(
    ("language", "question", "expansions"),
    [
        (IT, "la psoriasi è contagiosa?", ()),
        (IT, "la psoriasi si attacca alle altre persone?", ()),
        (IT, "la psoriasi si ataca agli altri?", ("la psoriasi si attacca agli altri?",)),
        (Language.SPANISH, "¿la psoriasis se pega?", ()),
        (Language.SPANISH, "la psoriasis se contajia?", ("la psoriasis se contagia?",)),
    ],
)
def test_whether_it_is_contagious_is_answered_from_whatever_section_says_so(
    language: Language, question: str, expansions: tuple[str, ...]
) -> None:
    title = {IT: "Psoriasi", Language.SPANISH: "Psoriasis"}[language]
    page = OnePageReader(passages(title, PSORIASIS[language], language), embedder)
    interpretation = Interpretation(language=language, intent=Intent.QUESTION, self_contained=question)
    hits = page.dense(embedder.embed_queries([question])[0], 5)

    found = EvidenceSelector(language, embedder).select(interpretation, hits, page, expansions=expansions)  # type: ignore[arg-type]

    assert found[0].sentence.text.startswith(("La psoriasi non è contagiosa", "La psoriasis no se contagia"))


def test_sentence_vectors_that_were_read_with_the_hits_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "cosa fare con l'influenza?"
    interpretation = Interpretation(language=IT, intent=Intent.QUESTION, self_contained=question)
    plain = reader.dense(embedder.embed_queries([question])[0], 5)
    first, *others = plain
    read = replace(first, sentence_vectors=reader.sentence_vectors([first.chunk.chunk_id])[first.chunk.chunk_id])
    asked: list[str] = []
    monkeypatch.setattr(reader, "sentence_vectors", lambda ids: asked.extend(ids) or OnePageReader.sentence_vectors(reader, ids))

    found = selector.select(interpretation, [read, *others], reader)  # type: ignore[arg-type]

    assert first.chunk.chunk_id not in asked
    assert {hit.chunk.chunk_id for hit in others} <= set(asked)
    assert found == selector.select(interpretation, plain, reader)  # type: ignore[arg-type]
