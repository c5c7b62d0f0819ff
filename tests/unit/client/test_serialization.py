"""Keys and values as bytes, the way Java's serializers write and read them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import SerializationException
from kafka_zk.client.serialization import deserializer_of, serializer_of
from kafka_zk.config.declaration import CLASS, LOW, Config, ConfigTable
from kafka_zk.config.errors import ConfigException

KEYS = ConfigTable(
    (
        Config("value.serializer", CLASS, None, None, LOW, "out"),
        Config("value.deserializer", CLASS, None, None, LOW, "in"),
    )
)
PACKAGE = "org.apache.kafka.common.serialization."
SOME_UUID = UUID("01234567-89ab-cdef-0123-456789abcdef")


def serializer(given: object, **more: object) -> Any:
    return serializer_of(ClientConfig(KEYS, {"value.serializer": given, **more}), "value.serializer")


def deserializer(given: object, **more: object) -> Any:
    return deserializer_of(ClientConfig(KEYS, {"value.deserializer": given, **more}), "value.deserializer")


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("Integer", -2, "fffffffe"),
        ("Long", 2**40, "0000010000000000"),
        ("Short", 258, "0102"),
        ("Float", 1.5, "3fc00000"),
        ("Double", -1.5, "bff8000000000000"),
        ("Boolean", True, "01"),
        ("String", "grün", "6772c3bc6e"),
        ("UUID", SOME_UUID, str(SOME_UUID).encode().hex()),
    ],
)
def test_each_kind_is_written_and_read_as_java_does(kind: str, value: object, data: str) -> None:
    assert serializer(f"{PACKAGE}{kind}Serializer")(value) == bytes.fromhex(data)
    assert deserializer(f"{kind}Deserializer")(memoryview(bytes.fromhex(data))) == value


@pytest.mark.parametrize("kind", ["ByteArray", "Bytes"])
def test_bytes_are_sent_as_they_are_and_read_into_bytes_of_their_own(kind: str) -> None:
    assert serializer(f"{PACKAGE}{kind}Serializer") is None
    assert deserializer(f"{PACKAGE}{kind}Deserializer")(memoryview(b"abc")) == b"abc"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Integer", "Size of data received by IntegerDeserializer is not 4"),
        ("Long", "Size of data received by LongDeserializer is not 8"),
        ("Short", "Size of data received by ShortDeserializer is not 2"),
        ("Float", "Size of data received by Deserializer is not 4"),
        ("Double", "Size of data received by Deserializer is not 8"),
        ("Boolean", "Size of data received by BooleanDeserializer is not 1"),
        ("UUID", "Error parsing data into UUID"),
    ],
)
def test_bytes_of_the_wrong_size_are_refused_in_java_s_words(kind: str, message: str) -> None:
    with pytest.raises(SerializationException) as refused:
        deserializer(f"{PACKAGE}{kind}Deserializer")(b"12345")
    assert str(refused.value) == message


def test_a_string_may_have_another_encoding() -> None:
    name = f"{PACKAGE}StringSerializer"
    assert serializer(name, **{"value.serializer.encoding": "UTF-16BE"})("a") == b"\0a"
    assert serializer(name, **{"serializer.encoding": "ISO-8859-1"})("ü") == b"\xfc"
    with pytest.raises(ConfigException, match="unsupported encoding nonsense"):
        serializer(name, **{"serializer.encoding": "nonsense"})


def test_a_value_out_of_range_is_no_integer() -> None:
    with pytest.raises(SerializationException):
        serializer("IntegerSerializer")(2**31)


class Reversing:
    def serialize(self, value: str) -> bytes:
        return value[::-1].encode()


@pytest.mark.parametrize("given", [Reversing(), Reversing, f"{__name__}.Reversing", lambda value: value[::-1].encode()])
def test_objects_classes_names_and_functions_serve_as_serializers(given: object) -> None:
    assert serializer(given)("abc") == b"cba"


def test_a_class_that_is_not_there_is_a_wrong_value() -> None:
    with pytest.raises(ConfigException, match=r"Invalid value no\.such\.Class for configuration value\.serializer"):
        serializer("no.such.Class")
