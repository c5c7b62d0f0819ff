"""What a deserializer returns for bytes, as Java prints it.

Role        Pure.
Source      org.apache.kafka.common.serialization; toString of Float, Double, Bytes, HeapByteBuffer.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from kafka_zk.config.values import java_double
from kafka_zk.tools.common.java_output import JavaError

_PRINTABLE = range(0x20, 0x7F)
_FLOAT = struct.Struct(">f")


class NotFound(JavaError):
    """No such class of Kafka's own."""

    def __init__(self, class_name: str) -> None:
        super().__init__(class_name, "java.lang.ClassNotFoundException")


def text_maker(class_name: str, properties: Mapping[str, str], *, is_key: bool) -> Callable[[bytes], bytes]:
    """From bytes to the text of the deserialized value. Raises NotFound; the function raises KafkaException."""
    from kafka_zk.client.config import ClientConfig
    from kafka_zk.client.serialization import PACKAGE, deserializer_of
    from kafka_zk.config.declaration import ConfigTable
    from kafka_zk.config.errors import ConfigException
    from kafka_zk.config.tables.consumer import CONSUMER_KEYS

    name = "key.deserializer" if is_key else "value.deserializer"
    config = ClientConfig(ConfigTable([CONSUMER_KEYS[name]]), {**properties, name: class_name})
    try:
        deserialize = deserializer_of(config, name)
    except ConfigException:
        raise NotFound(class_name) from None
    text = _TEXTS.get(class_name.removeprefix(PACKAGE), str)
    if deserialize is None:
        return lambda data: text(data).encode()
    return lambda data: text(deserialize(data)).encode("utf-8", "replace")


def java_float(value: float) -> str:
    """Float.toString: the shortest digits that mean this float, in Double.toString's forms."""
    if not math.isfinite(value) or value == 0:
        return java_double(value)
    shortest = next(
        text for text in (f"{value:.{digits}g}" for digits in range(1, 10)) if _as_float(float(text)) == value
    )
    return java_double(float(shortest))


def _as_float(value: float) -> float:
    """The nearest float; infinite beyond the largest."""
    try:
        found: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return math.inf
    return found


def _bytes(data: bytes) -> str:
    """Bytes.toString: what is not printable ASCII in hexadecimal."""
    return "".join(chr(octet) if octet in _PRINTABLE and octet != ord("\\") else f"\\x{octet:02X}" for octet in data)


_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "FloatDeserializer": java_float,
    "DoubleDeserializer": java_double,
    "BooleanDeserializer": lambda value: "true" if value else "false",
    "BytesDeserializer": _bytes,
    # Differs from Kafka: there an array prints its class and a number that means nothing.
    "ByteArrayDeserializer": lambda data: base64.b64encode(data).decode(),
    "ByteBufferDeserializer": lambda data: f"java.nio.HeapByteBuffer[pos=0 lim={len(data)} cap={len(data)}]",
}
