"""Takes out what a page holds but does not show: no reader could check it, and it is where instructions are hidden."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement

from ingest.extraction.tree import drop, elements

# Elements whose content is never text of the page.
_SILENT = (
    "script style noscript template svg canvas iframe frame object embed applet audio video map datalist select textarea input "
    "math progress meter dialog del s strike noframes noembed xmp plaintext"
)
_SILENT_TAGS = frozenset(_SILENT.split())

_HIDING_CLASSES = frozenset(
    [
        "sr-only",
        "visually-hidden",
        "visuallyhidden",
        "screen-reader-text",
        "screen-reader-only",
        "screenreader",
        "element-invisible",
        "d-none",
        "hidden",
        "hide",
        "is-hidden",
        "u-hidden",
        "invisible",
    ]
)
# "d-none d-md-block": hidden on a telephone, shown on a screen.
_SHOWING_CLASS = re.compile(
    r"(?:^|\s)(?:(?:d-)?(?:sm|md|lg|xl|xxl)[-:](?:block|flex|inline|grid|table)|d-(?:sm|md|lg|xl|xxl)-\S+)"
)

_OFF_SCREEN_PX = 500
_NUMBER = re.compile(r"^(-?\d*\.?\d+)\s*(px|em|rem|pt|%|vw|vh|)$")
_PX = {"px": 1.0, "": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "vw": 12.0, "vh": 8.0, "%": 12.0}
_CLEAR_COLOUR = re.compile(r"transparent|(?:rgba|hsla)\(.*,\s*0?\.?0+\s*\)|#[0-9a-f]{6}00|#[0-9a-f]{3}0")
_CLIPPED = re.compile(r"rect\(\s*[01](?:px)?(?:[\s,]+[01](?:px)?){3}\s*\)|inset\(\s*(?:50|100)%\s*\)|circle\(\s*0\s*\)")

_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_PART = re.compile(r"[{}]|[^{}]+")
_LONGEST_STYLE = 300_000
_MOST_RULES = 60

# Letters that show nothing and are no format characters: fillers, a blank Braille cell, and the selectors of variants.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200d\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff]")


def remove_hidden(tree: HtmlElement) -> None:
    """Take out of a tree all that a browser would not show: by attribute, by style, by class, and by nature.

    What the page's own style sheets hide is taken out too, save for what they hide on some screens only. The outermost elements
    stay whatever is said of them: some sites hide the whole page until a script shows it.
    """
    doomed = [element for element in elements(tree) if _is_hidden(element)]
    doomed.extend(_hidden_by_sheets(tree))
    for element in doomed:
        if element.tag not in {"html", "head", "body"}:
            drop(element)


def visible(text: str) -> str:
    """`text` without the characters that a reader does not see; tags, zero-width and bidirectional marks are such."""
    text = _UNSEEN.sub("", text)
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) != "Cf")


def _is_hidden(element: HtmlElement) -> bool:
    if element.tag in _SILENT_TAGS:
        return not (element.tag == "dialog" and "open" in element.attrib)
    attributes = element.attrib
    if not attributes:
        return False
    if "hidden" in attributes or "data-nosnippet" in attributes:
        return True
    # Hidden from a screen reader only, so an attacker gains nothing by the exception; a page behind a dialog is marked so too.
    if attributes.get("aria-hidden", "").strip().lower() == "true" and next(element.iter("main", "article", "h1"), None) is None:
        return True
    return _is_hidden_by_class(attributes.get("class", "")) or (
        "style" in attributes and _hides(_declarations(attributes["style"]))
    )


def _is_hidden_by_class(classes: str) -> bool:
    return not _HIDING_CLASSES.isdisjoint(classes.lower().split()) and not _SHOWING_CLASS.search(classes.lower())


def _declarations(style: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in _CSS_COMMENT.sub("", style).lower().split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, colon, value in pairs if colon}


def _hides(style: Mapping[str, str]) -> bool:
    if style.get("display") == "none" or style.get("visibility") in {"hidden", "collapse"}:
        return True
    if style.get("content-visibility") == "hidden" or style.get("opacity", "1").rstrip("%").strip("0") in {"", "."}:
        return True
    if _px(style.get("font-size"), 16) <= 1 or _px(style.get("text-indent"), 0) <= -_OFF_SCREEN_PX:
        return True
    return _is_off_screen(style) or _is_shrunk(style) or _is_colourless(style)


def _is_off_screen(style: Mapping[str, str]) -> bool:
    if style.get("position") not in {"absolute", "fixed", "relative"}:
        return False
    return any(
        abs(_px(style.get(side), 0)) >= _OFF_SCREEN_PX * 2 or _px(style.get(side), 0) <= -_OFF_SCREEN_PX
        for side in ("left", "right", "top", "bottom")
    )


def _is_shrunk(style: Mapping[str, str]) -> bool:
    if _CLIPPED.search(style.get("clip", "")) or _CLIPPED.search(style.get("clip-path", "")):
        return True
    if re.search(r"scale[xy]?\(\s*0?\.?0+\s*[,)]", style.get("transform", "")):
        return True
    sizes = (_px(style.get(side), 100) for side in ("width", "height", "max-height", "max-width"))
    return style.get("overflow", "").startswith(("hidden", "clip")) and any(size <= 1 for size in sizes)


def _is_colourless(style: Mapping[str, str]) -> bool:
    colour = style.get("color", "")
    background = style.get("background-color") or style.get("background", "")
    return bool(colour) and (colour == background or _CLEAR_COLOUR.fullmatch(colour) is not None)


def _px(value: str | None, default: float) -> float:
    found = _NUMBER.match(value) if value else None
    return float(found[1]) * _PX[found[2]] if found else default


def _hidden_by_sheets(tree: HtmlElement) -> Iterator[HtmlElement]:
    for selector in _hiding_selectors(tree):
        try:
            found = CSSSelector(selector, translator="html")(tree)
        except Exception:  # noqa: BLE001, S112 - a selector we cannot read hides nothing that we could find
            continue
        yield from (element for element in found if isinstance(element, HtmlElement))


def _hiding_selectors(tree: HtmlElement) -> list[str]:
    """Selectors of the rules that hide, outside of `@media` and the like, without those that only hide part of a line."""
    selectors: list[str] = []
    for sheet in tree.iter("style"):
        text = _CSS_COMMENT.sub("", (sheet.text or "")[:_LONGEST_STYLE])
        for names, body in _plain_rules(text):
            if _hides(_declarations(body)):
                selectors.extend(name.strip() for name in names.split(",") if ":" not in name)
    return selectors[:_MOST_RULES]


def _plain_rules(sheet: str) -> Iterator[tuple[str, str]]:
    depth, names, conditional_at = 0, "", 0
    for part in _CSS_PART.findall(sheet):
        if part == "{":
            depth += 1
            if names.lstrip().startswith("@") and not conditional_at:
                conditional_at = depth
        elif part == "}":
            if depth == conditional_at:
                conditional_at = 0
            depth = max(0, depth - 1)
            names = ""
        elif depth == 1 and not conditional_at:
            yield names, part
        else:
            names = part
