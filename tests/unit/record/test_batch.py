"""Where batches lie in a buffer, and what their headers say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.protocol.errors import BrokerError, CorruptMessage
from kafka_zk.record import Codec, Record, batches, build_batch, decode_records, read_header
from kafka_zk.record.batch import batch_size, has_valid_crc, increment_sequence
from kafka_zk.record.builder import build_empty_batch
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.record import times_of
from kafka_zk.record.timestamp_type import TimestampType
from tests.unit.record.strategies import record_lists

ONE = bytes(build_batch([Record(5, 1_700_000_000_000, b"k", b"v")], base_offset=5, leader_epoch=3))


def test_iteration_stops_before_a_partial_batch() -> None:
    for cut in range(len(ONE)):
        assert [batch.position for batch in batches(ONE + ONE[:cut])] == [0]


def test_iteration_may_start_and_end_anywhere() -> None:
    data = b"xyz" + ONE + ONE + ONE
    found = list(batches(data, 3, 3 + 2 * len(ONE)))
    assert [batch.position for batch in found] == [3, 3 + len(ONE)]
    assert found[1].data == ONE
    assert found[1].payload == ONE[61:]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("timestamp_type", [TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])
def test_the_times_of_a_batch_are_those_of_its_records(codec: Codec, timestamp_type: TimestampType) -> None:
    records = [Record(7 + 2 * index, 1_000 - index, b"k", b"v") for index in range(5)]
    (new,) = batches(build_batch(records, base_offset=7, codec=codec, timestamp_type=timestamp_type))
    assert list(times_of(new)) == [(record.timestamp, record.offset) for record in decode_records(new)]
    old_codec = Codec.NONE if codec is Codec.ZSTD else codec
    (old, *_) = batches(build_message_set(records, magic=1, codec=old_codec))
    assert list(times_of(old)) == [(record.timestamp, record.offset) for record in decode_records(old)]


def test_impossible_bytes_end_iteration_with_an_error() -> None:
    with pytest.raises(CorruptMessage, match=r"Record size 13 is less than the minimum record overhead \(14\)"):
        list(batches(bytes(11) + b"\x0d" + bytes(20)))
    with pytest.raises(CorruptMessage, match="Invalid magic found in record: 3"):
        list(batches(ONE[:16] + b"\x03" + ONE[17:]))


def test_the_size_of_a_batch_is_known_from_17_bytes() -> None:
    assert batch_size(ONE[:17]) == len(ONE)
    assert batch_size(ONE[:16]) is None
    assert batch_size(ONE[:5]) is None


@given(st.binary(max_size=100))
def test_random_bytes_are_batches_or_a_broker_error(data: bytes) -> None:
    try:
        for batch in batches(data):
            batch.is_valid()
        read_header(data)
    except BrokerError:
        pass


def test_a_header_tells_offsets_and_flags() -> None:
    header = read_header(ONE)
    assert (header.base_offset, header.last_offset, header.next_offset) == (5, 5, 6)
    assert (header.partition_leader_epoch, header.record_count, header.size_bytes) == (3, 1, len(ONE))
    assert not (header.is_transactional or header.is_control or header.is_compressed or header.has_producer_id)
    assert has_valid_crc(ONE)
    assert not has_valid_crc(ONE[:-1] + b"x")


@pytest.mark.parametrize("bit, name", [(8, "uses_log_append_time"), (16, "is_transactional"), (32, "is_control")])
def test_each_attribute_bit_has_a_name(bit: int, name: str) -> None:
    assert getattr(read_header(ONE)._replace(attributes=bit), name)
    assert not getattr(read_header(ONE)._replace(attributes=~bit & 0x7F), name)


def test_a_delete_horizon_stands_in_the_place_of_the_base_timestamp() -> None:
    record = Record(0, 1_700_000_000_000, b"k", None)
    (batch,) = batches(build_batch([record], delete_horizon_ms=1_700_000_009_000))
    assert batch.header.delete_horizon_ms == 1_700_000_009_000
    assert batch.header.max_timestamp == record.timestamp
    assert decode_records(batch) == [record]
    assert read_header(ONE).delete_horizon_ms is None


def test_sequences_wrap_to_zero() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert read_header(ONE)._replace(base_sequence=2**31 - 2, last_offset_delta=3).last_sequence == 1
    assert read_header(ONE).last_sequence == -1


def test_an_empty_batch_keeps_what_a_live_producer_needs() -> None:
    data = build_empty_batch(
        base_offset=10,
        last_offset=14,
        timestamp_type=TimestampType.CREATE_TIME,
        max_timestamp=99,
        producer_id=4,
        producer_epoch=1,
        base_sequence=7,
        leader_epoch=2,
        transactional=True,
        control=False,
    )
    (batch,) = batches(data)
    assert batch.is_valid()
    assert (batch.size_bytes, batch.header.last_offset, batch.header.last_sequence) == (61, 14, 11)
    assert (batch.header.base_timestamp, batch.header.max_timestamp) == (-1, 99)
    assert decode_records(batch) == []


@given(st.sampled_from(list(Codec)), record_lists(), st.integers(0, 2**40))
def test_a_built_batch_reads_back(codec: Codec, records: list[Record], base_offset: int) -> None:
    moved = [record._replace(offset=base_offset + record.offset) for record in records]
    (batch,) = batches(build_batch(moved, base_offset=base_offset, codec=codec))
    assert batch.is_valid()
    assert decode_records(batch) == moved
    assert batch.header.max_timestamp == max(record.timestamp for record in records)
