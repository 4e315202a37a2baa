from bot.asker import Asker
from bot.renderer import Renderer
from bot.source_address import SourceAddresses
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.replies import Abstention, AbstentionKind, Reply
from rag.types import Mode, SentenceKind
from tests.builders import answer, evidence, red_flag, sentence, source
from tests.fakes import ScriptedAnswerer, ScriptedGate

KEYS = {"language", "mode", "outcome", "text", "sentences", "sources", "disclaimer", "timings_s"}


def asker(*replies: Reply, country: str | None = None) -> tuple[Asker, list[ScriptedAnswerer]]:
    opened: list[ScriptedAnswerer] = []

    def open_answerer() -> ScriptedAnswerer:
        opened.append(ScriptedAnswerer(*replies))
        return opened[-1]

    renderer = Renderer(Catalog.load(), EmergencyDirectory.load(), SourceAddresses("https://bot.example.org"))
    gate = ScriptedGate({"petto": red_flag()}, about=["infarto"])
    return Asker(gate, renderer, open_answerer, country=country), opened  # type: ignore[arg-type]


def test_the_record_of_an_answer_has_the_form_of_the_interface() -> None:
    proof = evidence("Chiami {emergency}.")
    reply = answer(
        sentence("Chiami {emergency}.", kind=SentenceKind.WRITTEN, evidence=(proof,), alignment=0.93), sources=(source(url=None),)
    )
    one, _ = asker(reply, country="IT")
    record = one.record(one.ask("Che cosa fare per la febbre?", mode=Mode.PRECISE))
    assert set(record) == KEYS
    assert record["outcome"] == "answer"
    assert record["mode"] == "precise"
    assert record["text"] == "Chiami 112."
    page = "https://bot.example.org/sources/starter-it-fever"
    quote = {"chunk_id": "starter-it-fever#1", "url": page, "quote": "Chiami 112.", "alignment": 0.93}
    assert record["sentences"] == [{"text": "Chiami 112.", "kind": "written", "evidence": [quote]}]
    assert record["sources"] == [{"title": "Febbre", "publisher": "Editore", "url": page, "similarity": 0.8, "language": "it"}]
    assert "112" in record["disclaimer"]
    assert {"gate", "first_sentence", "total"} <= set(record["timings_s"])


def test_an_emergency_needs_no_model() -> None:
    one, opened = asker()
    record = one.record(one.ask("tengo dolor de petto"))
    assert opened == []
    assert record["outcome"] == "escalation"
    assert record["language"] == "es"
    assert record["sentences"] == record["sources"] == []
    assert "911" in record["text"]


def test_the_language_asked_for_is_passed_on() -> None:
    one, opened = asker(answer(language=Language.SPANISH))
    one.ask("fiebre", language=Language.SPANISH)
    assert opened[0].questions[0].language is Language.SPANISH


def test_an_abstention_has_words_and_no_sentences() -> None:
    one, _ = asker(Abstention(kind=AbstentionKind.OFF_TOPIC, language=Language.ITALIAN))
    record = one.record(one.ask("Chi ha vinto il Giro 1998?"))
    assert (record["outcome"], record["sentences"], record["disclaimer"]) == ("abstention", [], "")
    assert record["text"]
    assert record["timings_s"]["first_sentence"] is None


def test_a_page_that_is_pointed_to_is_a_source_of_the_record_with_its_language() -> None:
    page = source(title="Fiebre", language=Language.SPANISH, similarity=0.31)
    one, _ = asker(Abstention(kind=AbstentionKind.IN_OTHER_LANGUAGE, language=Language.ITALIAN, sources=(page,)))
    record = one.record(one.ask("che cos'è la febbre?"))
    shown = {"title": "Fiebre", "publisher": "Editore", "url": "https://esempio.it/febbre", "similarity": 0.31, "language": "es"}
    assert (record["outcome"], record["language"], record["sentences"]) == ("abstention", "it", [])
    assert record["sources"] == [shown]
    assert "in spagnolo" in record["text"]


def test_a_question_about_an_emergency_condition_shows_the_number_first() -> None:
    one, _ = asker(answer())
    assert "112" in one.ask("cos'è l'infarto?").message.paragraphs[0]


def test_the_message_grows_with_each_sentence_and_the_whole_begins_with_it() -> None:
    reply = answer(sentence("Uno."), sentence("Due."))
    one, opened = asker(reply)
    grown: list[tuple[str, ...]] = []
    asked = one.ask("cos'è l'infarto?", on_growth=lambda message: grown.append(message.paragraphs))
    assert len(opened) == 1
    assert [paragraphs[1:] for paragraphs in grown] == [("Uno.",), ("Uno. Due.",)]
    assert {paragraphs[0] for paragraphs in grown} == {asked.message.paragraphs[0]}


def test_a_question_on_the_command_line_has_no_button() -> None:
    one, _ = asker(answer())
    assert one.ask("Che cosa fare per la febbre?").message.buttons == ()
