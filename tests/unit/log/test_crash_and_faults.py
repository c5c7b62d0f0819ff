"""What a crash, a bad disk or a bad byte leaves, and what the log makes of it."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import gevent
import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError, OutOfOrderSequenceNumber
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.unit.log.given import T0, TP, Place, manager_on, produced, topic_config, values

CONFIG = topic_config(segment_bytes=400, index_interval_bytes=100)


class FaultyDisk(Disk):
    """Fails the n-th write from `arm(n)` on; `torn` lets it write a part first."""

    def __init__(self) -> None:
        self.left = -1
        self.torn = False
        self.error = errno.ENOSPC

    def arm(self, writes: int, *, torn: bool = False, error: int = errno.ENOSPC) -> None:
        self.left, self.torn, self.error = writes, torn, error

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:  # type: ignore[override]
        if self.left == 0:
            if self.torn:
                return os.pwrite(descriptor, memoryview(data)[: len(data) // 2], position)
            raise OSError(self.error, os.strerror(self.error))
        self.left -= 1
        return os.pwrite(descriptor, data, position)


def filled(place: Place, count: int = 20, **options: object) -> UnifiedLog:
    log = place.open(CONFIG)
    for number in range(count):
        log.append_as_leader(produced(str(number), timestamp=T0 + number), leader_epoch=number // 7)
    return log


def texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def last_file(place: Place, suffix: str = names.LOG) -> Path:
    return max(place.partition.glob(f"*{suffix}"))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x55
    path.write_bytes(content)


def test_after_a_crash_without_damage_every_record_is_there(place: Place) -> None:
    before = filled(place)
    place.crash(before)
    log = place.open(CONFIG, recovery_point=before.recovery_point)
    assert values(log) == texts(20)
    assert log.leader_epochs.entries == [(0, 0), (1, 7), (2, 14)]
    assert log.recovery_point == before.recovery_point


def test_rebuilt_indexes_find_every_offset_and_time(place: Place) -> None:
    place.crash(filled(place))
    for path in place.partition.glob("*index"):
        path.unlink()
    log = place.open(CONFIG)
    assert [segment.indexes.offset.file.entry_count > 0 for segment in log.segments].count(True) >= 4
    for number in range(20):
        assert values(log, number) == texts(20)[number:]
        found = log.offset_for_timestamp(T0 + number)
        assert found is not None
        assert found.offset == number


@pytest.mark.parametrize("cut_bytes", [1, 7, 40, 60, 70])
def test_a_torn_last_batch_is_cut(place: Place, cut_bytes: int, caplog: pytest.LogCaptureFixture) -> None:
    place.crash(filled(place))
    path = last_file(place)
    os.truncate(path, path.stat().st_size - cut_bytes)
    log = place.open(CONFIG)
    assert values(log) == texts(19)
    assert f"Corruption found in segment {log.active.base_offset}, truncating to offset 19" in caplog.text
    assert log.append_as_leader(produced("again"), leader_epoch=5).first_offset == 19


def test_from_a_flipped_bit_on_everything_unsynced_is_lost(place: Place) -> None:
    log = filled(place)
    third = list(log.segments)[2]
    place.crash(log)
    flip(third.file.path, 65)  # a record of the first batch of the third segment
    log = place.open(CONFIG)
    assert values(log) == texts(third.base_offset)
    assert log.active.base_offset == third.base_offset
    assert log.latest_epoch == log.leader_epochs.epoch_for_offset(third.base_offset - 1)


def test_what_is_below_the_recovery_point_is_trusted(place: Place) -> None:
    log = filled(place)
    first, last = log.segments.first, log.active.base_offset
    place.crash(log)
    before = first.file.path.read_bytes()
    flip(first.file.path, 75)
    log = place.open(CONFIG, recovery_point=last)
    assert log.log_end_offset == 20
    assert first.file.path.read_bytes() != before


def test_zeros_at_the_end_are_cut(place: Place) -> None:
    place.crash(filled(place))
    with last_file(place).open("ab") as file:
        file.write(bytes(5000))
    assert values(place.open(CONFIG)) == texts(20)


def test_random_bytes_at_the_end_are_cut(place: Place, chance: random.Random) -> None:
    place.crash(filled(place))
    for _ in range(20):
        with last_file(place).open("ab") as file:
            file.write(chance.randbytes(chance.randrange(1, 300)))
        log = place.open(CONFIG)
        assert values(log) == texts(20)
        place.crash(log)


def test_any_flipped_byte_in_the_last_segment_leaves_a_prefix(place: Place) -> None:
    log = filled(place, 18)
    starts = [position for position, _ in log.active.file.headers(0)]
    place.crash(log)
    path = last_file(place)
    content, base = path.read_bytes(), int(path.stem)
    for position in range(0, len(content), 3):
        # Offset and leader epoch are not under the crc; what can be told of them is tested below.
        if any(start <= position < start + 8 or start + 12 <= position < start + 16 for start in starts):
            continue
        path.write_bytes(content)
        flip(path, position)
        log = place.open(CONFIG)
        assert values(log) == texts(log.log_end_offset)
        assert base <= log.log_end_offset < 18
        place.crash(log)


def test_of_two_batches_whose_offsets_do_not_follow_one_another_neither_is_kept(place: Place) -> None:
    log = filled(place, 20)
    segment = log.segments.first
    (_, _), (second, _), *_ = segment.file.headers(0)
    place.crash(log)
    flip(segment.file.path, second + 5)
    log = place.open(CONFIG)
    assert values(log) == ["0"]
    assert log.log_end_offset == 1


def test_random_index_files_do_not_survive_a_recovery(place: Place) -> None:
    place.crash(filled(place))
    for path in place.partition.glob("*index"):
        path.write_bytes(b"\xa5" * 77)
    log = place.open(CONFIG)
    for number in range(20):
        assert values(log, number) == texts(20)[number:]


def test_a_missing_index_is_rebuilt_even_after_a_clean_stop(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    filled(place).close()
    lost = min(place.partition.glob("*.index"))
    lost.unlink()
    log = place.open(CONFIG, clean=True, recovery_point=20)
    assert "Could not find offset index file corresponding to log file" in caplog.text
    assert values(log) == texts(20)
    assert lost.exists()


def test_an_index_without_its_log_is_deleted(place: Place) -> None:
    filled(place, 3).close()
    orphan = place.partition / names.offset_file_name(99, names.OFFSET_INDEX)
    orphan.write_bytes(b"")
    assert values(place.open(CONFIG, clean=True, recovery_point=3)) == texts(3)
    assert not orphan.exists()


@pytest.mark.parametrize("content", [b"", b"0\n", b"0\n5\n1 1\n", b"\0" * 30])
def test_an_epoch_file_that_a_power_cut_tore_is_rebuilt_from_the_log(place: Place, content: bytes) -> None:
    log = filled(place)
    log.flush()
    place.crash(log)
    (place.partition / names.LEADER_EPOCHS).write_bytes(content)
    log = place.open(CONFIG, recovery_point=20)
    assert log.leader_epochs.entries == [(0, 0), (1, 7), (2, 14)]


def test_producers_and_aborted_transactions_are_rebuilt_after_a_crash(place: Place) -> None:
    log = place.open(CONFIG)
    for number in range(6):
        batch = produced(str(number), producer_id=1, epoch=0, sequence=number, transactional=number >= 4)
        log.append_as_leader(batch, leader_epoch=0)
    marker = EndTransactionMarker(ControlType.ABORT, 0)
    log.append_as_leader(
        memoryview(build_marker(marker, producer_id=1, producer_epoch=0, timestamp_ms=T0)),
        leader_epoch=0,
        origin=Origin.COORDINATOR,
    )
    batch = produced("open", producer_id=2, epoch=3, sequence=0, transactional=True)
    log.append_as_leader(batch, leader_epoch=0)
    entries = [entry for segment in log.segments for entry in segment.aborted_transactions()]
    place.crash(log)
    for path in [*place.partition.glob("*.snapshot"), *place.partition.glob("*.txnindex")]:
        path.unlink()
    log = place.open(CONFIG, high_watermark=8)
    assert log.producers.state.producers[1].last_sequence == 5
    assert log.last_stable_offset == 7
    assert [entry for segment in log.segments for entry in segment.aborted_transactions()] == entries
    assert entries == [(1, 4, 6, 7)]


@pytest.mark.parametrize("recovery_point", [0, 3])
def test_after_a_crash_each_of_the_last_five_batches_is_still_known_when_it_comes_again(
    place: Place, recovery_point: int
) -> None:
    batches = [produced(str(number), producer_id=1, epoch=0, sequence=number) for number in range(8)]
    repeated = [memoryview(bytearray(batch)) for batch in batches]
    log = place.open()
    for batch in batches:
        log.append_as_leader(batch, leader_epoch=0)
    place.crash(log)
    log = place.open(recovery_point=recovery_point)
    for number in range(3, 8):
        answered = log.append_as_leader(repeated[number], leader_epoch=0)
        assert (answered.is_duplicate, answered.first_offset) == (True, number)
    with pytest.raises(OutOfOrderSequenceNumber):
        log.append_as_leader(repeated[2], leader_epoch=0)
    assert log.log_end_offset == 8


def test_producers_that_expired_are_not_known_any_more_after_a_crash(place: Place) -> None:
    log = place.open()
    log.append_as_leader(produced("a", producer_id=1, epoch=0, sequence=0), leader_epoch=0)
    place.crash(log)
    place.clock.advance(86_400_000)
    log = place.open()
    assert not log.producers.state.producers


def test_a_damaged_snapshot_is_deleted_and_an_older_one_taken(place: Place) -> None:
    log = place.open(CONFIG)
    for number in range(10):
        log.append_as_leader(produced(str(number), producer_id=1, epoch=0, sequence=number), leader_epoch=0)
    log.close()
    flip(last_file(place, names.PRODUCER_SNAPSHOT), 20)
    log = place.open(CONFIG, clean=True, recovery_point=10)
    assert log.producers.state.producers[1].last_sequence == 9


def test_leftovers_of_a_cleaning_are_finished_or_undone(place: Place) -> None:
    filled(place).close()
    bases = sorted(int(path.stem) for path in place.partition.glob("*.log"))
    first = [place.partition / names.offset_file_name(bases[0], kind) for kind in (names.LOG, names.OFFSET_INDEX)]
    for path in first:  # a finished swap: the same records under the swap name, the second segment not replaced
        path.rename(path.with_name(path.name + names.SWAP))
    unfinished = place.partition / names.offset_file_name(bases[2], names.LOG, names.CLEANED)
    unfinished.write_bytes(b"half")
    deleted = place.partition / names.offset_file_name(bases[1], names.TIME_INDEX, names.DELETED)
    deleted.write_bytes(b"old")
    log = place.open(CONFIG, clean=True, recovery_point=20)
    assert values(log) == texts(20)
    assert not any(parsed.state for parsed in map(names.parse_offset_file, os.listdir(place.partition)) if parsed)


def test_a_log_that_ends_below_its_start_begins_again_there(place: Place) -> None:
    filled(place).close()
    log = place.open(CONFIG, log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert log.append_as_leader(produced("a"), leader_epoch=9).first_offset == 50


# Disks


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("size", [10, POOLED_BYTES])
def test_a_write_that_fails_is_cut_back_and_takes_the_directory_offline(tmp_path: Path, size: int, torn: bool) -> None:
    disk = FaultyDisk()
    place = Place(tmp_path, disk=disk)
    log = place.open()
    log.append_as_leader(produced("a"), leader_epoch=0)
    disk.arm(0, torn=torn)
    with pytest.raises(KafkaStorageError, match="Error while appending records to t-0"):
        log.append_as_leader(produced("x" * size), leader_epoch=0)
    assert place.failures == [str(tmp_path)]
    assert log.active.file.path.stat().st_size == log.active.size_bytes
    disk.arm(-1)
    with pytest.raises(KafkaStorageError, match="already offline"):
        log.append_as_leader(produced("b"), leader_epoch=0)
    place.crash(log)
    assert values(Place(tmp_path).open()) == ["a"]


def test_appends_that_wait_behind_a_failed_write_fail_too(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = Place(tmp_path, disk=disk).open()
    log.append_as_leader(produced("a"), leader_epoch=0)
    disk.arm(0)
    batches = [produced("x" * POOLED_BYTES), produced("b"), produced("c")]
    greenlets = [gevent.spawn(log.append_as_leader, batch, leader_epoch=0) for batch in batches]
    gevent.joinall(greenlets)
    assert [type(greenlet.exception) for greenlet in greenlets] == [KafkaStorageError] * 3
    assert log.log_end_offset == 1


def test_whichever_write_fails_a_restart_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    for writes in range(60):
        folder = tmp_path / str(writes)
        folder.mkdir()
        disk = FaultyDisk()
        place = Place(folder, disk=disk)
        log = place.open(CONFIG)
        disk.arm(writes, torn=bool(writes % 2), error=errno.EIO)
        acknowledged = _append_until_it_fails(log)
        place.crash(log)
        after = values(Place(folder).open(CONFIG))
        assert after[: len(acknowledged)] == acknowledged
        assert after == texts(len(after))
        assert len(after) <= len(acknowledged) + 1


def _append_until_it_fails(log: UnifiedLog) -> list[str]:
    acknowledged: list[str] = []
    for number in range(40):
        try:
            log.append_as_leader(produced(str(number), timestamp=T0 + number), leader_epoch=number // 7)
        except KafkaStorageError:
            return acknowledged
        acknowledged.append(str(number))
    return acknowledged


@pytest.mark.parametrize(
    "action",
    [
        lambda log: log.flush(),
        lambda log: log.truncate_to(3),
        lambda log: log.truncate_fully_and_start_at(9),
        lambda log: log.close(),
    ],
)
def test_any_failing_call_takes_the_directory_offline(tmp_path: Path, action: Callable[[UnifiedLog], None]) -> None:
    class BrokenDisk(Disk):
        broken = False

        def fsync(self, descriptor: int) -> None:  # type: ignore[override]
            self._fail()
            os.fsync(descriptor)

        def ftruncate(self, descriptor: int, size: int) -> None:  # type: ignore[override]
            self._fail()
            os.ftruncate(descriptor, size)

        def _fail(self) -> None:
            if self.broken:
                raise OSError(errno.EIO, "I/O error")

    disk = BrokenDisk()
    place = Place(tmp_path, disk=disk)
    log = filled(place)
    log.flusher.wait()
    disk.broken = True
    with pytest.raises(KafkaStorageError):
        action(log)
    assert place.failures == [str(tmp_path)]
    assert str(TP) in repr(log)


def test_after_a_slow_write_the_directory_writes_in_a_thread_for_a_while(place: Place) -> None:
    log = place.open()
    log.append_as_leader(produced("a"), leader_epoch=0)
    place.directory.stalled()
    assert place.directory.must_pool()
    log.append_as_leader(produced("b"), leader_epoch=0)
    place.clock.advance(100)
    assert not place.directory.must_pool()
    log.append_as_leader(produced("c"), leader_epoch=0)
    assert place.directory.inline_from_ms == 0
    assert values(log) == ["a", "b", "c"]


@pytest.mark.parametrize(("error", "is_lost"), [(errno.EIO, True), (errno.EMFILE, False)])
def test_what_the_disk_could_not_write_in_the_background_takes_the_directory_offline(
    tmp_path: Path, error: int, is_lost: bool
) -> None:
    """It tells that once: the sync of a flush, which comes later, would find nothing wrong."""

    class DiskThatTellsOnce(Disk):
        fails_for = ""

        def open(self, path: str | Path, *given: int) -> int:  # type: ignore[override]
            if self.fails_for and str(path).endswith(self.fails_for):
                self.fails_for = ""
                raise OSError(error, os.strerror(error))
            return os.open(path, *given)

    disk, failures = DiskThatTellsOnce(), list[str]()
    manager = manager_on(tmp_path, disk=disk, on_failure=failures.append)
    manager.startup()
    log = manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
    disk.fails_for = names.LEADER_EPOCHS
    log.assign_epoch_start(1, 0)
    manager.wait_for_syncs()
    assert disk.fails_for == ""
    assert failures == ([str(tmp_path)] if is_lost else [])
    manager.shutdown()
