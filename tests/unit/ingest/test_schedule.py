"""When the nightly run is due, without scheduler and clock. # H30"""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger

from ingest.schedule import Nightly, NightlyTrigger, ScheduleInvalid

ROME = ZoneInfo("Europe/Rome")
HOURS = ["00:00", "00:30", "01:00", "01:59", "02:00", "02:30", "03:00", "03:30", "12:00", "23:00", "23:30"]
# Years in which the zone changes its clocks: in Chile at midnight, in Mexico for the last time, in Greenland before midnight.
YEARS = [("Europe/Rome", 2026), ("America/Mexico_City", 2022), ("America/Santiago", 2026), ("America/Nuuk", 2024), ("UTC", 2026)]


def fires(trigger: BaseTrigger, first: datetime, end: datetime) -> list[datetime]:
    """The due times of a machine whose scheduler is a moment late each time; a trigger that stands still is an error."""
    found: list[datetime] = []
    due = trigger.get_next_fire_time(None, first)
    while due < end:
        found.append(due)
        assert len(found) <= 400
        due = trigger.get_next_fire_time(due, due.astimezone(UTC) + timedelta(milliseconds=20))
    return found


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def utc(moment: datetime | None) -> str:
    assert moment is not None
    return moment.astimezone(UTC).strftime("%m-%d %H:%M:%S")


@pytest.mark.parametrize("hour", HOURS)
@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_each_date_of_a_year_fires_once_at_any_hour(zone: str, year: int, hour: str) -> None:
    trigger = NightlyTrigger(hour, zone)
    first, end = (datetime(y, 1, 1, tzinfo=ZoneInfo(zone)) for y in (year, year + 1))

    found = fires(trigger, first, end)

    dates = [date(year, 1, 1) + timedelta(days=n) for n in range((date(year + 1, 1, 1) - date(year, 1, 1)).days)]
    assert found == [trigger.due(day) for day in dates]
    odd = [due for due, day in zip(found, dates, strict=True) if due.date() != day or due.strftime("%H:%M") != hour]
    assert len(odd) <= 1  # the night with a gap
    assert all(due.tzinfo is not None for due in found)


def test_the_librarys_own_trigger_fires_twice_on_the_autumn_night_where_ours_does_not() -> None:
    evening, noon = at("2026-10-24T20:00+02:00"), at("2026-10-25T12:00+01:00")

    theirs = fires(CronTrigger(hour=2, minute=30, timezone=ROME), evening, noon)
    ours = fires(NightlyTrigger("02:30", "Europe/Rome"), evening, noon)

    assert [utc(due) for due in theirs] == ["10-25 00:30:00", "10-25 01:30:00"]
    assert [utc(due) for due in ours] == ["10-25 00:30:00"]


@pytest.mark.parametrize(
    ("hour", "zone", "day", "due"),
    [
        ("02:30", "Europe/Rome", date(2026, 3, 29), "03-29 01:00:00"),
        ("02:00", "Europe/Rome", date(2026, 3, 29), "03-29 01:00:00"),
        ("03:00", "Europe/Rome", date(2026, 3, 29), "03-29 01:00:00"),
        ("00:30", "America/Santiago", date(2026, 9, 6), "09-06 04:00:00"),
        ("23:30", "America/Nuuk", date(2024, 3, 30), "03-31 01:00:00"),
        ("02:15", "Australia/Lord_Howe", date(2026, 10, 4), "10-03 15:30:00"),
    ],
)
def test_a_time_that_the_clocks_skip_is_due_at_the_first_moment_after_the_gap(hour: str, zone: str, day: date, due: str) -> None:
    assert utc(NightlyTrigger(hour, zone).due(day)) == due


def test_a_date_that_a_zone_skipped_has_no_run() -> None:
    trigger = NightlyTrigger("03:30", "Pacific/Apia")

    assert trigger.due(date(2011, 12, 30)) is None
    assert utc(trigger.get_next_fire_time(None, at("2011-12-30T00:00-10:00"))) == "12-30 13:30:00"
    assert utc(trigger.latest_due(at("2011-12-31T00:00+14:00"))) == "12-29 13:30:00"


def test_a_clock_that_is_set_back_fires_no_date_again() -> None:
    trigger = NightlyTrigger("03:30", "Europe/Rome")
    due = trigger.get_next_fire_time(None, at("2026-05-10T03:00+02:00"))

    following = trigger.get_next_fire_time(due, at("2026-05-10T01:35+02:00"))

    assert following == at("2026-05-11T03:30+02:00")
    assert trigger.get_next_fire_time(None, at("2026-05-10T01:36+02:00")) == following


def test_a_clock_that_is_set_forward_by_days_fires_once_for_all_of_them() -> None:
    trigger = NightlyTrigger("03:30", "Europe/Rome")
    due, now = at("2026-05-10T03:30+02:00"), at("2026-05-13T09:00+02:00")

    overdue = trigger.get_next_fire_time(due, now)

    assert overdue == at("2026-05-13T03:30+02:00")
    assert trigger.get_next_fire_time(overdue, now) == at("2026-05-14T03:30+02:00")


def test_a_clock_that_ran_decades_ahead_does_not_stop_the_nights_to_come() -> None:
    trigger = NightlyTrigger("03:30", "Europe/Rome")
    trigger.get_next_fire_time(at("2061-01-01T03:30+01:00"), at("2061-01-01T03:30+01:00"))

    assert trigger.get_next_fire_time(None, at("2026-05-10T04:00+02:00")) == at("2026-05-11T03:30+02:00")


def test_a_date_that_fired_before_a_restart_does_not_fire_again() -> None:
    trigger = NightlyTrigger("03:30", "Europe/Rome", last_started=at("2026-05-10T01:30:04+00:00"))

    assert trigger.get_next_fire_time(None, at("2026-05-10T02:00+02:00")) == at("2026-05-11T03:30+02:00")


def test_a_run_in_the_evening_does_not_stand_for_the_next_night() -> None:
    trigger = NightlyTrigger("03:30", "Europe/Rome", last_started=at("2026-05-09T22:00+02:00"))

    assert trigger.get_next_fire_time(None, at("2026-05-10T02:00+02:00")) == at("2026-05-10T03:30+02:00")


@pytest.mark.parametrize(("started", "missed"), [("2026-05-10T03:29", True), ("2026-05-10T03:30", False)])
def test_a_run_is_missed_when_none_has_begun_since_it_was_due(started: str, missed: bool) -> None:
    trigger = NightlyTrigger("03:30", "Europe/Rome")

    found = trigger.missed(at(f"{started}+02:00"), at("2026-05-10T08:00+02:00"))

    assert found == (at("2026-05-10T03:30+02:00") if missed else None)


@pytest.mark.parametrize("hour", ["", "3:30", "24:00", "03:60", "03:30:00", "٠٣:٣٠", "03.30", "03:30\n"])
def test_a_time_that_is_none_is_refused(hour: str) -> None:
    with pytest.raises(ScheduleInvalid, match="is not a time of day"):
        NightlyTrigger(hour, "Europe/Rome")


@pytest.mark.parametrize("zone", ["", "Europa/Roma", "Europe", "/etc/localtime", "../Europe/Rome", "Europe/Rome\0", "GMT+1"])
def test_a_zone_that_is_none_is_refused(zone: str, tmp_path: Path) -> None:
    async def run() -> None: ...

    with pytest.raises(ScheduleInvalid, match="is not a time zone"):
        Nightly(run, home=tmp_path, at="03:30", zone=zone)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ScheduleInvalid, match="without a zone"):
        NightlyTrigger("03:30", "Europe/Rome").get_next_fire_time(None, datetime(2026, 5, 10))  # noqa: DTZ001
