"""What Apache Kafka 3.9.1 wrote into __consumer_offsets: read, written again to the same bytes, and understood."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import (
    GroupKey,
    OffsetKey,
    UnknownKey,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafka_zk.coordinator.group.decisions.replay import LogReplay, restored_group
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.placement import partition_for
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.records import OFFSET_COMMIT_VALUE, OffsetCommitValue
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.protocol.versioned import encode_versioned
from kafka_zk.record import Record, batches, build_batch, decode_records
from kafka_zk.record.batch import NO_LEADER_EPOCH, Batch
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker

GOLDEN = Path(__file__).parents[2] / "golden" / "16-consumer-offsets"
PARTITIONS = range(3)
RETENTION_MS = 1000
TP = TopicPartition("t", 0)


def golden_batches(partition: int) -> Iterator[Batch]:
    return batches((GOLDEN / f"__consumer_offsets-{partition}" / f"{0:020}.log").read_bytes())


def replayed(*all_batches: Batch) -> dict[str, Group]:
    replay = LogReplay()
    for batch in all_batches:
        replay.apply(batch)
    groups, unknown = replay.groups(RETENTION_MS)
    assert not unknown
    return {group.group_id: group for group in groups}


@pytest.mark.parametrize("partition", PARTITIONS)
def test_every_record_is_written_again_to_the_same_bytes(partition: int):
    count = 0
    for batch in golden_batches(partition):
        if batch.header.is_control:
            continue
        for record in decode_records(batch):
            assert record.key is not None
            key = read_key(record.key)
            if isinstance(key, OffsetKey):
                assert offset_key(key.group_id, key.partition) == record.key
                if record.value is not None:
                    assert offset_value(read_offset_value(record.value, RETENTION_MS)) == record.value
            else:
                assert isinstance(key, GroupKey) and record.value is not None
                assert group_key(key.group_id) == record.key
                value = read_group_value(record.value)
                group = restored_group(key.group_id, value)
                assignments = {member.member_id: member.assignment for member in group.members.values()}
                assert group_value(group, assignments) == record.value
            count += 1
    assert count


@pytest.mark.parametrize("partition", PARTITIONS)
def test_batches_are_built_as_apache_builds_them(partition: int):
    """Offsets carry the base sequence 0 although nobody produced them; groups and tombstones none."""
    for batch in golden_batches(partition):
        header = batch.header
        if header.is_transactional:
            continue
        records = decode_records(batch)
        holds_offsets = isinstance(read_key(records[0].key or b""), OffsetKey) and records[0].value is not None
        built = build_batch(
            records,
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
            base_sequence=0 if holds_offsets else -1,
        )
        assert built == batch.data


def test_every_group_lives_in_the_partition_that_apache_chose():
    for partition in PARTITIONS:
        for batch in golden_batches(partition):
            for record in [] if batch.header.is_control else decode_records(batch):
                key = read_key(record.key or b"")
                assert not isinstance(key, UnknownKey) and partition_for(key.group_id, 3) == partition


def test_the_smallest_hash_counts_as_zero():
    assert partition_for("hello", 50) == 22
    assert partition_for("polygenelubricants", 50) == 0


def test_the_golden_partitions_are_understood():
    groups = replayed(*golden_batches(0))
    assert groups["g-static"].state is GroupState.EMPTY and groups["g-static"].generation == 2
    assert groups["g-static"].offsets.get(TopicPartition("golden-groups-topic", 0)) == OffsetAndMetadata(
        9, 0, "", 1795187378729
    )
    assert list(groups["g-offdel"].offsets.committed) == [TopicPartition("golden-groups-topic", 0)]
    assert replayed(*golden_batches(2)) == {}, "all its offsets were deleted"


def test_only_committed_transactions_count():
    groups = replayed(*golden_batches(1))
    offsets = groups["golden-tx-group"].offsets
    assert list(offsets.committed) == [TopicPartition("golden-tx", 0)], "the second transaction was aborted"
    assert offsets.get(TopicPartition("golden-tx", 0)) == OffsetAndMetadata(7, 0, "tx-meta", 1795187351211)


def batch_of(offset: int, value: bytes | None, *, producer_id: int = -1) -> Batch:
    transactional = producer_id >= 0
    record = Record(offset, 1, offset_key("g", TP), value)
    built = build_batch([record], base_offset=offset, producer_id=producer_id, transactional=transactional)
    return next(batches(built))


def marker(offset: int, control_type: ControlType) -> Batch:
    built = build_marker(
        EndTransactionMarker(control_type, 0), producer_id=7, producer_epoch=0, timestamp_ms=1, base_offset=offset
    )
    return next(batches(built))


def value(offset: int) -> bytes:
    return offset_value(OffsetAndMetadata(offset, NO_LEADER_EPOCH, "", 1))


def test_a_transaction_never_overwrites_an_offset_from_a_newer_batch():
    groups = replayed(batch_of(0, value(10), producer_id=7), batch_of(1, value(20)), marker(2, ControlType.COMMIT))
    assert groups["g"].offsets.committed[TP].value.offset == 20


def test_an_open_transaction_leaves_its_offsets_unstable():
    groups = replayed(batch_of(0, value(10)), batch_of(1, value(20), producer_id=7))
    offsets = groups["g"].offsets
    assert offsets.committed[TP].value.offset == 10 and offsets.is_pending(TP)
    groups = replayed(batch_of(0, value(20), producer_id=7), marker(1, ControlType.ABORT), batch_of(2, value(3)))
    assert not groups["g"].offsets.is_pending(TP)


def test_a_tombstone_removes_what_came_before():
    assert replayed(batch_of(0, value(10)), batch_of(1, None)) == {}
    assert replayed(batch_of(0, value(10)), batch_of(1, None), batch_of(2, value(5)))["g"].offsets.committed


def test_keys_of_newer_protocols_are_counted_and_passed_over():
    replay = LogReplay()
    for offset in range(2):
        built = build_batch([Record(offset, 1, b"\0\3newer", b"x")], base_offset=offset)
        replay.apply(next(batches(built)))
    replay.apply(batch_of(2, value(1)))
    groups, unknown = replay.groups(RETENTION_MS)
    assert [group.group_id for group in groups] == ["g"] and unknown == {3: 1}


def test_an_old_value_without_an_expiry_gets_the_usual_one():
    """KAFKA-4682: else offsets of upgraded clusters would vanish, or stay for ever."""
    old = OffsetCommitValue(offset=4, metadata="m", commit_timestamp=100, expire_timestamp=-1)
    found = read_offset_value(encode_versioned(OFFSET_COMMIT_VALUE, old, 1), RETENTION_MS)
    assert found == OffsetAndMetadata(4, -1, "m", 100, 100 + RETENTION_MS)


def test_an_expiry_is_written_in_the_only_version_that_has_one():
    written = offset_value(OffsetAndMetadata(4, 3, "m", 100, 200))
    assert written[:2] == b"\0\1"
    assert read_offset_value(written, RETENTION_MS) == OffsetAndMetadata(4, -1, "m", 100, 200)


def test_a_value_of_the_future_is_refused():
    with pytest.raises(DecodeError):
        read_offset_value(b"\0\x63rest", RETENTION_MS)
