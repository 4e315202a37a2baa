"""A forum: questions of people who say too much of themselves, doctors who advise them, and other people who know better."""

import random
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from typing import Any

from rag.documents import DocumentKind
from tests.doubles.health_site.expected import ExpectedDocument
from tests.doubles.health_site.markup import chrome_strings, page_html, paragraphs
from tests.doubles.health_site.pages import Page
from tests.doubles.health_site.texts import Condition, Words, rng_for

_DOSES = (350, 450, 650, 750, 850)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    name: str
    role: str | None
    answered_on: date
    parts: tuple[str, ...]
    general: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thread:
    title: str
    question: str
    asker: str
    age: int
    town: str
    category: str
    asked_on: date
    answers: tuple[_Answer, ...]

    @property
    def doctors(self) -> tuple[_Answer, ...]:
        return tuple(answer for answer in self.answers if answer.role)


def thread_page(words: Words, condition: Condition, path: str, number: int) -> Page:
    """One thread. Every fifth has no doctor's answer; every second tells its parts in QAPage, the others by classes alone."""
    thread = _thread(words, condition, number)
    structured = _structured(thread) if number % 2 else None
    main = _markup(words, thread, with_classes=structured is None)
    body = page_html(words, thread.title, main, structured=structured, publisher="Chiedi al Medico")
    page = Page(path=path, title=thread.title, body=body.encode())
    if thread.doctors:
        page.document = _expected(words, thread, path)
        page.changeable = thread.doctors[0].general[-1]
    else:
        page.refused = frozenset({"no_answer"})
    return page


def _thread(words: Words, condition: Condition, number: int) -> _Thread:
    rng = rng_for("thread", words.language, condition.name, number)
    forum = words.data["forum"]
    asked_on = date(2024, 1, 8) + timedelta(days=9 * number)
    days, age, town = rng.randint(3, 19), rng.randint(23, 79), rng.choice(forum["town"])
    asker = forum["asker"][number % len(forum["asker"])]
    title = words.filled(forum["title"][number % len(forum["title"])], condition, days=days)
    story = words.filled(rng.choice(forum["question"]), condition, asker=asker, age=age, town=town, days=days)
    answers = _doctor_answers(words, condition, rng, asker, asked_on, number) if number % 5 != 4 else []
    for index in range(number % 3):
        answers.insert(rng.randrange(len(answers) + 1), _user_reply(words, rng, asked_on, number * 10 + index))
    return _Thread(
        title=title,
        question=story,
        asker=asker,
        age=age,
        town=town,
        category=condition.area,
        asked_on=asked_on,
        answers=tuple(answers),
    )


def _doctor_answers(
    words: Words, condition: Condition, rng: random.Random, asker: str, asked_on: date, number: int
) -> list[_Answer]:
    forum = words.data["forum"]
    count = 2 if number % 7 == 3 else 1
    pool = rng.sample(forum["general"], 4 * count)
    who = rng.sample(range(len(forum["role"])), count)
    found = []
    for index in range(count):
        general = tuple(words.filled(text, condition) for text in pool[4 * index : 4 * index + 4])
        personal = [words.filled(text, condition) for text in rng.sample(forum["personal"], 2)]
        if rng.random() < 0.6:
            personal.append(rng.choice(forum["dose"]).format(dose=rng.choice(_DOSES)))
        greeting = rng.choice(forum["greeting"]).format(asker=asker)
        first = f"{general[0]} {general[1]} {personal[0]}"
        second = f"{general[2]} {' '.join(personal[1:])} {general[3]}"
        parts = (greeting, first, second, rng.choice(forum["closing"]))
        found.append(
            _Answer(
                name=forum["doctor_name"][who[index]],
                role=forum["role"][who[index]],
                answered_on=asked_on + timedelta(days=1 + index),
                parts=parts,
                general=general,
                personal=tuple(personal),
            )
        )
    return found


def _user_reply(words: Words, rng: random.Random, asked_on: date, code: int) -> _Answer:
    nick = rng.choice(words.data["forum"]["nick"])
    text = rng.choice(words.data["forum"]["reply"]).format(nick=nick, code=7000 + code)
    return _Answer(name=nick, role=None, answered_on=asked_on, parts=(text,))


def _expected(words: Words, thread: _Thread, path: str) -> ExpectedDocument:
    doctors, only = thread.doctors, thread.doctors[0]
    replies = tuple(answer.text for answer in thread.answers if not answer.role)
    persons = (thread.asker, thread.town, _age_words(words, thread.age), *(answer.name for answer in thread.answers))
    return ExpectedDocument(
        path=path,
        language=words.language,
        kind=DocumentKind.FORUM,
        title=thread.title,
        sentences=tuple(sentence for answer in doctors for sentence in answer.general),
        absent=(*chrome_strings(words), words.data["forum"]["useful_label"], *persons, *replies),
        never_evidence=tuple(sentence for answer in doctors for sentence in answer.personal),
        published_on=only.answered_on if len(doctors) == 1 else None,
        answered_by=only.role if len(doctors) == 1 else None,
        category=thread.category,
    )


def _age_words(words: Words, age: int) -> str:
    return f"{age} anni" if words.language == "it" else f"{age} años"


def _structured(thread: _Thread) -> dict[str, Any]:
    answers = [
        {
            "@type": "Answer",
            "text": answer.text,
            "dateCreated": answer.answered_on.isoformat(),
            "author": {"@type": "Person", "name": answer.name} | ({"jobTitle": answer.role} if answer.role else {}),
        }
        for answer in thread.answers
    ]
    question: dict[str, Any] = {
        "@type": "Question",
        "name": thread.title,
        "text": thread.question,
        "dateCreated": thread.asked_on.isoformat(),
        "author": {"@type": "Person", "name": thread.asker},
        "about": thread.category,
        "answerCount": len(answers),
    }
    if answers:  # the accepted one is whatever came first, be it a doctor's or not
        question["acceptedAnswer"] = answers[0]
    if answers[1:]:
        question["suggestedAnswer"] = answers[1:]
    return {"@type": "QAPage", "mainEntity": question}


def _markup(words: Words, thread: _Thread, *, with_classes: bool) -> str:
    name = (lambda word: word) if with_classes else (lambda word: "x" + str(sum(map(ord, word)) % 997))
    forum = words.data["forum"]
    blocks = "".join(_answer_markup(forum, answer, name) for answer in thread.answers)
    return (
        f'<h1 class="{name("thread-title")}">{escape(thread.title, quote=False)}</h1>\n'
        f'<p class="{name("thread-category")}">{escape(thread.category)}</p>\n'
        f'<section class="{name("thread-question")}"><div class="{name("question-text")}">{paragraphs(thread.question)}</div>'
        f'<p class="{name("question-by")}">{escape(thread.asker)}, {thread.age}, {escape(thread.town)} – '
        f'<time datetime="{thread.asked_on.isoformat()}">{thread.asked_on:%d/%m/%Y}</time></p></section>\n{blocks}'
    )


def _answer_markup(forum: dict[str, Any], answer: _Answer, name: Any) -> str:
    by_doctor = answer.role is not None
    kind = "by-doctor" if by_doctor else "by-user"
    role = f'<span class="{name("answer-role")}">{escape(answer.role)}</span>' if answer.role else ""
    label = forum["answered_label"] if by_doctor else forum["reply_label"]
    return (
        f'<article class="{name("answer")} {name(kind)}"><header class="{name("answer-head")}">'
        f'<span class="{name("answer-label")}">{label}</span> <span class="{name("answer-name")}">{escape(answer.name)}</span> '
        f"{role} "
        f'<time datetime="{answer.answered_on.isoformat()}">{answer.answered_on:%d/%m/%Y}</time></header>'
        f'<div class="{name("answer-text")}">{paragraphs(*answer.parts)}</div>'
        f'<p class="{name("answer-useful")}">{forum["useful_label"]}</p></article>\n'
    )
