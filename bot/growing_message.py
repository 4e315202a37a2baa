"""A reply that grows on the reader's screen: what continues it, and what of it has not been shown yet."""

from dataclasses import replace

from channels.messages import OutboundMessage


def continued(shown: OutboundMessage, whole: OutboundMessage) -> OutboundMessage:
    """`whole`, worded so that it begins with what has been shown: nothing shown is ever taken back or moved.

    Where it begins otherwise already, which no answer should, its other paragraphs follow what has been shown.
    """
    if _begins_with(whole.paragraphs, shown.paragraphs):
        return whole
    *before, last = shown.paragraphs
    grown = next((text for text in whole.paragraphs if text.startswith(last)), last)
    after = [text for text in whole.paragraphs if text not in before and text != grown]
    return replace(whole, paragraphs=(*before, grown, *after), emphasis=shown.emphasis)


def unshown(shown: OutboundMessage, whole: OutboundMessage) -> OutboundMessage:
    """What `whole` says beyond `shown`, which it begins with (`continued`)."""
    place = len(shown.paragraphs) - 1
    grown = whole.paragraphs[place].removeprefix(shown.paragraphs[place]).strip()
    following = whole.paragraphs[place + 1 :]
    # What must be seen first has been seen.
    return replace(whole, paragraphs=(grown, *following) if grown else following, emphasis=False)


def _begins_with(paragraphs: tuple[str, ...], beginning: tuple[str, ...]) -> bool:
    place = len(beginning) - 1
    return len(paragraphs) > place and paragraphs[:place] == beginning[:place] and paragraphs[place].startswith(beginning[place])
