from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.escalation import ANSWER_PAYLOAD
from bot.opening import Opening
from bot.outcomes import Apology, Escalation, Notice, Topic
from bot.renderer import Reader, Renderer
from bot.safety import Level
from bot.source_address import SourceAddresses
from channels import markup
from channels.messages import OutboundMessage, Platform
from ingest.sources import load_sources
from locales.catalog import Catalog
from locales.emergency import EmergencyDirectory
from locales.language import Language
from rag.documents import Authority, DocumentKind, Link
from rag.replies import Abstention, AbstentionKind, Clarification, ClarificationKind, Preface
from rag.types import Source
from tests.builders import answer, red_flag, sentence, source

IT, ES = Language
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def renderer(public_base_url: str | None = None) -> Renderer:
    addresses = SourceAddresses(public_base_url, load_sources())
    return Renderer(Catalog.load(), EmergencyDirectory.load(), addresses, now=lambda: NOON)


def reader(country: str | None = "IT", platform: Platform = Platform.TELEGRAM, *, is_new: bool = False) -> Reader:
    return Reader(platform=platform, country=country, is_new=is_new)


def everything(message: OutboundMessage) -> str:
    links = [link.label for link in (*message.links, *message.further_links)]
    return "\n".join((*message.paragraphs, message.links_heading, *links, message.further_heading, *message.closing))


def test_an_answer_has_sentences_sources_and_a_disclaimer_with_the_number() -> None:
    message = renderer().render(answer(sentence("Riposo."), sentence("Bere molto")), reader())
    assert message.paragraphs == ("Riposo. Bere molto.",)
    assert [(link.label, link.url) for link in message.links] == [("Febbre — Editore", "https://esempio.it/febbre")]
    assert len(message.closing) == 1
    assert "112" in message.closing[0]
    assert not message.emphasis


@pytest.mark.parametrize("about_emergency", [False, True])
@pytest.mark.parametrize("extractive", [False, True])
@pytest.mark.parametrize("preface", [None, *Preface])
@pytest.mark.parametrize("language", list(Language))
def test_the_whole_answer_begins_with_each_part_of_it(
    language: Language, preface: Preface | None, *, extractive: bool, about_emergency: bool
) -> None:
    one, whom = renderer(), reader("CO", is_new=True)
    sentences = [sentence("Llame al {emergency}"), sentence("Sono:\n- uno\n- due"), sentence("Tre.")]
    reply = answer(*sentences, language=language, preface=preface, extractive=extractive)
    whole = one.render(reply, whom, about_emergency=about_emergency)
    opening = Opening(language=language, preface=preface, extractive=extractive, about_emergency=about_emergency)
    for count in (1, 2, 3):
        part = one.begin(opening, whom, sentences[:count])
        assert (part.links, part.closing, part.buttons, part.emphasis) == ((), (), (), about_emergency)
        assert part.paragraphs[:-1] == whole.paragraphs[:-1]
        assert whole.paragraphs[-1].startswith(part.paragraphs[-1])


def test_only_an_answer_with_a_number_has_buttons() -> None:
    whom = reader()
    assert renderer().render(answer(), whom).buttons == ()
    buttons = renderer().render(answer(language=ES), replace(whom, answer_number="17")).buttons
    assert (buttons[0].label, buttons[0].payload) == ("¿Por qué?", "proof:17")
    assert [button.payload for button in buttons[1:]] == ["plainer:17", "more:17", "useful:17", "useless:17"]


@pytest.mark.parametrize(("language", "words"), [(IT, "non ho potuto completare"), (ES, "no pude completar")])
def test_an_answer_that_broke_off_names_its_sources_and_says_what_happened(language: Language, words: str) -> None:
    message = renderer().render(Apology(language=language, shown=(sentence("Uno"), sentence("Due."))), reader())
    assert message.paragraphs[0] == "Uno. Due."
    assert words in message.paragraphs[1]
    assert "112" in message.paragraphs[1]
    assert len(message.links) == 1
    assert len(message.closing) == 1  # unreviewed


def test_further_reading_stands_apart_and_never_among_the_sources() -> None:
    link = Link(title="Altro", publisher="Rivista", url="https://altro.it")
    message = renderer().render(answer(further_reading=(link,)), reader())
    assert [link.url for link in message.links] == ["https://esempio.it/febbre"]
    assert [link.url for link in message.further_links] == ["https://altro.it"]
    assert message.further_heading
    assert message.further_heading != message.links_heading


def test_a_demonstration_source_is_said_to_be_unreviewed() -> None:
    message = renderer().render(answer(sources=(source(authority=Authority.DEMONSTRATION),)), reader())
    assert "non ancora rivisto" in message.closing[1]


@pytest.mark.parametrize(("country", "language", "number"), [("MX", ES, "911"), ("CO", ES, "123"), ("IT", IT, "112")])
def test_a_sentence_shows_the_readers_own_number(country: str, language: Language, number: str) -> None:
    message = renderer().render(answer(sentence("Llame al {emergency}."), language=language), reader(country))
    assert message.paragraphs == (f"Llame al {number}.",)
    assert number in message.closing[0]


def test_braces_of_a_source_are_left_alone() -> None:
    message = renderer().render(answer(sentence("Un insieme {x} e {emergency}.")), reader())
    assert message.paragraphs == ("Un insieme {x} e 112.",)


def test_a_source_in_the_other_language_is_named_as_such_h37() -> None:
    message = renderer().render(answer(language=ES), reader("ES"))
    assert message.links[0].label == "Febbre — Editore (en italiano)"


@pytest.mark.parametrize(
    ("language", "words"),
    [(IT, "risposta di un medico a un'altra persona"), (ES, "respuesta de un médico a otra persona, en italiano")],
)
def test_an_answer_of_a_forum_says_that_it_was_given_to_somebody_else(language: Language, words: str) -> None:
    forum = replace(source(), kind=DocumentKind.FORUM)
    message = renderer().render(answer(sources=(forum,), language=language), reader())
    assert message.links[0].label == f"Febbre — Editore ({words})"


def test_a_page_without_an_address_is_served_by_the_bot() -> None:
    message = renderer("https://bot.example.org").render(answer(sources=(source(url=None),)), reader())
    assert message.links[0].url == "https://bot.example.org/sources/starter-it-fever"


def test_without_any_address_the_file_is_named() -> None:
    page = source(url=None, document_id="starter-it-flu", title="Influenza", publisher="Salus")
    message = renderer().render(answer(sources=(page,)), reader())
    assert message.links[0].url is None
    assert message.links[0].label == "Influenza — Salus · starter/it/flu.md"


def test_a_question_about_an_emergency_condition_gets_the_number_first() -> None:
    message = renderer().render(answer(), reader(), about_emergency=True)
    assert "112" in message.paragraphs[0]
    assert message.emphasis


@pytest.mark.parametrize("preface", list(Preface))
def test_a_preface_stands_before_the_sentences(preface: Preface) -> None:
    message = renderer().render(answer(preface=preface), reader())
    assert len(message.paragraphs) == 2
    assert message.paragraphs[0].startswith("Non posso")


def test_that_answers_are_quotes_is_said_once() -> None:
    assert len(renderer().render(answer(extractive=True), reader(is_new=True)).paragraphs) == 2
    assert len(renderer().render(answer(extractive=True), reader()).paragraphs) == 1


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("kind", [kind for kind in AbstentionKind if kind is not AbstentionKind.IN_OTHER_LANGUAGE])
def test_every_abstention_has_words(kind: AbstentionKind, language: Language) -> None:
    message = renderer().render(Abstention(kind=kind, language=language), reader())
    assert message.paragraphs[0]
    assert not message.links


def pointer(page: Source, language: Language = IT) -> Abstention:
    return Abstention(kind=AbstentionKind.IN_OTHER_LANGUAGE, language=language, sources=(page,))


SPANISH_PAGE = source(title="Fiebre", publisher="Editor", url="https://ejemplo.es/fiebre", language=ES)


def test_a_page_in_another_language_is_named_as_such_with_its_link_and_the_helpline() -> None:
    message = renderer().render(pointer(SPANISH_PAGE), reader())
    assert "in italiano non ho trovato" in message.paragraphs[0]
    assert "una pagina in spagnolo" in message.paragraphs[0]
    assert "112" in message.paragraphs[1]
    assert "116117" in message.paragraphs[-1]
    assert message.links_heading == "Pagina in spagnolo"
    assert [(link.label, link.url) for link in message.links] == [("Fiebre — Editor (in spagnolo)", "https://ejemplo.es/fiebre")]
    assert message.closing == ()
    assert "{" not in everything(message)


def test_an_italian_page_is_named_to_a_spanish_reader_in_spanish() -> None:
    message = renderer().render(pointer(source(), ES), reader("MX"))
    assert "En mis fuentes en español no encontré" in message.paragraphs[0]
    assert "911" in message.paragraphs[1]
    assert (message.links_heading, message.links[0].label) == ("Página en italiano", "Febbre — Editore (en italiano)")


def test_a_page_that_is_pointed_to_is_said_to_be_unreviewed_where_it_is() -> None:
    page = replace(SPANISH_PAGE, authority=Authority.DEMONSTRATION, url=None, document_id="starter-es-flu")
    message = renderer().render(pointer(page), reader())
    assert "non ancora rivisto" in "".join(message.closing)
    assert (message.links[0].url, message.links[0].label) == (None, "Fiebre — Editor (in spagnolo) · starter/es/flu.md")


@pytest.mark.parametrize("mark_up", [markup.html, markup.whatsapp, markup.plain])
def test_a_page_in_another_language_can_be_opened_from_every_messenger(mark_up: Callable[[markup.Block], str]) -> None:
    shown = [mark_up(block) for block in markup.blocks(renderer().render(pointer(SPANISH_PAGE), reader()))]
    assert any("Pagina in spagnolo" in block and "https://ejemplo.es/fiebre" in block for block in shown)


def test_only_a_health_question_without_an_answer_gets_the_helpline() -> None:
    nothing = renderer().render(Abstention(kind=AbstentionKind.NO_EVIDENCE, language=IT), reader())
    off_topic = renderer().render(Abstention(kind=AbstentionKind.OFF_TOPIC, language=IT), reader())
    assert "116117" in everything(nothing)
    assert not any(character.isdigit() for character in everything(off_topic))


@pytest.mark.parametrize("platform", list(Platform))
@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("topic", list(Topic))
def test_every_notice_has_words_on_every_messenger(topic: Topic, language: Language, platform: Platform) -> None:
    notice = Notice(topic=topic, language=language, values={"k": "3", "country": "MX", "mode": "precise"})
    message = renderer().render(notice, reader(platform=platform))
    assert all(message.paragraphs)
    assert "{" not in everything(message)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("country", ["IT", "ES", "MX", "AR", "CO", "US", "CH", None, "ZZ"])
def test_apology_and_clarification_have_words_in_every_country(country: str | None, language: Language) -> None:
    apology = renderer().render(Apology(language=language), reader(country))
    clarification = renderer().render(Clarification(kind=ClarificationKind.WHAT_IS_MEANT, language=language), reader(country))
    assert any(character.isdigit() for character in apology.paragraphs[0])
    assert clarification.paragraphs[0]


def test_the_consent_says_machine_data_and_number() -> None:
    message = renderer().render(Notice(topic=Topic.CONSENT, language=ES), reader("MX", Platform.WHATSAPP))
    text = everything(message)
    assert "sistema automático" in text
    assert "30 minutos" in text
    assert "Twilio" in text
    assert "911" in text


def test_choices_are_buttons() -> None:
    languages = renderer().render(Notice(topic=Topic.LANGUAGE_ASK, language=IT), reader())
    countries = renderer().render(Notice(topic=Topic.COUNTRY_ASK, language=ES), reader())
    assert [button.payload for button in languages.buttons] == ["language:it", "language:es"]
    assert len(countries.buttons) == 7
    assert countries.buttons[1].label == "España"


def test_an_escalation_begins_with_the_number() -> None:
    message = renderer().render(Escalation(red_flag=red_flag(), language=IT), reader())
    assert "112" in message.paragraphs[0]
    assert message.emphasis
    assert [button.payload for button in message.buttons] == [ANSWER_PAYLOAD]


def test_a_repeated_escalation_is_shorter_and_still_has_the_number() -> None:
    full = renderer().render(Escalation(red_flag=red_flag(), language=IT), reader())
    again = renderer().render(Escalation(red_flag=red_flag(), language=IT, repeated=True), reader())
    assert again.paragraphs == full.paragraphs[:1]
    assert again.buttons


def test_in_a_crisis_a_repeat_says_that_the_bot_is_still_there() -> None:
    flag = red_flag(category="suicide", level=Level.CRISIS)
    message = renderer().render(Escalation(red_flag=flag, language=IT, repeated=True), reader())
    assert message.paragraphs[0].startswith("Sono ancora qui")
    assert "112" in message.paragraphs[0]
    assert not message.buttons


def test_a_list_stands_on_its_own_lines() -> None:
    listed = sentence("I sintomi sono:\n- febbre\n- tosse")
    message = renderer().render(answer(sentence("Riposo."), listed, sentence("Passa da sola.")), reader())
    assert message.paragraphs[0].split("\n")[0] == "Riposo."
    assert message.paragraphs[0].split("\n")[1] == "I sintomi sono:"


def test_a_missing_file_leaves_the_documents_name(tmp_path: Path) -> None:
    assert SourceAddresses(None).link(source(url=None)).label == "Febbre — Editore · starter-it-fever"


@pytest.mark.parametrize("language", list(Language))
def test_an_answer_made_in_haste_says_so_below_its_sentences(language: Language) -> None:
    plain = renderer().render(answer(language=language), reader())
    hurried = renderer().render(answer(language=language, hurried=True), reader())
    assert hurried.paragraphs[: len(plain.paragraphs)] == plain.paragraphs
    assert len(hurried.paragraphs) == len(plain.paragraphs) + 1


@pytest.mark.parametrize("language", list(Language))
def test_a_page_whose_sentence_is_too_long_is_pointed_to_and_not_cut(language: Language) -> None:
    abstention = Abstention(kind=AbstentionKind.ONLY_LINK, language=language, sources=(source(language=language),))
    message = renderer().render(abstention, reader())
    assert [link.url for link in message.links] == ["https://esempio.it/febbre"]
    assert message.links_heading
    assert "{" not in everything(message)
