"""What kafka-replica-verification.sh makes of what replicas sent."""

from __future__ import annotations

import pytest

from kafka_zk.client.admin.replica_fetching import NOTHING, Fetched
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import read_header
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import Record
from kafka_zk.tools.replica_verification.verification import Mismatch, Verification

ONE = TopicPartition("t", 0)


def batch(base_offset: int, value: bytes, count: int = 1) -> bytes:
    records = [Record(base_offset + index, 1000, None, value) for index in range(count)]
    return bytes(build_batch(records, base_offset=base_offset))


def fetched(high_watermark: int, *batches: bytes) -> Fetched:
    return Fetched(high_watermark, memoryview(b"".join(batches)))


def test_equal_replicas_are_verified_up_to_the_high_watermark() -> None:
    data = batch(0, b"a", 2), batch(2, b"b"), batch(3, b"c")
    verification = Verification({ONE: 0})
    verification.round({ONE: {1: fetched(3, *data), 2: fetched(3, *data)}})
    assert verification.offsets == {ONE: 3}
    assert verification.report() == "max lag is 0 for partition t-0 at offset 3 among 1 partitions"
    assert not verification.lines


def test_a_replica_behind_is_waited_for() -> None:
    data = batch(0, b"a"), batch(1, b"b")
    verification = Verification({ONE: 0})
    verification.round({ONE: {1: fetched(2, *data), 2: fetched(1, data[0])}})
    assert verification.offsets == {ONE: 1}
    assert verification.max_lag == 1
    verification.round({ONE: {1: fetched(2, data[1]), 2: NOTHING}})
    assert verification.offsets == {ONE: 1}
    verification.round({ONE: {1: fetched(2, data[1]), 2: fetched(2, data[1])}})
    assert (verification.offsets, verification.max_lag) == ({ONE: 2}, 0)


def test_other_bytes_are_told_with_their_checksums() -> None:
    first, second = batch(0, b"a"), batch(0, b"b")
    verification = Verification({ONE: 0})
    verification.round({ONE: {1: fetched(1, first), 2: fetched(1, second)}})
    crcs = [read_header(memoryview(each), 0).crc & 0xFFFFFFFF for each in (first, second)]
    told = (
        f"partition t-0 has unmatched checksum at offset 0; replica 1's checksum {crcs[0]}; "
        f"replica 2's checksum {crcs[1]}"
    )
    assert verification.lines == [told]
    assert verification.offsets == {ONE: 1}


def test_other_offsets_end_the_comparison() -> None:
    verification = Verification({ONE: 0})
    with pytest.raises(Mismatch):
        verification.round({ONE: {2: fetched(9, batch(0, b"a", 3)), 1: fetched(9, batch(0, b"a", 2))}})
    assert verification.lines == ["partition t-0: replica 1's offset 1 doesn't match replica 2's offset 2"]


def test_the_partition_that_lags_most_is_reported() -> None:
    other = TopicPartition("t", 1)
    verification = Verification({ONE: 5, other: 5})
    verification.round({ONE: {1: fetched(6)}, other: {1: fetched(9)}})
    assert verification.report() == "max lag is 4 for partition t-1 at offset 5 among 2 partitions"
