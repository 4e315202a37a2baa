"""How a reply looks on each messenger: neutral blocks first, markup last, so that nothing is ever cut inside markup."""

import html as html_entities
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from channels.messages import OutboundLink, OutboundMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A run of text in one style; with a `url` the text is what the link says, and a `bullet` is the sign before a list item."""

    text: str
    bold: bool = False
    url: str | None = None
    bullet: bool = False


Block = tuple[Span, ...]
"""One paragraph, heading or list."""

_UNSENDABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_WEB_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(?P<title>.+?)[ \t]*#*[ \t]*")
_FENCE_OR_RULE = re.compile(r"[ ]{0,3}(?:```[\w+-]*|[-*_](?:[ ]?[-*_]){2,})[ \t]*")
_BOLD_LINES = re.compile(r"(?<![\w*])\*\*(?=\S)(?P<lines>[^*\n]+\n[^*]*)(?<=\S)\*\*(?![\w*])")
_BULLET = re.compile(r"(?P<indent>[ \t]*)[*+][ \t]+(?=\S)")
# A marker counts only where it hugs its words and stands free on the outside: "2*3*4", "a_b_c" and "*" footnotes are not markup.
_INLINE = re.compile(
    r"""
      \\(?P<escaped>[*_`\[\]()\#~])
    | !?\[(?P<label>[^\[\]\n]+)\]\((?P<target>https?://(?:[^\s()]|\([^\s()]*\))+)\)
    | <(?P<bare>https?://[^\s<>"]+)>
    | (?P<address>https?://[^\s<>"]+(?<!\*))
    | (?<![\w*])\*\*(?=\S)(?P<bold>[^\n]+?)(?<=\S)\*\*(?![\w*])
    | (?<!\w)__(?=\S)(?P<strong>[^\n]+?)(?<=\S)__(?!\w)
    | (?<![\w*])\*(?=[^\s*])(?P<italic>[^*\n]+?)(?<=\S)\*(?![\w*])
    | (?<!\w)_(?=[^\s_])(?P<slanted>[^_\n]+?)(?<=\S)_(?!\w)
    | ~~(?=\S)(?P<struck>[^~\n]+?)(?<=\S)~~
    | `(?P<code>[^`\n]+)`
    """,
    re.VERBOSE | re.IGNORECASE,
)


def blocks(message: OutboundMessage, choices: str = "") -> list[Block]:
    """Lay a reply out in its order: paragraphs, links, further links, choices where there are no buttons, closing."""
    paragraphs = [parse(text) for text in message.paragraphs]
    if message.emphasis and paragraphs:
        paragraphs[0] = tuple(replace(span, bold=not span.bullet) for span in paragraphs[0])
    laid_out = [
        *paragraphs,
        _link_list(message.links_heading, message.links),
        _link_list(message.further_heading, message.further_links),
        (Span(text=clean(choices)),),
        *(parse(text) for text in message.closing),
    ]
    return [block for block in laid_out if block_text(block).strip()]


def parse(text: str) -> Block:
    """Read a paragraph, turning stray Markdown (headings, bold, links, bullets) into styles so that no sign is shown raw."""
    spans: list[Span] = []
    lines = [line for line in _each_line_bold(clean(text)).strip().split("\n") if not _FENCE_OR_RULE.fullmatch(line)]
    for number, line in enumerate(lines):
        if number:
            spans.append(Span(text="\n"))
        if heading := _HEADING.fullmatch(line):
            spans.extend(_inline(heading["title"], bold=True))
            continue
        if bullet := _BULLET.match(line):
            spans.append(Span(text=f"{bullet['indent']}• ", bullet=True))
            line = line[bullet.end() :]
        spans.extend(_inline(line, bold=False))
    return tuple(span for span in spans if span.text)


def clean(text: str) -> str:
    """Drop control characters and lone surrogates, which messengers refuse or a terminal would obey."""
    return _UNSENDABLE.sub("", text.replace("\r\n", "\n"))


def block_text(block: Block) -> str:
    """The words of a block without any style; offsets into it are what `slice_block` takes."""
    return "".join(span.text for span in block)


def slice_block(block: Block, start: int, end: int) -> Block:
    """The part of a block between two offsets of its text, each word keeping its style."""
    spans: list[Span] = []
    position = 0
    for span in block:
        text = span.text[max(start - position, 0) : max(end - position, 0)]
        position += len(span.text)
        if text:
            spans.append(replace(span, text=text))
    return tuple(spans)


def html(block: Block) -> str:
    """Telegram's HTML; text and link targets are escaped each in its own way, so a link opens exactly the address given (H01)."""
    return "".join(_html_span(span) for span in block)


def whatsapp(block: Block) -> str:
    """WhatsApp's own markup: bold between single asterisks, addresses plain and whole, list items as it marks them (H16)."""
    return "".join(_whatsapp_span(span) for span in block)


def plain(block: Block) -> str:
    """Words and addresses alone."""
    return "".join(_with_address(span) for span in block)


def _each_line_bold(text: str) -> str:
    """Bold that goes over several lines, marked in each of them."""
    return _BOLD_LINES.sub(
        lambda found: "\n".join(f"**{line.strip()}**" for line in found["lines"].split("\n") if line.strip()), text
    )


def _inline(line: str, *, bold: bool) -> Iterator[Span]:
    position = 0
    for found in _INLINE.finditer(line):
        yield Span(text=line[position : found.start()], bold=bold)
        position = found.end()
        if found["label"]:
            yield Span(text=found["label"], bold=bold, url=found["target"])
        elif found["bold"] or found["strong"]:
            yield from _inline(found["bold"] or found["strong"], bold=True)
        elif styled := found["italic"] or found["slanted"] or found["struck"]:
            yield from _inline(styled, bold=bold)
        else:
            address = found["bare"] or found["address"]
            yield Span(text=found["code"] or found["escaped"] or address, bold=bold and not address)
    yield Span(text=line[position:], bold=bold)


def _link_list(heading: str, links: tuple[OutboundLink, ...]) -> Block:
    spans: list[Span] = []
    if links and heading:
        spans.append(Span(text=clean(heading), bold=True))
    for link in links:
        if spans:
            spans.append(Span(text="\n"))
        spans.append(Span(text="• ", bullet=True))
        spans.append(Span(text=clean(link.label).replace("\n", " ").strip() or (link.url or ""), url=link.url))
    return tuple(spans)


def _html_span(span: Span) -> str:
    if span.url and _WEB_ADDRESS.fullmatch(span.url):
        target = html_entities.escape(span.url, quote=True)
        inner = f'<a href="{target}">{html_entities.escape(span.text, quote=False)}</a>'
    else:
        inner = html_entities.escape(_with_address(span), quote=False)
    return f"<b>{inner}</b>" if span.bold and span.text.strip() else inner


def _whatsapp_span(span: Span) -> str:
    if span.bullet:
        return span.text.replace("•", "*")
    if not span.bold or span.url or "*" in span.text:
        return _with_address(span)
    return "\n".join(_asterisks(line) for line in span.text.split("\n"))


def _asterisks(line: str) -> str:
    words = line.strip()
    if not words:
        return line
    before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    return f"{before}*{words}*{after}"


def _with_address(span: Span) -> str:
    if not span.url or span.url == span.text:
        return span.text
    return f"{span.text}: {span.url.replace(' ', '%20')}"
