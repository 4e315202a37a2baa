"""Encyclopaedia articles: readable text about a condition, in sections that differ from article to article."""

import random
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from typing import Any

from rag.documents import DocumentKind
from tests.doubles.health_site.expected import ExpectedDocument
from tests.doubles.health_site.markup import canonical, chrome_strings, items, page_html, paragraphs
from tests.doubles.health_site.pages import ORIGIN, Page
from tests.doubles.health_site.texts import Condition, Words, rng_for

_FIRST_REVIEW = date(2023, 2, 1)
_LAYOUTS = ("main", "article", "div")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleText:
    """The inner HTML of an article and what must be found of it."""

    html: str
    sentences: tuple[str, ...]
    headings: tuple[str, ...]
    marker: str
    changeable: str


class _Draft:
    def __init__(self, words: Words, condition: Condition, rng: random.Random) -> None:
        self.words, self.condition, self.rng = words, condition, rng
        self.headings: list[str] = []

    def say(self, key: str, **more: object) -> str:
        return self.words.filled(self.words.one(self.rng, "article", key), self.condition, **more)

    def head(self, level: int, key: str) -> str:
        text = self.say(key)
        self.headings.append(text)
        return f"<h{level}>{escape(text, quote=False)}</h{level}>\n"

    def maybe(self, chance: float, *parts: str) -> str:
        return "".join(parts) if self.rng.random() < chance else ""


def article_text(words: Words, condition: Condition, number: int, *, seed: str = "") -> ArticleText:
    """Write the article; `number` picks the invented surname, so no two articles of a language may share one."""
    rng = rng_for(words.language, condition.name, seed)
    draft = _Draft(words, condition, rng)
    surname = surname_of(words, number)
    marker = draft.say("marker", eponym=rng.choice(words.data["article"]["eponyms"]).format(x=surname))
    changeable, alarm = draft.say("prevention"), draft.say("doctor")
    opening = paragraphs(f"{draft.say('intro')} {draft.say('intro2')}")
    sections = [_causes(draft), _tests(draft, marker), _care(draft)]
    if rng.random() < 0.5:
        sections[0], sections[1] = sections[1], sections[0]
    closing = [_doctor(draft, alarm), draft.head(2, "prevention_heading") + paragraphs(changeable)]
    if rng.random() < 0.4:
        closing.reverse()
    html = opening + _symptoms(draft) + "".join(sections) + "".join(closing) + draft.maybe(0.35, _table(draft))
    headings = tuple(heading for heading in draft.headings if escape(heading, quote=False) in html)
    return ArticleText(html=html, sentences=(marker, alarm), headings=headings, marker=surname, changeable=changeable)


def surname_of(words: Words, number: int) -> str:
    """An invented surname that stands in one page only; the stride keeps neighbours unlike each other."""
    return words.surnames[number * 7 % len(words.surnames)]


def article_page(
    words: Words,
    condition: Condition,
    path: str,
    number: int,
    *,
    title: str | None = None,
    layout: str | None = None,
    seed: str = "",
) -> Page:
    """The article as a page of its own, with or without structured data."""
    title = title or condition.title
    text = article_text(words, condition, number, seed=seed)
    reviewed_on = _FIRST_REVIEW + timedelta(days=number * 11)
    has_data = number % 3 != 2
    stamp = words.chrome("reviewed").format(date=reviewed_on.strftime("%d/%m/%Y"))
    time = f'<p class="review"><time datetime="{reviewed_on.isoformat()}">{stamp}</time></p>'
    html = page_html(
        words,
        title,
        f"<h1>{escape(title)}</h1>\n{time}\n{text.html}",
        head=canonical(path) if number % 2 else "",
        structured=_structured(condition, title, path, reviewed_on.isoformat(), number) if has_data else None,
        related=_related(words, condition, path),
        layout=layout or _LAYOUTS[number % len(_LAYOUTS)],
    )
    document = ExpectedDocument(
        path=path,
        language=words.language,
        kind=DocumentKind.ARTICLE,
        title=title,
        sentences=(*text.sentences, condition.symptoms[1]),
        absent=chrome_strings(words),
        headings=text.headings,
        synonyms=condition.other_names if has_data else (),
        reviewed_on=reviewed_on,
        marker=text.marker,
    )
    return Page(path=path, title=title, body=html.encode(), document=document, changeable=text.changeable)


def _related(words: Words, condition: Condition, path: str) -> list[tuple[str, str]]:
    folder = path.rpartition("/")[0]
    others = [other for other in words.conditions if other.area == condition.area and other is not condition]
    return [(other.title, f"{folder}/{other.slug}") for other in others[:4]] if "enciclopedia" in folder else []


def _structured(condition: Condition, title: str, path: str, reviewed: str, number: int) -> dict[str, Any]:
    disease: dict[str, Any] = {"@type": "MedicalCondition", "name": title}
    if condition.other_names:
        disease["alternateName"] = list(condition.other_names) if number % 2 else condition.other_names[0]
    page = {"@type": "MedicalWebPage", "url": ORIGIN + path, "name": title, "lastReviewed": reviewed}
    return {"@graph": [page, disease]} if number % 2 else page | {"about": disease}


def _symptoms(draft: _Draft) -> str:
    tail = paragraphs(f"{draft.say('symptoms_tail')}")
    html = draft.head(2, "symptoms_heading") + paragraphs(draft.say("symptoms_lead")) + items(*draft.condition.symptoms) + tail
    html += draft.maybe(0.6, draft.head(3, "children_heading"), paragraphs(draft.say("children")))
    return html + draft.maybe(0.5, draft.head(3, "elderly_heading"), paragraphs(draft.say("elderly")))


def _causes(draft: _Draft) -> str:
    return draft.head(2, "causes_heading") + paragraphs(draft.say("causes"), draft.say("causes2"))


def _tests(draft: _Draft, marker: str) -> str:
    return draft.head(2, "tests_heading") + paragraphs(f"{draft.say('tests')} {marker}")


def _care(draft: _Draft) -> str:
    html = draft.head(2, "care_heading") + draft.head(3, "home_heading") + paragraphs(draft.say("home"))
    html += draft.head(3, "drugs_heading") + paragraphs(draft.say("drugs"))
    return html + draft.maybe(0.6, draft.head(4, "effects_heading"), paragraphs(draft.say("effects")))


def _doctor(draft: _Draft, alarm: str) -> str:
    return draft.head(2, "doctor_heading") + paragraphs(f"{alarm} {draft.say('doctor2')}")


def _table(draft: _Draft) -> str:
    condition = draft.condition
    values = (condition.symptoms[0], condition.causes[0], condition.tests[0], condition.alarms[0])
    labels = draft.words.data["article"]["table_rows"]
    rows = "".join(
        f"<tr><th>{escape(label)}</th><td>{escape(value)}</td></tr>" for label, value in zip(labels, values, strict=True)
    )
    sentence = draft.words.filled(draft.words.data["article"]["table_sentence"], condition)
    return draft.head(2, "table_heading") + paragraphs(sentence) + f"<table>{rows}</table>\n"
