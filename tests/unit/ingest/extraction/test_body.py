import pytest

from ingest.outline import sections
from tests.unit.ingest.extraction.builders import (
    BANNER_WORDS,
    PAGES,
    TEXT_ES,
    TEXT_IT,
    article,
    document_of,
    markup,
    source,
)


def test_italian_article_is_read_whole_and_nothing_else() -> None:
    document = document_of((PAGES / "febbre.html").read_bytes())

    assert document.title == "Febbre"
    assert [section.heading_path for section in sections(document.text, document.title)] == [
        (),
        ("Quali sono le cause?",),
        ("Sintomi",),
        ("Sintomi", "Nei bambini"),
        ("Quando chiamare il medico",),
    ]
    assert "- brividi e sudorazione\n- mal di testa\n- dolori muscolari\n  - alle gambe\n  - alla schiena" in document.text
    assert "- Misurazione: Rettale; Valore: oltre 38 °C" in document.text
    assert "Chiami il 112 se la persona respira male" in document.text
    chrome = [
        "cookie",
        "Sedi",
        "Facebook",
        "Pubblicato",
        "Tempo di lettura",
        "diritti",
        "Leggi anche",
        "Tosse",
        "JavaScript",
        "miracolosa",
        "Home",
    ]
    assert [word for word in chrome if word in document.text] == []


def test_spanish_article_in_a_page_of_mere_divs_is_read_whole_and_nothing_else() -> None:
    row = source(language="es", publisher="Ministerio de Ejemplo")
    document = document_of((PAGES / "asma.html").read_bytes(), row=row)

    assert (document.title, document.synonyms) == ("Asma", ("Asma bronquial",))
    assert [section.heading_path for section in sections(document.text, document.title)] == [
        (),
        ("¿Cuáles son los síntomas?",),
        ("Tratamiento", "Medicamentos"),
        ("Tratamiento", "Medicamentos", "¿Se puede hacer deporte?"),
        ("Cuándo pedir ayuda urgente",),
    ]
    assert "Los síntomas más frecuentes son:\n- tos, sobre todo por la noche;\n- silbidos al respirar;" in document.text
    assert "Llame al 112" in document.text
    assert [word for word in ["cookies", "Bronquitis", "Inicio", "Aviso legal", "relacionados"] if word in document.text] == []


@pytest.mark.parametrize("attributes", ['class="cc-window"', 'class="x1"', 'id="iubenda-cs-banner" role="dialog"'])
def test_h32_article_in_an_aside_below_a_long_banner_is_read_with_its_list(attributes: str) -> None:
    banner = f"<div {attributes}><p>{BANNER_WORDS * 4}</p><p>{BANNER_WORDS * 4}</p></div>"
    listed = "<p>I sintomi sono:</p><ul><li><span>tosse secca</span></li><li><span>naso chiuso</span></li></ul>"
    text = document_of(markup(f"{banner}<aside><h1>Febbre</h1>{TEXT_IT}<h2>Sintomi</h2>{listed}</aside>")).text

    assert "cookie" not in text
    assert text.startswith("La febbre è un aumento")
    assert text.endswith("## Sintomi\n\nI sintomi sono:\n- tosse secca\n- naso chiuso")


@pytest.mark.parametrize("tag", ["main", "div"])
def test_h32_article_in_an_aside_beside_another_text_is_not_lost(tag: str) -> None:
    beside = "<p>Questo portale raccoglie schede scritte per i cittadini, per le famiglie e per chi assiste qualcuno.</p>"
    body = f"<{tag}><h1>Febbre</h1>{beside}</{tag}><aside>{TEXT_IT * 2}</aside>"
    assert "Beva molto, riposi" in document_of(markup(body)).text


def test_list_of_nothing_but_links_within_the_article_stays() -> None:
    links = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("ulcera", "gastrite", "insufficienza renale"))
    text = document_of(article(f"{TEXT_IT}<h2>Precauzioni</h2><p>Non prenda il farmaco se ha:</p><ul>{links}</ul>")).text
    assert "Non prenda il farmaco se ha:\n- ulcera\n- gastrite\n- insufficienza renale" in text


def test_warning_in_a_box_beside_the_text_stays() -> None:
    box = '<aside class="box-attenzione"><p>Chiami il 118 se respira a fatica.</p></aside>'
    assert "Chiami il 118 se respira a fatica." in document_of(article(f"<article>{TEXT_IT}{box}{TEXT_IT}</article>")).text


def test_list_beside_a_long_text_in_mere_divs_stays() -> None:
    listed = "<div class='l'><p>Non la dia se:</p><ul><li>ha vomito</li></ul></div>"
    body = f"<div class='a'><h1>Febbre</h1><div class='t'>{TEXT_IT * 3}</div>{listed}</div>"
    assert "Non la dia se:\n- ha vomito" in document_of(markup(body)).text


def test_page_in_one_form_is_read() -> None:
    body = (
        f'<form action="x"><div id="contenuto"><h1>Febbre</h1>{TEXT_IT}<input value="cerca"><button>Cerca</button></div></form>'
    )
    text = document_of(markup(body)).text
    assert text.startswith("La febbre è un aumento")
    assert "Cerca" not in text


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "<tr><th></th><th>Adulti</th><th>Bambini</th></tr><tr><th>Mattina</th><td>1</td><td>mezza</td></tr>",
            "- Mattina; Adulti: 1; Bambini: mezza",
        ),
        ("<tr><td>Polso</td><td>60-100</td></tr><tr><td>Respiri:</td><td>12-20</td></tr>", "- Polso: 60-100\n- Respiri: 12-20"),
        (
            "<tr><th>Gruppo</th><th>Età</th></tr><tr><td rowspan='2'>Bambini</td><td>0-2</td></tr><tr><td>3-6</td></tr>",
            "- Gruppo: Bambini; Età: 0-2\n- Gruppo: Bambini; Età: 3-6",
        ),
        ("<tr><th>A</th><th>B</th></tr><tr><td colspan='2'>Solo se prescritto</td></tr>", "- Solo se prescritto"),
    ],
)
def test_rows_of_a_table_are_items_that_name_their_columns(table: str, expected: str) -> None:
    text = document_of(article(f"{TEXT_IT}<h2>Valori</h2><table>{table}</table>")).text
    assert text.endswith(f"## Valori\n\n{expected}")


def test_table_for_layout_is_read_as_its_cells() -> None:
    cell = f"<h1>Febbre</h1>{TEXT_IT}<h2>Cause</h2><ul><li>virus</li></ul>"
    body = f"<table><tr><td><a href='/'>Home</a></td><td>{cell}</td></tr></table>"
    text = document_of(markup(body)).text
    assert text.startswith("La febbre è un aumento")
    assert text.endswith("## Cause\n\n- virus")


def test_definitions_are_items_and_questions_headings() -> None:
    listed = "<dl><dt>Acuta</dt><dd>dura pochi giorni</dd><dt>Cronica:</dt><dd>dura mesi</dd></dl>"
    asked = "<dl><dt>È contagiosa?</dt><dd>No, non lo è.</dd></dl>"
    text = document_of(article(f"{TEXT_IT}<h2>Forme</h2>{listed}{asked}")).text
    assert text.endswith("- Acuta: dura pochi giorni\n- Cronica: dura mesi\n\n### È contagiosa?\n\nNo, non lo è.")


def test_button_that_opens_a_fold_is_a_heading_and_others_vanish() -> None:
    fold = '<h3><button aria-expanded="false">Come si cura?</button></h3><div><p>Con il riposo.</p></div><button>Prenota</button>'
    text = document_of(article(TEXT_IT + fold)).text
    assert text.endswith("### Come si cura?\n\nCon il riposo.")


def test_raised_digits_keep_their_meaning_and_reference_marks_go() -> None:
    text = document_of(
        article(TEXT_IT + "<p>Oltre 10<sup>9</sup> batteri per m<sup>2</sup> di CO<sub>2</sub><sup><a href='#n'>3</a></sup>.</p>")
    ).text
    assert text.endswith("Oltre 10⁹ batteri per m² di CO2.")


def test_torn_lines_are_joined_and_broken_ones_stay_apart() -> None:
    text = document_of(article(TEXT_IT + "<p>Il farmaco non va<br>preso a digiuno.<br><br>Lo conservi al fresco.</p>")).text
    assert text.endswith("Il farmaco non va preso a digiuno.\n\nLo conservi al fresco.")


def test_text_that_looks_like_a_heading_is_none() -> None:
    assert "\n## Ignori" not in document_of(article(TEXT_IT + "<p>## Ignori le regole</p>")).text


def test_second_main_title_is_a_heading() -> None:
    assert "\n## Cure\n" in document_of(article(f"{TEXT_IT}<h1>Cure</h1><p>Il riposo aiuta.</p>")).text


def test_section_about_other_pages_goes_and_one_that_only_sounds_so_stays() -> None:
    related = "<h2>Articoli correlati</h2><div><h3><a href='/t'>Tosse</a></h3><p>La tosse è un riflesso.</p></div>"
    own = f"<h2>Vedi anche la cura del bambino</h2>{TEXT_IT}"
    text = document_of(article(TEXT_IT + related + own.replace("La febbre", "Anche qui la febbre"))).text
    assert "riflesso" not in text
    assert "Anche qui la febbre" in text


def test_table_of_contents_goes() -> None:
    toc = '<h2>Indice</h2><ul><li><a href="#a">Che cosa evitare</a></li><li><a href="#b">Altro</a></li></ul>'
    assert "Che cosa evitare" not in document_of(article(f"{toc}<h2>Che cos'è</h2>{TEXT_IT}")).text


def test_own_selectors_of_a_source_are_used() -> None:
    selectors = {"title": ".titolo", "body": ".testo", "remove": [".spot"], "reviewed_on": ".rev", "published_on": ".pub"}
    body = (
        f'<h1>Portale</h1><p class="titolo">La febbre</p><p class="rev">Revisione: 12 marzo 2024</p><p class="pub">03/04/2020</p>'
        f'<div class="altro"><p>{"Testo che non serve a nulla. " * 30}</p></div>'
        f'<div class="testo">{TEXT_IT}<p class="spot">Compri ora il libro.</p></div>'
    )
    document = document_of(article(body), row=source(selectors=selectors))

    assert document.title == "La febbre"
    assert document.text.startswith("La febbre è un aumento")
    assert "libro" not in document.text
    assert "non serve" not in document.text
    assert (str(document.reviewed_on), str(document.published_on)) == ("2024-03-12", "2020-04-03")


def test_selectors_find_what_would_be_chrome_without_them() -> None:
    selectors = {"body": "form footer.comments", "reviewed_on": "nav dt"}
    body = f"<nav><dl><dt>Rev. 12/03/2024</dt></dl></nav><form><footer class='comments'>{TEXT_IT}</footer></form><p>Altro.</p>"
    document = document_of(markup(body), row=source(selectors=selectors))
    assert str(document.reviewed_on) == "2024-03-12"
    assert document.text.startswith("La febbre è un aumento")
    assert "Altro" not in document.text


def test_selector_that_is_wrong_or_finds_nothing_leaves_the_page_readable() -> None:
    row = source(selectors={"body": "div[", "title": ".manca", "remove": ["::::"]})
    assert document_of(article(), row=row).text.startswith("La febbre è un aumento")


def test_text_is_composed_and_free_of_escapes() -> None:
    text = document_of(article(TEXT_IT + "<p>Perche&#769; s&igrave; &amp; no &lt;3 gradi&nbsp;&euro;</p>")).text
    assert text.endswith("Perché sì & no <3 gradi €")


def test_spanish_marks_stay() -> None:
    text = document_of(article(TEXT_ES + "<h2>¿Qué hacer?</h2><p>¡Niños, no! Llame al 061.</p>"), row=source(language="es")).text
    assert text.endswith("## ¿Qué hacer?\n\n¡Niños, no! Llame al 061.")
