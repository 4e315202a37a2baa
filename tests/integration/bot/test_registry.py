import asyncio
from pathlib import Path
from typing import Any

import aiosqlite

from bot.patient_registry import PatientRegistry, Standing
from bot.registry import ClaimRegistry
from channels.messages import Patient, Platform

KEY = b"a key of the operator's own"


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def claim(registry: ClaimRegistry, platform: Platform, message_id: str) -> bool:
    return registry.claim(platform, message_id) and await registry.record(platform, message_id)


async def opened(path: Path | None, key: bytes | None = KEY, now: list[float] | None = None, **more: object) -> ClaimRegistry:
    moment = now or [1e9]
    registry = ClaimRegistry(path, key, clock=lambda: moment[0], **more)  # type: ignore[arg-type]
    await registry.open()
    return registry


async def test_a_message_is_claimed_once_h07(tmp_path: Path) -> None:
    registry = await opened(tmp_path / "claims.sqlite")
    claims = await asyncio.gather(*(claim(registry, Platform.TELEGRAM, "7:1") for _ in range(10)))
    await registry.close()
    assert sorted(claims) == [False] * 9 + [True]


async def test_the_same_number_on_another_messenger_is_another_message(tmp_path: Path) -> None:
    registry = await opened(tmp_path / "claims.sqlite")
    assert await claim(registry, Platform.TELEGRAM, "1")
    assert await claim(registry, Platform.WHATSAPP, "1")
    await registry.close()


async def test_a_claim_outlives_a_restart_for_a_day(tmp_path: Path) -> None:
    now = [1e9]
    first = await opened(tmp_path / "claims.sqlite", now=now)
    assert await claim(first, Platform.TELEGRAM, "7:1")
    await first.close()
    now[0] += 23 * 3600
    second = await opened(tmp_path / "claims.sqlite", now=now)
    assert not await claim(second, Platform.TELEGRAM, "7:1")
    await second.close()
    now[0] += 2 * 3600
    third = await opened(tmp_path / "claims.sqlite", now=now)
    assert await claim(third, Platform.TELEGRAM, "7:1")
    await third.close()


async def test_nothing_but_a_keyed_hash_is_on_the_disk(tmp_path: Path) -> None:
    registry = await opened(tmp_path / "claims.sqlite")
    await claim(registry, Platform.WHATSAPP, "SM0123456789-canary")
    await registry.close()
    stored = b"".join(file.read_bytes() for file in files(tmp_path))
    assert b"canary" not in stored
    assert KEY not in stored


async def test_without_a_key_nothing_is_written(tmp_path: Path) -> None:
    registry = await opened(tmp_path / "claims.sqlite", key=None)
    assert await claim(registry, Platform.TELEGRAM, "7:1")
    assert not await claim(registry, Platform.TELEGRAM, "7:1")
    await registry.close()
    assert files(tmp_path) == []


async def test_a_broken_file_keeps_nobody_from_an_answer(tmp_path: Path) -> None:
    troubles: list[BaseException] = []
    registry = await opened(tmp_path / "claims.sqlite", on_trouble=troubles.append)
    assert registry._file._database is not None
    await registry._file._database.execute("DROP TABLE claims")
    assert await claim(registry, Platform.TELEGRAM, "7:1")
    assert not await claim(registry, Platform.TELEGRAM, "7:1")
    await registry.close()
    assert len(troubles) == 1


PATIENT = Patient(platform=Platform.WHATSAPP, identity="393331234567", address="whatsapp:+393331234567")


async def opened_patients(path: Path, **more: Any) -> PatientRegistry:
    registry = PatientRegistry(path, KEY, **more)
    await registry.open()
    return registry


async def test_consent_and_opt_out_outlive_a_restart_and_other_terms_are_asked_anew(tmp_path: Path) -> None:
    first = await opened_patients(tmp_path / "patients.sqlite")
    await first.note_consent(PATIENT)
    await first.note_opt_out(PATIENT)
    await first.close()
    second = await opened_patients(tmp_path / "patients.sqlite")
    assert await second.standing(PATIENT) == Standing(has_consented=True, has_opted_out=True)
    await second.close()
    third = await opened_patients(tmp_path / "patients.sqlite", terms=2)
    assert await third.standing(PATIENT) == Standing(has_opted_out=True)
    await third.close()


async def test_another_releases_tables_never_cost_an_opt_out(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "patients.sqlite") as database:
        await database.execute("CREATE TABLE opt_outs (digest BLOB PRIMARY KEY)")
        await database.commit()
    first = await opened_patients(tmp_path / "patients.sqlite")
    await first.note_opt_out(PATIENT)
    await first.close()
    second = await opened_patients(tmp_path / "patients.sqlite")
    assert (await second.standing(PATIENT)).has_opted_out
    await second.close()
    async with aiosqlite.connect(tmp_path / "patients.sqlite") as database:
        cursor = await database.execute("SELECT sql FROM sqlite_master WHERE name = 'opt_outs'")
        assert await cursor.fetchone() == ("CREATE TABLE opt_outs (digest BLOB PRIMARY KEY)",)


async def test_claims_of_another_release_are_begun_anew(tmp_path: Path) -> None:
    async with aiosqlite.connect(tmp_path / "claims.sqlite") as database:
        await database.execute("CREATE TABLE claims (digest BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID")
        await database.commit()
    registry = await opened(tmp_path / "claims.sqlite")
    assert await claim(registry, Platform.TELEGRAM, "1")
    await registry.close()


async def test_a_file_in_trouble_makes_nobody_a_stranger_for_good(tmp_path: Path) -> None:
    first = await opened_patients(tmp_path / "patients.sqlite")
    await first.note_opt_out(PATIENT)
    await first.close()
    troubles: list[BaseException] = []
    second = await opened_patients(tmp_path / "patients.sqlite", on_trouble=troubles.append)
    database = second._file._database
    assert database is not None
    await database.execute("ALTER TABLE opt_outs RENAME TO elsewhere")
    assert await second.standing(PATIENT) == Standing()
    assert troubles
    await database.execute("ALTER TABLE elsewhere RENAME TO opt_outs")
    assert (await second.standing(PATIENT)).has_opted_out
    await second.close()
