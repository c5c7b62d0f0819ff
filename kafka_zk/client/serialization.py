"""Serializers and deserializers, by the names of Java's classes.

Role        Pure but for importing configured classes.
Invariants  None stays None, which is a tombstone in both directions.
            Integers are big-endian and signed, as in Java; a UUID travels as its text.
Source      org.apache.kafka.common.serialization.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import SerializationException
from kafka_zk.config.errors import ConfigException, invalid_value
from kafka_zk.protocol.types import Buffer

PACKAGE: Final = "org.apache.kafka.common.serialization."

Serialize = Callable[[Any], Any]
"""From a value that is not None to bytes (or another buffer). Raises SerializationException."""
Deserialize = Callable[[Buffer], Any]
"""From bytes to a value. Raises SerializationException."""


def serializer_of(config: ClientConfig, name: str) -> Serialize | None:
    """The serializer that the key (`key.serializer` ...) names; None: bytes unchanged. Raises ConfigException.

    A class's name, Java's (with or without its package) or Python's (`package.module.Class`, of an object with a
    method `serialize(value)`); or such an object; or any function of a value.
    """
    return _found(config, name, _SERIALIZERS, "serialize")


def deserializer_of(config: ClientConfig, name: str) -> Deserialize | None:
    """Like `serializer_of`, with a method `deserialize(data)`. The data may be a view into a larger buffer."""
    return _found(config, name, _DESERIALIZERS, "deserialize")


def _found(
    config: ClientConfig, name: str, makers: dict[str, Callable[[ClientConfig, str], Any]], method: str
) -> Callable[[Any], Any] | None:
    given = config.given(name)
    if isinstance(given, str):
        short = given.removeprefix(PACKAGE)
        if short in makers:
            made: Callable[[Any], Any] | None = makers[short](config, name)
            return made
        given = class_named(name, given)
    if isinstance(given, type):
        given = given()
    bound = getattr(given, method, given)
    if not callable(bound):
        raise invalid_value(name, str(given), f"It has no method {method}.")
    function: Callable[[Any], Any] = bound
    return function


def class_named(name: str, dotted: str) -> Any:
    """The Python class that a configuration names. Raises ConfigException, as Java does for a class it cannot find."""
    module, _, attribute = dotted.replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise invalid_value(name, dotted, f"Class {dotted} could not be found.") from None


def _number(layout: str, reader: str) -> tuple[Serialize, Deserialize]:
    number = struct.Struct(layout)

    def serialize(value: Any) -> bytes:
        try:
            return number.pack(value)
        except struct.error as error:
            raise SerializationException(f"Can't convert {value!r}: {error}") from error

    def deserialize(data: Buffer) -> Any:
        if len(data) != number.size:
            raise SerializationException(f"Size of data received by {reader} is not {number.size}")
        return number.unpack(data)[0]

    return serialize, deserialize


def _boolean_to_bytes(value: Any) -> bytes:
    return b"\1" if value else b"\0"


def _boolean_from_bytes(data: Buffer) -> bool:
    if len(data) != 1:
        raise SerializationException("Size of data received by BooleanDeserializer is not 1")
    if data[0] not in (0, 1):
        raise SerializationException(f"Unexpected byte received by BooleanDeserializer: {data[0]}")
    return data[0] == 1


def _uuid_to_bytes(value: Any) -> bytes:
    return str(value).encode()


def _uuid_from_bytes(data: Buffer) -> UUID:
    try:
        return UUID(str(data, "utf-8"))
    except ValueError as error:
        raise SerializationException("Error parsing data into UUID") from error


def _void_to_bytes(value: Any) -> bytes:
    raise SerializationException("A VoidSerializer takes null only.")


def _void_from_bytes(data: Buffer) -> None:
    raise SerializationException("Data should be null for a VoidDeserializer.")


def _encoding(config: ClientConfig, name: str, kind: str) -> str:
    """`key.serializer.encoding`, else `serializer.encoding`, else UTF-8."""
    encoding = config.given(f"{name}.encoding") or config.given(f"{kind}.encoding") or "utf-8"
    try:
        "".encode(str(encoding))
    except LookupError:
        raise ConfigException(f"Error when serializing string: unsupported encoding {encoding}") from None
    return str(encoding)


def _string_serializer(config: ClientConfig, name: str) -> Serialize:
    encoding = _encoding(config, name, "serializer")
    # Characters missing in the encoding become a question mark, as in Java.
    return lambda value: value.encode(encoding, "replace")


def _string_deserializer(config: ClientConfig, name: str) -> Deserialize:
    encoding = _encoding(config, name, "deserializer")
    return lambda data: str(data, encoding, "replace")


_NUMBERS: Final = {
    "Integer": _number(">i", "IntegerDeserializer"),
    "Long": _number(">q", "LongDeserializer"),
    "Short": _number(">h", "ShortDeserializer"),
    "Float": _number(">f", "Deserializer"),
    "Double": _number(">d", "Deserializer"),
}
_PAIRS: Final[dict[str, tuple[Serialize | None, Deserialize | None]]] = {
    **_NUMBERS,
    "ByteArray": (None, bytes),
    "Bytes": (None, bytes),
    "ByteBuffer": (None, None),
    "Boolean": (_boolean_to_bytes, _boolean_from_bytes),
    "UUID": (_uuid_to_bytes, _uuid_from_bytes),
    "Void": (_void_to_bytes, _void_from_bytes),
}
_SERIALIZERS: Final[dict[str, Callable[[ClientConfig, str], Any]]] = {
    "StringSerializer": _string_serializer,
    **{f"{kind}Serializer": lambda *_, found=pair[0]: found for kind, pair in _PAIRS.items()},
}
_DESERIALIZERS: Final[dict[str, Callable[[ClientConfig, str], Any]]] = {
    "StringDeserializer": _string_deserializer,
    **{f"{kind}Deserializer": lambda *_, found=pair[1]: found for kind, pair in _PAIRS.items()},
}
