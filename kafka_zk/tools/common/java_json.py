"""Parses an operator's JSON file as Apache's tools do, with their error messages.

Role        Pure.
Invariants  Text after the first value is ignored. A number with a point is no integer.
Source      org.apache.kafka.server.util.Json, JsonObject, JsonValue, DecodeJson; Jackson's ObjectMapper.
"""

from __future__ import annotations

import json
from typing import Any

from kafka_zk.tools.common.jackson_errors import parse_error
from kafka_zk.tools.common.java_output import JavaError

_MISSING = object()
JsonObject = dict[str, Any]


def parsed(text: str) -> Any:
    """The first value of `text`. Raises ValueError where there is none."""
    if not text:
        raise ValueError("empty")
    bare = text.lstrip(" \t\r\n")
    if not bare:
        return _MISSING
    value, end = _DECODER.raw_decode(bare)
    if not isinstance(value, dict | list | str) and bare[end : end + 1].isalnum():
        raise ValueError(f"unexpected character at {end}")
    return value


def parsed_or_told(text: str) -> Any:
    """The same. Raises JavaError with what Jackson says of a text that is no JSON."""
    try:
        return parsed(text)
    except ValueError:
        raise parse_error(text) from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def json_text(value: Any) -> str:
    """A value as Jackson prints it."""
    return "" if value is _MISSING else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _unexpected(expected: str, value: Any) -> JavaError:
    return mapping_error(f"Expected {expected}, received {json_text(value)}")


def mapping_error(message: str) -> JavaError:
    return JavaError(message, "com.fasterxml.jackson.databind.JsonMappingException")


def as_object(value: Any) -> JsonObject:
    """Raises JavaError."""
    if not isinstance(value, dict):
        raise _unexpected("JSON object", value)
    return value


def as_array(value: Any) -> list[Any]:
    """Raises JavaError."""
    if not isinstance(value, list):
        raise _unexpected("JSON array", value)
    return value


def as_list(value: Any) -> list[Any]:
    """An array that is itself a field's value: the words differ. Raises JavaError."""
    if not isinstance(value, list):
        raise _unexpected("`JSON array` value", value)
    return value


def field(value: JsonObject, name: str) -> Any:
    """Raises JavaError where there is none."""
    if name not in value:
        raise mapping_error(f"No such field exists: `{name}`")
    return value[name]


def as_string(value: Any) -> str:
    """Raises JavaError."""
    if not isinstance(value, str):
        raise _unexpected("`String` value", value)
    return value


def as_integer(value: Any, name: str = "Integer") -> int:
    """Raises JavaError unless it is a Java int. `name` is the kind's in the message; Scala's tools said Int."""
    return _whole(value, bits=32, name=name)


def as_long(value: Any) -> int:
    """Raises JavaError unless it is a Java long."""
    return _whole(value, bits=64, name="Long")


def _whole(value: Any, *, bits: int, name: str) -> int:
    limit = 1 << (bits - 1)
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        raise _unexpected(f"`{name}` value", value)
    return value
