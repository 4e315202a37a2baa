"""Reads values of schema.org items, which may be a text, an item, or a list of either."""

from typing import Any


def item_types(item: dict[str, Any]) -> frozenset[str]:
    """The types of an item, without the address of the vocabulary."""
    found = item.get("@type")
    listed = found if isinstance(found, list) else [found]
    return frozenset(name.rpartition("/")[2] for name in listed if isinstance(name, str))


def items_of(value: object) -> list[dict[str, Any]]:
    """The items of a value, in order; what is no item is left out."""
    listed = value if isinstance(value, list) else [value]
    return [item for item in listed if isinstance(item, dict)]


def text_of(value: object) -> str:
    """The first text of a value, the name of an item among them; empty if there is none."""
    if isinstance(value, list):
        return next((text for entry in value if (text := text_of(entry))), "")
    if isinstance(value, dict):
        return text_of(value.get("name") or value.get("@value"))
    return value.strip() if isinstance(value, str) else ""


def author_of(item: dict[str, Any]) -> dict[str, Any]:
    """The author of an item; one that is given as a bare name becomes an item."""
    found = items_of(item.get("author"))
    return found[0] if found else {"name": text_of(item.get("author"))}
