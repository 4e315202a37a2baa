"""Which programs may call the bot: bearer tokens with a scope, and signed requests."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from enum import StrEnum

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

TIMESTAMP_HEADER = "X-Salus-Timestamp"
SIGNATURE_HEADER = "X-Salus-Signature"

_SIGNATURE_HOLDS_S = 300
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Scope(StrEnum):
    """What a token opens."""

    QUERY = "query"
    REINDEX = "reindex"
    METRICS = "metrics"
    ADMIN = "admin"


class Bearers:
    """The tokens that programs show.

    Only keyed hashes of them are kept, with a key that ends with the process.

    Args:
        tokens: Each "scope:secret"; the same secret may stand with several scopes. An empty one opens nothing.
    """

    def __init__(self, tokens: Sequence[SecretStr]) -> None:
        self._key = secrets.token_bytes(32)
        parts = [token.get_secret_value().partition(":") for token in tokens]
        self._known = tuple((Scope(scope), self._digest(secret.encode())) for scope, _, secret in parts if secret)

    def scopes(self, request: Request) -> frozenset[Scope]:
        """What the request's token opens; nothing if it has none that is known. The time it takes tells nothing of the tokens."""
        return self._opened_by(self._shown(request))

    def scopes_of(self, token: str) -> frozenset[Scope]:
        """The same for a token that was shown elsewhere than in a header."""
        return self._opened_by(self._digest(token.encode("utf-8", "surrogatepass")))

    def knows(self, *scopes: Scope) -> bool:
        """Whether there is a token for one of these scopes at all."""
        return any(scope in scopes for scope, _ in self._known)

    def key(self, request: Request) -> str:
        """A short hash by which calls with the same token are counted."""
        return self._shown(request).hex()[:16]

    def refusal(self, request: Request, scope: Scope) -> Response | None:
        """The reply to a request that shows no known token (401), or one of another scope (403); None when it may go on."""
        scopes = self.scopes(request)
        if scope in scopes:
            return None
        if scopes:
            challenge = f'Bearer realm="salus", error="insufficient_scope", scope="{scope.value}"'
            return error_reply(403, f"the token does not open {scope.value}", {"WWW-Authenticate": challenge})
        return error_reply(401, "a known bearer token is needed", {"WWW-Authenticate": 'Bearer realm="salus"'})

    def _opened_by(self, shown: bytes) -> frozenset[Scope]:
        matches = [(scope, hmac.compare_digest(digest, shown)) for scope, digest in self._known]
        return frozenset(scope for scope, is_match in matches if is_match)

    def _shown(self, request: Request) -> bytes:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        # Starlette reads header bytes as Latin-1, so that this gives them back whatever they are.
        return self._digest(token.strip().encode("latin-1") if scheme.lower() == "bearer" else b"")

    def _digest(self, secret: bytes) -> bytes:
        return hmac.digest(self._key, secret, hashlib.sha256)


def is_signed(request: Request, body: bytes, secret: SecretStr, now: float) -> bool:
    """Whether the sender knows the secret and signed this very body within the last five minutes.

    The signature is the HMAC-SHA256 of timestamp, a full stop and the raw body.

    Args:
        request: Its headers hold timestamp (Unix seconds) and signature ("sha256=" and 64 hexadecimal digits).
        body: As it arrived.
        secret: Shared with the sender.
        now: Unix seconds.
    """
    timestamp = request.headers.get(TIMESTAMP_HEADER, "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > _SIGNATURE_HOLDS_S:
        return False
    digest = hmac.new(secret.get_secret_value().encode(), timestamp.encode() + b".", hashlib.sha256)
    digest.update(body)
    shown = request.headers.get(SIGNATURE_HEADER, "").encode("latin-1").lower()
    return hmac.compare_digest(b"sha256=" + digest.hexdigest().encode(), shown)


def error_reply(status: int, error: str, headers: dict[str, str] | None = None, **more: object) -> Response:
    """A refusal in the form that all of them have."""
    return JSONResponse({"error": error, **more}, status_code=status, headers=_HEADERS | (headers or {}))


def reply(content: object, status: int = 200) -> Response:
    """What was asked for; nobody on the way may keep it."""
    return JSONResponse(content, status_code=status, headers=_HEADERS)
