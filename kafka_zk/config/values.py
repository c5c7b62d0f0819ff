"""Config types: parse a value from text, and print it as Java does.

Role        Pure.
Invariants  `parse(type, text)` accepts and refuses exactly what Java's ConfigDef does, with its messages.
Source      ConfigDef.parseType, ConfigDef.convertToString, Double.parseDouble, Double.toString.
"""

from __future__ import annotations

import math
import re
from enum import Enum

from kafka_zk.config.errors import invalid_value

ConfigValue = bool | int | float | str | list[str] | None

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_COMMA = re.compile(r"\s*,\s*", re.ASCII)
_JAVA_WHITESPACE = "".join(map(chr, range(0x21)))


class ConfigType(Enum):
    """Kafka's types; the value is the code DescribeConfigs sends."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def java_trim(text: str) -> str:
    """What String.trim does: cuts every character up to the space, and no others."""
    return text.strip(_JAVA_WHITESPACE)


def parse(name: str, config_type: ConfigType, text: str) -> ConfigValue:
    """The value that `text` means. Raises ConfigException with Java's reason."""
    trimmed = java_trim(text)
    if config_type in _BITS:
        return _parse_integer(name, config_type, text, trimmed)
    if config_type is ConfigType.BOOLEAN:
        return _parse_boolean(name, text, trimmed)
    if config_type is ConfigType.DOUBLE:
        return _parse_double(name, text, trimmed)
    if config_type is ConfigType.LIST:
        return _COMMA.split(trimmed) if trimmed else []
    return trimmed


def _parse_integer(name: str, config_type: ConfigType, text: str, trimmed: str) -> int:
    value = java_integer(trimmed, _BITS[config_type])
    if value is None:
        raise invalid_value(name, text, f"Not a number of type {config_type.name}")
    return value


def java_integer(text: str, bits: int) -> int | None:
    """What Integer.parseInt (32 `bits`) makes of `text`; None for what is no number of so many bits.

    Python converts no more than 4,300 digits, leading zeros included.
    """
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) >= 20:
        # 19 digits hold every number of 64 bits.
        return None
    value = -int(digits or "0") if text.startswith("-") else int(digits or "0")
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def _parse_boolean(name: str, text: str, trimmed: str) -> bool:
    if trimmed.lower() in ("true", "false"):
        return trimmed.lower() == "true"
    raise invalid_value(name, text, "Expected value to be either true or false")


def _parse_double(name: str, text: str, trimmed: str) -> float:
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(trimmed):
        return float.fromhex(re.sub(r"[fFdD]$", "", trimmed) if "p" in trimmed.lower() else trimmed)
    raise invalid_value(name, text, "Not a number of type DOUBLE")


def java_text(value: ConfigValue) -> str | None:
    """`value` as Kafka prints it in DescribeConfigs: lists joined by commas, doubles in Java's form."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


def java_double(value: float) -> str:
    """Double.toString: plain from 1e-3 up to 1e7, else computer notation with an upper-case E."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    if 1e-3 <= abs(value) < 1e7:
        plain = repr(value)
        if "e" not in plain:
            return plain
        return f"{value:.20f}".rstrip("0")
    mantissa, _, exponent = _scientific(value)
    return f"{mantissa}E{exponent}"


def _scientific(value: float) -> tuple[str, str, int]:
    """Shortest digits of `value` as d.ddd and the power of ten."""
    sign = "-" if value < 0 else ""
    digits, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = digits.partition(".")
    exponent = int(exponent_text or 0)
    exponent += len(whole) - 1
    all_digits = whole + fraction
    leading = len(all_digits) - len(all_digits.lstrip("0"))
    exponent -= leading
    all_digits = all_digits[leading:].rstrip("0") or "0"
    return f"{sign}{all_digits[0]}.{all_digits[1:] or '0'}", "E", exponent


def java_list(values: list[str]) -> str:
    """A list as Java's error messages show it."""
    return "[" + ", ".join(values) + "]"
