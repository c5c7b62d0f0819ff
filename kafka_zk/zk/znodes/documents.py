"""Encodes and decodes JSON znodes: one line of UTF-8.

Role        Pure. What every znode with a JSON document shares.
Invariants  Unknown keys are ignored; whatever bytes come, reading them yields a value or raises MalformedZNode.
Source      kafka.utils.Json.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kafka_zk.zk.errors import MalformedZNode

Value = TypeVar("Value")

LAST_EPOCH = 2**31 - 1
LONGEST_STRING_BYTES = 2**15 - 1
"""Of a string in a request, in UTF-8."""


def write(document: Mapping[str, object]) -> bytes:
    """The bytes of a document: compact, non-ASCII characters as themselves."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def read(data: bytes | None, path: str, build: Callable[[dict[str, Any]], Value]) -> Value:
    """What `build` makes of the document. It may index and convert freely: a bad document raises MalformedZNode."""
    try:
        document = json.loads(data or b"")
        if not isinstance(document, dict):
            raise TypeError("not an object")
        return build(document)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        shown = (data or b"").decode(errors="replace")
        raise MalformedZNode(path, f"Failed to parse the znode {path}: {shown} ({error!r})") from error


def string_map(value: object) -> dict[str, str]:
    """A map of strings to strings; raises TypeError."""
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise TypeError("not a map of strings")
    return value


def integers(value: object) -> tuple[int, ...]:
    """A list of whole numbers; raises TypeError."""
    if not isinstance(value, list):
        raise TypeError("not a list")
    return tuple(integer(item) for item in value)


def integer(value: object) -> int:
    """A whole number of 32 bits, as requests hold them; raises TypeError (true and 1.5 are none), ValueError."""
    return _within(value, 32)


def epoch(value: object) -> int:
    """An epoch of 32 bits that has a next one; raises as `integer`."""
    if integer(value) == LAST_EPOCH:
        raise ValueError(f"no epoch follows {value}")
    return integer(value)


def long_integer(value: object) -> int:
    """A whole number of 64 bits; raises as `integer`."""
    return _within(value, 64)


def _within(value: object, bits: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"not a whole number: {value!r}")
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ValueError(f"not a number of {bits} bits: {value}")
    return value


def text(value: object) -> str:
    """A string that UTF-8 can hold, unlike half of a surrogate pair; raises TypeError, ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"not a string: {value!r}")
    value.encode()
    return value


def short_text(value: object) -> str:
    """A string that a request can hold; raises as `text`."""
    if len(text(value).encode()) > LONGEST_STRING_BYTES:
        raise ValueError(f"a string of more than {LONGEST_STRING_BYTES} bytes")
    return text(value)
