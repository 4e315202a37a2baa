"""Web addresses as sources write them."""

import re
from typing import Annotated

from pydantic import AfterValidator, HttpUrl, TypeAdapter

_HTTP_URL = TypeAdapter(HttpUrl)
_WITH_HOST = re.compile(r"https?://[^/?#\\@\s]+([/?#].*)?", re.IGNORECASE)


def _as_written(url: str) -> str:
    """Check a web address and keep it letter for letter: pydantic's own form adds slashes and escapes.

    A parser forgives line breaks, missing slashes, and a name before the host that looks like another host; whoever reads the
    address in a chat sees something else than what it opens. None of these is taken.
    """
    url = url.strip()
    parsed = _HTTP_URL.validate_python(url)
    if not url.isprintable():
        raise ValueError("must not hold line breaks or other signs that cannot be seen")
    if parsed.username is not None or parsed.password is not None:
        raise ValueError("must not hold a user name or a password")
    if not _WITH_HOST.fullmatch(url):
        raise ValueError("must begin with http:// or https:// and a host")
    return url


WebAddress = Annotated[str, AfterValidator(_as_written)]
