"""Web addresses as sources write them."""

from typing import Annotated

from pydantic import AfterValidator, HttpUrl, TypeAdapter


def _as_written(url: str) -> str:
    """Check a web address and keep it letter for letter: pydantic's own form adds slashes and escapes."""
    TypeAdapter(HttpUrl).validate_python(url)
    return url


WebAddress = Annotated[str, AfterValidator(_as_written)]
