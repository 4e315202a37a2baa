import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from bot.follow_ups import read_follow_up
from bot.outcomes import Notice, Proof, Topic
from bot.proof import asks_why, prove
from bot.renderer import Reader, Renderer
from bot.session import Session
from bot.source_address import SourceAddresses
from channels import markup
from channels.messages import OutboundMessage, Platform
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.documents import Document, DocumentKind, Sentence
from rag.replies import Answer
from rag.types import Evidence, SentenceKind
from tests.builders import answer, chunk, document, evidence, sentence

IT, ES = Language
PUBLIC = "https://www.salute.example/febbre"
QUOTE = "La febbre è una difesa del corpo."


def render(*proofs: Evidence, language: Language = IT, text: str = QUOTE, fetched_on: dict[str, date] | None = None) -> str:
    renderer = Renderer(Catalog.load(), EmergencyDirectory.load(), SourceAddresses("https://bot.example.org"))
    kept = answer(sentence(text, kind=SentenceKind.WRITTEN, evidence=proofs), language=language)
    proof = Proof(answer=kept, fetched_on=fetched_on or {})
    message = renderer.render(proof, Reader(platform=Platform.TELEGRAM, country="CO"))
    return "\n".join(message.paragraphs)


def no_document(_: str) -> Document | None:
    return None


@pytest.mark.parametrize(
    "text",
    ["perché?", "Perche", "PERCHÈ?!", "perche\u0301 ?", "e perché?", "xché", "¿Por qué?", "por que", "¿y por qué?", "porqué?"],
)
def test_why_is_understood_in_both_languages_however_it_is_spelt(text: str) -> None:
    assert asks_why(text)


@pytest.mark.parametrize("text", ["perché ho la febbre?", "¿por qué me duele?", "che", "", "?", "perché no", "porque me duele"])
def test_a_question_that_says_more_than_why_is_a_question(text: str) -> None:
    assert not asks_why(text)


@pytest.mark.parametrize(
    "payload", ["proof:", "proof:x", "proof:1 petto", "proof:-1", "PROOF:1", f"proof:{'1' * 19}", "prooff:1"]
)
def test_a_payload_of_another_form_names_no_answer(payload: str) -> None:
    assert read_follow_up(payload) is None


async def test_the_last_answer_is_proven_with_and_without_its_number() -> None:
    session, kept = Session(last_seen=0), answer()
    number = session.keep_answer(kept, 0)
    assert await prove(session, IT, no_document, number) == await prove(session, IT, no_document) == Proof(answer=kept)


@pytest.mark.parametrize(("number", "topic"), [("17", Topic.PROOF_GONE), (None, Topic.PROOF)])
async def test_what_is_not_kept_is_said_politely(number: str | None, topic: Topic) -> None:
    assert await prove(Session(last_seen=0), ES, no_document, number) == Notice(topic=topic, language=ES)


async def test_a_page_without_a_date_of_review_has_the_day_on_which_it_was_read() -> None:
    session = Session(last_seen=0)
    undated, dated = sentence(), sentence(evidence=(evidence(document_id="b", reviewed_on=date(2026, 3, 1)),))
    session.keep_answer(answer(undated, dated), 0)
    asked: list[str] = []

    def find(document_id: str) -> Document:
        asked.append(document_id)
        return document(fetched_at=datetime(2026, 5, 4, 3, 30, tzinfo=UTC))

    proof = await prove(session, IT, find)
    assert isinstance(proof, Proof)
    assert proof.fetched_on == {"starter-it-fever": date(2026, 5, 4)}
    assert asked == ["starter-it-fever"]


def test_a_proof_has_the_sentence_the_quote_the_publisher_the_date_and_the_link() -> None:
    shown = render(evidence(QUOTE, url=PUBLIC, publisher="Istituto", reviewed_on=date(2026, 3, 1)), text="La febbre difende.")
    assert "**1. La febbre difende.**" in shown
    assert f"«{QUOTE}»" in shown
    assert f"[Febbre — Istituto]({PUBLIC}#:~:text=La%20febbre%20%C3%A8%20una%20difesa%20del%20corpo)" in shown
    assert "pagina rivista il 01/03/2026" in shown


def test_a_proof_in_spanish_speaks_spanish() -> None:
    proof = evidence("La fiebre defiende.", url=PUBLIC, language=ES)
    shown = render(proof, language=ES, fetched_on={"starter-it-fever": date(2026, 5, 4)})
    assert "De aquí viene cada frase" in shown
    assert "página leída el 04/05/2026" in shown


def test_several_quotes_of_a_page_share_its_link_and_another_page_has_its_own() -> None:
    first, second = evidence("Uno.", url=PUBLIC), evidence("Due.", url=PUBLIC, chunk_id="b")
    third = evidence("Tre.", url="https://altro.example/x", document_id="c", publisher="Altro")
    shown = render(first, second, third)
    assert shown.index("«Uno.»") < shown.index("«Due.»") < shown.index(f"{PUBLIC}#:~:text=Uno&text=Due") < shown.index("«Tre.»")
    assert shown.count(f"]({PUBLIC}") == 1
    assert "https://altro.example/x#:~:text=Tre" in shown


def test_a_list_item_is_quoted_with_its_lead_in_and_found_by_its_own_words() -> None:
    cut = chunk("Chiami il medico se:\n- la febbre dura", url=PUBLIC, sentences=())
    item = Sentence(text="Chiami il medico se: la febbre dura", start=23, end=38)
    shown = render(Evidence(chunk=cut, sentence=item, strength=0.9))
    assert "«Chiami il medico se: la febbre dura»" in shown
    assert "#:~:text=la%20febbre%20dura)" in shown


def test_the_bots_own_page_is_opened_at_its_top() -> None:
    assert "](https://bot.example.org/sources/starter-it-fever)" in render(evidence(QUOTE))


def test_a_quote_shows_the_readers_own_number() -> None:
    shown = render(evidence("Chiami il {emergency}."), text="Chiami il {emergency}.")
    assert "«Chiami il 123.»" in shown
    assert "{" not in shown


def test_a_long_sentence_is_shortened_at_a_word_and_its_quote_is_whole() -> None:
    long = "Bere molto " + "e poi ancora molto " * 10 + "davvero."
    shown = render(evidence(long), text=long)
    heading = shown.split("\n")[1]
    assert len(heading) < 95
    assert re.search(r" (e|poi|ancora|molto)…\*\*$", heading)
    assert f"«{long}»" in shown


def test_a_sentence_that_is_its_own_quote_is_named_by_its_first_words() -> None:
    long = "Nella maggior parte delle persone l'influenza guarisce in circa una settimana."
    renderer = Renderer(Catalog.load(), EmergencyDirectory.load(), SourceAddresses(None))
    message = renderer.render(Proof(answer=answer(sentence(long))), Reader(platform=Platform.TELEGRAM))
    assert message.paragraphs[1].startswith(f"**1. Nella maggior parte delle persone…**\n«{long}»\n")


def test_brackets_in_a_title_or_an_address_do_not_break_the_link() -> None:
    shown = render(evidence("Uno.", url="https://a.example/x_(y)", title="Febbre [it]"))
    spans = [span for block in markup.blocks(OutboundMessage(paragraphs=(shown,))) for span in block if span.url]
    assert [(span.text, span.url) for span in spans] == [
        ("Febbre (it) — Salus (testo dimostrativo)", "https://a.example/x_%28y%29#:~:text=Uno")
    ]


def test_an_answer_of_a_forum_is_said_to_be_one() -> None:
    proof = evidence("Uno.", url=PUBLIC)
    forum = replace(proof, chunk=replace(proof.chunk, kind=DocumentKind.FORUM))
    assert "(risposta di un medico a un'altra persona)" in render(forum)


def test_no_word_of_an_answer_is_in_a_sessions_repr() -> None:
    session = Session(last_seen=0)
    session.keep_answer(Answer(sentences=(sentence(),), sources=(), language=IT, mode=answer().mode), 0)
    assert "febbre" not in repr(session) + repr(session.kept)
