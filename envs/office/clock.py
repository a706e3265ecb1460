"""Days and moments as text, in ISO format, which sorts by time.

Examples: ``2031-05-04`` and ``2031-05-04T09:30``. There are no time zones.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta


def day_of(moment: str) -> str:
    """Return the day of a moment."""
    return moment[:10]


def later(moment: str, minutes: int) -> str:
    """Return the moment that is some minutes later (or earlier, if negative)."""
    return (datetime.fromisoformat(moment) + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def days_later(day: str, days: int) -> str:
    """Return the day that is some days later (or earlier, if negative)."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def weekday(day: str) -> int:
    """Return 0 for Monday to 6 for Sunday."""
    return date.fromisoformat(day).weekday()


def next_monday(day: str) -> str:
    """Return the first Monday after a day."""
    return days_later(day, 7 - weekday(day))


def overlaps(start: str, end: str, other_start: str, other_end: str) -> bool:
    """Return whether two periods of time share more than a point."""
    return start < other_end and other_start < end
