"""Turns tables, definition lists and folds of a page into the lists and headings that they are read as."""

from lxml import etree
from lxml.html import HtmlElement

from ingest.extraction.tree import HEADINGS, drop, elements, text_of, within

_BLOCKS_IN_LAYOUT = ("table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "article", "section")
_WIDEST = 30
_MOST_ROWS = 2_000
_LONGEST_CELL_WORDS = 80
_MARKS = (".", ";", ":", "!", "?", "…")


def unfold(tree: HtmlElement) -> None:
    """Rewrite tables of data as one list each, a row an item "header: cell; header: cell"; tables for layout lose their grid.

    A definition list becomes items "term: definition", questions of one become headings; so does the line of a fold.
    """
    _raise_folds(tree)
    for table in reversed(list(tree.iter("table"))):
        if isinstance(table, HtmlElement):
            _unfold_table(table)
    for definitions in list(tree.iter("dl")):
        _unfold_definitions(definitions)


def _raise_folds(tree: HtmlElement) -> None:
    """Make what opens a fold a heading one level below the heading before it, and drop all other buttons."""
    level = 1
    for element in list(elements(tree)):
        if element.get("role") == "heading" and element.tag not in HEADINGS:
            stated = element.get("aria-level", "")
            element.tag = f"h{stated}" if stated in set("23456") else "h3"
        if element.tag in HEADINGS:
            level = int(element.tag[1])
        elif _opens_fold(element):
            is_inside = within(element, *HEADINGS) or next(element.iter(*HEADINGS), None) is not None
            element.tag = "span" if is_inside else f"h{min(level + 1, 6)}"
        elif element.tag == "button":
            drop(element)


def _opens_fold(element: HtmlElement) -> bool:
    match element.tag:
        case "summary":
            return True
        case "dt":
            return text_of(element).endswith("?")
        case "button":
            return within(element, *HEADINGS) or ("aria-controls" in element.attrib and " " in text_of(element))
    return False


def _unfold_table(table: HtmlElement) -> None:
    rows = [row for row in table.iter("tr")][:_MOST_ROWS]
    grid = [cells for row in rows if (cells := _cells(row))]
    if _is_layout(table, grid):
        for part in table.iter("table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption", "colgroup", "col"):
            part.tag = "div"
        return
    caption = next((text_of(part) for part in table.iter("caption")), "")
    headers, body = _headers(grid)
    items = [line for cells in body if (line := _line(headers, [text for text, _ in cells]))]
    _replace(table, caption, items)


def _is_layout(table: HtmlElement, grid: list[list[tuple[str, bool]]]) -> bool:
    if table.get("role") in {"presentation", "none"} or not grid or max(map(len, grid)) < 2:
        return True
    if any(part is not table for part in table.iter(*_BLOCKS_IN_LAYOUT)):
        return True
    return any(len(text.split()) > _LONGEST_CELL_WORDS for row in grid for text, _ in row)


def _cells(row: HtmlElement) -> list[tuple[str, bool]]:
    """Text of each column of a row, and whether it is a header; a cell over several columns stands in each."""
    cells: list[tuple[str, bool]] = []
    for cell in row:
        if cell.tag in {"td", "th"}:
            cells.extend([(_cell_text(cell), cell.tag == "th")] * _span(cell, "colspan"))
    # A cell over several rows is given back to the rows below it, once: there it is their first missing column.
    above = row.getprevious()
    return cells[:_WIDEST] if above is None else _with_spans(row, cells)[:_WIDEST]


def _with_spans(row: HtmlElement, cells: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    distance = 0
    for above in row.itersiblings("tr", preceding=True):
        distance += 1
        if distance > _WIDEST:
            break
        column = 0
        for cell in above:
            if cell.tag not in {"td", "th"}:
                continue
            if _span(cell, "rowspan") > distance:
                cells.insert(min(column, len(cells)), (_cell_text(cell), cell.tag == "th"))
            column += _span(cell, "colspan")
    return cells


def _span(cell: HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return min(int(value), _WIDEST) if value.isascii() and value.isdigit() and len(value) < 5 and int(value) else 1


def _cell_text(cell: HtmlElement) -> str:
    for line_end in cell.iter("br", "p", "div", "li"):
        line_end.tail = " " + (line_end.tail or "")
    return text_of(cell)


def _headers(grid: list[list[tuple[str, bool]]]) -> tuple[list[str], list[list[tuple[str, bool]]]]:
    first = grid[0]
    if len(grid) > 1 and all(is_header or not text for text, is_header in first):
        return [text for text, _ in first], grid[1:]
    return [], grid


def _line(headers: list[str], cells: list[str]) -> str:
    if len(set(cells)) == 1:  # one cell over the whole row
        return cells[0]
    if not headers:
        name, *rest = cells
        told = "; ".join(text for text in rest if text)
        return f"{name.rstrip(':')}: {told}" if name and told else name or told
    padded = [*headers, *[""] * (len(cells) - len(headers))]
    told_cells = [(header, text) for header, text in zip(padded, cells, strict=False) if text]
    return "; ".join(f"{header.rstrip(':')}: {text}" if header else text for header, text in told_cells)


def _replace(table: HtmlElement, caption: str, items: list[str]) -> None:
    tail = table.tail
    table.clear()
    table.tag, table.tail = "div", tail
    if caption:
        etree.SubElement(table, "p").text = caption if caption.endswith(_MARKS) else caption + ":"
    listing = etree.SubElement(table, "ul")
    for item in items:
        etree.SubElement(listing, "li").text = item


def _unfold_definitions(definitions: HtmlElement) -> None:
    term: HtmlElement | None = None
    for part in list(definitions.iter("dt", "dd")):
        if part.tag == "dt":
            term = part
            continue
        if term is None or next(part.iter("ul", "ol", "p", "div"), None) is not None:
            _set_apart(term)
            part.tag = "div"
        else:
            part.text = f"{text_of(term).rstrip(':')}: {part.text or ''}"
            part.tag = "li"
            drop(term)
        term = None
    definitions.tag = "div" if any(part.tag in HEADINGS for part in definitions.iter()) else "ul"


def _set_apart(term: HtmlElement | None) -> None:
    if term is not None:
        term.tag = "p"
        name = text_of(term)
        for child in list(term):
            term.remove(child)
        term.text = name if name.endswith(_MARKS) else name + ":"
