import pytest

from channels import markup
from channels.markup import parse
from channels.messages import OutboundLink, OutboundMessage

FEVER = "Se la febbre è > 38.5 °C (o < 35), evita l'aspirina! [fonte_1]"
ODD_ADDRESS = "https://esempio.it/schede/ibuprofene_(orale)?a=1&b=2"
MODEL_OUTPUT = "## Febbre\n**Attenzione**: vedi [ISS](https://esempio.it/a_b_c)\n* riposo\n2*3*4"


def test_h01_text_is_escaped_as_text_and_nothing_else_changes() -> None:
    assert markup.html(parse(FEVER)) == "Se la febbre è &gt; 38.5 °C (o &lt; 35), evita l'aspirina! [fonte_1]"


def test_h01_a_link_target_keeps_its_brackets_and_is_escaped_as_an_attribute() -> None:
    message = OutboundMessage(paragraphs=(FEVER,), links=(OutboundLink(label="Ibuprofene <orale>", url=ODD_ADDRESS),))
    shown = markup.html(markup.blocks(message)[1])
    assert shown == '• <a href="https://esempio.it/schede/ibuprofene_(orale)?a=1&amp;b=2">Ibuprofene &lt;orale&gt;</a>'


def test_h01_a_name_that_looks_like_markup_is_shown_as_it_is() -> None:
    assert markup.html(parse("<b>Mario_*")) == "&lt;b&gt;Mario_*"
    assert markup.whatsapp(parse("<b>Mario_*")) == "<b>Mario_*"


def test_h01_a_quote_in_an_address_cannot_end_the_attribute() -> None:
    block = (markup.Span(text="x", url='https://esempio.it/"onclick="'),)
    assert markup.html(block) == '<a href="https://esempio.it/&quot;onclick=&quot;">x</a>'


def test_h16_model_markdown_becomes_whatsapp_markup() -> None:
    assert markup.whatsapp(parse(MODEL_OUTPUT)) == "*Febbre*\n*Attenzione*: vedi ISS: https://esempio.it/a_b_c\n* riposo\n2*3*4"


def test_h16_model_markdown_becomes_telegram_html() -> None:
    expected = '<b>Febbre</b>\n<b>Attenzione</b>: vedi <a href="https://esempio.it/a_b_c">ISS</a>\n• riposo\n2*3*4'
    assert markup.html(parse(MODEL_OUTPUT)) == expected


def test_h16_plain_text_has_no_markdown_left() -> None:
    assert markup.plain(parse(MODEL_OUTPUT)) == "Febbre\nAttenzione: vedi ISS: https://esempio.it/a_b_c\n• riposo\n2*3*4"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```\nBeva acqua\n```", "Beva acqua"),
        ("```text\nBeba agua\n```", "Beba agua"),
        ("***Attenzione***", "*Attenzione*"),
        ("![foto](https://esempio.it/a_b.png)", "foto: https://esempio.it/a_b.png"),
        ("vedi <https://esempio.it/a_b_c>.", "vedi https://esempio.it/a_b_c."),
        ("~~no~~ sì", "no sì"),
        ("prima\n\n---\n\ndopo", "prima\n\n\ndopo"),
        ("**su\ndue righe** e poi", "*su*\n*due righe* e poi"),
        (r"2\*3 e \_così\_", "2*3 e _così_"),
        ("- **Reposo**: duerma", "- *Reposo*: duerma"),
    ],
)
def test_h16_other_markdown_is_not_shown_raw_either(text: str, shown: str) -> None:
    assert markup.whatsapp(parse(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "2*3*4",
        "a_b_c",
        "5 * 2 mg e 3 * 1",
        "nota* e altra nota*",
        "https://esempio.it/_a_/*b*?c=_d_",
        "#1 in classifica",
        "> 38,5 °C",
        "[1]",
        "- riposo",
    ],
)
def test_text_that_is_no_markdown_stays_untouched(text: str) -> None:
    assert markup.plain(parse(text)) == text
    assert markup.whatsapp(parse(text)) == text


def test_bold_is_left_out_where_whatsapp_would_misread_it() -> None:
    assert markup.whatsapp(parse("**2*3**")) == "2*3"
    assert markup.whatsapp(parse("**https://esempio.it/a**")) == "https://esempio.it/a"


def test_an_emergency_line_is_bold_and_the_rest_is_not() -> None:
    first, second = markup.blocks(OutboundMessage(paragraphs=("Chiami il 112.", "Resti in linea."), emphasis=True))
    assert (markup.html(first), markup.html(second)) == ("<b>Chiami il 112.</b>", "Resti in linea.")
    assert markup.whatsapp(first) == "*Chiami il 112.*"


def test_parts_of_a_reply_keep_their_order() -> None:
    message = OutboundMessage(
        paragraphs=("testo",),
        links_heading="Fonti",
        links=(OutboundLink(label="ISS", url="https://esempio.it/1"), OutboundLink(label="Scheda 4", url=None)),
        further_heading="Altro",
        further_links=(OutboundLink(label="OMS", url="https://esempio.it/2"),),
        closing=("avvertenza",),
    )
    shown = [markup.plain(block) for block in markup.blocks(message, "1. Sì")]
    assert shown == [
        "testo",
        "Fonti\n• ISS: https://esempio.it/1\n• Scheda 4",
        "Altro\n• OMS: https://esempio.it/2",
        "1. Sì",
        "avvertenza",
    ]


def test_control_characters_and_lone_surrogates_are_dropped() -> None:
    assert markup.plain(parse("a\x00b\x1b[31mc\ud800d\r\ne")) == "ab[31mcd\ne"
