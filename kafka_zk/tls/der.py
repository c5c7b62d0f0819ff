"""Reads DER: as much of it as names of certificates and Java's key stores need.

Role        Pure.
Invariants  A length never reaches beyond the bytes that there are.
Source      X.690.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SEQUENCE = 0x30
OID = 0x06
OCTET_STRING = 0x04
CONTEXT_0 = 0xA0


class MalformedDer(ValueError):
    """These bytes are no DER."""


class Element(NamedTuple):
    """One value: its tag, its content, and both with the length as they were read."""

    tag: int
    content: bytes
    encoded: bytes


def element(data: bytes) -> Element:
    """The first value in `data`. Raises MalformedDer."""
    for first in elements(data):
        return first
    raise MalformedDer("nothing to read")


def elements(data: bytes) -> Iterator[Element]:
    """The values that follow each other in `data`. Raises MalformedDer."""
    position = 0
    while position < len(data):
        if position + 2 > len(data):
            raise MalformedDer("a cut value")
        tag, size, begin = data[position], data[position + 1], position + 2
        if size & 0x80:
            count = size & 0x7F
            if not 1 <= count <= 4 or begin + count > len(data):
                raise MalformedDer("an illegal length")
            size = int.from_bytes(data[begin : begin + count], "big")
            begin += count
        if begin + size > len(data):
            raise MalformedDer("a cut value")
        yield Element(tag, data[begin : begin + size], data[position : begin + size])
        position = begin + size


def dotted(content: bytes) -> str:
    """An object identifier as text: 2.5.4.3."""
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise MalformedDer("an empty object identifier")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
