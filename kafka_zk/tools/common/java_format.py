"""Formats numbers and times as Java does.

Role        Pure but for the local time zone.
Source      java.util.Formatter (%f, %d), java.text.SimpleDateFormat.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from kafka_zk.tools.common.java_output import JavaError, illegal_argument

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def fixed(value: float, decimals: int) -> str:
    """%.Nf: the decimal digits rounded half up, where C rounds the binary number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def ratio(part: float, whole: float) -> float:
    """part / whole as Java's doubles divide: division by zero gives infinity, 0 / 0 gives NaN."""
    if whole == 0:
        return math.nan if part == 0 or math.isnan(part) else math.copysign(math.inf, part)
    return part / whole


# --- dates -----------------------------------------------------------------------------------------------------------

_Moment = tuple[time.struct_time, int]


def _number(read: Callable[[time.struct_time, int], int]) -> Callable[[_Moment, int], str]:
    return lambda moment, width: f"{read(*moment):0{width}}"


def _named(names: tuple[str, ...], index: int, width: int) -> str:
    return names[index] if width >= 4 else names[index][:3]


def _offset(moment: _Moment, separator: str) -> str:
    seconds = moment[0].tm_gmtoff
    hours, rest = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}{separator}{rest:02}"


_LETTERS: dict[str, Callable[[_Moment, int], str]] = {
    "y": lambda moment, width: f"{moment[0].tm_year % 100:02}" if width == 2 else f"{moment[0].tm_year:0{width}}",
    "M": lambda moment, width: (
        _named(_MONTHS, moment[0].tm_mon - 1, width) if width >= 3 else f"{moment[0].tm_mon:0{width}}"
    ),
    "d": _number(lambda date, _: date.tm_mday),
    "D": _number(lambda date, _: date.tm_yday),
    "u": _number(lambda date, _: date.tm_wday + 1),
    "H": _number(lambda date, _: date.tm_hour),
    "k": _number(lambda date, _: date.tm_hour or 24),
    "K": _number(lambda date, _: date.tm_hour % 12),
    "h": _number(lambda date, _: date.tm_hour % 12 or 12),
    "m": _number(lambda date, _: date.tm_min),
    "s": _number(lambda date, _: date.tm_sec),
    "S": _number(lambda _, ms: ms),
    "E": lambda moment, width: _named(_DAYS, moment[0].tm_wday, width),
    "a": lambda moment, _: "AM" if moment[0].tm_hour < 12 else "PM",
    "G": lambda _, __: "AD",
    "z": lambda moment, _: moment[0].tm_zone,
    "Z": lambda moment, _: _offset(moment, ""),
    "X": lambda moment, width: _offset(moment, ":" if width == 3 else "")[: 3 if width == 1 else None],
}


class DateFormat:
    """A pattern of SimpleDateFormat, in English and in the local time zone."""

    def __init__(self, pattern: str) -> None:
        """Raises JavaError for unknown letters (Java's week letters are not supported)."""
        self._parts: list[str | tuple[str, int]] = []
        position = 0
        while position < len(pattern):
            position = self._read_part(pattern, position)

    def _read_part(self, pattern: str, start: int) -> int:
        letter = pattern[start]
        if letter == "'":
            return self._read_quoted(pattern, start + 1)
        end = start
        while end < len(pattern) and pattern[end] == letter:
            end += 1
        if letter in _LETTERS:
            self._parts.append((letter, end - start))
        elif letter.isascii() and letter.isalpha():
            raise illegal_argument(f"Illegal pattern character '{letter}'")
        else:
            self._parts.append(pattern[start:end])
        return end

    def _read_quoted(self, pattern: str, start: int) -> int:
        if pattern[start : start + 1] == "'":
            self._parts.append("'")
            return start + 1
        end = pattern.find("'", start)
        if end < 0:
            raise JavaError("Unterminated quote", "java.lang.IllegalArgumentException")
        self._parts.append(pattern[start:end])
        return end + 1

    def text(self, epoch_ms: int) -> str:
        seconds, ms = divmod(epoch_ms, 1000)
        moment = (time.localtime(seconds), ms)
        return "".join(part if isinstance(part, str) else _LETTERS[part[0]](moment, part[1]) for part in self._parts)
