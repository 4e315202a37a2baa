"""When a nightly run is due: once for each local date, however the clocks are set."""

import re
from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.base import BaseTrigger

_REMEMBERED_DATES = 16  # a clock set back by more than this runs dates again rather than never


class ScheduleInvalid(ValueError):
    """A time of day or a time zone is not one."""


class NightlyTrigger(BaseTrigger):  # type: ignore[misc]  # the library has no types
    """Fires once for each date of a time zone, also on the nights when its clocks change.

    A time that the clocks skip is due at the first moment after the gap; of a time that comes twice, the first counts. Dates that
    fired are remembered, so that a clock that is set back fires none of them again; of dates that a clock set forward leaps over,
    only the last fires.

    Args:
        at: Time of day on the wall, "HH:MM".
        zone: IANA name of the time zone.
        last_started: When the latest run before this process began, if there was one; its date counts as fired.

    Raises:
        ScheduleInvalid: If there is no such time or zone.
    """

    __slots__ = ("_at", "_fired", "zone")

    def __init__(self, at: str, zone: str, *, last_started: datetime | None = None) -> None:
        self._at = _time_of_day(at)
        self.zone = _zone(zone)
        self._fired: deque[date] = deque(maxlen=_REMEMBERED_DATES)
        if last_started is not None:
            self._remember(_utc(last_started))

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The next due time.

        A later one than `previous_fire_time` that is overdue at `now` fires in its stead; else `previous_fire_time` counts as
        fired.
        """
        moment = _utc(now)
        if previous_fire_time is not None:
            previous = _utc(previous_fire_time)
            day, latest = self._latest(moment)
            if previous < latest.astimezone(UTC) and day not in self._fired:
                return latest
            self._remember(previous)
        return self._next_due(moment)

    def latest_due(self, now: datetime) -> datetime:
        """The last due time that is not after `now`."""
        return self._latest(_utc(now))[1]

    def missed(self, last_started: datetime, now: datetime) -> datetime | None:
        """The last due time, if no run has begun since."""
        latest = self.latest_due(now)
        return latest if _utc(last_started) < latest.astimezone(UTC) else None

    def due(self, day: date) -> datetime | None:
        """When the run of a local date is due; None if the zone skipped that whole date."""
        wall = datetime.combine(day, self._at, self.zone)  # fold 0: the first of two
        moment = wall.astimezone(UTC)
        if moment.astimezone(self.zone).replace(tzinfo=None) == wall.replace(tzinfo=None):
            return moment.astimezone(self.zone)
        end = self._end_of_gap(wall)
        last_before = (end - timedelta(seconds=1)).astimezone(self.zone)
        after = end.astimezone(self.zone)
        return None if last_before.date() < day < after.date() else after

    def _end_of_gap(self, wall: datetime) -> datetime:
        """The first moment after the gap in which `wall` lies; its two readings enclose the change of the clocks."""
        early, late = wall.replace(fold=1).astimezone(UTC), wall.astimezone(UTC)
        offset = early.astimezone(self.zone).utcoffset()
        before, after = int(early.timestamp()), int(late.timestamp())
        while after - before > 1:
            middle = (before + after) // 2
            is_before = datetime.fromtimestamp(middle, self.zone).utcoffset() == offset
            before, after = (middle, after) if is_before else (before, middle)
        return datetime.fromtimestamp(after, UTC)

    def _next_due(self, now: datetime) -> datetime:
        day = now.astimezone(self.zone).date() - timedelta(days=1)  # a gap at midnight puts a date's run into the next date
        while True:  # ends: the remembered dates are few, and no zone skips two dates in a row
            due = self.due(day)
            if due is not None and due.astimezone(UTC) >= now and day not in self._fired:
                return due
            day += timedelta(days=1)

    def _latest(self, now: datetime) -> tuple[date, datetime]:
        day = now.astimezone(self.zone).date()
        while True:
            due = self.due(day)
            if due is not None and due.astimezone(UTC) <= now:
                return day, due
            day -= timedelta(days=1)

    def _remember(self, started: datetime) -> None:
        day, _ = self._latest(started)
        if day not in self._fired:
            self._fired.append(day)


def _time_of_day(text: str) -> time:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text, re.ASCII):
        raise ScheduleInvalid(f"{text!r} is not a time of day such as 03:30")
    return time.fromisoformat(text)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleInvalid(f"{name!r} is not a time zone such as Europe/Rome") from None


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ScheduleInvalid("a time without a zone could be any")
    return moment.astimezone(UTC)
