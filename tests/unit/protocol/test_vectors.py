"""Bytes and JSON of every message and version, from Kafka's own classes."""

from __future__ import annotations

from typing import Any

import pytest

from .golden import API_TABLE, as_kafka_json, message_of, rows, without_records

VECTORS = [*rows("message-vectors"), *rows("record-vectors")]


def body_of(row: dict[str, Any]) -> bytes:
    """The message itself: the records' rows have the version in front."""
    data = bytes.fromhex(row["hex"])
    return data if "api_key" in row else data[2:]


def label(row: dict[str, Any]) -> str:
    return f"{row.get('api_name') or row.get('name')} {row.get('kind', '')} v{row['version']} {row['variant']}"


@pytest.mark.parametrize("buffer_type", [bytes, bytearray, memoryview])
def test_every_vector_decodes_to_kafkas_json(buffer_type: Any):
    for row in VECTORS:
        message = message_of(row)
        data = body_of(row)
        value, position = message.decoder(row["version"])(buffer_type(data), 0)
        assert position == len(data), label(row)
        assert as_kafka_json(message.name, value, row["version"]) == without_records(row["json"]), label(row)


def test_every_vector_is_encoded_again_to_the_same_bytes():
    for row in VECTORS:
        message = message_of(row)
        data = body_of(row)
        value = message.decode(data, row["version"])
        assert message.encode(value, row["version"]).hex() == data.hex(), label(row)
        assert b"".join(message.encode_parts(value, row["version"])) == data, label(row)


def test_a_message_may_start_anywhere_in_the_frame():
    for row in VECTORS[::7]:
        message = message_of(row)
        data = body_of(row)
        value, position = message.decoder(row["version"])(b"\xff" * 13 + data + b"\xff\xff", 13)
        assert position == 13 + len(data), label(row)
        assert value == message.decode(data, row["version"]), label(row)


def test_the_vectors_cover_every_version_of_every_message():
    covered = {(row["api_key"], row["kind"], row["version"]) for row in VECTORS if "api_key" in row}
    wanted = {
        (api.key, kind, version)
        for api in API_TABLE.values()
        for kind in ("request", "response")
        for version in range(api.min_version, api.max_version + 1)
    }
    assert covered == wanted
