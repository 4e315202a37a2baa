"""The two registries of keyed hashes: under which key, and for which terms consents count."""

import zlib
from collections.abc import Callable

from bot.patient_registry import PatientRegistry
from bot.registry import ClaimRegistry
from bot.settings import Settings

_TERMS = 1  # one more whenever the text of the consent changes in what it says


def claim_registry(settings: Settings, on_trouble: Callable[[BaseException], None]) -> ClaimRegistry:
    """Which messages have been taken already."""
    return ClaimRegistry(settings.home / "claims.sqlite", hash_key(settings), on_trouble=on_trouble)


def patient_registry(settings: Settings, on_trouble: Callable[[BaseException], None]) -> PatientRegistry:
    """Who consented, and who wants no messages."""
    return PatientRegistry(settings.home / "patients.sqlite", hash_key(settings), terms=_terms(settings), on_trouble=on_trouble)


def hash_key(settings: Settings) -> bytes | None:
    """The key of the hashes of patients; None where the operator gave none."""
    return settings.hash_key.get_secret_value().encode() if settings.hash_key else None


def _terms(settings: Settings) -> int:
    """The number of the terms that patients agree to: other ones where somebody else receives their questions, too."""
    party = settings.remote_generator_party
    return _TERMS if party is None else zlib.crc32(f"{_TERMS} {party}".encode())
