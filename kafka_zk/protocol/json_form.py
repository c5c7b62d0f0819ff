"""Messages as JSON text, for the request log.

Role        Pure but for `pause`. What is written for a struct in a version is decided once, with the first object.
Invariants  Kafka's names in camel case, in the order of the declaration; only fields of the version, and of those
            with a tag only what differs from its default. Records are shown by their size. A field that is hidden
            shows HIDDEN in the place of its value, whatever that is.
Source      The JsonConverter classes of Kafka 3.9's message generator, called with serializeRecords = false.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection
from typing import Any, Final
from uuid import UUID

from kafka_zk.protocol.schema import RECORDS, Array, Field, FieldType, Struct
from kafka_zk.protocol.types import Records, uuid_to_base64

HIDDEN: Final = "[hidden]"
"""Kafka's text in the place of a password."""

Pause = Callable[[], object]
Writer = Callable[[Any, list[str], Pause], None]
"""Appends the text of a value to the list; calls `pause` between the elements of arrays."""

_encode = json.JSONEncoder(ensure_ascii=False).encode


class JsonForm:
    """The text of one message's objects; `hidden` names fields, in whatever struct of the message they are."""

    def __init__(self, struct: Struct, hidden: Collection[str] = ()) -> None:
        self._struct = struct
        self._hidden = frozenset(hidden)
        self._writers: dict[int, Writer] = {}

    def text(self, value: Any, api_version: int, pause: Pause = lambda: None) -> str:
        """Blocks as `pause` does, which is called between the elements of arrays."""
        writer = self._writers.get(api_version)
        if writer is None:
            writer = self._writers[api_version] = _struct_writer(self._struct, api_version, self._hidden)
        parts: list[str] = []
        writer(value, parts, pause)
        return "".join(parts)


def json_text(value: object) -> str:
    """Text, numbers and null as Kafka writes them."""
    return _encode(value)


def _struct_writer(struct: Struct, api_version: int, hidden: frozenset[str]) -> Writer:
    fields = [
        (field, field.name, f"{json_text(_shown_name(field))}:", _field_writer(field, api_version, hidden))
        for field in struct.fields
        if api_version in field.versions
    ]
    new = struct.value_class

    def write(value: Any, parts: list[str], pause: Pause) -> None:
        before = "{"
        for field, name, label, writer in fields:
            held = getattr(value, name)
            if field.tag is not None and held == getattr(new(), name):
                continue
            parts.append(before)
            before = ","
            if field.type is RECORDS and held is not None:
                parts.append(f'"{_shown_name(field)}SizeInBytes":{_size_of(held)}')
                continue
            parts.append(label)
            writer(held, parts, pause)
        parts.append("{}" if before == "{" else "}")

    return write


def _shown_name(field: Field) -> str:
    first, *others = field.name.split("_")
    return "".join([first, *(other[:1].upper() + other[1:] for other in others)])


def _field_writer(field: Field, api_version: int, hidden: frozenset[str]) -> Writer:
    if field.name in hidden:
        return _write_hidden
    return _writer_of(field.type, api_version, hidden)


def _writer_of(kind: FieldType, api_version: int, hidden: frozenset[str]) -> Writer:
    if isinstance(kind, Struct):
        return _or_null(_struct_writer(kind, api_version, hidden))
    if isinstance(kind, Array):
        return _or_null(_array_writer(_writer_of(kind.element, api_version, hidden)))
    return _write_scalar


def _or_null(writer: Writer) -> Writer:
    def write(value: Any, parts: list[str], pause: Pause) -> None:
        if value is None:
            parts.append("null")
        else:
            writer(value, parts, pause)

    return write


def _array_writer(write_element: Writer) -> Writer:
    def write(values: Any, parts: list[str], pause: Pause) -> None:
        before = "["
        for value in values:
            parts.append(before)
            before = ","
            write_element(value, parts, pause)
            pause()
        parts.append("[]" if before == "[" else "]")

    return write


def _write_scalar(value: Any, parts: list[str], pause: Pause) -> None:
    if isinstance(value, UUID):
        parts.append(f'"{uuid_to_base64(value)}"')
    elif isinstance(value, bytes | bytearray | memoryview):
        parts.append(f'"{base64.b64encode(value).decode("ascii")}"')
    elif isinstance(value, float) and not math.isfinite(value):
        # JSON has no numbers for them.
        parts.append('"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"')
    else:
        parts.append(_encode(value))


def _write_hidden(value: Any, parts: list[str], pause: Pause) -> None:
    parts.append(f'"{HIDDEN}"')


def _size_of(records: Records) -> int:
    """Bytes of a records field, whether they are in memory or slices of segments."""
    if isinstance(records, bytes | bytearray | memoryview):
        return len(records)
    return sum(len(part) if isinstance(part, bytes | bytearray | memoryview) else part.size_bytes for part in records)
