"""Pages of frequent questions, with structured data or with folding blocks and headings."""

from html import escape
from typing import Any

from rag.documents import DocumentKind
from tests.doubles.health_site.expected import ExpectedDocument
from tests.doubles.health_site.markup import chrome_strings, page_html
from tests.doubles.health_site.pages import Page
from tests.doubles.health_site.texts import Words, rng_for


def faq_page(words: Words, area: str, path: str, number: int) -> Page:
    """One page on one area: FAQPage on every second, `details` or `h3` on the others."""
    rng = rng_for("faq", words.language, area)
    faq = words.data["faq"]
    about = words.data["area"][area]
    title = faq["title"][number % 2].format(area=about)
    conditions = [condition for condition in words.conditions if condition.area == area]
    templates = rng.sample(faq["pairs"], 6)
    pairs = [
        (words.filled(question, condition), words.filled(answer, condition))
        for index, (question, answer) in enumerate(templates)
        for condition in [conditions[index % len(conditions)]]
    ]
    structured = _structured(pairs) if number % 2 else None
    lead = faq["lead"].format(area=about)
    main = f"<h1>{escape(title)}</h1><p>{escape(lead)}</p>" + _markup(pairs, number)
    document = ExpectedDocument(
        path=path,
        language=words.language,
        kind=DocumentKind.FAQ,
        title=title,
        sentences=(pairs[0][1], pairs[-1][1]),
        absent=chrome_strings(words),
        headings=tuple(question for question, _ in pairs),
    )
    body = page_html(words, title, main, structured=structured, publisher="Sportello Salute")
    return Page(path=path, title=title, body=body.encode(), document=document, changeable=pairs[2][1])


def _structured(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    entities = [
        {"@type": "Question", "name": question, "acceptedAnswer": {"@type": "Answer", "text": f"<p>{answer}</p>"}}
        for question, answer in pairs
    ]
    return {"@type": "FAQPage", "mainEntity": entities}


def _markup(pairs: list[tuple[str, str]], number: int) -> str:
    blocks = []
    for question, answer in pairs:
        asked, said = escape(question, quote=False), f"<p>{escape(answer, quote=False)}</p>"
        if number % 4 == 0:
            blocks.append(f'<details><summary>{asked}</summary><div class="faq-answer">{said}</div></details>')
        elif number % 4 == 2:
            blocks.append(f'<h3 class="faq-question">{asked}</h3><div class="faq-answer">{said}</div>')
        else:
            blocks.append(f'<div class="accordion"><button>{asked}</button><div class="panel">{said}</div></div>')
    return "\n".join(blocks)
