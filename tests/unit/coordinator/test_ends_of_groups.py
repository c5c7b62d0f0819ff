"""Groups and offsets that are deleted or expire: the log and the answer say the same, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import gevent
import pytest

from kafka_zk.coordinator.group import manager
from kafka_zk.coordinator.group.coordinator import Leaver
from kafka_zk.coordinator.group.decisions.offsets import GroupOffsets, OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.records import group_key, offset_key
from kafka_zk.coordinator.state_log import StateLog
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

from .test_coordinator_log import GROUP, MINUTE_MS, OFFSETS, TP, Coordinated, commit_many, wait


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    expiry = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": str(MINUTE_MS)}
    with closing(Coordinated(tmp_path, **expiry)) as coordinated:
        coordinated.lead()
        yield coordinated


def refuse_appends(made: Coordinated, refused: bool = True) -> None:
    """As while the leader is told of a new epoch: it takes nothing until appends of the old one have ended."""
    made.broker.partition(OFFSETS).is_leader = not refused


def load_again(made: Coordinated, epoch: int) -> None:
    made.follow(epoch)
    made.lead(epoch + 1)


def test_a_group_that_is_deleted_right_behind_its_last_member_leaves_no_record_behind(tmp_path: Path) -> None:
    """The record of the empty group is on its way to the log then."""
    with closing(Coordinated(tmp_path, spawn=gevent.spawn)) as made:
        made.lead()
        member = made.member()
        made.coordinator.leave_group(GROUP, [Leaver(member, None, "")])
        assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NONE}
        gevent.sleep(0)
        assert made.records()[-1] == (group_key(GROUP), None)
        load_again(made, epoch=1)
        assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_a_group_whose_tombstones_are_refused_is_not_deleted(made: Coordinated) -> None:
    member = made.member()
    assert made.commit(5, generation=1, member_id=member) is ErrorCode.NONE
    made.coordinator.leave_group(GROUP, [Leaver(member, None, "")])
    before = made.coordinator.describe_group(GROUP), len(made.records())
    refuse_appends(made)
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NOT_COORDINATOR}
    assert (made.coordinator.describe_group(GROUP), len(made.records())) == before
    assert made.fetch() == (ErrorCode.NONE, 5)
    refuse_appends(made, refused=False)
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NONE}
    assert made.records()[-2:] == [(offset_key(GROUP, TP), None), (group_key(GROUP), None)]
    load_again(made, epoch=1)
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_offsets_whose_tombstones_are_refused_are_not_deleted(made: Coordinated) -> None:
    assert made.commit(5) is ErrorCode.NONE
    refuse_appends(made)
    assert made.coordinator.delete_offsets(GROUP, [TP]) == (ErrorCode.NOT_COORDINATOR, {})
    assert made.fetch() == (ErrorCode.NONE, 5)
    refuse_appends(made, refused=False)
    assert made.coordinator.delete_offsets(GROUP, [TP]) == (ErrorCode.NONE, {TP: ErrorCode.NONE})
    metric = made.broker.metrics.find("kafka.server:type=group-coordinator-metrics")
    assert metric is not None and metric.attributes()["offset-deletion-count"] == 1


def test_offsets_whose_tombstones_are_refused_expire_with_the_next_look(made: Coordinated) -> None:
    assert made.commit(5) is ErrorCode.NONE
    refuse_appends(made)
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.is_idle)
    assert made.fetch() == (ErrorCode.NONE, 5)
    metric = made.broker.metrics.find("kafka.server:type=group-coordinator-metrics")
    assert metric is not None and metric.attributes()["offset-expiration-count"] == 0
    refuse_appends(made, refused=False)
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.fetch() == (ErrorCode.NONE, None))
    assert made.records()[-1] == (offset_key(GROUP, TP), None)


def test_offsets_of_a_deleted_topic_stay_away_though_their_tombstones_are_refused_at_first(made: Coordinated) -> None:
    """The group that they held ends with them, not before."""
    member = made.member()
    assert made.commit(5, generation=1, member_id=member) is ErrorCode.NONE
    made.coordinator.leave_group(GROUP, [Leaver(member, None, "")])
    refuse_appends(made)
    made.coordinator.handle_deleted_partitions([TP])
    wait(lambda: made.is_idle)
    assert made.fetch() == (ErrorCode.NONE, None)
    assert made.coordinator.describe_group(GROUP)[1].state == "Empty"
    refuse_appends(made, refused=False)
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.coordinator.list_groups() == (ErrorCode.NONE, []))
    wait(lambda: made.is_idle)
    load_again(made, epoch=1)
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


@pytest.mark.parametrize("deletes", ["groups", "offsets"])
def test_offsets_whose_topic_goes_while_their_tombstones_are_refused_stay_away(made: Coordinated, deletes: str) -> None:
    """The next topic of the name would be read from them."""
    assert made.commit(5) is ErrorCode.NONE
    turn = made.coordinator._log._turns[0]
    turn.take()
    if deletes == "groups":
        deletion = gevent.spawn(made.coordinator.delete_groups, [GROUP])
    else:
        deletion = gevent.spawn(made.coordinator.delete_offsets, GROUP, [TP])
    wait(lambda: len(turn._waiting) == 1)
    made.coordinator.handle_deleted_partitions([TP])
    refuse_appends(made)
    turn.leave()
    assert deletion.get() in ({GROUP: ErrorCode.NOT_COORDINATOR}, (ErrorCode.NOT_COORDINATOR, {}))
    assert made.fetch() == (ErrorCode.NONE, None)
    wait(lambda: made.is_idle)
    refuse_appends(made, refused=False)
    made.broker.clock.advance(MINUTE_MS)
    wait(lambda: made.is_idle)
    assert made.records()[-1] == (offset_key(GROUP, TP), None)
    load_again(made, epoch=1)
    assert made.fetch() == (ErrorCode.NONE, None)


@pytest.mark.parametrize("deletes", ["groups", "offsets"])
@pytest.mark.parametrize("meanwhile", [None, 7])
def test_of_several_batches_of_tombstones_only_what_was_written_is_gone(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch, deletes: str, meanwhile: int | None
) -> None:
    """The second of three is refused. What is committed `meanwhile` is newer than what is put back."""
    partitions = commit_many(made, 9)
    monkeypatch.setattr(manager, "TOMBSTONES_BYTES", 3 * (manager.LONGEST_TOPIC_PART + 4))
    append_tombstones = StateLog.append_tombstones
    kept: list[TopicPartition] = []

    def append_one(log: StateLog, partition: int, keys: Sequence[bytes]) -> ErrorCode:
        code = append_tombstones(log, partition, keys)
        kept.extend(each for each in partitions if code is ErrorCode.NONE and offset_key(GROUP, each) not in keys)
        if meanwhile is not None:
            value = OffsetAndMetadata(meanwhile, 0, "", made.broker.clock.wall_ms())
            made.coordinator.commit_offsets(
                GROUP, member_id="", group_instance_id=None, generation=-1, offsets={kept[-1]: value}
            )
        refuse_appends(made)
        return code

    monkeypatch.setattr(StateLog, "append_tombstones", append_one)
    if deletes == "groups":
        assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NOT_COORDINATOR}
    else:
        assert made.coordinator.delete_offsets(GROUP, partitions) == (ErrorCode.NOT_COORDINATOR, {})
    assert len(kept) == 6
    values = dict.fromkeys(kept, 1) | ({} if meanwhile is None else {kept[-1]: meanwhile})
    for epoch in (1, 3):
        _, found = made.coordinator.fetch_offsets(GROUP, None, require_stable=False)
        assert {each: got.value.offset for each, got in found.items() if got.value is not None} == values
        refuse_appends(made, refused=False)
        load_again(made, epoch)


@pytest.mark.parametrize("comes_first", ["the commit", "the refusal"])
def test_a_commit_on_its_way_is_put_back_with_what_is_put_back(comes_first: str) -> None:
    offsets = GroupOffsets()
    commit = offsets.begin({TP: OffsetAndMetadata(5, 0, "", 0)})
    removed = offsets.remove_all()
    if comes_first == "the commit":
        offsets.appended(commit, 3)
    assert offsets.get(TP) is None
    offsets.put_back(removed)
    if comes_first == "the refusal":
        offsets.appended(commit, 3)
    assert offsets.committed[TP] == (3, OffsetAndMetadata(5, 0, "", 0))


def test_a_commit_that_failed_is_not_put_back() -> None:
    offsets = GroupOffsets()
    commit = offsets.begin({TP: OffsetAndMetadata(5, 0, "", 0)})
    removed = offsets.remove_all()
    offsets.failed(commit)
    offsets.put_back(removed)
    assert offsets.is_empty
