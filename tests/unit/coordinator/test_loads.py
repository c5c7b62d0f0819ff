"""A partition of __consumer_offsets is loaded while something else happens to it that takes its time, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.coordinator import stored_batches
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import offset_key, offset_value
from kafka_zk.coordinator.loads import LOAD_AGAIN_MS
from kafka_zk.log.copying import read_bytes
from kafka_zk.log.files.names import CLEAN_SHUTDOWN
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import CorruptMessage, ErrorCode, KafkaStorageError, OffsetOutOfRange
from kafka_zk.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.test_coordinator_log import OFFSETS, Coordinated, wait
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import all_records

GROUPS = [f"g-{number}" for number in range(6)]
TP = TopicPartition("t", 0)
AT_9 = OffsetAndMetadata(9, 0, "", 0)


class SlowReads:
    """Reads of a load, one batch at a time. The one that `held_at` names has its bytes, and is kept from handing them
    over until it `may_go_on`: where a real one waits for its thread."""

    def __init__(self) -> None:
        self.count = 0
        self.held_at = -1
        self.is_held = Event()
        self.may_go_on = Event()

    def __call__(self, log: UnifiedLog, offset: int, max_bytes: int) -> bytes:
        data = read_bytes(log, offset, 1)
        if self.count == self.held_at:
            self.is_held.set()
            self.may_go_on.wait()
        self.count += 1
        return data


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowReads]:
    slow = SlowReads()
    monkeypatch.setattr(stored_batches, "read_bytes", slow)
    yield slow
    slow.may_go_on.set()


def made_in(folder: Path, segment_bytes: int = 150) -> Coordinated:
    """Two log directories; the partition is in the first, and has a segment for each batch unless they are larger."""
    dirs = ",".join(str(folder / name) for name in ("a", "b"))
    properties = {"log.dirs": dirs, "log.segment.delete.delay.ms": "0"}
    return Coordinated(folder / "a", {"segment.bytes": str(segment_bytes), "cleanup.policy": "compact"}, **properties)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    coordinated = made_in(tmp_path)
    yield coordinated
    coordinated.close()


def commit(made: Coordinated, group: str, offset: int) -> ErrorCode:
    value = OffsetAndMetadata(offset, 0, "", made.broker.clock.wall_ms())
    answer = made.coordinator.commit_offsets(
        group, member_id="", group_instance_id=None, generation=-1, offsets={TP: value}
    )
    return answer.value[TP]


def fetched(made: Coordinated, group: str) -> tuple[ErrorCode, int | None]:
    error, found = made.coordinator.fetch_offsets(group, [TP], require_stable=False)
    value = found[TP].value if found else None
    return error, None if value is None else value.offset


def commit_all(made: Coordinated) -> None:
    made.lead()
    for at, group in enumerate(GROUPS):
        assert commit(made, group, at) is ErrorCode.NONE


def begin_load(made: Coordinated, reads: SlowReads, epoch: int = 2) -> None:
    """It has read half of what there is: three batches."""
    reads.count, reads.held_at = 0, 2
    made.broker.order(OFFSETS, epoch=epoch, partition_epoch=epoch)
    wait(reads.is_held.is_set)
    assert fetched(made, GROUPS[0])[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def end_load(made: Coordinated, reads: SlowReads) -> None:
    reads.may_go_on.set()
    wait(lambda: fetched(made, GROUPS[0])[0] is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.fixture
def loading(made: Coordinated, reads: SlowReads) -> Coordinated:
    """Six groups are there, three of them are read."""
    commit_all(made)
    made.follow(epoch=1)
    begin_load(made, reads)
    return made


def log_of(made: Coordinated) -> UnifiedLog:
    log = made.broker.partition(OFFSETS).log
    assert log is not None
    return log


def all_fetched(made: Coordinated) -> list[tuple[ErrorCode, int | None]]:
    return [fetched(made, group) for group in GROUPS]


EVERYTHING = [(ErrorCode.NONE, at) for at in range(len(GROUPS))]


@pytest.mark.parametrize("start_offset", [1, 3, 5, 6])
def test_what_goes_before_a_load_comes_to_it_does_not_end_the_load(
    loading: Coordinated, reads: SlowReads, start_offset: int
) -> None:
    """DeleteRecords, or retention under the policy compact,delete."""
    log = log_of(loading)
    log.increment_log_start_offset(start_offset)
    delete_old_segments(log, loading.broker.clock.wall_ms())
    loading.broker.clock.advance(1)
    assert next(iter(log.segments)).base_offset == start_offset, "the files are gone, too"
    end_load(loading, reads)
    assert all_fetched(loading) == [
        (ErrorCode.NONE, at if at < 3 or at >= start_offset else None) for at in range(len(GROUPS))
    ]
    assert commit(loading, GROUPS[4], 77) is ErrorCode.NONE


def test_a_partition_that_is_cleaned_while_it_loads_is_loaded_whole(made: Coordinated, reads: SlowReads) -> None:
    """What the load has read is cleaned away behind it, and what it has not read yet before it."""
    commit_all(made)
    for group in (GROUPS[0], GROUPS[4]):
        for offset in (30, 40):
            assert commit(made, group, offset) is ErrorCode.NONE
    assert made.coordinator.delete_offsets(GROUPS[1], [TP])[0] is ErrorCode.NONE
    assert commit(made, GROUPS[5], 60) is ErrorCode.NONE
    made.follow(epoch=1)
    begin_load(made, reads)
    log = log_of(made)
    clean(log)
    made.broker.clock.advance(1)
    assert [record.offset for record in all_records(log)] == [2, 3, 5, 7, 9, 10, 11], "but for the last segment"
    end_load(made, reads)
    assert [offset for _, offset in all_fetched(made)] == [40, None, 2, 3, 40, 60]


def move(made: Coordinated, folder: Path) -> None:
    asked = AlterReplicaLogDir(path=str(folder), topics=[AlterReplicaLogDirTopic(name=OFFSETS, partitions=[0])])
    answer = made.broker.call(AlterReplicaLogDirsRequest(dirs=[asked]), 2)
    assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
    wait(lambda: log_of(made).log_dir.path == folder and not made.broker.log_manager.future.all())
    made.broker.clock.advance(1)


def test_a_partition_that_is_moved_while_it_loads_is_loaded_whole(
    loading: Coordinated, reads: SlowReads, tmp_path: Path
) -> None:
    """From the files of both directories; those of the first are gone by then."""
    assert log_of(loading).log_dir.path == tmp_path / "a"
    move(loading, tmp_path / "b")
    assert not list((tmp_path / "a").glob("__consumer_offsets*"))
    assert commit(loading, GROUPS[0], 50) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    end_load(loading, reads)
    assert all_fetched(loading) == EVERYTHING
    assert commit(loading, GROUPS[0], 50) is ErrorCode.NONE
    loading.follow(epoch=3)
    loading.lead(epoch=4)
    assert all_fetched(loading) == [(ErrorCode.NONE, 50), *EVERYTHING[1:]]


def test_what_a_load_finds_after_a_move_is_what_came_into_the_new_log(
    loading: Coordinated, reads: SlowReads, tmp_path: Path
) -> None:
    """As a transaction's marker does, which is written whether its partition loads or not."""
    move(loading, tmp_path / "b")
    loading.coordinator._log.append(0, [(offset_key("late", TP), offset_value(AT_9))], lambda *_: None)
    end_load(loading, reads)
    assert fetched(loading, "late") == (ErrorCode.NONE, 9)


def test_commits_come_in_while_a_partition_is_moved_and_its_leadership_goes_and_returns(tmp_path: Path) -> None:
    with closing(made_in(tmp_path, segment_bytes=10_000)) as made:
        made.lead()
        answered = dict.fromkeys(GROUPS, -1)
        loads, moves_left = 0, 6

        def commit_some() -> None:
            number = 0
            while moves_left or -1 in answered.values():
                number += 1
                group = GROUPS[number % len(GROUPS)]
                if commit(made, group, number) is ErrorCode.NONE:
                    answered[group] = number
                gevent.sleep(0.001)

        def come_and_go() -> None:
            nonlocal loads
            while moves_left:
                made.follow(2 * loads + 1)
                made.lead(2 * loads + 2)
                check()
                loads += 1
                gevent.sleep(0.002)

        def check() -> None:
            """What was not answered may be there, what was answered is."""
            for group, least in answered.items():
                code, offset = fetched(made, group)
                assert code is ErrorCode.NONE
                assert (-1 if offset is None else offset) >= least

        committing, leading = gevent.spawn(commit_some), gevent.spawn(come_and_go)
        for name in ("b", "a") * (moves_left // 2):
            move(made, tmp_path / name)
            moves_left -= 1
        committing.join()
        leading.get()
        assert loads > 1
        made.follow(2 * loads + 1)
        made.lead(2 * loads + 2)
        check()


def test_a_stop_in_the_middle_of_a_load_waits_for_nothing_and_the_next_start_loads_all(
    made: Coordinated, reads: SlowReads, tmp_path: Path
) -> None:
    commit_all(made)
    made.follow(epoch=1)
    begin_load(made, reads)
    worker = made.coordinator._manager._tasks._worker
    assert worker is not None
    made.close()
    assert worker.dead
    assert fetched(made, GROUPS[0])[0] is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [each.name for each in (tmp_path / "a").glob(CLEAN_SHUTDOWN)] == [CLEAN_SHUTDOWN]
    reads.held_at = -1
    with closing(made_in(tmp_path)) as again:
        again.lead(epoch=3)
        assert all_fetched(again) == EVERYTHING


def test_a_partition_that_is_deleted_while_it_loads_is_nobodys(loading: Coordinated, reads: SlowReads) -> None:
    assert loading.broker.stop_replica(OFFSETS) == ErrorCode.NONE
    reads.may_go_on.set()
    wait(lambda: loading.is_idle)
    assert {code for code, _ in all_fetched(loading)} == {ErrorCode.NOT_COORDINATOR}
    assert not loading.coordinator._manager.groups


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_partition_that_is_made_anew_is_loaded_though_its_epochs_begin_again(
    loading: Coordinated, reads: SlowReads, when: str
) -> None:
    """Apache's coordinator takes the first epochs for old news then, and answers NOT_COORDINATOR until a restart."""
    assert loading.broker.stop_replica(OFFSETS) == ErrorCode.NONE
    if when == "after":
        reads.may_go_on.set()
        wait(lambda: loading.is_idle)
    loading.broker.order(OFFSETS, epoch=0, partition_epoch=0)
    end_load(loading, reads)
    assert all_fetched(loading) == [(ErrorCode.NONE, None)] * len(GROUPS)
    assert commit(loading, GROUPS[0], 8) is ErrorCode.NONE
    assert fetched(loading, GROUPS[0]) == (ErrorCode.NONE, 8)


class FailingReads:
    """Reads of a load, one batch at a time, of which the third meets an error."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.count = 0

    def __call__(self, log: UnifiedLog, offset: int, max_bytes: int) -> bytes:
        self.count += 1
        if self.error is not None and self.count >= 3:
            raise self.error
        return read_bytes(log, offset, 1)


@pytest.fixture
def failing(made: Coordinated, monkeypatch: pytest.MonkeyPatch, error: Exception) -> FailingReads:
    """Six groups are there, two of them were read before the error."""
    commit_all(made)
    made.follow(epoch=1)
    reads = FailingReads(error)
    monkeypatch.setattr(stored_batches, "read_bytes", reads)
    made.broker.order(OFFSETS, epoch=2, partition_epoch=2)
    wait(lambda: reads.count == 3 and made.is_idle)
    return reads


PASSING = [
    pytest.param(MemoryError(), id="no memory"),
    pytest.param(KafkaStorageError("closed"), id="moved log"),
    pytest.param(OffsetOutOfRange(), id="cut log"),
]


@pytest.mark.parametrize("error", PASSING)
def test_a_load_that_meets_what_passes_goes_on_until_it_is_whole(made: Coordinated, failing: FailingReads) -> None:
    assert {code for code, _ in all_fetched(made)} == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    made.broker.clock.advance(LOAD_AGAIN_MS - 1)
    assert made.is_idle, "no load without a pause"
    made.broker.clock.advance(1)
    wait(lambda: failing.count == 4 and made.is_idle)
    failing.error = None
    assert commit(made, GROUPS[0], 50) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    gone = TopicPartition("gone", 0)
    made.coordinator.handle_deleted_partitions([gone])
    made.broker.clock.advance(LOAD_AGAIN_MS)
    wait(lambda: fetched(made, GROUPS[0])[0] is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert all_fetched(made) == EVERYTHING
    assert commit(made, GROUPS[0], 50) is ErrorCode.NONE
    assert not made.coordinator._manager._deleted, "noted for the load, which has ended"


@pytest.mark.parametrize(
    "error", [CorruptMessage("Record is corrupt"), RuntimeError("a bug of ours")], ids=["bad bytes", "our bug"]
)
def test_a_load_that_meets_bad_bytes_or_a_bug_is_given_up(made: Coordinated, failing: FailingReads) -> None:
    made.broker.clock.advance(2 * LOAD_AGAIN_MS)
    wait(lambda: made.is_idle)
    assert failing.count == 3
    assert {code for code, _ in all_fetched(made)} == {ErrorCode.NOT_COORDINATOR}


@pytest.mark.parametrize("error", PASSING[:1])
def test_a_load_that_is_to_be_tried_again_ends_with_the_leadership(made: Coordinated, failing: FailingReads) -> None:
    made.follow(epoch=3)
    made.broker.clock.advance(LOAD_AGAIN_MS)
    wait(lambda: made.is_idle)
    assert failing.count == 3
    assert {code for code, _ in all_fetched(made)} == {ErrorCode.NOT_COORDINATOR}
    failing.error = None
    made.lead(epoch=4)
    assert all_fetched(made) == EVERYTHING


def test_a_load_ends_though_the_leader_is_told_a_new_epoch_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Coordinated(tmp_path)
    made.lead()
    assert made.commit(5) is ErrorCode.NONE
    made.follow(epoch=1)
    reads, goes_on, read = Event(), Event(), stored_batches.read_bytes

    def read_slowly(*arguments: Any) -> Any:
        found = read(*arguments)
        reads.set()
        goes_on.wait()
        return found

    monkeypatch.setattr(stored_batches, "read_bytes", read_slowly)
    made.broker.lead(OFFSETS, epoch=2, partition_epoch=2)
    assert reads.wait(30)
    # A marker waits for the log's turn, and the order of the next epoch for the marker.
    partition = made.broker.partition(OFFSETS)
    log = partition.log
    assert log is not None
    log.turn.take()
    marker = gevent.spawn(made.end_transaction, is_commit=True, heard=False)
    wait(lambda: partition._appends.count == 1)
    order = gevent.spawn(made.broker.lead, OFFSETS, epoch=3, partition_epoch=3)
    wait(lambda: partition._appends.change is not None)
    goes_on.set()
    for _ in range(20):
        gevent.sleep(0.001)
    log.turn.leave()
    gevent.joinall([order, marker], timeout=30, raise_error=True)
    wait(lambda: made.fetch() == (ErrorCode.NONE, 5))
    made.close()
