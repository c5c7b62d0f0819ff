"""Parses points in time and durations as Java does.

Role        Pure.
Source      org.apache.kafka.common.utils.Utils.getDateTime, java.text.SimpleDateFormat (not lenient),
            java.time.Duration.parse, java.time.Instant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.java_values import java_split

_NUMBER = r"[ \t]*([0-9]+)"
_DATE_TIME = re.compile(
    f"{_NUMBER}-{_NUMBER}-{_NUMBER}T{_NUMBER}:{_NUMBER}:{_NUMBER}\\.{_NUMBER}"
    r"(?:Z|([+-])([0-9]{1,2}):([0-9]{2})|([+-])([0-9]{2}))"
)
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?"
    r"(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_LIMIT = 1 << 63
_EARLIEST_INSTANT_S, _LATEST_INSTANT_S = -31557014167219200, 31556889864403199
_NS = 1_000_000_000


def parse_date_time(text: str) -> int:
    """Milliseconds since 1970 of YYYY-MM-DDTHH:mm:SS.sss, in UTC unless it names an offset. Raises JavaError.

    Text after the time is ignored, as in Java.
    """
    parts = java_split(text, "T")
    if len(parts) < 2:
        raise _parse_error("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    if not any(sign in parts[1] for sign in "+-Z"):
        text += "Z"
    match = _DATE_TIME.match(text)
    if match is None:
        raise _unparseable(text)
    year, month, day, hour, minute, second, ms = map(int, match.groups()[:7])
    sign, hours, minutes = (match[8], match[9], match[10]) if match[8] else (match[11], match[12] or 0, 0)
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    if ms > 999 or offset >= timedelta(days=1):
        raise _unparseable(text)
    try:
        zone = timezone(-offset if sign == "-" else offset)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        raise _unparseable(text) from None
    return (moment - _EPOCH) // timedelta(milliseconds=1) + ms


def _unparseable(text: str) -> JavaError:
    return _parse_error(f'Unparseable date: "{text}"')


def _parse_error(message: str) -> JavaError:
    return JavaError(message, "java.text.ParseException")


def parse_duration(text: str) -> int:
    """Nanoseconds of PnDTnHnMnS. Raises JavaError."""
    match = _DURATION.fullmatch(text)
    if match is None or match[3] in ("T", "t") or not any(match.group(2, 4, 5, 6)):
        raise _no_duration()
    days, hours, minutes, seconds = (int(match[index] or 0) for index in (2, 4, 5, 6))
    for count, unit, name in (
        (days, 86400, "days"),
        (hours, 3600, "hours"),
        (minutes, 60, "minutes"),
        (seconds, 1, "seconds"),
    ):
        if not -_SECONDS_LIMIT <= count < _SECONDS_LIMIT:
            raise _no_duration(f": {name}") from _no_long(str(count))
        if not -_SECONDS_LIMIT <= count * unit < _SECONDS_LIMIT:
            raise _no_duration(f": {name}") from JavaError("long overflow", "java.lang.ArithmeticException")
    fraction = int((match[7] or "0").ljust(9, "0"))
    if (match[6] or "").startswith("-"):
        fraction = -fraction
    total = (days * 86400 + hours * 3600 + minutes * 60 + seconds) * _NS + fraction
    return -total if match[1] == "-" else total


def _no_duration(what: str = "") -> JavaError:
    return JavaError(f"Text cannot be parsed to a Duration{what}", "java.time.format.DateTimeParseException")


def _no_long(text: str) -> JavaError:
    """Long.parseLong of a part of a text: the error names the digit at which the number overflows."""
    digits = text.lstrip("-")
    limit = _SECONDS_LIMIT if text.startswith("-") else _SECONDS_LIMIT - 1
    index = next(end for end in range(len(digits)) if int(digits[: end + 1]) > limit)
    return JavaError(
        f'Error at index {index + len(text) - len(digits)} in: "{text}"', "java.lang.NumberFormatException"
    )


def before(now_ns: int, duration_ns: int) -> int:
    """Milliseconds since 1970 of the moment `duration_ns` before `now_ns`. Raises JavaError beyond Java's calendar."""
    moment = now_ns - duration_ns
    if not _EARLIEST_INSTANT_S <= moment // _NS <= _LATEST_INSTANT_S:
        raise JavaError("Instant exceeds minimum or maximum instant", "java.time.DateTimeException")
    return moment // 1_000_000
