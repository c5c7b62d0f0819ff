"""Apache's own segment files: read as its consumer read them, built again to the same bytes."""

from __future__ import annotations

import pytest

from kafka_zk.record import Batch, Codec, batches, build_batch, decode_records
from kafka_zk.record.builder import TimestampType
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker, marker_of
from kafka_zk.record.legacy import build_message_set
from tests.unit.record.golden_logs import CASES, Golden, golden, load

IDS = [f"{case.name}-{index}" for index, case in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_batches_of_a_segment_fill_it_and_have_right_crcs(case: Golden) -> None:
    assert sum(batch.size_bytes for batch in case.batches()) == sum(map(len, case.segments))
    assert all(batch.is_valid() for batch in case.batches())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_records_are_what_the_java_consumer_read(case: Golden) -> None:
    assert [record for batch in case.batches() for record in decode_records(batch)] == case.expected


def rebuilt(batch: Batch) -> bytes:
    header = batch.header
    if header.magic < 2:
        stamp = header.max_timestamp if header.uses_log_append_time else None
        records = decode_records(batch)
        codec = Codec(header.codec_id)
        return bytes(build_message_set(records, magic=header.magic, codec=codec, log_append_time_ms=stamp))
    return bytes(
        build_batch(
            decode_records(batch),
            base_offset=header.base_offset,
            codec=Codec(header.codec_id),
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            leader_epoch=header.partition_leader_epoch,
        )
    )


# snappy's compressor here makes other choices than the one in snappy-java; LogAppendTime keeps the client's deltas,
# which the records no longer tell.
SAME_BYTES = [case for case in CASES if "snappy" not in case.name and "logappendtime" not in case.name]


@pytest.mark.parametrize("case", SAME_BYTES, ids=[f"{case.name}-{index}" for index, case in enumerate(SAME_BYTES)])
def test_a_batch_built_from_its_records_has_the_bytes_apache_wrote(case: Golden) -> None:
    for batch in case.batches():
        assert rebuilt(batch) == bytes(batch.data)


def test_a_rebuilt_snappy_batch_differs_in_its_packing_only() -> None:
    for batch in golden("golden-snappy-0").batches():
        again = Batch(memoryview(rebuilt(batch)), 0, batch.header)
        assert Codec.SNAPPY.decompress(again.buffer[61:]) == Codec.SNAPPY.decompress(batch.payload)


def test_with_log_append_time_every_record_has_the_time_of_its_batch() -> None:
    for batch in golden("golden-logappendtime-0").batches():
        assert batch.header.uses_log_append_time
        assert {record.timestamp for record in decode_records(batch)} == {batch.header.max_timestamp}


def test_transaction_markers_are_read_and_written_as_apache_writes_them() -> None:
    endings = []
    for case in load("09-transactions"):
        for batch in case.batches():
            if not batch.header.is_control:
                continue
            marker = marker_of(batch)
            assert marker is not None
            endings.append(marker.control_type)
            again = build_marker(
                marker,
                producer_id=batch.header.producer_id,
                producer_epoch=batch.header.producer_epoch,
                timestamp_ms=batch.header.max_timestamp,
                base_offset=batch.header.base_offset,
                leader_epoch=batch.header.partition_leader_epoch,
            )
            assert bytes(again) == bytes(batch.data)
            assert len(again) == 78
    assert endings.count(ControlType.ABORT) > 2
    assert endings.count(ControlType.COMMIT) > 2


def test_a_marker_keeps_the_coordinator_epoch() -> None:
    marker = EndTransactionMarker(ControlType.ABORT, coordinator_epoch=7)
    data = build_marker(marker, producer_id=1, producer_epoch=2, timestamp_ms=3)
    assert marker_of(next(batches(data))) == marker
    assert not marker.is_commit


def test_log_append_time_is_only_in_the_header_of_a_built_batch() -> None:
    (plain, *_) = golden("golden-plain-0").batches()
    records = decode_records(plain)
    stamped = build_batch(records, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=42)
    (batch,) = batches(stamped)
    assert batch.header.max_timestamp == 42
    assert batch.header.base_timestamp == records[0].timestamp
    assert {record.timestamp for record in decode_records(batch)} == {42}
