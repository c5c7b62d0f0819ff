"""How keys and values become text: the decoders an option can name, and those of the internal topics.

Role        Pure. A parser gives the text of key and payload (None: nothing is printed for it), and the same for JSON.
Source      org.apache.kafka.tools.api.Decoder and its classes, DumpLogSegments.newDecoder.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any, Protocol

from kafka_zk.record.types import Record
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.java_text import string

_API = "org.apache.kafka.tools.api."
_DEPRECATED = "kafka.serializer."
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")

Decoder = Callable[[bytes], Any]


class MessageParser(Protocol):
    """Converts a record's key and value to text."""

    def text(self, record: Record) -> tuple[str | None, str | None]:
        """Key and payload as they are printed. Raises JavaError where Apache's tool ends."""

    def values(self, record: Record) -> tuple[Any, Any]:
        """The same for JSON."""


def integer(data: bytes) -> int:
    return _first(_INT32, data)


def long(data: bytes) -> int:
    return _first(_INT64, data)


def _first(number: struct.Struct, data: bytes) -> int:
    if len(data) < number.size:
        raise JavaError(None, "java.nio.BufferUnderflowException")
    value: int = number.unpack_from(data)[0]
    return value


def bytes_text(data: bytes) -> str:
    """Differs from Kafka: there an array prints its class and a number that means nothing."""
    return base64.b64encode(data).decode()


_DECODERS: dict[str, Decoder] = {
    "StringDecoder": string,
    "IntegerDecoder": integer,
    "LongDecoder": long,
    "DefaultDecoder": bytes_text,
}


def find_decoder(class_name: str | None, say: Callable[[str], None]) -> Decoder:
    """The decoder of a class; the default is a string's. Raises JavaError for a class that is not Kafka's own.

    `say` gets a warning when the name is an old one.
    """
    if class_name is None:
        return string
    simple = class_name.rpartition(".")[2]
    decoder = _DECODERS.get(simple)
    if decoder is not None and class_name == _DEPRECATED + simple:
        say(f"{class_name} is deprecated. Please use {_API}{simple} instead")
    elif decoder is None or class_name != _API + simple:
        raise JavaError(class_name, "java.lang.ClassNotFoundException")
    return decoder


def _text_of(decoder: Decoder) -> Decoder:
    return decoder if decoder is string else lambda data: str(decoder(data))


class DecoderParser:
    """Key and value, each by its decoder."""

    def __init__(self, key: Decoder, value: Decoder) -> None:
        self._key = key
        self._value = value
        self._key_text = _text_of(key)
        self._value_text = _text_of(value)

    def text(self, record: Record) -> tuple[str | None, str | None]:
        _, _, key, value, _ = record
        return None if key is None else self._key_text(key), None if value is None else self._value_text(value)

    def values(self, record: Record) -> tuple[Any, Any]:
        return (
            None if record.key is None else self._key(record.key),
            None if record.value is None else self._value(record.value),
        )
