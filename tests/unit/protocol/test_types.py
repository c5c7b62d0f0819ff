"""Topic-partitions, uuids, versions, version-prefixed payloads."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.consumer_protocol import (
    CONSUMER_PROTOCOL_SUBSCRIPTION,
    ConsumerProtocolSubscription,
)
from kafka_zk.protocol.messages.records import OFFSET_COMMIT_VALUE, OffsetCommitValue
from kafka_zk.protocol.schema import NEVER, Versions
from kafka_zk.protocol.types import NULL_UUID, TopicPartition, uuid_from_base64, uuid_from_bytes, uuid_to_base64
from kafka_zk.protocol.versioned import decode_versioned, decode_versioned_leniently, encode_versioned

from .golden import message_of, rows


def test_a_topic_partition_prints_as_its_directory():
    assert str(TopicPartition("my-topic", 3)) == "my-topic-3"


def test_uuids_are_22_characters_of_url_safe_base64():
    topic_id = UUID("8fa0f65c-514f-9eb6-b3bf-c757b552fe00")
    assert uuid_to_base64(topic_id) == "j6D2XFFPnrazv8dXtVL-AA"
    assert uuid_from_base64("j6D2XFFPnrazv8dXtVL-AA") == topic_id
    assert uuid_to_base64(NULL_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_from_bytes(topic_id.bytes) == topic_id


@pytest.mark.parametrize("text", ["", "abc", "j6D2XFFPnrazv8dXtVL+AA", "j6D2XFFPnrazv8dXtVL-AAAAAAAA", "é" * 22])
def test_what_is_not_a_uuid_is_refused(text: str):
    with pytest.raises(ValueError, match="Input string"):
        uuid_from_base64(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", (3, 3)), ("0-4", (0, 4)), ("2+", (2, NEVER - 1)), ("none", (NEVER, -1))],
)
def test_versions_are_read_as_kafka_writes_them(text: str, expected: tuple[int, int]):
    assert Versions.parse(text) == expected
    assert (3 in Versions.parse(text)) == (text != "none")
    assert -1 not in Versions.parse(text)


def test_every_record_vector_is_read_behind_its_version_and_written_again():
    for row in rows("record-vectors"):
        message, payload = message_of(row), bytes.fromhex(row["hex"])
        value = decode_versioned(message, payload)
        assert encode_versioned(message, value, row["version"]) == payload


def test_a_record_of_an_unknown_version_is_refused():
    payload = encode_versioned(OFFSET_COMMIT_VALUE, OffsetCommitValue(offset=3), 3)
    for version in (b"\x00\x05", b"\xff\xff"):
        with pytest.raises(DecodeError, match="Unknown version"):
            decode_versioned(OFFSET_COMMIT_VALUE, version + payload[2:])
    with pytest.raises(DecodeError, match="has no version"):
        decode_versioned(OFFSET_COMMIT_VALUE, b"\x00")


def test_a_newer_subscription_is_read_as_the_newest_known():
    value = ConsumerProtocolSubscription(topics=["t"], rack_id="r")
    newer = b"\x00\x09" + encode_versioned(CONSUMER_PROTOCOL_SUBSCRIPTION, value, 3)[2:] + b"fields of version 9"
    assert decode_versioned_leniently(CONSUMER_PROTOCOL_SUBSCRIPTION, newer) == value
    with pytest.raises(DecodeError, match="Unsupported"):
        decode_versioned_leniently(CONSUMER_PROTOCOL_SUBSCRIPTION, b"\xff\xfe" + newer[2:])
