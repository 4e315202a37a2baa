from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.chunker import Chunker, sentence_text
from ingest.importers.folder import read_folder
from ingest.importers.plain import plain_lines
from ingest.sources import SourceRow
from locales.language import Language
from rag.documents import Authority, Chunk, Document, DocumentKind, Surface, SurfaceKind
from tests.builders import starter_sources


def document(text: str, **fields: object) -> Document:
    values: dict[str, Any] = {
        "document_id": "d",
        "source_id": "s",
        "url": None,
        "title": "Influenza",
        "publisher": "ASL",
        "authority": Authority.PUBLISHER,
        "language": Language.ITALIAN,
        "text": text,
        "reviewed_on": None,
        "fetched_at": datetime(2025, 1, 1, tzinfo=UTC),
        "content_hash": "h",
    }
    return Document(**{**values, **fields})


def words(text: str) -> int:
    return len(text.split())


def cut(text: str, max_tokens: int = 480, **fields: object) -> tuple[list[Chunk], list[Surface]]:
    return Chunker(words, max_tokens).chunks(document(text, **fields))


def quotes(text: str, max_tokens: int = 480, **fields: object) -> list[str]:
    return [sentence.text for chunk in cut(text, max_tokens, **fields)[0] for sentence in chunk.sentences]


def test_section_that_fits_is_one_chunk_with_its_heading_path() -> None:
    chunks, _ = cut("Dura poco.\n\n## Sintomi\n\nDà febbre. Dà tosse.\n\n### Nei bambini\n\nDà vomito.\n\n## Cure\n\nRiposi.")

    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [
        ((), "Dura poco."),
        (("Sintomi",), "Dà febbre. Dà tosse."),
        (("Sintomi", "Nei bambini"), "Dà vomito."),
        (("Cure",), "Riposi."),
    ]
    assert [chunk.chunk_id for chunk in chunks] == ["d:0", "d:1", "d:2", "d:3"]


def test_heading_without_text_is_no_chunk() -> None:
    assert [chunk.heading_path for chunk in cut("## Vuoto\n\n## Pieno\n\nTesto.")[0]] == [("Pieno",)]


def test_sentences_point_at_themselves_in_the_text() -> None:
    (chunk,), _ = cut("Dà febbre alta. Può dare:\n- tosse\n- vomito\n\nDura poco.")

    assert [chunk.text[s.start : s.end] for s in chunk.sentences] == ["Dà febbre alta.", "tosse\n- vomito", "Dura poco."]


def test_short_list_is_quoted_whole_with_its_lead_in() -> None:
    assert quotes("Beva molto. Non prenda antibiotici per:\n- raffreddore;\n- tosse; e\n- mal di gola.") == [
        "Beva molto.",
        "Non prenda antibiotici per: raffreddore; tosse; mal di gola.",
    ]


def test_full_stops_between_the_items_of_a_list_quoted_whole_become_semicolons() -> None:
    assert quotes("Llame si tiene:\n- Fiebre alta.\n- ¿Sangre?\n- Tos.") == ["Llame si tiene: Fiebre alta; ¿Sangre? Tos."]


def test_item_of_a_long_list_is_quoted_with_its_lead_in() -> None:
    items = [f"disturbo numero {n} che dura da molti giorni" for n in range(9)]
    text = "Chiami il medico per:\n" + "\n".join(f"- {item}" for item in items)

    assert quotes(text) == [f"Chiami il medico per: {item}." for item in items]


def test_lead_in_without_a_colon_goes_with_the_items_too() -> None:
    assert "Non faccia queste cose. Mettere ghiaccio." in quotes("Non faccia queste cose.\n\n- Mettere ghiaccio")


def test_list_without_a_lead_in_is_led_in_by_its_heading_or_the_title() -> None:
    assert quotes("- febbre\n\n## Quando chiamare\n\n- respiro corto\n\n## Che cosa evitare?\n\n- fumo") == [
        "Influenza: febbre.",
        "Quando chiamare: respiro corto.",
        "Che cosa evitare? fumo.",
    ]


def test_inner_item_is_quoted_with_its_outer_item() -> None:
    text = "Eviti:\n- farmaci:\n  - aspirina\n  - cortisone\n- alcol"
    assert quotes(text) == ["Eviti: farmaci: aspirina; cortisone.", "Eviti: alcol."]


def test_list_that_lost_its_levels_is_quoted_whole_from_the_inner_lead_in_on() -> None:
    text = plain_lines("Puede:\n• Descansar\n• Evitar:\n• El alcohol\n• El humo")
    assert quotes(text) == ["Puede: Descansar; Evitar: El alcohol; El humo."]


def test_flattened_list_too_long_to_quote_is_searched_but_no_evidence() -> None:
    text = "Eviti:\n- farmaci:\n" + "\n".join(f"- farmaco numero {n} di molti" for n in range(40))
    (chunk,), _ = cut(text)

    assert chunk.sentences == ()
    assert "farmaco numero 39" in chunk.text


def test_paragraph_after_a_dangling_lead_in_keeps_it() -> None:
    assert quotes("Non deve:\n\nPrendere aspirina. Può bere.") == ["Non deve: Prendere aspirina.", "Può bere."]


def test_lead_in_alone_is_no_evidence() -> None:
    assert quotes("Beva. Veda anche:") == ["Beva."]


def test_split_list_repeats_its_lead_in_in_each_chunk() -> None:
    chunks, _ = cut("Chiami se ha:\n" + "\n".join(f"- disturbo numero {n}" for n in range(30)), max_tokens=30)

    assert len(chunks) > 1
    assert all(chunk.text.startswith("Chiami se ha:\n- ") for chunk in chunks)
    assert all(s.text.startswith("Chiami se ha: disturbo") for chunk in chunks for s in chunk.sentences)
    assert all(s.text == "Chiami se ha: " + c.text[s.start : s.end] + "." for c in chunks for s in c.sentences)


def test_split_inner_list_repeats_both_lead_ins() -> None:
    items = "\n".join(f"  - farmaco numero {n}" for n in range(20))
    chunks, _ = cut(f"Eviti sempre:\n- questi farmaci:\n{items}", max_tokens=30)

    assert all(chunk.text.startswith("Eviti sempre:\n- questi farmaci:\n  - ") for chunk in chunks)


def test_long_section_is_cut_at_its_paragraphs_first() -> None:
    paragraphs = [" ".join(f"P{n} parola{i}" for i in range(10)) + "." for n in range(6)]
    chunks, _ = cut("\n\n".join(paragraphs), max_tokens=50)

    assert [chunk.text for chunk in chunks] == ["\n\n".join(paragraphs[i : i + 2]) for i in (0, 2, 4)]


def test_last_sentence_of_a_paragraph_of_3000_words_is_in_a_chunk_and_quotable_h26() -> None:
    text = " ".join(f"Questa frase numero {n} parla di altre cose della vita." for n in range(300))
    chunks, surfaces = cut(text + " La dose la decide solo il medico.")

    assert chunks[-1].sentences[-1].text == "La dose la decide solo il medico."
    assert all(words(surface.text) <= 480 for surface in surfaces)
    assert " ".join(chunk.text for chunk in chunks).split() == (text + " La dose la decide solo il medico.").split()


def test_sentence_longer_than_a_chunk_is_searched_to_its_last_word_but_is_no_evidence() -> None:
    text = "Non " + " ".join(f"parola{n}" for n in range(1000)) + " xerostomia"
    chunks, surfaces = cut(text, max_tokens=100)

    assert " ".join(chunk.text for chunk in chunks) == text
    assert not any(chunk.sentences for chunk in chunks)
    assert all(words(surface.text) <= 100 for surface in surfaces)


def test_word_longer_than_a_chunk_is_cut_and_nothing_is_lost() -> None:
    chunks, surfaces = Chunker(len, 60).chunks(document("x" * 500))

    assert "".join(chunk.text for chunk in chunks) == "x" * 500
    assert all(len(surface.text) <= 60 for surface in surfaces)


def test_title_longer_than_a_chunk_leaves_room_for_the_text() -> None:
    chunks, surfaces = cut("Frase di prova breve.", max_tokens=20, title=" ".join(["titolo"] * 50))

    assert chunks[0].title.count("titolo") == 50
    assert words(surfaces[0].text) <= 20
    assert surfaces[0].text.endswith("Frase di prova breve.")


def test_passage_holds_title_headings_and_text() -> None:
    _, surfaces = cut("## Che cos'è?\n\nÈ un virus.")

    assert surfaces[0].kind is SurfaceKind.PASSAGE
    assert surfaces[0].text == "Influenza. Che cos'è? È un virus."


def test_first_chunk_of_a_section_is_found_by_its_title_and_synonyms() -> None:
    _, surfaces = cut("## Sintomi\n\nDà febbre.", synonyms=("grippe", "febbre stagionale"))

    assert [s.text for s in surfaces if s.kind is SurfaceKind.QUESTION] == [
        "Influenza: sintomi",
        "grippe, febbre stagionale: sintomi",
        "grippe",
        "febbre stagionale",
    ]


def test_each_synonym_alone_finds_the_section_that_tells_the_symptoms() -> None:
    chunks, surfaces = cut("## Che cos'è\n\nÈ un virus.\n\n## Sintomi\n\nDà febbre.", synonyms=("grippe", "influenza stagionale"))
    names = [surface for surface in surfaces if surface.text in {"grippe", "influenza stagionale"}]

    assert [surface.chunk_id for surface in names] == [chunks[1].chunk_id] * 2


def test_synonyms_of_a_page_that_tells_no_symptoms_find_its_beginning() -> None:
    chunks, surfaces = cut("## Dosi\n\nSono due.\n\n## Richiami\n\nOgni dieci anni.", synonyms=("vaccino",))

    assert [surface.chunk_id for surface in surfaces if surface.text == "vaccino"] == [chunks[0].chunk_id]


ASKED = ("ho i brividi da ieri", "mi fanno male le ossa", "quanto dura")


def test_article_is_found_by_all_that_is_asked_about_it_at_the_section_that_tells_the_symptoms() -> None:
    chunks, surfaces = cut("## Che cos'è\n\nÈ un virus.\n\n## Sintomi\n\nDà febbre.", asked=ASKED)
    found = [surface for surface in surfaces if surface.text in ASKED]

    assert [surface.text for surface in found] == list(ASKED)
    assert {(surface.kind, surface.chunk_id) for surface in found} == {(SurfaceKind.QUESTION, chunks[1].chunk_id)}


def test_what_is_asked_about_an_article_takes_no_passages_place() -> None:
    text = "## Sintomi\n\nDà febbre."
    plain, asked = (cut(text, asked=questions)[1] for questions in ((), ASKED))

    assert [s for s in asked if s.kind is SurfaceKind.PASSAGE] == [s for s in plain if s.kind is SurfaceKind.PASSAGE]


def test_forum_thread_has_its_first_question_as_its_passage_and_embeds_it_once() -> None:
    _, surfaces = cut("Beva molto e riposi.", kind=DocumentKind.FORUM, asked=ASKED)

    assert [(surface.kind, surface.text) for surface in surfaces] == [
        (SurfaceKind.PASSAGE, ASKED[0]),
        (SurfaceKind.QUESTION, ASKED[1]),
        (SurfaceKind.QUESTION, ASKED[2]),
    ]


def test_what_is_asked_never_stands_in_a_chunk() -> None:
    chunks, _ = cut("## Sintomi\n\nDà febbre.", asked=ASKED)

    assert not any(question in chunk.text for chunk in chunks for question in ASKED)


def test_page_without_text_has_no_surface_for_what_is_asked() -> None:
    assert cut("## Sintomi", asked=ASKED) == ([], [])


def test_section_without_a_heading_has_no_question() -> None:
    assert [surface.kind for surface in cut("Dà febbre.")[1]] == [SurfaceKind.PASSAGE]


@pytest.mark.parametrize(
    ("language", "said"), [(Language.ITALIAN, "numero di emergenza"), (Language.SPANISH, "número de emergencia")]
)
def test_emergency_number_is_named_for_the_search_and_kept_open_in_the_text(language: Language, said: str) -> None:
    (chunk,), surfaces = cut("Chiami il {emergency}.", language=language)

    assert chunk.sentences[0].text == "Chiami il {emergency}."
    assert surfaces[0].text == f"Influenza. Chiami il {said}."
    assert sentence_text(chunk, chunk.sentences[0]) == f"Influenza. Chiami il {said}."


@pytest.mark.parametrize("row", starter_sources(), ids=lambda row: row.id)
def test_each_section_of_the_starter_corpus_is_one_chunk_whose_words_are_all_there(row: SourceRow) -> None:
    for page in read_folder(row.path, row):
        chunks, _ = Chunker(lambda text: int(words(text) * 1.6)).chunks(page)

        assert len(chunks) == len({chunk.heading_path for chunk in chunks})
        body = [line for line in page.text.split("\n") if not line.startswith("#")]
        assert " ".join(chunk.text for chunk in chunks).split() == " ".join(body).split()
