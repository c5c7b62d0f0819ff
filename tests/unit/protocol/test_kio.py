"""kio 0.5.0, an independent codec, reads what we write and writes what we read."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import io
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from kafka_zk.protocol.api_table import API_TABLE, Api
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, RECORDS, STRING, Array, Field, Scalar, Struct
from kafka_zk.protocol.schema import UUID as UUID_TYPE
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.protocol.value import Value

_RANGES = {"b": 8, "h": 16, "i": 32, "q": 64}
_TEXT = st.one_of(st.text(max_size=12), st.text(alphabet="aä€", min_size=60, max_size=200))
_BYTES = st.one_of(st.binary(max_size=12), st.binary(min_size=126, max_size=130))
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def kio_class(api: Api, kind: str, version: int) -> Any:
    module = importlib.import_module(f"kio.schema.{module_name(api)}.v{version}.{kind}")
    return getattr(module, f"{api.name}{kind.capitalize()}")


def module_name(api: Api) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in api.name).lstrip("_")


def numbers(kafka_type: str, type: Scalar) -> st.SearchStrategy[Any]:
    """Numbers that kio can hold: it gives some fields narrower Python types than the wire has."""
    if kafka_type == "error_code":
        return st.sampled_from([int(code) for code in ErrorCode])
    if kafka_type == "timedelta_i64":
        return st.integers(0, 2**41)
    if kafka_type == "datetime_i64":  # kio keeps whole seconds
        return st.integers(0, 2**31).map(lambda seconds: seconds * 1000)
    if type.name == "bool":
        return st.booleans()
    if type.name == "float64":
        return st.floats(allow_nan=False)
    if type.name == "uint16":
        return st.integers(0, 65535)
    assert type.fixed is not None
    limit = 1 << (_RANGES[type.fixed] - 1)
    return st.one_of(st.integers(-limit, limit - 1), st.sampled_from([-limit, -1, 0, 1, limit - 1]))


def scalars(kafka_type: str, type: Scalar) -> st.SearchStrategy[Any]:
    if type is STRING:
        return _TEXT
    if type is BYTES or type is RECORDS:
        return _BYTES
    if type is UUID_TYPE:
        return st.one_of(st.just(NULL_UUID), st.uuids())
    return numbers(kafka_type, type)


def values(field: Field, kio_field: Any, version: int) -> st.SearchStrategy[Any]:
    kafka_type = kio_field.metadata.get("kafka_type", "")
    if isinstance(field.type, Array):
        element = field.type.element
        elements = (
            structs(element, inner_class(kio_field), version)
            if isinstance(element, Struct)
            else scalars(kafka_type, element)
        )
        strategy: st.SearchStrategy[Any] = st.lists(elements, max_size=3)
    elif isinstance(field.type, Struct):
        strategy = structs(field.type, inner_class(kio_field), version)
    else:
        strategy = scalars(kafka_type, field.type)
    return st.one_of(st.none(), strategy) if version in field.nullable else strategy


def inner_class(kio_field: Any) -> Any:
    """The entity class inside `tuple[X, ...]`, `X | None` and the like."""
    pending = [kio_field.type]
    while pending:
        candidate = pending.pop()
        if dataclasses.is_dataclass(candidate):
            return candidate
        pending += getattr(candidate, "__args__", ())
    raise AssertionError(kio_field)


def structs(struct: Struct, kio_struct: Any, version: int) -> st.SearchStrategy[Value]:
    present = [field for field in struct.fields if version in field.versions]
    kio_fields = dataclasses.fields(kio_struct)
    assert len(present) == len(kio_fields), struct
    return st.builds(
        struct.value_class,
        **{field.name: values(field, other, version) for field, other in zip(present, kio_fields, strict=True)},
    )


def as_plain(value: Any) -> Any:
    """kio's value without kio's types: fields by position, numbers as they are on the wire."""
    if dataclasses.is_dataclass(value):
        return [as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [as_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(milliseconds=1))
    if isinstance(value, datetime.datetime):
        return round((value - _EPOCH) / datetime.timedelta(milliseconds=1))
    return value


def as_positions(struct: Struct, value: Any, version: int) -> list[Any]:
    """Our value in the form of `as_plain`; kio has None for the zero uuid."""
    result = []
    for field in struct.fields:
        if version not in field.versions:
            continue
        held = getattr(value, field.name)
        inner = field.struct
        if inner is not None and held is not None:
            if isinstance(field.type, Array):
                held = [as_positions(inner, item, version) for item in held]
            else:
                held = as_positions(inner, held, version)
        elif isinstance(held, memoryview):
            held = bytes(held)
        result.append(_without_null_uuid(held))
    return result


def _without_null_uuid(held: Any) -> Any:
    if isinstance(held, list):
        return [_without_null_uuid(item) for item in held]
    return None if isinstance(held, UUID) and held == NULL_UUID else held


def written_by_kio(write: Any, entity: Any) -> bytes:
    buffer = io.BytesIO()
    write(buffer, entity)
    return buffer.getvalue()


def assert_agreement(message: Message[Any], entity_class: Any, version: int, value: Value) -> None:
    ours = message.encode(value, version)
    entity, size = entity_reader(entity_class)(ours, 0)
    assert size == len(ours)
    assert as_plain(entity) == as_positions(message.struct, value, version)
    theirs = written_by_kio(entity_writer(entity_class), entity)
    assert theirs == ours
    assert message.decode(theirs, version) == value


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("api", API_TABLE.values(), ids=lambda api: api.name)
def test_kio_and_we_read_and_write_the_same(api: Api, kind: str):
    message: Message[Any] = api.request if kind == "request" else api.response
    classes = {version: kio_class(api, kind, version) for version in range(api.min_version, api.max_version + 1)}
    strategies = {version: structs(message.struct, entity_class, version) for version, entity_class in classes.items()}

    @settings(max_examples=4, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        for version, strategy in strategies.items():
            value = data.draw(strategy, label=f"v{version}")
            assert_agreement(message, classes[version], version, value)

    agree()
