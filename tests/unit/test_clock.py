"""Instants and dates: one text form each way, and nothing else is read."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from claims import clock

INSTANT = "2026-08-14T09:30:00.125Z"
STAMP = "20260814T093000.125Z"
VALUE = datetime(2026, 8, 14, 9, 30, 0, 125_000, tzinfo=timezone.utc)

NOT_AN_INSTANT = [
    "",
    "2026-08-14",
    "2026-08-14T09:30:00Z",
    "2026-08-14T09:30:00.12Z",
    "2026-08-14T09:30:00.1250Z",
    "2026-08-14T09:30:00.125",
    "2026-08-14T09:30:00.125z",
    "2026-08-14T09:30:00.125+00:00",
    "2026-08-14 09:30:00.125Z",
    "2026-08-14T09:30:00,125Z",
    "2026-W33-5T09:30:00.125Z",
    "2026-226T09:30:00.125Z",
    "2026-02-30T09:30:00.125Z",
    "2026-08-14T24:00:00.000Z",
    "2026-08-14T09:60:00.000Z",
    "2026-08-14T09:30:60.000Z",
    "0000-08-14T09:30:00.125Z",
    f"{INSTANT}\n",
    f" {INSTANT}",
    "２０２６-08-14T09:30:00.125Z",
    "+026-08-14T09:30:00.125Z",
]


def test_an_instant_is_read_and_written() -> None:
    assert clock.parse_instant(INSTANT) == VALUE
    assert clock.format_instant(VALUE) == INSTANT
    assert clock.parse_instant(INSTANT).tzinfo is timezone.utc


@pytest.mark.parametrize(
    "text",
    [
        INSTANT,
        "2026-08-14T09:30:00.125999Z",
        "2026-08-14t09:30:00.125z",
        "2026-08-14 11:30:00.125+02:00",
        "2026-08-14T04:00:00.125-05:30",
    ],
)
def test_what_people_give_may_have_an_offset(text: str) -> None:
    assert clock.parse_rfc3339(text) == VALUE
    assert clock.parse_rfc3339(text).tzinfo is timezone.utc


def test_milliseconds_may_be_left_out() -> None:
    assert clock.parse_rfc3339("2026-08-14T09:30:00Z") == VALUE.replace(microsecond=0)
    assert clock.parse_rfc3339("2026-08-14T09:30:00.1Z") == VALUE.replace(microsecond=100_000)


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-08-14", "2026-08-14T09:30Z", "2026-08-14T09:30:00", "2026-02-30T09:30:00Z", f"{INSTANT}\n"),
        *("2026-08-14T09:30:00+24:00", "2026-08-14T09:30:00+02:60", "0001-01-01T00:00:00+01:00", "now", "1786699800"),
        "２０２６-08-14T09:30:00Z",
    ],
)
def test_what_is_no_rfc3339_instant(text: str) -> None:
    with pytest.raises(ValueError):
        clock.parse_rfc3339(text)


def test_a_stamp_is_read_and_written() -> None:
    assert clock.parse_stamp(STAMP) == VALUE
    assert clock.format_stamp(VALUE) == STAMP


@pytest.mark.parametrize("text", NOT_AN_INSTANT)
def test_nothing_else_is_an_instant_or_a_stamp(text: str) -> None:
    with pytest.raises(ValueError):
        clock.parse_instant(text)
    with pytest.raises(ValueError):
        clock.parse_stamp(text.replace("-", "").replace(":", ""))


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00.000Z", "0999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"])
def test_years_have_four_digits(text: str) -> None:
    value = clock.parse_instant(text)
    assert clock.format_instant(value) == text
    assert clock.parse_stamp(clock.format_stamp(value)) == value


def test_now_is_in_utc_and_whole_milliseconds() -> None:
    now = clock.now()
    assert now.utcoffset() == timedelta(0)
    assert now.microsecond % 1000 == 0


@pytest.mark.parametrize(("given", "cut"), [(0, 0), (999, 0), (1000, 1000), (125_999, 125_000), (999_999, 999_000)])
def test_cut_never_moves_on(given: int, cut: int) -> None:
    assert clock.cut(VALUE.replace(microsecond=given)) == VALUE.replace(microsecond=cut)


def test_a_date_is_read() -> None:
    assert clock.parse_date("2026-08-14") == date(2026, 8, 14)
    assert clock.parse_date("2024-02-29") == date(2024, 2, 29)


@pytest.mark.parametrize(
    "text", ["", "2026-8-14", "20260814", "2026-W33-5", "2026-02-29", "2026-08-14\n", "٢٠٢٦-08-14"]
)
def test_nothing_else_is_a_date(text: str) -> None:
    with pytest.raises(ValueError):
        clock.parse_date(text)
