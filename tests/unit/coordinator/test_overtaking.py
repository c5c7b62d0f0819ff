"""Commits beside deletions that take long: neither overtakes the other."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from uuid import uuid4

import gevent
import pytest

from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import offset_key
from kafka_zk.giving_way import InTurns
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record

from .test_coordinator_log import GROUP, OFFSETS, Coordinated, wait

LZ4 = "3"
MANY = 20_000


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    coordinated = Coordinated(tmp_path, **{"offsets.topic.compression.codec": LZ4})
    coordinated.lead()
    yield coordinated
    coordinated.close()


def commit(made: Coordinated, partitions: Collection[TopicPartition], offset: int) -> set[ErrorCode]:
    value = OffsetAndMetadata(offset, 0, "", made.broker.clock.wall_ms())
    answer = made.coordinator.commit_offsets(
        GROUP,
        member_id="",
        group_instance_id=None,
        generation=-1,
        offsets=dict.fromkeys(partitions, value),
    )
    return set(answer.value.values())


def committed(made: Coordinated, partition: TopicPartition) -> int | None:
    found = made.coordinator.fetch_offsets(GROUP, [partition], require_stable=False)[1][partition].value
    return found and found.offset


def test_a_commit_stands_behind_the_tombstones_of_a_deletion_that_came_before_it(made: Coordinated) -> None:
    # Names that compress badly: the batch of their tombstones is checked in a thread.
    chance = random.Random(1)
    letters = string.ascii_lowercase + string.digits
    partitions = [TopicPartition("".join(chance.choices(letters, k=60)), 0) for _ in range(900)]
    assert commit(made, partitions, 5) == {ErrorCode.NONE}
    first = partitions[0]
    deletion = gevent.spawn(made.coordinator.delete_offsets, GROUP, partitions)
    wait(lambda: committed(made, first) is None)
    assert commit(made, [first], 9) == {ErrorCode.NONE}
    deletion.join()
    wait(lambda: made.is_idle)
    assert committed(made, first) == 9
    made.follow(epoch=1)
    made.lead(epoch=2)
    assert committed(made, first) == 9


FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def while_two_wait(made: Coordinated, happens: Callable[[], None]) -> tuple[set[ErrorCode], tuple[ErrorCode, object]]:
    """What becomes of a commit of FIRST and a deletion of SECOND that wait for their turn while something happens."""
    assert commit(made, [FIRST, SECOND], 5) == {ErrorCode.NONE}
    turn = made.coordinator._log._turns[0]
    turn.take()
    committing = gevent.spawn(commit, made, [FIRST], 9)
    deletion = gevent.spawn(made.coordinator.delete_offsets, GROUP, [SECOND])
    wait(lambda: len(turn._waiting) == 2)
    happens()
    turn.leave()
    return committing.get(), deletion.get()


def test_what_waits_for_its_turn_is_refused_once_the_partition_was_led_by_others(made: Coordinated) -> None:
    """It was decided by what was in memory before: the load since then knows nothing of it."""

    def lose_and_get_back() -> None:
        made.follow(epoch=1)
        made.lead(epoch=2)

    committed_now, deleted = while_two_wait(made, lose_and_get_back)
    assert committed_now == {ErrorCode.NOT_COORDINATOR}
    assert deleted == (ErrorCode.NOT_COORDINATOR, {})
    for epoch in (3, 5):
        assert [committed(made, each) for each in (FIRST, SECOND)] == [5, 5]
        made.follow(epoch)
        made.lead(epoch + 1)


def test_what_waits_for_its_turn_is_not_for_the_next_topic_of_the_name(made: Coordinated) -> None:
    """Its first leadership here is another than that of the deleted one."""

    def make_anew() -> None:
        made.broker.stop_replica(OFFSETS)
        made.lead()

    committed_now, deleted = while_two_wait(made, make_anew)
    assert committed_now == {ErrorCode.NOT_COORDINATOR}
    assert deleted == (ErrorCode.NOT_COORDINATOR, {})
    assert made.broker.partition(OFFSETS).log.log_end_offset == 0


def test_what_waits_for_its_turn_is_taken_by_a_leader_that_stayed(made: Coordinated) -> None:
    """A new epoch alone, as with other replicas, leaves the groups in memory as they are."""
    committed_now, deleted = while_two_wait(made, lambda: made.lead(epoch=1))
    assert committed_now == {ErrorCode.NONE}
    assert deleted == (ErrorCode.NONE, {SECOND: ErrorCode.NONE})
    assert [committed(made, each) for each in (FIRST, SECOND)] == [9, None]


@pytest.mark.parametrize("deletes", ["groups", "offsets"])
def test_what_another_broker_deleted_meanwhile_is_not_put_back(made: Coordinated, deletes: str) -> None:
    """Tombstones are refused after a load: what that found in the log is the truth by now."""
    first = TopicPartition("t", 0)
    assert commit(made, [first], 5) == {ErrorCode.NONE}
    turn = made.coordinator._log._turns[0]
    turn.take()
    if deletes == "groups":
        deletion = gevent.spawn(made.coordinator.delete_groups, [GROUP])
    else:
        deletion = gevent.spawn(made.coordinator.delete_offsets, GROUP, [first])
    wait(lambda: len(turn._waiting) == 1)
    made.follow(epoch=1)
    log = made.broker.partition(OFFSETS).log
    assert log is not None
    tombstone = build_batch([Record(0, 0, offset_key(GROUP, first), None)])
    log.append_as_leader(tombstone, leader_epoch=1)
    made.lead(epoch=2)
    turn.leave()
    deletion.get()
    assert committed(made, first) is None
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


@pytest.mark.parametrize("comes_back", [False, True])
def test_what_is_deleted_while_a_commit_is_sorted_out_in_turns_is_not_committed(
    made: Coordinated, comes_back: bool
) -> None:
    broker = made.broker
    broker.services.group_coordinator = made.coordinator
    broker.update_metadata({"t": {0: 1}, "many": dict.fromkeys(range(MANY), 1)}, id_of_topic=uuid4())
    line = OffsetCommitRequestPartition
    topics = [
        OffsetCommitRequestTopic(name="t", partitions=[line(partition_index=0, committed_offset=1_000_000)]),
        OffsetCommitRequestTopic(
            name="many", partitions=[line(partition_index=index, committed_offset=1) for index in range(MANY)]
        ),
    ]

    def delete() -> None:
        broker.update_metadata({"t": {0: -2}})
        if comes_back:
            broker.update_metadata({"t": {0: 1}}, id_of_topic=uuid4())

    def ask() -> list[int]:
        with InTurns(large=True):
            gevent.spawn(delete)
            answer = broker.call(OffsetCommitRequest(group_id=GROUP, topics=topics), 8)
            response = answer.result() if hasattr(answer, "result") else answer
        return [each.error_code for topic in response.topics for each in topic.partitions if topic.name == "t"]

    assert gevent.spawn(ask).get() == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert committed(made, TopicPartition("t", 0)) is None
    assert committed(made, TopicPartition("many", MANY - 1)) == 1
