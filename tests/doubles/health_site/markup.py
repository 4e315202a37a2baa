"""The frame around every text: navigation, consent banner, related links, share line, footer."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from tests.doubles.health_site.pages import ORIGIN
from tests.doubles.health_site.texts import Words

FORBIDDEN = "/amministrazione/accesso"  # linked from every page and closed by robots.txt


def chrome_strings(words: Words) -> tuple[str, ...]:
    """What stands on every page and belongs to none: it must not be in any document."""
    keys = ("banner_marker", "share", "newsletter", "footer", "related")
    return tuple(words.chrome(key) for key in keys)


def page_html(
    words: Words,
    title: str,
    main: str,
    *,
    head: str = "",
    structured: dict[str, Any] | None = None,
    related: Sequence[tuple[str, str]] = (),
    layout: str = "main",
    charset: str | None = "utf-8",
    publisher: str = "Salute Insieme",
) -> str:
    """A whole page; `layout` is the element that holds the text, `related` are titles and paths."""
    meta = f'<meta charset="{charset}">' if charset else ""
    if structured:
        data = {"@context": "https://schema.org", **structured}
        head += f'<script type="application/ld+json">{json.dumps(data, ensure_ascii=False)}</script>'
    return (
        f'<!DOCTYPE html>\n<html lang="{words.language}">\n<head>{meta}<title>{escape(title)} | {publisher}</title>\n'
        f'<meta name="viewport" content="width=device-width">{head}</head>\n<body>\n'
        f"{banner(words)}\n{_header(words, publisher)}\n{_opened(layout, main)}\n{_after(words, related)}\n{_footer(words)}\n"
        "</body>\n</html>\n"
    )


def banner(words: Words) -> str:
    text = words.chrome("banner").strip()
    first, _, rest = text.partition(". ")
    paragraphs = "".join(f"<p>{escape(part)}.</p>" for part in rest.rstrip(".").split(". "))
    frame = '<div id="cookie-consent" class="cookie-banner" role="dialog">'
    return f"{frame}<h2>{escape(first)}</h2>{paragraphs}<button>OK</button></div>"


def paragraphs(*texts: str) -> str:
    return "".join(f"<p>{escape(text, quote=False)}</p>\n" for text in texts)


def items(*texts: str) -> str:
    return "<ul>" + "".join(f"<li><span>{escape(text, quote=False)}</span></li>" for text in texts) + "</ul>\n"


def link(path: str, title: str) -> str:
    return f'<a href="{escape(path)}">{escape(title)}</a>'


def canonical(path: str) -> str:
    return f'<link rel="canonical" href="{ORIGIN}{path}">'


def listing(words: Words, title: str, entries: Sequence[tuple[str, str]], more: Sequence[tuple[str, str]] = ()) -> str:
    """A page of links (title, path), with further pages of the list below it."""
    links = "".join(f"<li>{link(path, name)}</li>" for name, path in entries)
    pager = " ".join(link(path, name) for name, path in more)
    return page_html(words, title, f'<h1>{escape(title)}</h1><ul class="list">{links}</ul><nav class="pager">{pager}</nav>')


def _header(words: Words, publisher: str) -> str:
    links = "".join(f'<li><a href="/">{escape(name)}</a></li>' for name in words.chrome("nav"))
    private = link(FORBIDDEN, words.chrome("nav")[-1])
    return f'<header><a class="logo" href="/">{publisher}</a><nav class="menu"><ul>{links}<li>{private}</li></ul></nav></header>'


def _opened(layout: str, main: str) -> str:
    match layout:
        case "aside":
            return f'<div class="wrap"><div class="ad"></div><aside class="scheda">{main}</aside></div>'
        case "div":
            return f'<div id="content"><div class="col-8 testo">{main}</div></div>'
        case "article":
            return f'<main><article class="scheda">{main}</article></main>'
        case _:
            return f"<main>{main}</main>"


def _after(words: Words, related: Sequence[tuple[str, str]]) -> str:
    links = "".join(f"<li>{link(path, title)}</li>" for title, path in related)
    box = f'<section class="related"><h2>{escape(words.chrome("related"))}</h2><ul>{links}</ul></section>' if related else ""
    return f'<div class="social-share"><p>{escape(words.chrome("share"))}</p></div>{box}'


def _footer(words: Words) -> str:
    return (
        f'<footer class="site-footer"><p class="newsletter">{escape(words.chrome("newsletter"))}</p>'
        f"<p>{escape(words.chrome('footer'))}</p></footer>"
    )
