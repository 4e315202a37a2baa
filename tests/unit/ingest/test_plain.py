import pytest

from ingest.importers.plain import normal, plain_lines, plain_markdown


def test_decomposed_accents_become_composed() -> None:
    assert normal("perche\u0301 si\u0300") == "perché sì"


def test_invisible_characters_vanish() -> None:
    assert normal("pa\u00adra\u200bcetamolo\ufeff") == "paracetamolo"


@pytest.mark.parametrize("name", ["\r\n", "\r"])
def test_foreign_line_ends_become_plain(name: str) -> None:
    assert normal(f"a{name}b") == "a\nb"


def test_wrapped_markdown_lines_become_one_paragraph() -> None:
    assert plain_markdown("Non prenda\nl'aspirina.\n\nBeva.") == "Non prenda l'aspirina.\n\nBeva."


def test_markdown_emphasis_links_images_and_comments_become_words() -> None:
    text = "**Non** prenda _mai_ [l'aspirina](https://esempio.it) <!-- da rivedere -->![foto](a.png)"
    assert plain_markdown(text) == "Non prenda mai l'aspirina"


def test_underscores_inside_words_and_products_stay() -> None:
    assert plain_markdown("a_b_c e 2 * 3 * 4") == "a_b_c e 2 * 3 * 4"


def test_numbered_and_bulleted_items_have_one_form_and_keep_their_levels() -> None:
    text = "Faccia così:\n1. si sieda\n2) respiri\n   * piano\n   * a lungo\n3. aspetti"
    assert plain_markdown(text) == "Faccia così:\n- si sieda\n- respiri\n  - piano\n  - a lungo\n- aspetti"


def test_wrapped_item_stays_one_item() -> None:
    assert plain_markdown("- febbre alta\n  da tre giorni\n- tosse") == "- febbre alta da tre giorni\n- tosse"


def test_lines_of_plain_text_are_paragraphs() -> None:
    assert plain_lines("Beba agua.\nDescanse.") == "Beba agua.\n\nDescanse."


def test_sentence_torn_over_two_lines_keeps_its_negation() -> None:
    assert plain_lines("No debe tomar\naspirina con fiebre.") == "No debe tomar aspirina con fiebre."


def test_items_that_lost_their_bullets_stay_below_their_lead_in() -> None:
    assert plain_lines("Llame si:\nFiebre alta\nDolor de pecho") == "Llame si:\n- Fiebre alta\n- Dolor de pecho"


def test_round_bullets_of_plain_text_are_items() -> None:
    assert plain_lines("Puede tener:\n• Tos\n• Fiebre\nBeba agua.") == "Puede tener:\n- Tos\n- Fiebre\n\nBeba agua."
