"""Bytes that nobody of good will wrote, in requests and on the disk: an error that names them, and the log goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import BrokerError, InvalidRecord, KafkaStorageError
from kafka_zk.record import Record, build_batch
from kafka_zk.record.batch import CRC_AT, CRC_FROM, HEADER_SIZE, batches, computed_crc
from kafka_zk.record.compression import Codec
from kafka_zk.record.crc import crc32c
from tests.unit.log.given import T0, TP, Place, manager_on, produced, read_slices, topic_config, values

CONFIG = topic_config(segment_bytes=400, index_interval_bytes=100)


def with_right_crc(batch: memoryview) -> memoryview:
    batch[CRC_AT : CRC_AT + 4] = crc32c(batch[CRC_FROM:]).to_bytes(4)
    return batch


def marker_that_is_none(offset: int) -> bytes:
    """A whole batch with a right crc: the marker in it says nothing of a transaction."""
    record = Record(offset, T0, b"?", None)
    return bytes(
        build_batch([record], base_offset=offset, producer_id=7, producer_epoch=0, transactional=True, control=True)
    )


def assert_whole(log: UnifiedLog) -> None:
    """Every stored batch is intact, and offsets follow one another."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        for batch in batches(read_slices(log, offset)):
            assert computed_crc(batch.buffer, batch.position, batch.header) == batch.header.crc
            assert batch.header.base_offset >= offset
            offset = batch.header.next_offset


def test_a_replicated_marker_that_is_none_is_not_written_however_often_it_comes(place: Place) -> None:
    """A follower fetches damaged records again and again."""
    log = place.open(CONFIG)
    log.append_as_leader(produced("a"), leader_epoch=0)
    before = place.partition.joinpath("00000000000000000000.log").read_bytes()
    for _ in range(3):
        with pytest.raises(InvalidRecord):
            log.append_as_follower(marker_that_is_none(1))
    assert (log.log_end_offset, log.size_bytes) == (1, len(before))
    log.append_as_leader(produced("b"), leader_epoch=0)
    assert values(log) == ["a", "b"]


def test_a_start_ends_the_log_before_a_marker_that_is_none(place: Place) -> None:
    log = place.open(CONFIG)
    log.append_as_leader(produced("a"), leader_epoch=0)
    place.crash(log)
    with place.partition.joinpath("00000000000000000000.log").open("ab") as file:
        file.write(marker_that_is_none(1))
    log = place.open(CONFIG)
    assert (values(log), log.log_end_offset, place.failures) == (["a"], 1, [])


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("is_crc_mended", [False, True])
def test_a_produced_header_with_any_bit_flipped_is_refused_or_harmless(
    place: Place, codec: Codec, is_crc_mended: bool
) -> None:
    log = place.open()
    for position in range(HEADER_SIZE):
        for bit in range(8):
            batch = produced("a", "b", "c", codec=codec)
            batch[position] ^= 1 << bit
            end = log.log_end_offset
            try:
                log.append_as_leader(with_right_crc(batch) if is_crc_mended else batch, leader_epoch=0, now_ms=T0)
            except BrokerError as error:
                assert error.code != KafkaStorageError.code, f"bit {bit} of byte {position}"
                assert log.log_end_offset == end
    assert log.append_as_leader(produced("last"), leader_epoch=0).last_offset == log.log_end_offset - 1
    assert_whole(log)


@pytest.mark.parametrize("is_crc_mended", [False, True])
def test_a_replicated_header_with_any_bit_flipped_is_refused_or_harmless(place: Place, is_crc_mended: bool) -> None:
    for position in range(8, HEADER_SIZE):  # Offsets may jump: a leader's log may have been cleaned.
        log = place.open(topic_config())
        for bit in range(8):
            batch = produced("a", "b", "c")
            batch[:8], batch[12:16] = log.log_end_offset.to_bytes(8), bytes(4)
            batch[position] ^= 1 << bit
            end = log.log_end_offset
            try:
                log.append_as_follower(with_right_crc(batch) if is_crc_mended else batch)
            except BrokerError as error:
                assert error.code != KafkaStorageError.code, f"bit {bit} of byte {position}"
                assert log.log_end_offset == end
        log.truncate_fully_and_start_at(0)
        log.close()


def stopped(path: Path, count: int = 20) -> None:
    manager = manager_on(path, configs={TP.topic: CONFIG})
    manager.startup()
    from uuid import UUID

    log = manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
    for number in range(count):
        batch = produced(str(number), timestamp=T0 + number, producer_id=1, epoch=0, sequence=number)
        log.append_as_leader(batch, leader_epoch=number // 7)
    log.update_high_watermark(count)
    manager.shutdown()


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        names.OFFSET_INDEX,
        names.TIME_INDEX,
        names.TRANSACTION_INDEX,
        names.PRODUCER_SNAPSHOT,
        names.LEADER_EPOCHS,
        names.PARTITION_METADATA,
        names.RECOVERY_POINTS,
        names.LOG_START_OFFSETS,
        names.HIGH_WATERMARKS,
    ],
)
def test_a_start_on_files_of_random_bytes_loses_no_record(
    tmp_path: Path, kind: str, is_clean: bool, chance: random.Random
) -> None:
    for number in range(12):
        path = tmp_path / str(number)
        stopped(path)
        damaged = [each for each in path.rglob("*") if each.name.endswith(kind)]
        if kind == names.TRANSACTION_INDEX:
            damaged = [each.with_suffix(kind) for each in path.rglob("*.log")]
        assert damaged
        for each in damaged:
            each.write_bytes(chance.randbytes(chance.choice([1, 8, 12, 24, 34, 68, 500])))
        if not is_clean:
            (path / names.CLEAN_SHUTDOWN).unlink()
        manager = manager_on(path, configs={TP.topic: CONFIG})
        if kind == names.PARTITION_METADATA:
            with pytest.raises(KafkaStorageError):
                manager.startup()
            manager.release()
            continue
        manager.startup()
        log = manager.get_log(TP)
        assert log is not None
        assert values(log) == [str(number) for number in range(20)], f"{path}"
        for each in range(20):
            assert values(log, each)[0] == str(each)
            found = log.offset_for_timestamp(T0 + each)
            assert found is not None and found.offset == each
        log.update_high_watermark(log.log_end_offset)
        assert log.latest_epoch == 2
        log.append_as_leader(produced("next", timestamp=T0 + 20), leader_epoch=2)
        log.truncate_to(10)
        assert not log.log_dir.is_offline
        manager.shutdown()
