"""The odd pages of one language: broken encodings, empty shells, copies, reservations and planted instructions."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from html import escape

from locales.language import Language
from tests.doubles.health_site.articles import article_page
from tests.doubles.health_site.leaflets import dose_pages, pdf, pdf_leaflet
from tests.doubles.health_site.markup import banner, canonical, listing, page_html, paragraphs
from tests.doubles.health_site.pages import Host, Page
from tests.doubles.health_site.texts import Condition, parsed_condition, words

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" + b"\x00" * 64
_ENGLISH = (
    "This leaflet explains in plain English what to do when a cough lasts for several weeks and does not get better.",
    "Most coughs are caused by a common cold and clear up without treatment. Drink plenty of water and rest as much as you can.",
    "See a doctor when the cough is getting worse, when you lose weight without trying, or when you feel short of breath.",
    "People who smoke are more likely to have a cough that lasts. Ask your pharmacist which medicines are suitable for you.",
)


class OddPages:
    """Fills a host with them; surnames are taken from `first_number` on."""

    def __init__(self, host: Host, first_number: int) -> None:
        self._host = host
        self._words = words(host.language)
        self._odd = self._words.odd
        self._numbers = itertools.count(first_number)
        self._conditions = itertools.cycle(reversed(self._words.conditions))

    def fill(self) -> None:
        """Put every odd page, and the index that links to them all."""
        self._host.put(*self._encodings(), *self._empty(), *self._reserved(), *self._hidden(), *self._files(), *self._copies())
        self._host.put(*dose_pages(self._words, self._odd["folder"]), *self._fever())
        entries = [(page.title or page.path, page.path) for page in self._host.listed()]
        fever = "/" + self._odd["slugs"]["fever"]
        entries += [("1", f"{fever}?utm_source=x"), ("2", f"{fever}#top"), ("3", f"{fever}?utm_campaign=a&fbclid=b#top")]
        index = listing(self._words, self._odd["index"], entries)
        self._host.put(Page(path=self._odd["folder"], title=self._odd["index"], body=index.encode(), is_navigation=True))

    def _path(self, name: str) -> str:
        return f"{self._odd['folder']}{self._odd['slugs'][name]}"

    def _article(self, path: str, *, condition: Condition | None = None, layout: str | None = None) -> Page:
        condition = condition or next(self._conditions)
        title = f"{condition.title}: nota informativa"
        page = article_page(self._words, condition, path, next(self._numbers), title=title, layout=layout, seed=path)
        page.body = page.body.replace(canonical(path).encode(), b"")
        return page

    def _with(self, page: Page, sentence: str, *, html: str | None = None) -> str:
        """The page's HTML with a further paragraph before its last one, in which `sentence` is expected."""
        text = page.body.decode()
        at = text.rindex("<h2>", 0, text.index('class="social-share"'))
        if page.document:
            page.document = replace(page.document, sentences=(*page.document.sentences, sentence))
        return text[:at] + (html or paragraphs(sentence)) + text[at:]

    def _encodings(self) -> Iterator[Page]:
        accents, quotes = self._odd["accents"], self._odd["quotes"]
        for name, charset, declared, header, sentence in (
            ("latin1", "latin-1", "iso-8859-1", "text/html", accents),
            ("liar", "latin-1", "", "text/html; charset=utf-8", accents),
            ("cp1252", "cp1252", "iso-8859-1", "text/html", quotes),
        ):
            page = self._article(self._path(name))
            meta = f'<meta charset="{declared}">' if declared else ""
            text = self._with(page, sentence).replace('<meta charset="utf-8">', meta)
            page.body, page.content_type, page.changeable = text.encode(charset), header, None
            yield page
        yield self._refused("replaced", {"broken_encoding"}, lambda text: text.replace("à", "\ufffd").replace("é", "\ufffd"))
        page = self._article(self._path("mojibake"))  # each byte of UTF-8 taken for a letter: what was meant can be told
        page.body = self._with(page, accents).encode().decode("latin-1").encode()
        page.changeable, page.refused = None, frozenset({"broken_encoding"})
        yield page

    def _refused(self, name: str, reasons: set[str], change: "object", **fields: object) -> Page:
        page = self._article(self._path(name))
        text = self._with(page, self._odd["accents"])
        page.body = change(text).encode()  # type: ignore[operator]
        page.document, page.changeable, page.refused = None, None, frozenset(reasons)
        for key, value in fields.items():
            setattr(page, key, value)
        return page

    def _plain(self, name: str, reasons: set[str], title: str, body: str) -> Page:
        return Page(path=self._path(name), title=title, body=body.encode(), refused=frozenset(reasons))

    def _empty(self) -> Iterator[Page]:
        w, odd = self._words, self._odd
        title = f"{next(self._conditions).title}: nota informativa"
        yield self._plain(
            "banner",
            {"consent_banner", "too_short"},
            title,
            f"<html><head><title>{title}</title></head><body>{banner(w)}</body></html>",
        )
        shell = f'<noscript>{odd["shell"]}</noscript><div id="root"></div><script src="/app.js"></script>'
        yield self._plain(
            "shell", {"script_shell", "too_short"}, title, f"<html><head><title>{title}</title></head><body>{shell}</body></html>"
        )
        lost = odd["not_found_title"]
        for name, count in (("soft404", 2), ("soft404_long", 3)):
            main = f"<h1>{lost}</h1>" + paragraphs(*odd["not_found"][:count])
            yield self._plain(name, {"not_found_page"} | ({"too_short"} if count == 2 else set()), lost, page_html(w, lost, main))
        yield self._plain(
            "english", {"wrong_language"}, "When a cough lasts", page_html(w, "When a cough lasts", paragraphs(*_ENGLISH))
        )
        other = words(Language.SPANISH if w.language is Language.ITALIAN else Language.ITALIAN)
        foreign = article_page(other, other.conditions[0], self._path("other"), 0, seed="foreign")
        text = foreign.body.decode().replace(f'lang="{other.language}"', f'lang="{w.language}"')
        yield self._plain("other", {"wrong_language"}, foreign.title, text)
        yield self._plain("short", {"too_short"}, title, page_html(w, title, f"<h1>{title}</h1>{paragraphs(odd['short'])}"))

    def _reserved(self) -> Iterator[Page]:
        for name, meta in (
            ("noindex", '<meta name="robots" content="noindex, nofollow">'),
            ("tdm", '<meta name="tdm-reservation" content="1">'),
        ):
            yield self._refused(name, {"reserved"}, lambda text, meta=meta: text.replace("</head>", f"{meta}</head>"))
        yield self._refused("header", {"reserved"}, str, headers={"x-robots-tag": "noindex"})
        yield self._refused("tdm_header", {"reserved"}, str, headers={"tdm-reservation": "1"})
        page = self._article(self._path("allowed"))
        metas = '<meta name="robots" content="index, follow"><meta name="tdm-reservation" content="0"></head>'
        page.body = page.body.replace(b"</head>", metas.encode())
        yield page

    def _hidden(self) -> Iterator[Page]:
        """One page for each way to hide an instruction from a reader."""
        planted = escape(self._odd["hidden"])
        spelled = escape(self._odd["spelling"])
        split = spelled.replace("e", "e\u200b")
        tags = "".join(chr(0xE0000 + ord(c)) for c in self._odd["hidden"] if ord(c) < 128)
        for name, html in (
            ("display", f'<div style="display:none">{planted}</div>'),
            ("visibility", f'<p style="visibility: hidden">{planted}</p>'),
            ("attribute", f"<p hidden>{planted}</p>"),
            ("comment", f"<!-- {planted} -->"),
            ("white", f'<p style="color:#ffffff;background-color:#ffffff">{planted}</p>'),
            ("offscreen", f'<p style="position:absolute;left:-9999px">{planted}</p>'),
            ("tiny", f'<span style="font-size:0">{planted}</span>'),
            ("stylesheet", f'<p class="nv">{planted}</p>'),
            ("template", f"<template><p>{planted}</p></template>"),
            ("tags", f"<p>{spelled}{tags}</p>"),
            ("zero-width", f"<p>{split}</p>"),
        ):
            page = self._article(f"{self._odd['folder']}h39-{name}")
            visible = name in {"tags", "zero-width"}
            text = self._with(page, self._odd["spelling"], html=html if visible else html + paragraphs(self._odd["spelling"]))
            style = "<style>.nv{display:none}</style></head>"
            page.body = (text.replace("</head>", style) if name == "stylesheet" else text).encode()
            assert page.document
            absent = (self._odd["hidden"], self._odd["hidden_word"], "\u200b", "\U000e0065")
            page.document = replace(page.document, absent=(*page.document.absent, *absent))
            yield page

    def _files(self) -> Iterator[Page]:
        for _ in range(2):
            condition = next(self._conditions)
            yield pdf_leaflet(self._words, condition, f"{self._odd['folder']}opus-{condition.slug}.pdf", next(self._numbers))
        unread = frozenset({"not_readable", "too_short"})
        yield Page(path=self._path("scan"), body=pdf("Scan", [[]]), content_type="application/pdf", refused=unread)
        yield Page(path=self._path("image"), body=_PNG, content_type="text/html", refused=unread | {"broken_encoding"})

    def _copies(self) -> Iterator[Page]:
        """The same article three times: twice letter for letter, once with a line more and another frame."""
        first = self._article(self._path("original"), layout="main")
        assert first.document
        copy = replace(first, path=self._path("copy"), document=replace(first.document, path=self._path("copy")))
        near = replace(first, path=self._path("near"), document=replace(first.document, path=self._path("near")))
        text = first.body.decode().replace("<main>", '<div class="print">').replace("</main>", "</div>")
        near.body = text.replace("</h1>", f"</h1><p>{self._odd['print_line']}</p>").encode()
        for page in (first, copy, near):
            page.body = page.body.replace(b'"url": "%ORIGIN%' + first.path.encode() + b'", ', b"")
        self._host.one_of = (frozenset({first.path, copy.path, near.path}),)
        yield from (first, copy, near, self._article(self._path("aside"), layout="aside"))

    def _fever(self) -> Iterator[Page]:
        """One article under two addresses and with tracking, all of which name one canonical address."""
        condition = parsed_condition(self._odd["fever"], self._words.language)
        path = "/" + self._odd["slugs"]["fever"]
        page = self._article(path, condition=condition)
        page.body = page.body.replace(b"</head>", canonical(path).encode() + b"</head>")
        yield page
        yield replace(page, path=path + "/", document=None, refused=frozenset({"duplicate"}), changeable=None)
