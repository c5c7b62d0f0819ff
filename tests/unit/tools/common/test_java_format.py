"""Numbers and times in Java's formats."""

from __future__ import annotations

import math
import time

import pytest

from kafka_zk.tools.common.java_format import DateFormat, fixed, ratio
from kafka_zk.tools.common.java_output import JavaError


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.125, 2, "0.13"),
        (0.375, 2, "0.38"),
        (2.5, 0, "3"),
        (1e7, 1, "10000000.0"),
        (0, 4, "0.0000"),
        (1e-9, 4, "0.0000"),
        (-0.5, 0, "-1"),
        (1.005, 2, "1.01"),
        (math.nan, 2, "NaN"),
        (math.inf, 2, "Infinity"),
    ],
)
def test_a_number_is_rounded_half_up_from_its_decimal_digits(value: float, decimals: int, text: str) -> None:
    assert fixed(value, decimals) == text


def test_a_division_by_nothing_is_no_error() -> None:
    assert ratio(1, 0) == math.inf
    assert ratio(-1, 0) == -math.inf
    assert math.isnan(ratio(0, 0))
    assert ratio(1, 4) == 0.25


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2023-11-14 22:13:20:007"),
        ("yy M d h a K k", "23 11 14 10 PM 10 22"),
        ("EEE, EEEE MMM MMMM", "Tue, Tuesday Nov November"),
        ("D u S", "318 2 7"),
        ("'at' HH''mm Z X XXX", "at 22'13 +0000 +00 +00:00"),
        ("", ""),
    ],
)
def test_a_time_is_printed_by_simple_date_formats_letters(utc: None, pattern: str, text: str) -> None:
    assert DateFormat(pattern).text(1_700_000_000_007) == text


@pytest.mark.parametrize(
    ("pattern", "message"), [("foo", "Illegal pattern character 'f'"), ("'a", "Unterminated quote")]
)
def test_other_patterns_are_refused_in_javas_words(pattern: str, message: str) -> None:
    with pytest.raises(JavaError, match=f"^{message}$"):
        DateFormat(pattern)
