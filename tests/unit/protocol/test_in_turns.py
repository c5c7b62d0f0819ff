"""What is coded in turns comes out as what is coded in one go, by both twins, and gives way between elements."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.protocol.coding import PureCodec, make_codec
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from kafka_zk.protocol.messages.metadata import (
    METADATA_RESPONSE,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.wire import TooLargeToWrite

COUNT = 3_000
PLENTY = 1 << 30


def metadata() -> MetadataResponse:
    partitions = [
        MetadataResponsePartition(partition_index=index, replica_nodes=[1, 2, 3], isr_nodes=[index])
        for index in range(COUNT)
    ]
    return MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)], cluster_id="c")


CASES: list[tuple[Message[Any], int, Any]] = [
    (METADATA_RESPONSE, 1, metadata()),
    (METADATA_RESPONSE, 12, metadata()),
    (FIND_COORDINATOR_REQUEST, 4, FindCoordinatorRequest(coordinator_keys=[f"g{n}" for n in range(COUNT)])),
]


def codecs(message: Message[Any], version: int) -> list[Any]:
    parts = (message.name, message.struct, version, message.is_flexible(version))
    return [make_codec(*parts), PureCodec(*parts)]


@pytest.mark.parametrize(("message", "version", "value"), CASES, ids=lambda case: repr(case)[:30])
def test_both_twins_code_the_same_in_turns(message: Message[Any], version: int, value: Any) -> None:
    whole = message.encode(value, version)
    for codec in codecs(message, version):
        calls: list[None] = []
        parts = codec.encode_in_turns(value, lambda calls=calls: calls.append(None), PLENTY)
        assert b"".join(parts) == whole
        assert len(calls) >= COUNT // 128
        calls.clear()
        decoded, end = codec.decode_in_turns(b"x" + whole, 1, lambda calls=calls: calls.append(None))
        assert (decoded, end) == (message.decode(whole, version), len(whole) + 1)
        assert len(calls) >= COUNT // 128


@pytest.mark.parametrize(("message", "version", "value"), CASES, ids=lambda case: repr(case)[:30])
def test_what_is_cut_short_is_refused_in_turns_too(message: Message[Any], version: int, value: Any) -> None:
    whole = message.encode(value, version)
    for codec in codecs(message, version):
        with pytest.raises(DecodeError):
            codec.decode_in_turns(whole[:-1], 0, lambda: None)


def test_more_than_may_be_sent_is_refused() -> None:
    size_bytes = len(METADATA_RESPONSE.encode(metadata(), 12))
    for codec in codecs(METADATA_RESPONSE, 12):
        assert codec.encode_in_turns(metadata(), lambda: None, size_bytes)
        with pytest.raises(TooLargeToWrite):
            codec.encode_in_turns(metadata(), lambda: None, size_bytes - 1)


def test_the_empty_arrays_of_a_large_request_are_one_list() -> None:
    value = MetadataResponse(
        topics=[MetadataResponseTopic(name=str(number)) for number in range(COUNT)], cluster_id="c"
    )
    whole = METADATA_RESPONSE.encode(value, 12)
    for codec in codecs(METADATA_RESPONSE, 12):
        decoded, _ = codec.decode_in_turns(whole, 0, lambda: None)
        assert decoded == value
        assert len({id(topic.partitions) for topic in decoded.topics}) == 1
        assert len({id(topic.partitions) for topic in codec.decode(whole, 0)[0].topics}) == COUNT
