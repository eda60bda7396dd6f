"""Instants: aware UTC datetimes, whole milliseconds, and the one text form that claims use for them."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

#: How far a clock may be ahead of ours before we say so and stop ordering by it.
MAX_SKEW = timedelta(minutes=5)

_INSTANT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-5][0-9]))"
)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_STAMP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})\.([0-9]{3})Z")


def now() -> datetime:
    """The time, cut to whole milliseconds. Read once a command and handed down."""
    return cut(datetime.now(timezone.utc))


def cut(instant: datetime) -> datetime:
    """`instant` without what is finer than a millisecond."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def parse_instant(text: str) -> datetime:
    """Read `2026-08-14T09:30:00.000Z` and nothing else (`fromisoformat` takes weeks and offsets). Raises ValueError."""
    return _from_match(_INSTANT.fullmatch(text), text)


def parse_rfc3339(text: str) -> datetime:
    """Read an instant as people and programs write it, with any offset; cut to milliseconds. Raises ValueError."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"not an instant: {text!r}")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, hours, minutes = match.groups()[6:]
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    micro = int(f"{fraction or ''}000"[:3]) * 1000
    try:
        return datetime(year, month, day, hour, minute, second, micro, tzinfo=timezone(offset)).astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(f"not an instant: {text!r}") from None


def format_instant(instant: datetime) -> str:
    """RFC 3339 in UTC with milliseconds and `Z`."""
    return instant.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{instant.microsecond // 1000:03d}Z"


def parse_stamp(text: str) -> datetime:
    """Read `20260814T093000.000Z`, the form that ref names use. Raises ValueError."""
    return _from_match(_STAMP.fullmatch(text), text)


def format_stamp(instant: datetime) -> str:
    """`format_instant` without the characters that a ref name cannot hold."""
    return instant.strftime("%Y%m%dT%H%M%S.").rjust(16, "0") + f"{instant.microsecond // 1000:03d}Z"


def parse_date(text: str) -> date:
    """Read `2026-08-14`, a real day. Raises ValueError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a date: {text!r}")
    year, month, day = map(int, match.groups())
    return date(year, month, day)


def _from_match(match: re.Match[str] | None, text: str) -> datetime:
    if match is None:
        raise ValueError(f"not an instant: {text!r}")
    year, month, day, hour, minute, second, milli = map(int, match.groups())
    return datetime(year, month, day, hour, minute, second, milli * 1000, tzinfo=timezone.utc)
