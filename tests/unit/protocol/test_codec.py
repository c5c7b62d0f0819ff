"""What the compiled codecs do beside the vectors: nulls, tags, long things, missing fields, slices."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from kafka_zk.protocol.errors import DecodeError, EncodeError, UnsupportedVersion
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS_REQUEST,
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_zk.protocol.messages.fetch import (
    FETCH_REQUEST,
    FETCH_RESPONSE,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from kafka_zk.protocol.messages.list_groups import LIST_GROUPS_REQUEST, ListGroupsRequest
from kafka_zk.protocol.messages.metadata import (
    METADATA_REQUEST,
    METADATA_RESPONSE,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field
from kafka_zk.protocol.schema import UUID as UUID_TYPE


@dataclass
class FileSlice:
    size_bytes: int


def round_trip(message: Message[Any], value: Any, version: int) -> Any:
    return message.decode(message.encode(value, version), version)


def fetch_response(records: Any) -> FetchResponse:
    partition = PartitionData(partition_index=1, high_watermark=9, records=records)
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 129, 16383, 16384, 32767])
@pytest.mark.parametrize("version", [8, 9])
def test_strings_of_every_length_class_survive(version: int, length: int):
    value = MetadataRequest(topics=[MetadataRequestTopic(name="x" * length)])
    assert round_trip(METADATA_REQUEST, value, version) == value


@pytest.mark.parametrize("version", [8, 9])
def test_a_string_longer_than_32767_bytes_is_neither_written_nor_read(version: int):
    with pytest.raises(EncodeError):
        METADATA_REQUEST.encode(MetadataRequest(topics=[MetadataRequestTopic(name="x" * 32768)]), version)
    too_long = b"\x02" + b"\x81\x80\x02" + b"x" * 32768 + bytes(20)
    with pytest.raises(DecodeError, match="invalid length 32768"):
        METADATA_REQUEST.decode(too_long, 9)


@pytest.mark.parametrize("count", [0, 1, 64, 65, 126, 127, 128, 300, 20000])
@pytest.mark.parametrize("version", [8, 9])
def test_number_arrays_of_every_length_class_survive(version: int, count: int):
    partition = MetadataResponsePartition(
        partition_index=7, replica_nodes=list(range(count)), isr_nodes=[1], offline_replicas=list(range(count // 2))
    )
    value = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=[partition])])
    assert round_trip(METADATA_RESPONSE, value, version) == value


def test_a_long_array_beside_a_uuid_in_one_run_survives():
    message: Message[Any] = Message(
        "Example",
        versions="0",
        flexible="0+",
        fields=(
            Field("id", "0+", UUID_TYPE),
            Field("first", "0+", Array(INT64)),
            Field("number", "0+", INT16),
            Field("second", "0+", Array(INT32)),
            Field("other", "0+", UUID_TYPE),
        ),
    )
    value = message.value_class(
        id=UUID(int=1), first=list(range(200)), number=-5, second=list(range(130)), other=UUID(int=2)
    )
    assert round_trip(message, value, 0) == value


@pytest.mark.parametrize("count", [0, 1, 200])
def test_nullable_number_arrays_tell_null_from_empty(count: int):
    for replicas in (None, list(range(count))):
        partition = ReassignablePartition(partition_index=1, replicas=replicas)
        value = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=[partition])])
        assert round_trip(ALTER_PARTITION_REASSIGNMENTS_REQUEST, value, 0) == value


@pytest.mark.parametrize("version", [4, 9])
def test_a_null_array_differs_from_an_empty_one(version: int):
    for topics in (None, []):
        value = MetadataRequest(topics=topics)
        assert round_trip(METADATA_REQUEST, value, version).topics == topics


def test_null_where_null_is_not_allowed_is_refused_in_both_directions():
    with pytest.raises(DecodeError, match="topics was serialized as null"):
        METADATA_REQUEST.decode(b"\xff\xff\xff\xff", 0)
    with pytest.raises(EncodeError):
        METADATA_REQUEST.encode(MetadataRequest(topics=None), 0)
    with pytest.raises(DecodeError, match="name was serialized as null"):
        METADATA_REQUEST.decode(b"\x02\x00\x00\x00\x00\x00", 9)


def test_negative_lengths_other_than_minus_one_mean_null_too():
    assert METADATA_REQUEST.decode(b"\xff\xff\xff\xfb\x01", 4).topics is None


def test_a_number_out_of_range_is_an_encode_error():
    with pytest.raises(EncodeError, match="writing FetchRequest v4"):
        FETCH_REQUEST.encode(FetchRequest(max_wait_ms=2**31), 4)


def test_any_byte_but_zero_is_true():
    assert METADATA_REQUEST.decode(b"\0\0\0\0\x07", 4).allow_auto_topic_creation is True


def test_invalid_utf8_becomes_replacement_characters():
    assert METADATA_REQUEST.decode(b"\0\0\0\1\0\2\xff\xfe", 0).topics[0].name == "\ufffd\ufffd"


def test_bytes_after_the_message_are_not_looked_at():
    value, position = METADATA_REQUEST.decoder(1)(b"\0\0\0\0\x09\x09", 0)
    assert (value, position) == (MetadataRequest(topics=[]), 4)


def test_a_varint_of_more_than_five_bytes_or_31_bits_is_refused():
    with pytest.raises(DecodeError, match="Varint is too long"):
        METADATA_REQUEST.decode(b"\xff\xff\xff\xff\xff\x01", 9)
    with pytest.raises(DecodeError, match="larger than 2147483647"):
        METADATA_REQUEST.decode(b"\xff\xff\xff\xff\x0f" + bytes(9), 9)


def test_unknown_tags_are_skipped():
    known = METADATA_REQUEST.encode(MetadataRequest(topics=[]), 12)
    tagged = known[:-1] + b"\x02" + b"\x00\x01a" + b"\x87\x01\x02bc"
    value, position = METADATA_REQUEST.decoder(12)(tagged, 0)
    assert (value, position) == (MetadataRequest(topics=[]), len(tagged))


def test_known_and_unknown_tags_may_stand_together():
    value = FetchRequest(cluster_id="abc", replica_state=ReplicaState(replica_id=2, replica_epoch=9))
    data = FETCH_REQUEST.encode(value, 15)
    assert FETCH_REQUEST.decode(data, 15) == value
    position = data.index(b"\x02\x00\x04\x04abc")
    with_unknown = data[:position] + b"\x03" + data[position + 1 :] + b"\x09\x02zz"
    assert FETCH_REQUEST.decoder(15)(with_unknown, 0) == (value, len(with_unknown))


def test_a_tagged_field_with_its_default_is_not_written():
    assert FETCH_RESPONSE.encode(FetchResponse(), 16)[-1:] == b"\0"
    endpoint = NodeEndpoint(node_id=1, host="h", port=9)
    leader = PartitionData(current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2))
    topic = FetchableTopicResponse(partitions=[leader])
    value = FetchResponse(responses=[topic], node_endpoints=[endpoint])
    assert round_trip(FETCH_RESPONSE, value, 16) == value


def test_a_field_that_a_version_lacks_must_hold_its_default_unless_it_may_be_ignored():
    with pytest.raises(UnsupportedVersion, match="non-default states_filter at version 3"):
        LIST_GROUPS_REQUEST.encode(ListGroupsRequest(states_filter=["Stable"]), 3)
    with pytest.raises(UnsupportedVersion, match="include_topic_authorized_operations"):
        METADATA_REQUEST.encode(MetadataRequest(include_topic_authorized_operations=True), 1)
    throttled = MetadataResponse(throttle_time_ms=5)  # ignorable
    assert round_trip(METADATA_RESPONSE, throttled, 2).throttle_time_ms == 0


def test_null_counts_as_a_lost_value_where_the_default_is_an_empty_array():
    message: Message[Any] = Message(
        "Example", versions="0-1", flexible="none", fields=(Field("names", "1+", Array(STRING), nullable="1+"),)
    )
    assert message.encode(message.value_class(), 0) == b""
    with pytest.raises(UnsupportedVersion):
        message.encode(message.value_class(names=None), 0)


def test_a_field_that_a_version_lacks_decodes_to_its_default():
    assert round_trip(METADATA_REQUEST, MetadataRequest(topics=[]), 0).allow_auto_topic_creation is True
    assert round_trip(FETCH_RESPONSE, fetch_response(b""), 0).responses[0].partitions[0].last_stable_offset == -1


def test_decoded_defaults_are_not_shared():
    data = FETCH_RESPONSE.encode(fetch_response(b""), 11)
    first, second = (FETCH_RESPONSE.decode(data, 11) for _ in range(2))
    first.node_endpoints.append(NodeEndpoint())
    first.responses[0].partitions[0].current_leader.leader_id = 4
    assert second == FETCH_RESPONSE.decode(data, 11)


@pytest.mark.parametrize("version", [8, 9])
def test_records_are_views_into_the_frame(version: int):
    request = ProduceRequest(
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=b"batch")])]
    )
    frame = bytearray(PRODUCE_REQUEST.encode(request, version))
    records = PRODUCE_REQUEST.decode(frame, version).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0:1] = b"B"
    assert b"Batch" in frame


@pytest.mark.parametrize("version", [4, 11, 12, 16])
@pytest.mark.parametrize("buffer_type", [bytes, bytearray, memoryview])
def test_records_may_be_given_as_any_bytes(version: int, buffer_type: Any):
    given = fetch_response(buffer_type(b"batch"))
    assert FETCH_RESPONSE.encode(given, version) == FETCH_RESPONSE.encode(fetch_response(b"batch"), version)


@pytest.mark.parametrize("version", [4, 11, 12, 16])
@pytest.mark.parametrize("sizes", [(5,), (3, 200), (100_000, 1, 70)])
def test_slices_stay_themselves_and_are_counted_in_the_length(version: int, sizes: tuple[int, ...]):
    slices = [FileSlice(size) for size in sizes]
    parts = FETCH_RESPONSE.encode_parts(fetch_response(slices), version)
    assert [part for part in parts if isinstance(part, FileSlice)] == slices
    filled = b"".join(bytes(part.size_bytes) if isinstance(part, FileSlice) else part for part in parts)
    assert filled == FETCH_RESPONSE.encode(fetch_response(bytes(sum(sizes))), version)
    assert len(parts) <= len(slices) + 2


def test_no_slices_are_empty_records_and_null_stays_null():
    empty = FETCH_RESPONSE.encode_parts(fetch_response([]), 12)
    assert empty == [FETCH_RESPONSE.encode(fetch_response(b""), 12)]
    null = FETCH_RESPONSE.encode_parts(fetch_response(None), 12)
    assert null == [FETCH_RESPONSE.encode(fetch_response(None), 12)]
    assert null != empty


def test_slices_are_refused_where_bytes_are_wanted():
    with pytest.raises(EncodeError):
        FETCH_RESPONSE.encode(fetch_response([FileSlice(3)]), 12)


def test_a_version_outside_the_range_has_no_codec():
    for version in (-1, 13):
        for make in (METADATA_REQUEST.decoder, METADATA_REQUEST.encoder):
            with pytest.raises(UnsupportedVersion, match=f"MetadataRequest has no version {version}"):
                make(version)


def test_codecs_are_compiled_once():
    assert METADATA_REQUEST.decoder(5) == METADATA_REQUEST.decoder(5)
    assert METADATA_REQUEST.encoder(5) == METADATA_REQUEST.encoder(5)


def test_any_sequence_may_be_given_for_a_list():
    partition = MetadataResponsePartition(replica_nodes=(1, 2), isr_nodes=(2,), offline_replicas=())  # type: ignore[arg-type]
    value = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=[partition])])
    assert round_trip(METADATA_RESPONSE, value, 9).topics[0].partitions[0].replica_nodes == [1, 2]


def test_a_struct_shared_by_two_messages_has_one_class():
    from kafka_zk.protocol.messages import consumer_group_heartbeat as heartbeat

    request, response = heartbeat.CONSUMER_GROUP_HEARTBEAT_REQUEST, heartbeat.CONSUMER_GROUP_HEARTBEAT_RESPONSE
    assert request.class_of("TopicPartitions") is response.class_of("TopicPartitions") is heartbeat.TopicPartitions


def test_a_string_array_element_may_not_be_null():
    message: Message[Any] = Message(
        "Example", versions="0", flexible="0+", fields=(Field("names", "0+", Array(STRING)),)
    )
    with pytest.raises(DecodeError, match="names was serialized as null"):
        message.decode(b"\x02\x00\x00", 0)


def test_the_compiled_source_can_be_read():
    assert "unpack_hiB(buf, pos)" in PRODUCE_REQUEST.decoder_source(9)
    assert ".acks, " in PRODUCE_REQUEST.encoder_source(9)


def calls_during(work: Any) -> int:
    """Function calls, C functions included: what the hot path costs without a clock."""
    count = 0

    def on_event(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_produce_of_one_partition_stays_within_its_calls():
    batch = PartitionProduceData(index=0, records=b"batch")
    frame = PRODUCE_REQUEST.encode(ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[batch])]), 9)
    answer = ProduceResponse(
        responses=[TopicProduceResponse(name="t", partition_responses=[PartitionProduceResponse()])]
    )
    decode, encode = PRODUCE_REQUEST.decoder(9), PRODUCE_RESPONSE.encoder(9)
    assert calls_during(lambda: decode(frame, 0)) <= 12
    assert calls_during(lambda: encode(answer)) <= 24


def test_a_partition_of_a_metadata_response_costs_five_calls():
    encode = METADATA_RESPONSE.encoder(12)
    few, many = (
        MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    partitions=[MetadataResponsePartition(replica_nodes=[1, 2], isr_nodes=[1]) for _ in range(count)]
                )
            ]
        )
        for count in (10, 110)
    )
    encode(few)
    assert calls_during(lambda: encode(many)) - calls_during(lambda: encode(few)) <= 500
