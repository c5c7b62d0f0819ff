"""A wrong index that a serving broker finds is made again in a thread: nobody else waits, and nothing is missed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from kafka_zk.log.cleaner.swap import replace_segments
from kafka_zk.log.files import names
from kafka_zk.log.files.offset_index import ENTRY
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.segments import mending
from kafka_zk.log.segments.index_walk import Walk, walk_on
from kafka_zk.log.segments.segment import SHORT_WALK_BYTES, LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from tests.unit.log.given import T0, Place, produced, read_slices, topic_config, values

CONFIG = topic_config(index_interval_bytes=100)
COUNT = 40
PATIENCE_S = 30


class Gate:
    """Where a walk in a thread stops until it is told to go on."""

    def __init__(self) -> None:
        self.walks = 0
        self.longest_on_the_loop = 0
        self.is_behind = False
        """Whether a walk stops when it is over, not when it begins."""
        self.failures: list[Exception] = []
        """What the next walks end with."""
        self.is_reached = threading.Event()
        self.may_go_on = threading.Event()

    def walk_on(self, file: SegmentFile, size_bytes: int, interval_bytes: int, walk: Walk) -> Walk:
        if threading.current_thread() is threading.main_thread():
            self.longest_on_the_loop = max(self.longest_on_the_loop, size_bytes - walk.position)
        else:
            self.walks += 1
            done = walk_on(file, size_bytes, interval_bytes, walk) if self.is_behind else None
            self.is_reached.set()
            assert self.may_go_on.wait(PATIENCE_S)
            if self.failures:
                raise self.failures.pop()
            if done is not None:
                return done
        return walk_on(file, size_bytes, interval_bytes, walk)

    def wait_until_reached(self) -> None:
        """The loop runs meanwhile."""
        with gevent.Timeout(PATIENCE_S):
            while not self.is_reached.is_set():
                gevent.sleep(0)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setattr(mending, "walk_on", made.walk_on)
    yield made
    made.may_go_on.set()


def fill(log: UnifiedLog, first: int, count: int) -> None:
    for number in range(first, first + count):
        log.append_as_leader(produced(f"{number:03}", timestamp=T0 + number), leader_epoch=0)


def texts(count: int) -> list[str]:
    return [f"{number:03}" for number in range(count)]


def given_wrong_index(path: Path, *, leads_to: int | None = None) -> UnifiedLog:
    """After a clean stop somebody wrote over the offset index. Where it says offset 5 is, stands no batch, or that
    offset."""
    path.mkdir()
    place = Place(path)
    log = place.open(CONFIG)
    fill(log, 0, COUNT)
    found = None if leads_to is None else log.active.position_of(leads_to)
    log.close()
    index = place.partition / names.offset_file_name(0, names.OFFSET_INDEX)
    index.write_bytes(ENTRY.pack(5, 7 if found is None else found.position))
    return place.open(CONFIG, clean=True, recovery_point=COUNT)


def assert_indexes_are_right(segment: LogSegment) -> None:
    right = walk_on(segment.file, segment.size_bytes, segment.indexes.interval_bytes, Walk())
    found = [(entry.offset, entry.position) for entry in segment.indexes.offset.entries()]
    assert found == [entry[:2] for entry in right.entries]
    assert found
    segment.load_times()
    assert segment.max_timestamp == right.indexing.max_timestamp


def test_who_reads_elsewhere_goes_on_and_who_reads_there_waits_for_one_walk(tmp_path: Path, gate: Gate) -> None:
    log, other = given_wrong_index(tmp_path / "1"), Place(tmp_path).open(CONFIG)
    readers = [gevent.spawn(values, log, 30) for _ in range(3)]
    gate.wait_until_reached()
    fill(other, 0, 3)
    assert values(other) == texts(3)
    assert not any(reader.ready() for reader in readers)
    gate.may_go_on.set()
    gevent.joinall(readers, timeout=PATIENCE_S, raise_error=True)
    assert [reader.value for reader in readers] == [texts(COUNT)[30:]] * 3
    assert gate.walks == 1
    assert_indexes_are_right(log.active)
    assert log.log_dir.index_mender.mended_count == 1


def test_what_is_appended_meanwhile_is_in_the_index_afterwards(tmp_path: Path, gate: Gate) -> None:
    place = Place(tmp_path)
    log = place.open(CONFIG)
    fill(log, 0, COUNT)
    log.close()
    log = place.open(CONFIG, clean=True, recovery_point=COUNT)
    fill(log, COUNT, 1)
    index = place.partition / names.offset_file_name(0, names.OFFSET_INDEX)
    with index.open("r+b") as file:
        entries = [(entry.offset, entry.position + 1) for entry in log.active.indexes.offset.entries()]
        file.write(b"".join(ENTRY.pack(*entry) for entry in entries))
    reader = gevent.spawn(values, log, 30)
    gate.wait_until_reached()
    fill(log, COUNT + 1, 19)  # Waits for nobody.
    gate.may_go_on.set()
    reader.join(timeout=PATIENCE_S)
    assert reader.value == texts(COUNT + 20)[30:]
    assert values(log) == texts(COUNT + 20)
    assert_indexes_are_right(log.active)
    found = log.offset_for_timestamp(T0 + 55)
    assert found is not None and found.offset == 55


def test_of_a_segment_that_goes_meanwhile_nothing_is_made_again(tmp_path: Path, gate: Gate) -> None:
    log = given_wrong_index(tmp_path / "1")
    reader = gevent.spawn(log.read, 30, max_bytes=1000, up_to=COUNT, min_one=True)
    gate.wait_until_reached()
    log.truncate_fully_and_start_at(100)
    gate.may_go_on.set()
    reader.join(timeout=PATIENCE_S)
    assert type(reader.exception).__name__ == "OffsetOutOfRange"
    live = [path.name for path in log.directory.iterdir() if names.parse_offset_file(path.name)]
    assert sorted(name for name in live if not name.endswith(names.DELETED)) == [
        names.offset_file_name(100, kind) for kind in (names.OFFSET_INDEX, names.LOG, names.TIME_INDEX)
    ]
    log.close()


def test_a_walk_finds_what_appends_had_indexed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    log = place.open(CONFIG)
    fill(log, 0, COUNT)
    entries = log.active.indexes.offset.entries()
    place.crash(log)
    walk = walk_on(log.active.file, log.active.size_bytes, 100, Walk())
    assert [entry[:2] for entry in walk.entries] == entries
    assert (walk.position, walk.first_timestamp) == (log.active.size_bytes, T0)


@pytest.mark.parametrize(
    ("wrong", "by_max"), [("time", False), ("time", True), ("second", False), ("last", False), ("last", True)]
)
def test_a_look_up_by_time_opens_nothing_of_a_segment_that_went_while_it_waited(
    tmp_path: Path, gate: Gate, wrong: str, by_max: bool
) -> None:
    place = Place(tmp_path)
    small = {"segment_bytes": 1000, "index_interval_bytes": 100}
    log = place.open(topic_config(**small))
    fill(log, 0, COUNT)
    log.close()
    index = place.partition / names.offset_file_name(0, names.TIME_INDEX if wrong == "time" else names.OFFSET_INDEX)
    entries = bytearray(index.read_bytes())
    if wrong == "time":
        # As a power cut leaves it.
        entries += bytes(12)
    elif wrong == "second":
        entries[ENTRY.size : 2 * ENTRY.size] = ENTRY.pack(4, 7)
    else:
        offset, position = ENTRY.unpack(entries[-ENTRY.size :])
        entries[-ENTRY.size :] = ENTRY.pack(offset, position + 1)
    index.write_bytes(entries)
    log = place.open(topic_config(**small, retention_bytes=1000), clean=True, recovery_point=COUNT)
    log.update_high_watermark(COUNT)
    looked_up = gevent.spawn(log.max_timestamp_offset) if by_max else gevent.spawn(log.offset_for_timestamp, T0 + 5)
    gate.wait_until_reached()
    assert delete_old_segments(log, T0) > 0
    gate.may_go_on.set()
    looked_up.get(timeout=PATIENCE_S)
    assert place.failures == []
    left = [path.name for path in place.partition.iterdir() if not path.name.endswith(".deleted")]
    assert not [name for name in left if name.startswith(names.offset_file_name(0, ""))]


def damage_offset_index(log: UnifiedLog) -> None:
    """While the log is open: no entry says where a batch begins."""
    index = log.active.indexes.offset
    with index.file.path.open("r+b") as file:
        file.write(b"".join(ENTRY.pack(entry.offset, entry.position + 1) for entry in index.entries()))


@pytest.mark.parametrize("by_size", [False, True])
def test_who_waited_for_an_index_remembers_nothing_of_where_the_log_ended(
    tmp_path: Path, gate: Gate, by_size: bool
) -> None:
    place = Place(tmp_path)
    log = place.open(CONFIG)
    fill(log, 0, COUNT)
    log.close()
    log = place.open(CONFIG, clean=True, recovery_point=COUNT)
    fill(log, COUNT, 1)
    end = log.log_end_offset
    damage_offset_index(log)
    waiting = gevent.spawn(log.size_between, 20, end) if by_size else gevent.spawn(values, log, 20)
    gate.wait_until_reached()
    fill(log, end, 10)
    gate.may_go_on.set()
    waiting.get(timeout=PATIENCE_S)
    fill(log, end + 10, 1)
    assert values(log, end) == texts(end + 11)[end:]


def test_the_first_append_after_a_start_and_a_reader_may_wait_for_the_same_index(tmp_path: Path) -> None:
    log = given_wrong_index(tmp_path / "1")
    append = gevent.spawn(fill, log, COUNT, 1)
    reader = gevent.spawn(log.size_between, 20, COUNT)
    gevent.joinall([append, reader], timeout=PATIENCE_S, raise_error=True)
    fill(log, COUNT + 1, 4)
    assert values(log, COUNT) == texts(COUNT + 5)[COUNT:]


def test_who_waited_for_a_segment_that_the_cleaner_replaced_reads_on_in_what_stands_there(
    tmp_path: Path, gate: Gate
) -> None:
    place = Place(tmp_path)
    config = topic_config(index_interval_bytes=100, segment_bytes=1500, cleanup_policy="compact")
    log = place.open(config)
    fill(log, 0, COUNT)
    log.close()
    (place.partition / names.offset_file_name(0, names.OFFSET_INDEX)).write_bytes(ENTRY.pack(2, 7))
    log = place.open(config, clean=True, recovery_point=COUNT)
    first = log.segments.first
    assert log.segments.from_offset(first.base_offset)[1].base_offset > 5
    reader = gevent.spawn(values, log, 5)
    gate.wait_until_reached()
    cleaned = LogSegment(log.directory, 0, config, created_ms=T0, suffix=names.CLEANED)
    cleaned.create_files()
    cleaned.file.write(first.file.read_at(0, first.size_bytes))
    cleaned.appended_batches([header for _, header in first.file.headers(0)])
    cleaned.become_inactive()
    with log.turn:
        replace_segments(log, [cleaned], [first])
    gate.may_go_on.set()
    assert reader.get(timeout=PATIENCE_S) == texts(COUNT)[5:]
    assert values(log, 5) == texts(COUNT)[5:]


def test_who_waited_for_a_rebuild_that_failed_goes_on_with_no_wrong_index(tmp_path: Path, gate: Gate) -> None:
    log = given_wrong_index(tmp_path / "1", leads_to=30)
    gate.failures = [MemoryError(), MemoryError()]
    readers = [gevent.spawn(values, log, 10)]
    gate.wait_until_reached()
    readers += [gevent.spawn(values, log, 10) for _ in range(2)]
    gevent.sleep(0)
    gate.may_go_on.set()
    gevent.joinall(readers, timeout=PATIENCE_S)
    assert [type(reader.exception) for reader in readers] == [MemoryError] * 3
    assert gate.walks == 1
    gate.failures.clear()
    assert values(log, 10) == texts(COUNT)[10:]


def test_who_waited_for_a_rebuild_whose_greenlet_was_killed_rebuilds(tmp_path: Path, gate: Gate) -> None:
    log = given_wrong_index(tmp_path / "1", leads_to=30)
    killed = gevent.spawn(values, log, 10)
    gate.wait_until_reached()
    readers = [gevent.spawn(values, log, 10) for _ in range(2)]
    gevent.sleep(0)
    killed.kill(block=False)
    gevent.sleep(0)
    gate.may_go_on.set()
    gevent.joinall([killed, *readers], timeout=PATIENCE_S)
    assert [reader.value for reader in readers] == [texts(COUNT)[10:]] * 2
    assert gate.walks == 2


def test_much_that_is_appended_meanwhile_is_walked_in_a_thread_too(tmp_path: Path, gate: Gate) -> None:
    place = Place(tmp_path)
    log = place.open(CONFIG)
    fill(log, 0, COUNT)
    log.close()
    log = place.open(CONFIG, clean=True, recovery_point=COUNT)
    fill(log, COUNT, 1)
    damage_offset_index(log)
    reader = gevent.spawn(values, log, 30)
    gate.wait_until_reached()
    large = "x" * (SHORT_WALK_BYTES // 2)
    for _ in range(3):
        log.append_as_leader(produced(large), leader_epoch=0)
    gate.may_go_on.set()
    assert reader.get(timeout=PATIENCE_S) == [*texts(COUNT + 1)[30:], large, large, large]
    assert gate.walks == 2
    assert gate.longest_on_the_loop <= SHORT_WALK_BYTES
    assert_indexes_are_right(log.active)


def test_a_batch_whose_offset_is_damaged_has_indexes_rebuilt_once(tmp_path: Path) -> None:
    """The offset is not under the crc. The rebuilt entry is as wrong as the batch."""
    place = Place(tmp_path)
    log = place.open(CONFIG)
    log.truncate_fully_and_start_at(1000)
    fill(log, 0, COUNT)
    entries = log.active.indexes.offset.entries()
    position, path = entries[len(entries) // 2].position, log.active.file.path
    log.close()
    with path.open("r+b") as file:
        file.seek(position)
        offset = int.from_bytes(file.read(8))
        file.seek(position)
        file.write((offset ^ 512).to_bytes(8))
    log = place.open(CONFIG, clean=True, recovery_point=1000 + COUNT)
    log.update_high_watermark(log.log_end_offset)
    with gevent.Timeout(PATIENCE_S):
        for _ in range(2):
            log.size_between(offset, log.log_end_offset)
            assert log.read(offset, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).slices
    assert log.log_dir.index_mender.mended_count == 1


def given_wrong_middle(path: Path) -> UnifiedLog:
    """As `given_wrong_index`, but the last entry is right: an append finds nothing wrong."""
    place = Place(path)
    log = place.open(CONFIG)
    fill(log, 0, COUNT)
    *others, last = log.active.indexes.offset.entries()
    log.close()
    index = place.partition / names.offset_file_name(0, names.OFFSET_INDEX)
    index.write_bytes(b"".join(ENTRY.pack(each.offset, each.position + 1) for each in others) + ENTRY.pack(*last))
    return place.open(CONFIG, clean=True, recovery_point=COUNT)


def test_the_end_of_a_rebuild_cuts_nothing_off_that_a_thread_is_writing(tmp_path: Path) -> None:
    log = given_wrong_middle(tmp_path)
    file, is_written, may_go_on = log.active.file, threading.Event(), threading.Event()
    pwrite = file.pwrite

    def slow(*arguments: Any) -> int:
        written = pwrite(*arguments)
        if threading.current_thread() is not threading.main_thread():
            is_written.set()
            assert may_go_on.wait(PATIENCE_S)
        return written

    file.pwrite = slow
    append = gevent.spawn(log.append_as_leader, produced("x" * POOLED_BYTES, timestamp=T0), leader_epoch=0)
    with gevent.Timeout(PATIENCE_S):
        while not is_written.is_set():
            gevent.sleep(0.001)
        assert log.read(20, max_bytes=1000, up_to=COUNT, min_one=True).slices
    assert log.log_dir.index_mender.mended_count == 1
    may_go_on.set()
    append.get(timeout=PATIENCE_S)
    assert file.path.stat().st_size == file.size_bytes
    assert values(log)[-1] == "x" * POOLED_BYTES


def test_a_rebuild_that_fails_leaves_no_timestamp_out(tmp_path: Path, gate: Gate) -> None:
    """Of what was appended meanwhile, by a follower that knew all timestamps before."""
    (tmp_path / "leader").mkdir()
    leader, log = Place(tmp_path / "leader").open(CONFIG), given_wrong_middle(tmp_path)
    fill(leader, 0, COUNT + 1)
    log.append_as_follower(bytearray(read_slices(leader, COUNT)))
    gate.failures.append(MemoryError())
    reader = gevent.spawn(log.read, 20, max_bytes=1000, up_to=COUNT, min_one=True)
    gate.wait_until_reached()
    leader.append_as_leader(produced("late", timestamp=T0 + 5_000_000), leader_epoch=0)
    log.append_as_follower(bytearray(read_slices(leader, COUNT + 1)))
    gate.may_go_on.set()
    reader.join(timeout=PATIENCE_S)
    assert isinstance(reader.exception, MemoryError)
    found = log.offset_for_timestamp(T0 + 4_000_000)
    assert found is not None and found.offset == COUNT + 1
