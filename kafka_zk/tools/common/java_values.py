"""Parses numbers, lists and regular expressions as Java does.

Role        Pure.
Source      Short.parseShort, Integer.parseInt, Long.parseLong, Double.parseDouble, String.split,
            java.util.regex.Pattern.
"""

from __future__ import annotations

import re

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.values import ConfigType, parse
from kafka_zk.tools.common.java_output import JavaError


def java_short(text: str) -> int:
    """Short.parseShort. Raises ValueError with Java's message."""
    value = java_integer(text)
    if not -(1 << 15) <= value < 1 << 15:
        raise ValueError(f'Value out of range. Value:"{text}" Radix:10')
    return value


def java_integer(text: str) -> int:
    """Integer.parseInt. Raises ValueError with Java's message."""
    return _whole_number(text, bits=32)


def java_long(text: str) -> int:
    """Long.parseLong. Raises ValueError with Java's message."""
    return _whole_number(text, bits=64)


def lowest_bits(value: int, bits: int) -> int:
    """What an integer of that size keeps of a sum that overflows it."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _whole_number(text: str, *, bits: int) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    limit = 1 << (bits - 1)
    # A number with more digits is refused without converting it.
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) < 20 and -limit <= int(text) < limit:
        return int(text)
    raise ValueError(f'For input string: "{text}"')


def parse_double(text: str) -> float:
    """Double.parseDouble. Raises ValueError with Java's message."""
    try:
        value = parse("", ConfigType.DOUBLE, text)
    except ConfigException:
        raise ValueError(f'For input string: "{text}"' if text.strip() else "empty String") from None
    assert isinstance(value, float)
    return value


def java_split(text: str, separator: str) -> list[str]:
    """`text` at each `separator`, without the empty parts at the end; an empty text has no parts."""
    return drop_empty_tail(text.split(separator)) if text else []


def drop_empty_tail(parts: list[str]) -> list[str]:
    """String.split forgets empty parts at the end."""
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] else parts


def python_pattern(pattern: str) -> str:
    r"""Java's pattern in Python's notation: \Q...\E and named groups are written differently."""
    quoted = re.sub(r"\\Q(.*?)(?:\\E|$)", lambda match: re.escape(match[1]), pattern)
    return re.sub(r"\(\?<([A-Za-z]\w*)>", r"(?P<\1>", quoted)


def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """Pattern.compile. Raises JavaError; what is wrong is said in Python's words."""
    try:
        return re.compile(python_pattern(pattern))
    except re.error as error:
        raise JavaError(
            f"{error.msg} near index {error.pos}\n{pattern}", "java.util.regex.PatternSyntaxException"
        ) from None
