"""The coordinator on real logs: what it wrote it finds again, and it answers only for what it leads."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.coordinator.group import manager
from kafka_zk.coordinator.group.coordinator import GroupCoordinator, Leaver
from kafka_zk.coordinator.group.decisions.joining import Join
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import group_key, offset_key
from kafka_zk.coordinator.group.decisions.syncing import Sync
from kafka_zk.coordinator.group.offset_store import Committer
from kafka_zk.coordinator.group.performer import Spawn
from kafka_zk.coordinator.state_log import Producer, StateLog
from kafka_zk.coordinator.stored_batches import READ_BYTES
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import batches, decode_records
from kafka_zk.record.batch import Batch
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.replication.serving.append import AppendFailure
from kafka_zk.zk.errors import SessionExpired
from tests.unit.coordinator.scene import RANGE
from tests.unit.replication.broker import Broker

OFFSETS = "__consumer_offsets"
TP = TopicPartition("t", 0)
GROUP = "g"
MINUTE_MS = 60_000
PRODUCER = Producer(7, 0)
BYTES_PER_MEMBER = 5_000
"""With its timer, its join that waits and the answer to it."""
BYTES_A_PENDING_ID = 5_000
"""With a group of its own, a timer, and room for Python's whims."""


def wait(until: Callable[[], bool]) -> None:
    """Let the background greenlet work; it needs turns, and time only where a thread works for it."""
    for _ in range(20_000):
        if until():
            return
        gevent.sleep(0.001)
    raise AssertionError("the background task did not end")


class Coordinated:
    """A broker with one partition of __consumer_offsets, and its coordinator. `overrides`: configs of the topic.

    Unless it is told how to `spawn`, groups are stored at once.
    """

    def __init__(
        self, path: Path, overrides: dict[str, str] | None = None, *, spawn: Spawn | None = None, **properties: str
    ) -> None:
        self.broker = Broker(path, {"group.initial.rebalance.delay.ms": "0", **properties}, overrides)
        self.gone: Callable[[Collection[str]], Collection[str]] = lambda topics: ()
        self.coordinator = GroupCoordinator(
            config=self.broker.config,
            clock=self.broker.clock,
            replica_manager=self.broker.manager,
            metadata_cache=self.broker.cache,
            metrics=self.broker.metrics,
            offsets_partition_count=lambda: 1,
            gone_topics=lambda topics: self.gone(topics),
            spawn=spawn or (lambda function, *arguments: function(*arguments)),
        )
        self.coordinator.startup()

    def close(self) -> None:
        self.coordinator.shutdown()
        self.broker.close()

    def lead(self, epoch: int = 0) -> None:
        self.broker.lead(OFFSETS, epoch=epoch, partition_epoch=epoch)
        wait(lambda: self.fetch()[0] is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def follow(self, epoch: int) -> None:
        self.broker.order(OFFSETS, epoch=epoch, partition_epoch=epoch, leader=2, replicas=(2, 1))

    def begin_to_load_again(self) -> None:
        """Only the coordinator hears of another leadership, so that nothing is loaded yet when this returns."""
        partition = self.broker.partition(OFFSETS)
        for epoch, led, followed in ((1, [], [partition]), (2, [partition], [])):
            partition.leader_epoch = epoch
            self.coordinator.leadership.on_leadership_change(led, followed)
        assert self.fetch()[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def commit(self, offset: int, *, generation: int = -1, member_id: str = "", metadata: str = "m") -> ErrorCode:
        value = OffsetAndMetadata(offset, 0, metadata, self.broker.clock.wall_ms())
        answer = self.coordinator.commit_offsets(
            GROUP, member_id=member_id, group_instance_id=None, generation=generation, offsets={TP: value}
        )
        return answer.value[TP]

    def commit_in_transaction(self, offset: int) -> ErrorCode:
        value = OffsetAndMetadata(offset, 0, "m", self.broker.clock.wall_ms())
        answer = self.coordinator.commit_transaction_offsets(GROUP, Committer(), PRODUCER, {TP: value})
        return answer.value[TP]

    def end_transaction(self, *, is_commit: bool, heard: bool = True) -> int:
        """Write the marker as WriteTxnMarkers does; `heard` says whether the coordinator learns of it. Its offset."""
        marker = EndTransactionMarker(ControlType.COMMIT if is_commit else ControlType.ABORT, 0)
        batch = build_marker(marker, timestamp_ms=self.broker.clock.wall_ms(), **PRODUCER._asdict())
        (written,) = self.broker.manager.append_records(
            [(OFFSETS, 0, memoryview(batch))],
            required_acks=-1,
            timeout_ms=1000,
            internal_topics_allowed=True,
            origin=Origin.COORDINATOR,
        )
        if heard:
            markers = {0: written.first_offset}
            self.coordinator.handle_txn_completion(PRODUCER.producer_id, markers, is_commit=is_commit)
        first_offset: int = written.first_offset
        return first_offset

    def fetch(self, stable: bool = False) -> tuple[ErrorCode, int | None]:
        error, found = self.coordinator.fetch_offsets(GROUP, [TP], require_stable=stable)
        value = found[TP].value if found else None
        return error, None if value is None else value.offset

    def fetch_code(self, *, stable: bool) -> ErrorCode:
        """Of the one partition."""
        _, found = self.coordinator.fetch_offsets(GROUP, [TP], require_stable=stable)
        return found[TP].error

    def member(self) -> str:
        """A stable group of one; its member."""
        join = Join("", "m", None, "c", "/h", 10_000, 10_000, "consumer", RANGE)
        joined = self.coordinator.join_group(GROUP, join)
        self.broker.clock.advance(0)
        generation = joined.value.generation
        sync = Sync("m", generation, protocol_type="consumer", protocol_name="range", assignments={"m": b"all"})
        synced = self.coordinator.sync_group(GROUP, sync)
        wait(lambda: synced.is_done)
        assert synced.value.assignment == b"all"
        return "m"

    def batches(self) -> list[Batch]:
        log: Any = self.broker.partition(OFFSETS).log
        result = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True)
        data = b"".join(piece.read() for piece in result.slices)
        for piece in result.slices:
            piece.release()
        return list(batches(data))

    @property
    def is_idle(self) -> bool:
        """Nothing is left to do in the background."""
        return self.coordinator._manager._tasks.is_idle

    def records(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(record.key, record.value) for batch in self.batches() for record in decode_records(batch)]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    coordinated = Coordinated(tmp_path)
    yield coordinated
    coordinated.close()


def test_nobody_coordinates_what_is_not_led_here(made: Coordinated):
    assert made.commit(5) is ErrorCode.NOT_COORDINATOR
    assert made.fetch()[0] is ErrorCode.NOT_COORDINATOR
    assert made.coordinator.describe_group(GROUP)[0] is ErrorCode.NOT_COORDINATOR


def test_while_loading_members_are_asked_for_patience(made: Coordinated):
    partition = made.broker.lead(OFFSETS)
    made.follow(epoch=1)
    # Only of itself the coordinator hears of it, so that nothing switches between this and the questions.
    partition.leader_epoch = 2
    made.coordinator.leadership.on_leadership_change([partition], [])
    assert made.commit(5) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert made.coordinator.list_groups()[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    beat = made.coordinator.heartbeat(GROUP, member_id="m", group_instance_id=None, generation=1)
    assert beat is ErrorCode.NONE
    synced = made.coordinator.sync_group(GROUP, Sync("m", generation=1))
    assert synced.value.error is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("step", ["decodes", "hands over"])
def test_a_load_that_meets_a_bug_ends_and_the_next_one_is_whole(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch, step: str
):
    made.lead()
    assert made.commit(5) is ErrorCode.NONE
    made.follow(epoch=1)
    with monkeypatch.context() as bug:
        bug.setattr(manager, "LogReplay" if step == "decodes" else "loaded", lambda *_: 1 // 0)
        made.lead(epoch=2)
    assert made.fetch()[0] is ErrorCode.NOT_COORDINATOR
    assert made.coordinator.list_groups() == (ErrorCode.NONE, []), "a group stayed behind"
    made.follow(epoch=3)
    made.lead(epoch=4)
    assert made.fetch() == (ErrorCode.NONE, 5)


def test_committed_offsets_are_found_again_after_the_leader_moved_away_and_back(made: Coordinated):
    made.lead()
    assert made.commit(5) is ErrorCode.NONE and made.fetch() == (ErrorCode.NONE, 5)
    made.follow(epoch=1)
    assert made.fetch()[0] is ErrorCode.NOT_COORDINATOR
    made.lead(epoch=2)
    assert made.fetch() == (ErrorCode.NONE, 5)


def test_committed_offsets_and_groups_are_found_again_after_a_restart(tmp_path: Path):
    first = Coordinated(tmp_path)
    first.lead()
    first.member()
    assert first.commit(5, generation=1, member_id="m") is ErrorCode.NONE
    first.close()
    second = Coordinated(tmp_path)
    second.lead(epoch=1)
    assert second.fetch() == (ErrorCode.NONE, 5)
    _, described = second.coordinator.describe_group(GROUP)
    assert described.state == "Stable" and described.members[0].assignment == b"all"
    beat = second.coordinator.heartbeat(GROUP, member_id="m", group_instance_id=None, generation=1)
    assert beat is ErrorCode.NONE, "the member did not notice"
    second.close()


def test_metadata_that_is_too_large_is_refused_and_leaves_nothing_pending(made: Coordinated):
    """KAFKA-16371."""
    made.lead()
    assert made.commit(5, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert made.commit(6, metadata="x" * 4096) is ErrorCode.NONE
    assert made.commit(7, metadata="\N{GRINNING FACE}" * 2049) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6)


def test_metadata_that_no_record_holds_leaves_nothing_pending(tmp_path: Path):
    """Of 12,000 bytes that are no UTF-8, each becomes three."""
    made = Coordinated(tmp_path, **{"offset.metadata.max.bytes": "20000"})
    made.lead()
    assert made.commit(5, metadata="\N{REPLACEMENT CHARACTER}" * 12_000) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert made.fetch(stable=True) == (ErrorCode.NONE, None), "a consumer would wait for ever"
    made.close()


def test_a_group_whose_id_no_record_holds_is_refused_and_forgotten(made: Coordinated):
    made.lead()
    group_id = "\N{REPLACEMENT CHARACTER}" * 12_000
    join = Join("", "m", None, "c", "/h", 10_000, 10_000, "consumer", RANGE)
    assert made.coordinator.join_group(group_id, join).value.error is ErrorCode.INVALID_GROUP_ID
    offsets = {TP: OffsetAndMetadata(5, 0, "", 0)}
    answer = made.coordinator.commit_offsets(
        group_id, member_id="", group_instance_id=None, generation=-1, offsets=offsets
    )
    assert answer.value == {TP: ErrorCode.INVALID_GROUP_ID}
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_rule_60_a_batch_larger_than_one_read_is_loaded_whole(made: Coordinated):
    made.lead()
    metadata = "x" * 4096
    many = [TopicPartition("many", index) for index in range(READ_BYTES // len(metadata) + 2)]
    offsets = {
        topic_partition: OffsetAndMetadata(topic_partition.partition, 0, metadata, made.broker.clock.wall_ms())
        for topic_partition in many
    }
    answer = made.coordinator.commit_offsets(
        GROUP, member_id="", group_instance_id=None, generation=-1, offsets=offsets
    )
    assert set(answer.value.values()) == {ErrorCode.NONE}
    assert made.commit(6) is ErrorCode.NONE
    made.follow(epoch=1)
    made.lead(epoch=2)
    _, found = made.coordinator.fetch_offsets(GROUP, [*many, TP], require_stable=False)
    assert [found[topic_partition].value.offset for topic_partition in [*many, TP]] == [*range(len(many)), 6]


def test_a_group_is_deleted_with_tombstones_for_all_it_had(made: Coordinated):
    made.lead()
    member = made.member()
    made.commit(5, generation=1, member_id=member)
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NON_EMPTY_GROUP}
    made.coordinator.leave_group(GROUP, [Leaver(member, None, "done")])
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NONE}
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.GROUP_ID_NOT_FOUND}
    keys = {key for key, _ in made.records()}
    assert {key for key, value in made.records()[-2:] if value is None} == keys
    made.follow(epoch=1)
    made.lead(epoch=2)
    assert made.coordinator.describe_group(GROUP)[1].state == "Dead"


def test_rule_62_offsets_of_a_deleted_topic_get_tombstones(made: Coordinated):
    made.lead()
    made.commit(5)
    made.coordinator.handle_deleted_partitions([TP, TopicPartition("other", 1)])
    wait(lambda: made.records()[-1][1] is None)
    assert made.fetch() == (ErrorCode.NONE, None)
    assert made.coordinator.list_groups() == (ErrorCode.NONE, []), "nothing held the group any longer"


def test_offsets_expire_when_their_time_has_come(tmp_path: Path):
    made = Coordinated(
        tmp_path, **{"offsets.retention.minutes": "2", "offsets.retention.check.interval.ms": str(MINUTE_MS)}
    )
    made.lead()
    made.commit(5)
    made.broker.clock.advance(MINUTE_MS)
    gevent.sleep(0)
    assert made.fetch() == (ErrorCode.NONE, 5)
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.fetch() == (ErrorCode.NONE, None))
    assert made.records()[-1][1] is None
    made.close()


def test_a_group_that_was_left_before_its_first_assignment_leaves_no_record_behind(made: Coordinated):
    made.lead()
    made.coordinator.join_group(GROUP, Join("", "m", None, "c", "/h", 10_000, 10_000, "consumer", RANGE))
    made.coordinator.leave_group(GROUP, [Leaver("m", None, "")])
    made.broker.clock.advance(10_000)
    wait(lambda: len(made.records()) == 1)
    assert made.coordinator.describe_group(GROUP)[1].state == "Empty"
    made.coordinator._manager.remove_expired()
    assert made.records()[-1] == (group_key(GROUP), None)
    assert made.coordinator.list_groups()[1] == []


def test_a_removal_lets_others_run_and_leaves_groups_alone_that_went_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(manager, "OFFSETS_PER_TURN", 1)
    made = Coordinated(tmp_path, **{"offsets.retention.minutes": "1"})
    made.lead()
    for group in ("a", "b", "c"):
        value = OffsetAndMetadata(1, 0, "", made.broker.clock.wall_ms())
        made.coordinator.commit_offsets(group, member_id="", group_instance_id=None, generation=-1, offsets={TP: value})
    made.broker.clock.set_wall(MINUTE_MS)
    gevent.spawn(made.coordinator.leadership.on_leadership_change, [], [made.broker.partition(OFFSETS)])
    made.coordinator._manager.remove_expired()
    removed = [key for key, value in made.records() if value is None]
    assert removed == [offset_key("a", TP)], "what another broker coordinates by then is not this one's to remove"
    made.close()


def test_the_coordinator_answers_nothing_before_its_start_and_after_its_end(made: Coordinated):
    made.lead()
    made.coordinator.shutdown()
    assert made.commit(5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert made.coordinator.list_groups()[0] is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_members_of_a_coordinator_that_moves_are_told_so(made: Coordinated):
    made.lead()
    made.member()
    other = made.coordinator.join_group(GROUP, Join("", "n", None, "c", "/h", 10_000, 10_000, "consumer", RANGE))
    assert not other.is_done
    made.follow(epoch=1)
    assert other.value.error is ErrorCode.NOT_COORDINATOR


def test_however_many_partitions_move_each_group_is_looked_at_once(made: Coordinated, monkeypatch: pytest.MonkeyPatch):
    made.lead()
    made.commit(5)
    looks: list[str] = []
    groups = made.coordinator._manager
    monkeypatch.setattr(groups, "partition_of", lambda group: looks.append(group) or 0)
    moved: Any = [SimpleNamespace(topic_partition=TopicPartition(OFFSETS, each), leader_epoch=1) for each in range(50)]
    made.coordinator.leadership.on_leadership_change([], moved)
    assert looks == [GROUP] and not groups.groups
    assert made.fetch()[0] is ErrorCode.NOT_COORDINATOR


def test_ten_thousand_joins_without_an_id_take_little_memory_and_leave_nothing(tmp_path: Path):
    """KAFKA-7610: each in a group of its own, so that a group is kept for none but an id that nobody uses."""
    made = Coordinated(tmp_path, **{"offsets.retention.check.interval.ms": str(MINUTE_MS)})
    made.lead()
    tracemalloc.start()
    for number in range(10_000):
        join = Join(
            "", f"m-{number}", None, "c", "/h", 10_000, 10_000, "consumer", RANGE, requires_known_member_id=True
        )
        assert made.coordinator.join_group(f"g-{number}", join).value.error is ErrorCode.MEMBER_ID_REQUIRED
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 10_000 * BYTES_A_PENDING_ID
    assert len(made.coordinator.list_groups()[1]) == 10_000
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.coordinator.list_groups() == (ErrorCode.NONE, []))
    assert made.records() == [], "nothing of it was worth a record"
    made.close()


def test_thousands_of_old_members_that_are_never_heard_of_again_take_little_memory_and_leave_nothing(tmp_path: Path):
    """Of clients before KIP-394: each join is a member, whether its client is still there or not."""
    made = Coordinated(tmp_path, **{"offsets.retention.check.interval.ms": str(MINUTE_MS)})
    made.lead()
    tracemalloc.start()
    waiting = [
        made.coordinator.join_group(GROUP, Join("", f"m-{number}", None, "c", "/h", 10_000, 10_000, "consumer", RANGE))
        for number in range(3_000)
    ]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    made.broker.clock.advance(10_000)
    print(f"{taken / 3_000:.0f} bytes a member")
    assert taken < 3_000 * BYTES_PER_MEMBER
    assert all(join.value.error is ErrorCode.NONE for join in waiting), "the first generation"
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.coordinator.list_groups() == (ErrorCode.NONE, []))
    made.close()


# --- transactions ----------------------------------------------------------------------------------------------------


def test_rule_63_while_a_transaction_holds_the_offset_a_stable_fetch_must_wait(made: Coordinated):
    """KIP-447, KAFKA-9346, KAFKA-9365."""
    made.lead()
    made.commit(5)
    assert made.commit_in_transaction(6) is ErrorCode.NONE
    assert made.fetch() == (ErrorCode.NONE, 5)
    _, found = made.coordinator.fetch_offsets(GROUP, [TP], require_stable=True)
    assert found[TP] == (ErrorCode.UNSTABLE_OFFSET_COMMIT, None)
    made.end_transaction(is_commit=True)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_ends_the_same_in_memory_and_for_the_next_coordinator(made: Coordinated, is_commit: bool):
    made.lead()
    made.commit(5)
    made.commit_in_transaction(6)
    made.end_transaction(is_commit=is_commit)
    ended = made.fetch(stable=True)
    assert ended == (ErrorCode.NONE, 6 if is_commit else 5)
    made.follow(epoch=1)
    made.lead(epoch=2)
    assert made.fetch(stable=True) == ended


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_transaction_begun_with_one_coordinator_ends_with_the_next(made: Coordinated, is_commit: bool):
    made.lead()
    made.commit(5)
    made.commit_in_transaction(6)
    made.follow(epoch=1)
    made.lead(epoch=2)
    _, found = made.coordinator.fetch_offsets(GROUP, [TP], require_stable=True)
    assert found[TP].error is ErrorCode.UNSTABLE_OFFSET_COMMIT
    made.end_transaction(is_commit=is_commit)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6 if is_commit else 5)


def test_a_marker_that_comes_while_the_partition_loads_is_not_missed(made: Coordinated):
    made.lead()
    made.commit_in_transaction(6)
    made.begin_to_load_again()
    made.coordinator.handle_txn_completion(PRODUCER.producer_id, {0: 1}, is_commit=True)
    wait(lambda: made.fetch()[0] is ErrorCode.NONE)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_that_comes_while_the_partition_loads_ends_no_later_transaction(made: Coordinated, is_commit: bool):
    """Its producer may go on as soon as the partition is loaded, while others still are."""
    made.lead()
    made.commit_in_transaction(6)
    made.begin_to_load_again()
    other_is_loaded = Event()
    made.coordinator._manager._tasks.later(other_is_loaded.wait)
    made.coordinator.handle_txn_completion(PRODUCER.producer_id, {0: 1}, is_commit=is_commit)
    wait(lambda: made.fetch()[0] is ErrorCode.NONE)
    before = made.fetch(stable=True)
    assert before == (ErrorCode.NONE, 6 if is_commit else None)
    made.commit_in_transaction(7)
    other_is_loaded.set()
    wait(lambda: made.coordinator._manager._tasks.is_idle)
    assert made.fetch() == before
    made.end_transaction(is_commit=not is_commit)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6 if is_commit else 7)


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_commit_behind_the_marker_is_open_in_memory_and_for_the_next_coordinator(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch, is_commit: bool, moves: bool
):
    """Where partitions do not verify transactions: a marker came between the look at the group and the append."""
    made.lead()
    append = made.broker.manager.append_records

    def append_behind_the_marker(*given: Any, **options: Any) -> Any:
        monkeypatch.undo()
        made.end_transaction(is_commit=is_commit)
        return append(*given, **options)

    monkeypatch.setattr(made.broker.manager, "append_records", append_behind_the_marker)
    assert made.commit_in_transaction(6) is ErrorCode.NONE
    assert made.fetch() == (ErrorCode.NONE, None)
    if moves:
        made.follow(epoch=1)
        made.lead(epoch=2)
    assert made.fetch_code(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    made.end_transaction(is_commit=True)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6)
    assert not len(made.coordinator._manager.open_transactions)


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_commit_behind_a_marker_that_is_heard_of_last_hides_none_before_it(
    made: Coordinated, is_commit: bool, moves: bool
):
    """Where partitions do not verify transactions. Memory has what the next coordinator finds in the log."""
    made.lead()
    assert made.commit_in_transaction(5) is ErrorCode.NONE
    marker_offset = made.end_transaction(is_commit=is_commit, heard=False)
    assert made.commit_in_transaction(6) is ErrorCode.NONE
    if moves:
        made.follow(epoch=1)
        made.lead(epoch=2)
    else:
        made.coordinator.handle_txn_completion(PRODUCER.producer_id, {0: marker_offset}, is_commit=is_commit)
    assert made.fetch() == (ErrorCode.NONE, 5 if is_commit else None)
    assert made.fetch_code(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    made.end_transaction(is_commit=True)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6)


def test_a_transaction_that_commits_again_and_again_takes_no_more_memory(made: Coordinated):
    made.lead()
    made.commit_in_transaction(0)
    made.end_transaction(is_commit=True, heard=False)
    for offset in range(1, 20):
        made.commit_in_transaction(offset)
    overtaken = made.coordinator._manager.groups[GROUP].offsets.overtaken
    assert [found.value.offset for _, found in overtaken[PRODUCER.producer_id]] == [0], "a marker is behind that one"
    made.end_transaction(is_commit=True)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 19) and not overtaken


def test_a_transaction_whose_group_ended_with_its_topics_is_forgotten_with_its_marker(made: Coordinated):
    made.lead()
    made.commit_in_transaction(6)
    made.coordinator.handle_deleted_partitions([TP])
    made.broker.clock.advance(made.broker.config.offsets_retention_check_interval_ms)
    wait(lambda: not made.coordinator._manager.groups)
    made.end_transaction(is_commit=True)
    assert not len(made.coordinator._manager.open_transactions)


def test_a_commit_that_fails_late_and_was_loaded_meanwhile_ends_with_its_transaction(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch
):
    """Its leadership ended before it was replicated; the next one of the same broker found it in the log."""
    made.lead()
    undecided: Pending[Any] = Pending()
    append = made.broker.manager.append_records

    def append_and_wait(*given: Any, **options: Any) -> Pending[Any]:
        append(*given, **options)
        return undecided

    with monkeypatch.context() as held:
        held.setattr(made.broker.manager, "append_records", append_and_wait)
        value = OffsetAndMetadata(6, 0, "m", 0)
        answer = made.coordinator.commit_transaction_offsets(GROUP, Committer(), PRODUCER, {TP: value})
    made.follow(epoch=1)
    made.lead(epoch=2)
    undecided.complete([AppendFailure(NotLeaderOrFollower())])
    assert answer.value == {TP: ErrorCode.NOT_COORDINATOR}
    made.end_transaction(is_commit=True)
    assert made.fetch(stable=True) == (ErrorCode.NONE, 6)


def test_offsets_of_a_transaction_are_written_as_apache_writes_them(made: Coordinated):
    """Transactional, with the producer's id and epoch, and the sequence 0 however many came before."""
    made.lead()
    made.commit_in_transaction(5)
    made.commit_in_transaction(6)
    headers = [batch.header for batch in made.batches()]
    assert [(h.producer_id, h.producer_epoch, h.base_sequence, h.is_transactional) for h in headers] == [
        (*PRODUCER, 0, True)
    ] * 2


def test_a_commit_of_a_fenced_producer_is_refused_and_leaves_nothing_pending(made: Coordinated):
    made.lead()
    newer = Producer(PRODUCER.producer_id, 1)
    value = OffsetAndMetadata(5, 0, "m", 0)
    made.coordinator.commit_transaction_offsets(GROUP, Committer(), newer, {TP: value})
    made.coordinator.handle_txn_completion(PRODUCER.producer_id, {0: 1}, is_commit=False)
    assert made.commit_in_transaction(6) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert made.fetch(stable=True) == (ErrorCode.NONE, None)


@pytest.mark.parametrize("nobody", [Producer(-1, 0), Producer(PRODUCER.producer_id, -1)])
def test_no_batch_is_written_for_a_producer_that_cannot_be(made: Coordinated, nobody: Producer):
    made.lead()
    codes = made.coordinator.commit_transaction_offsets(
        GROUP, Committer(), nobody, {TP: OffsetAndMetadata(5, 0, "m", 0)}
    )
    assert codes.result(10_000) == {TP: ErrorCode.UNKNOWN_SERVER_ERROR}
    assert list(made.batches()) == []


@pytest.mark.parametrize("who", [Committer("m", None, 1), Committer("stranger", None, 1), Committer("m", None, 0)])
def test_a_member_that_commits_in_a_transaction_is_checked_as_any_other(made: Coordinated, who: Committer):
    """KIP-447. Clients from before it name no member: they may commit whoever is in the group."""
    made.lead()
    made.member()
    wanted = {"stranger": ErrorCode.UNKNOWN_MEMBER_ID}.get(who.member_id, ErrorCode.NONE)
    if who.generation == 0:
        wanted = ErrorCode.ILLEGAL_GENERATION
    answer = made.coordinator.commit_transaction_offsets(GROUP, who, PRODUCER, {TP: OffsetAndMetadata(5, 0, "", 0)})
    assert answer.value == {TP: wanted}
    assert made.commit_in_transaction(6) is ErrorCode.NONE
    nameless = made.coordinator.commit_transaction_offsets("", who, PRODUCER, {TP: OffsetAndMetadata(5, 0, "", 0)})
    assert nameless.value == {TP: ErrorCode.INVALID_GROUP_ID}


# --- removal ---------------------------------------------------------------------------------------------------------


def test_deleted_offsets_are_gone_for_good_and_so_is_the_group_without_any(made: Coordinated):
    made.lead()
    made.commit(5)
    assert made.coordinator.delete_offsets(GROUP, [TP]) == (ErrorCode.NONE, {TP: ErrorCode.NONE})
    assert made.records()[-1][1] is None
    assert made.coordinator.delete_offsets(GROUP, [TP]) == (ErrorCode.GROUP_ID_NOT_FOUND, {})
    assert made.coordinator.delete_offsets("", [TP]) == (ErrorCode.INVALID_GROUP_ID, {})
    made.follow(epoch=1)
    assert made.coordinator.delete_offsets(GROUP, [TP]) == (ErrorCode.NOT_COORDINATOR, {})
    made.lead(epoch=2)
    assert made.fetch() == (ErrorCode.NONE, None)


def test_rule_64_only_what_was_appended_is_counted(made: Coordinated):
    """KAFKA-12660."""
    made.lead()
    metric = made.broker.metrics.find("kafka.server:type=group-coordinator-metrics")
    assert metric is not None
    assert made.commit(5) is ErrorCode.NONE
    assert made.commit(5, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    made.broker.partition(OFFSETS).is_leader = False
    assert made.commit(6) is ErrorCode.NOT_COORDINATOR
    assert metric.attributes()["offset-commit-count"] == 1


def test_offsets_of_a_deleted_topic_are_gone_at_once_and_those_of_its_successor_stay(made: Coordinated):
    """While the clean-up waits behind whatever the background does."""
    made.lead()
    made.commit(5)
    goes_on = Event()
    made.coordinator._manager._tasks.later(goes_on.wait)
    made.coordinator.handle_deleted_partitions([TP])
    assert made.fetch() == (ErrorCode.NONE, None)
    assert made.commit(1) is ErrorCode.NONE
    goes_on.set()
    wait(lambda: made.is_idle)
    assert made.fetch() == (ErrorCode.NONE, 1)
    made.follow(1)
    made.lead(2)
    assert made.fetch() == (ErrorCode.NONE, 1)


def test_a_load_leaves_out_what_was_deleted_since_it_was_asked_for(made: Coordinated):
    made.lead()
    made.commit(5)
    made.follow(1)
    may_load = Event()
    made.coordinator._manager._tasks.later(may_load.wait)
    made.broker.lead(OFFSETS, epoch=2, partition_epoch=2)
    assert made.fetch()[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    made.coordinator.handle_deleted_partitions([TP])
    may_load.set()
    wait(lambda: made.fetch() == (ErrorCode.NONE, None))
    assert made.commit(1) is ErrorCode.NONE
    wait(lambda: made.is_idle)
    assert made.fetch() == (ErrorCode.NONE, 1)
    made.follow(3)
    made.lead(4)
    assert made.fetch() == (ErrorCode.NONE, 1)


def test_a_load_takes_in_what_was_committed_elsewhere_after_a_deletion(made: Coordinated):
    """Only loads that were asked for before it are meant."""
    made.lead()
    made.commit(5)
    made.coordinator.handle_deleted_partitions([TP])
    made.commit(2)
    made.follow(1)
    made.lead(2)
    assert made.fetch() == (ErrorCode.NONE, 2)
    assert made.coordinator._manager._deleted == []


def commit_many(made: Coordinated, count: int) -> list[TopicPartition]:
    partitions = [TopicPartition("t", index) for index in range(count)]
    value = OffsetAndMetadata(1, 0, "", made.broker.clock.wall_ms())
    answer = made.coordinator.commit_offsets(
        GROUP, member_id="", group_instance_id=None, generation=-1, offsets=dict.fromkeys(partitions, value)
    )
    assert set(answer.value.values()) == {ErrorCode.NONE}
    return partitions


def test_a_group_whose_tombstones_fit_no_batch_is_deleted_for_good(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.lead()
    partitions = commit_many(made, 9)
    monkeypatch.setattr(manager, "TOMBSTONES_BYTES", 4 * (manager.LONGEST_TOPIC_PART + 4))
    before = len(made.batches())
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NONE}
    written = [[record.key for record in decode_records(batch)] for batch in made.batches()[before:]]
    assert [len(keys) for keys in written] == [4, 4, 1]
    assert {key for keys in written for key in keys} == {offset_key(GROUP, partition) for partition in partitions}
    made.follow(1)
    made.lead(2)
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_what_is_committed_between_two_batches_of_tombstones_stays(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.lead()
    partitions = commit_many(made, 9)
    late: list[TopicPartition] = []
    monkeypatch.setattr(manager, "TOMBSTONES_BYTES", 4 * (manager.LONGEST_TOPIC_PART + 4))
    append_tombstones = StateLog.append_tombstones

    def append_and_commit(log: StateLog, partition: int, keys: Sequence[bytes]) -> ErrorCode:
        answer = append_tombstones(log, partition, keys)
        if not late:
            late.append(next(each for each in partitions if offset_key(GROUP, each) not in keys))
            value = OffsetAndMetadata(7, 0, "", made.broker.clock.wall_ms())
            made.coordinator.commit_offsets(
                GROUP, member_id="", group_instance_id=None, generation=-1, offsets={late[0]: value}
            )
        return answer

    monkeypatch.setattr(StateLog, "append_tombstones", append_and_commit)
    made.coordinator.delete_groups([GROUP])
    made.follow(1)
    made.lead(2)
    _, found = made.coordinator.fetch_offsets(GROUP, None, require_stable=False)
    assert {
        topic_partition: each.value.offset for topic_partition, each in found.items() if each.value is not None
    } == {late[0]: 7}


def test_offsets_of_a_topic_that_was_deleted_while_nobody_coordinated_its_groups_get_tombstones(made: Coordinated):
    """Else a topic of that name that is made later is read from there."""
    made.lead()
    made.commit(5)
    made.follow(1)
    made.gone = list
    made.lead(2)
    wait(lambda: made.records()[-1] == (offset_key(GROUP, TP), None))
    assert made.fetch() == (ErrorCode.NONE, None)
    made.follow(3)
    made.gone = lambda topics: ()
    made.lead(4)
    assert made.fetch() == (ErrorCode.NONE, None)


def test_no_offset_is_removed_of_a_topic_that_zookeeper_has_or_may_have(made: Coordinated):
    asked: list[Collection[str]] = []

    def is_away(topics: Collection[str]) -> Collection[str]:
        asked.append(topics)
        raise SessionExpired

    def has_all(topics: Collection[str]) -> Collection[str]:
        asked.append(topics)
        return ()

    made.lead()
    made.commit(5)
    for epoch, made.gone in ((1, is_away), (3, has_all)):
        made.follow(epoch)
        made.lead(epoch + 1)
        wait(lambda: bool(asked) and made.is_idle)
        assert asked.pop() == [TP.topic]
        assert made.fetch() == (ErrorCode.NONE, 5)


def test_what_is_committed_while_zookeeper_is_asked_stays(made: Coordinated):
    made.lead()
    made.commit(5)
    made.follow(1)
    answers = Event()

    def slow(topics: Collection[str]) -> Collection[str]:
        answers.wait()
        return topics

    made.gone = slow
    made.lead(2)
    assert made.commit(1) is ErrorCode.NONE
    answers.set()
    gone = made.coordinator._manager._gone_topics
    wait(lambda: not gone._has_load.is_set() and made.is_idle)
    assert made.fetch() == (ErrorCode.NONE, 1)


@pytest.mark.parametrize(
    "ends",
    [lambda made: made.coordinator.delete_groups([GROUP]), lambda made: made.coordinator._manager.remove_expired()],
    ids=["deleted", "idle"],
)
def test_offsets_of_a_deleted_topic_get_tombstones_though_their_group_ended_first(
    made: Coordinated, ends: Callable[[Coordinated], object]
):
    """Before the clean-up has its turn: nothing in memory tells of the offsets any more."""
    made.lead()
    made.commit(5)
    made.coordinator.handle_deleted_partitions([TP])
    ends(made)
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])
    wait(lambda: made.records()[-1] == (offset_key(GROUP, TP), None))
    made.follow(1)
    made.lead(2)
    assert made.fetch() == (ErrorCode.NONE, None)


@pytest.mark.parametrize(("is_commit", "found"), [(True, 1), (False, None)])
def test_a_transaction_decides_whether_offsets_of_a_deleted_topic_get_tombstones(
    made: Coordinated, is_commit: bool, found: int | None
):
    made.lead()
    made.commit(5)
    made.coordinator.handle_deleted_partitions([TP])
    assert made.commit_in_transaction(1) is ErrorCode.NONE
    wait(lambda: made.is_idle)
    made.end_transaction(is_commit=is_commit)
    wait(lambda: made.is_idle)
    made.follow(1)
    made.lead(2)
    assert made.fetch() == (ErrorCode.NONE, found)
