"""What a CMS sends along with an event."""

import hashlib
import hmac


def signature(body: bytes, timestamp: str, secret: str) -> str:
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={digest.hexdigest()}"


def signed_headers(body: bytes, secret: str, at: float) -> dict[str, str]:
    timestamp = str(int(at))
    return {"X-Salus-Timestamp": timestamp, "X-Salus-Signature": signature(body, timestamp, secret)}
