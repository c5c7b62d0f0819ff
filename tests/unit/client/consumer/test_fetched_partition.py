"""From the bytes of a fetch to records: offsets, transactions, holes, corruption."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.consumer.fetched_partition import AbortedTransaction, FetchedPartition
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Record

PARTITION = TopicPartition("t", 3)


def records(start: int, count: int) -> list[Record]:
    return [Record(start + index, 1000 + index, None, b"%d" % (start + index)) for index in range(count)]


def batch(start: int, count: int, *, producer_id: int = -1, **options: object) -> bytes:
    transactional = producer_id >= 0
    more = {"producer_epoch": 0, "base_sequence": 0} if transactional else {}
    return bytes(
        build_batch(
            records(start, count),
            base_offset=start,
            producer_id=producer_id,
            transactional=transactional,
            leader_epoch=7,
            **more,
            **options,  # type: ignore[arg-type]
        )
    )


def marker(offset: int, producer_id: int, kind: ControlType) -> bytes:
    made = EndTransactionMarker(kind, 0)
    return bytes(
        build_marker(
            made, producer_id=producer_id, producer_epoch=0, timestamp_ms=1, base_offset=offset, leader_epoch=7
        )
    )


def all_offsets(fetched: FetchedPartition, at_a_time: int = 3) -> list[int]:
    found: list[int] = []
    while taken := fetched.take(at_a_time):
        found += [record.offset for record in taken]
    return found


@given(
    sizes=st.lists(st.integers(1, 5), max_size=6),
    skipped=st.integers(0, 8),
    at_a_time=st.integers(1, 7),
    codec=st.sampled_from(Codec),
)
def test_every_record_from_the_fetch_offset_on_comes_once_and_in_order(
    sizes: list[int], skipped: int, at_a_time: int, codec: Codec
) -> None:
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    data = b"".join(batch(start, size, codec=codec) for start, size in zip(starts, sizes, strict=True))
    fetched = FetchedPartition(PARTITION, data, skipped)
    assert all_offsets(fetched, at_a_time) == list(range(skipped, sum(sizes)))
    assert fetched.next_offset == max(skipped, sum(sizes))
    assert not fetched.holds_a_batch


def test_a_record_names_its_partition_time_epoch_and_headers() -> None:
    header = ("h", None)
    data = build_batch([Record(5, 42, b"k", None, (header, header))], base_offset=5, leader_epoch=7)
    (record,) = FetchedPartition(PARTITION, data, 0).take(10)
    assert record == ("t", 3, 5, 42, TimestampType.CREATE_TIME, b"k", None, (header, header), 7)


def test_the_position_passes_what_compaction_took_from_the_end_of_a_batch() -> None:
    data = bytearray(batch(0, 4))
    whole = FetchedPartition(PARTITION, data, 0, check_crcs=False)
    data[23:27] = (9).to_bytes(4, "big")  # last offset delta: records 4 to 9 are gone
    assert all_offsets(whole) == [0, 1, 2, 3]
    fetched = FetchedPartition(PARTITION, data, 0, check_crcs=False)
    assert (all_offsets(fetched), fetched.next_offset, fetched.end_offset) == ([0, 1, 2, 3], 10, 10)


def test_only_committed_records_are_handed_out_under_read_committed() -> None:
    data = b"".join(
        (
            batch(0, 2, producer_id=1),
            batch(2, 2, producer_id=2),
            batch(4, 1),
            marker(5, 1, ControlType.ABORT),
            batch(6, 2, producer_id=1),
            marker(8, 2, ControlType.COMMIT),
            marker(9, 1, ControlType.COMMIT),
        )
    )
    committed = FetchedPartition(PARTITION, data, 0, aborted=[AbortedTransaction(0, 1)])
    assert all_offsets(committed) == [2, 3, 4, 6, 7]
    assert committed.next_offset == 10
    everything = FetchedPartition(PARTITION, data, 0)
    assert all_offsets(everything) == [0, 1, 2, 3, 4, 6, 7]


def test_a_transaction_aborted_before_the_fetch_offset_is_still_left_out() -> None:
    data = batch(0, 4, producer_id=1) + marker(4, 1, ControlType.ABORT) + batch(5, 1)
    fetched = FetchedPartition(PARTITION, data, 2, aborted=[AbortedTransaction(0, 1)])
    assert all_offsets(fetched) == [5]


def test_a_batch_whose_crc_is_wrong_is_reported_after_what_came_before_it() -> None:
    broken = bytearray(batch(2, 2))
    broken[-2] ^= 1  # its last value
    fetched = FetchedPartition(PARTITION, batch(0, 2) + broken, 0)
    assert [record.offset for record in fetched.take(10)] == [0, 1]
    for _ in range(2):  # it does not go away by itself
        with pytest.raises(KafkaException, match=r"fetching the next record from t-3. If needed, please seek past"):
            fetched.take(10)
    assert fetched.next_offset == 2
    unchecked = FetchedPartition(PARTITION, batch(0, 2) + broken, 0, check_crcs=False)
    assert len(unchecked.take(10)) == 4


@pytest.mark.parametrize(("magic", "kind"), [(0, None), (1, TimestampType.CREATE_TIME)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_legacy_sets_are_read_from_their_middle(magic: int, kind: TimestampType | None, codec: Codec) -> None:
    data = build_message_set(records(10, 5), magic=magic, codec=codec)
    fetched = FetchedPartition(PARTITION, data, 12)
    taken = fetched.take(10)
    assert [record.offset for record in taken] == [12, 13, 14]
    assert {record.timestamp_type for record in taken} == {kind}
    assert {record.leader_epoch for record in taken} == {None}
    assert fetched.next_offset == 15


def test_a_partial_batch_at_the_end_is_left_for_the_next_fetch() -> None:
    data = batch(0, 2) + batch(2, 2)[:-1]
    fetched = FetchedPartition(PARTITION, data, 0)
    assert (all_offsets(fetched), fetched.next_offset) == ([0, 1], 2)
    assert not FetchedPartition(PARTITION, data[:70], 0).holds_a_batch


def test_where_the_next_fetch_begins_is_known_before_anything_is_decoded() -> None:
    assert FetchedPartition(PARTITION, batch(0, 2) + batch(2, 5), 0).end_offset == 7
