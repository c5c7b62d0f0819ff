"""Times and durations are read as Java reads them, and refused in its words."""

from __future__ import annotations

import pytest

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.java_times import before, parse_date_time, parse_duration

NOON_MS = 1_600_000_080_000
HOUR_NS = 3_600 * 1_000_000_000


@pytest.mark.parametrize(
    "text",
    [
        "2020-09-13T12:28:00.000",
        "2020-09-13T12:28:00.000Z",
        "2020-09-13T14:28:00.000+02:00",
        "2020-09-13T14:28:00.000+02",
        "2020-09-13T14:28:00.000+0200",
        "2020-09-13T07:28:00.000-05:00",
        "2020-9-13T12:28:0.0",
        "2020-09-13T12:28:00.000Z and more",
    ],
)
def test_one_moment_is_written_in_many_ways(text: str) -> None:
    assert parse_date_time(text) == NOON_MS


def test_milliseconds_are_a_number_not_a_fraction() -> None:
    assert parse_date_time("2020-09-13T12:28:00.5") == NOON_MS + 5


@pytest.mark.parametrize(
    "text",
    ["2020-13-13T12:28:00.000Z", "2020-09-31T12:28:00.000Z", "2020-09-13T24:00:00.000Z", "2020-09-13T12:28:00.1000Z"],
)
def test_what_is_not_in_the_calendar_is_no_date(text: str) -> None:
    with pytest.raises(JavaError) as raised:
        parse_date_time(text)
    assert (raised.value.java_class, str(raised.value)) == ("java.text.ParseException", f'Unparseable date: "{text}"')


def test_the_text_with_what_was_added_to_it_is_told() -> None:
    with pytest.raises(JavaError, match=r'^Unparseable date: "2020-09-13T12:28:00Z"$'):
        parse_date_time("2020-09-13T12:28:00")


def test_a_date_without_a_time_is_refused() -> None:
    with pytest.raises(JavaError, match=r"does not contain a 'T' according to ISO8601 format$"):
        parse_date_time("2020-09-13")


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("PT1H", HOUR_NS),
        ("pt60m", HOUR_NS),
        ("P1D", 24 * HOUR_NS),
        ("P1DT-24H", 0),
        ("-PT1H", -HOUR_NS),
        ("PT1.5S", 1_500_000_000),
        ("PT-1,5S", -1_500_000_000),
        ("PT-0.5S", -500_000_000),
    ],
)
def test_a_duration_is_days_hours_minutes_and_seconds(text: str, expected_ns: int) -> None:
    assert parse_duration(text) == expected_ns


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1Y", "PT1", "PT1H ", "P1.5D"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(JavaError, match=r"^Text cannot be parsed to a Duration$") as raised:
        parse_duration(text)
    assert raised.value.java_class == "java.time.format.DateTimeParseException"


def test_what_overflows_is_named() -> None:
    with pytest.raises(JavaError, match=r"^Text cannot be parsed to a Duration: days$"):
        parse_duration(f"P{2**63 // 86400 + 1}D")


def test_javas_calendar_ends_somewhere() -> None:
    assert before(NOON_MS * 1_000_000, HOUR_NS) == NOON_MS - 3_600_000
    with pytest.raises(JavaError, match=r"^Instant exceeds minimum or maximum instant$"):
        before(0, 10**18 * 1_000_000_000)
