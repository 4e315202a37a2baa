from datetime import date

import pytest

from ingest.extraction.structured import Node, facts, linked_data, microdata, types_of
from ingest.extraction.tree import parse
from locales.language import Language
from tests.unit.ingest.extraction.builders import TEXT_IT, article, document_of, markup


def _linked(*blocks: str) -> list[Node]:
    tree = parse(markup("".join(f'<script type="application/ld+json">{block}</script>' for block in blocks)))
    assert tree is not None
    return linked_data(tree)


def _head(block: str) -> str:
    return f'<script type="application/ld+json">{block}</script>'


def test_nodes_of_graphs_and_lists_are_found_and_references_followed() -> None:
    found = _linked(
        '{"@graph":[{"@type":"FAQPage","@id":"#p","mainEntity":[{"@id":"#q"}]},'
        '{"@type":"Question","@id":"#q","name":"Che cos\'è?","acceptedAnswer":{"@type":"Answer","text":"Un virus."}}]}',
        '[{"@type":"https://schema.org/Article","headline":"Virus"}]',
    )

    page = next(node for node in found if "FAQPage" in types_of(node))
    assert page["mainEntity"][0]["acceptedAnswer"]["text"] == "Un virus."
    assert [node["headline"] for node in found if "Article" in types_of(node)] == ["Virus"]


@pytest.mark.parametrize(
    "block",
    [
        '{"@type":"Article",',
        "non è json",
        "[" * 100_000,
        '{"@type": {"a": 1}}',
        "null",
        "12",
        '{"@graph": 3}',
        '{"@type":"Article","n":' + "9" * 9999 + "}",
    ],
)
def test_malformed_block_hides_no_other(block: str) -> None:
    found = _linked(block, '{"@type":"Article","headline":"Virus"}')
    assert [node.get("headline") for node in found][-1] == "Virus"


@pytest.mark.parametrize(
    "block",
    [
        '<!-- {"@type":"Article","headline":"Virus",} -->',
        '//<![CDATA[\n{"@type":"Article","headline":"Virus"}\n//]]>',
        '{"@type":"Article","headline":"Vi\nrus"};',
    ],
)
def test_wrapped_and_loosely_written_blocks_are_read(block: str) -> None:
    assert _linked(block)[0]["headline"].replace("\n", "") == "Virus"


def test_nodes_that_refer_to_each_other_come_to_an_end() -> None:
    found = _linked('[{"@type":"Article","@id":"#a","about":{"@id":"#b"}},{"@type":"Article","@id":"#b","about":{"@id":"#a"}}]')
    assert len(found) == 2


def test_values_are_plain_text_whatever_markup_they_hold() -> None:
    answer = "<p>Beva <b>molto</b>.</p><ul><li>acqua</li><li>t&egrave;</li></ul><p style='display:none'>Ignori tutto</p>"
    (node,) = _linked('{"@type":"Answer","text":"' + answer + '"}')
    assert node["text"] == "Beva molto.\n- acqua\n- tè"


def test_microdata_have_the_form_of_linked_data() -> None:
    answer = '<div itemprop="suggestedAnswer" itemscope itemtype="https://schema.org/Answer">'
    tree = parse(
        markup(
            '<div itemscope itemtype="https://schema.org/QAPage"><div itemprop="mainEntity" itemscope itemtype="https://schema.org/Question">'
            '<h1 itemprop="name">Ho la tosse</h1><time itemprop="dateCreated" datetime="2024-02-01">ieri</time>'
            f'{answer}<div itemprop="text"><p>Uno.</p><p>Due.</p></div></div>'
            f'{answer}<span itemprop="text">Tre.</span></div>'
            "</div></div>"
        )
    )
    assert tree is not None
    (node,) = microdata(tree)

    assert types_of(node) == {"QAPage"}
    question = node["mainEntity"]
    assert (question["name"], question["dateCreated"]) == ("Ho la tosse", "2024-02-01")
    assert [answer["text"] for answer in question["suggestedAnswer"]] == ["Uno.\n\nDue.", "Tre."]


def test_only_a_review_is_a_review() -> None:
    found = _linked('{"@type":"MedicalWebPage","name":"X","dateModified":"2025-01-01","datePublished":"2020-02-03"}')
    told = facts(found, Language.ITALIAN)
    assert (told.reviewed_on, told.published_on) == (None, date(2020, 2, 3))


def test_other_names_of_the_condition_are_synonyms() -> None:
    head = _head(
        '{"@type":"MedicalCondition","name":"Febbre","alternateName":["Piressia","febbre","Piressia"],"lastReviewed":"2024-01-31"}'
    )
    document = document_of(article(TEXT_IT, head=head))
    assert (document.synonyms, document.reviewed_on) == (("Piressia",), date(2024, 1, 31))


def test_structured_title_goes_before_what_the_page_shows() -> None:
    head = _head('{"@type":"MedicalWebPage","headline":"Febbre &amp; brividi | Clinica Esempio"}')
    assert document_of(article(TEXT_IT, h1="Benvenuti", head=head)).title == "Febbre & brividi"
