"""Committed offsets of a group: what is valid when, what may be deleted, and what expires (KIP-211)."""

from __future__ import annotations

import pytest

from kafka_zk.coordinator.group.decisions.expiry import expired_offsets
from kafka_zk.coordinator.group.decisions.offset_deletion import may_delete_offsets
from kafka_zk.coordinator.group.decisions.offsets import Committed, GroupOffsets, OffsetAndMetadata
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.scene import Scene

TP = TopicPartition("t", 0)
OTHER = TopicPartition("unread", 0)
RETENTION_MS = 1_000_000
PRODUCER = 7
MARKER = 9
"""The offset of one, behind all batches."""


def at(offset: int, commit_timestamp: int = 0, expire_timestamp: int | None = None) -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, -1, "", commit_timestamp, expire_timestamp)


def with_offsets(scene: Scene, *partitions: TopicPartition) -> Scene:
    """Each committed now."""
    for partition in partitions:
        scene.group.offsets.restore(partition, Committed(0, at(1, scene.clock.wall_ms())))
    return scene


def expired(scene: Scene) -> list[TopicPartition]:
    return expired_offsets(scene.group, now_ms=scene.clock.wall_ms(), retention_ms=RETENTION_MS)


def test_an_offset_is_valid_only_once_its_record_is_in_the_log():
    offsets = GroupOffsets()
    commit = offsets.begin({TP: at(5)})
    assert offsets.get(TP) is None and offsets.is_pending(TP) and not offsets.is_empty
    offsets.appended(commit, 7)
    assert offsets.get(TP) == at(5) and not offsets.is_pending(TP)


def test_a_failed_commit_leaves_the_old_offset_and_nothing_pending():
    offsets = GroupOffsets()
    offsets.restore(TP, Committed(1, at(4)))
    offsets.failed(offsets.begin({TP: at(5)}))
    assert offsets.get(TP) == at(4) and not offsets.is_pending(TP)


def test_commits_that_overtake_each_other_end_with_the_one_that_is_last_in_the_log():
    offsets = GroupOffsets()
    first, second = offsets.begin({TP: at(5)}), offsets.begin({TP: at(6)})
    offsets.appended(second, 9)
    assert offsets.is_pending(TP), "nobody knows yet where the first one will stand"
    offsets.appended(first, 8)
    assert offsets.get(TP) == at(6) and not offsets.is_pending(TP)


def test_a_commit_that_fails_takes_none_before_it_along():
    offsets = GroupOffsets()
    first, second = offsets.begin({TP: at(5)}), offsets.begin({TP: at(6)})
    offsets.failed(second)
    offsets.appended(first, 8)
    assert offsets.get(TP) == at(5)


def test_an_offset_of_a_deleted_topic_does_not_come_back_with_a_late_append():
    """KAFKA-2000, KAFKA-15784."""
    offsets = GroupOffsets()
    commit = offsets.begin({TP: at(5)})
    assert list(offsets.remove([TP])) == [TP], "its record may be in the log already: only a tombstone keeps it away"
    offsets.appended(commit, 1)
    assert offsets.get(TP) is None and offsets.is_empty


# --- transactions ----------------------------------------------------------------------------------------------------


def test_an_offset_of_a_transaction_is_valid_only_once_that_is_committed():
    offsets = GroupOffsets()
    offsets.restore(TP, Committed(1, at(4)))
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 7)
    assert offsets.get(TP) == at(4) and offsets.is_pending(TP) and offsets.open_producers == {PRODUCER}
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.get(TP) == at(5) and not offsets.is_pending(TP) and not offsets.open_producers


def test_an_aborted_transaction_leaves_the_old_offset_and_nothing_pending():
    offsets = GroupOffsets()
    offsets.restore(TP, Committed(1, at(4)))
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 7)
    offsets.end_transaction(PRODUCER, is_commit=False, marker_offset=MARKER)
    assert offsets.get(TP) == at(4) and not offsets.is_pending(TP)


def test_the_end_of_one_producers_transaction_does_not_touch_anothers():
    offsets = GroupOffsets()
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 7)
    offsets.appended(offsets.begin({TP: at(6)}, PRODUCER + 1), 8)
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.get(TP) == at(5) and offsets.is_pending(TP)


def test_a_transaction_never_overwrites_a_commit_that_came_after_it():
    offsets = GroupOffsets()
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 7)
    offsets.appended(offsets.begin({TP: at(9)}), 8)
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.get(TP) == at(9)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_commit_that_is_heard_of_after_its_marker_ends_with_its_transaction(is_commit: bool):
    offsets = GroupOffsets()
    commit = offsets.begin({TP: at(5)}, PRODUCER)
    offsets.end_transaction(PRODUCER, is_commit=is_commit, marker_offset=MARKER)
    offsets.appended(commit, 7)
    assert offsets.get(TP) == (at(5) if is_commit else None) and not offsets.is_pending(TP)


@pytest.mark.parametrize("is_heard_of_first", [True, False], ids=["heard of first", "heard of last"])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_commit_behind_the_marker_waits_for_the_next_one(is_commit: bool, is_heard_of_first: bool):
    """Of a zombie, where partitions do not verify transactions. A load finds it so in the log."""
    offsets = GroupOffsets()
    commit = offsets.begin({TP: at(5)}, PRODUCER)
    if is_heard_of_first:
        offsets.end_transaction(PRODUCER, is_commit=is_commit, marker_offset=MARKER)
    offsets.appended(commit, MARKER + 1)
    if not is_heard_of_first:
        offsets.end_transaction(PRODUCER, is_commit=is_commit, marker_offset=MARKER)
    assert offsets.get(TP) is None and offsets.is_pending(TP) and offsets.waits_for(PRODUCER)
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER + 2)
    assert offsets.get(TP) == at(5) and offsets.open_producers == set()


@pytest.mark.parametrize("is_heard_in_order", [True, False], ids=["in order", "the last one first"])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_commit_behind_the_marker_hides_none_before_it(is_commit: bool, is_heard_in_order: bool):
    """The marker is heard of last: it was written to several partitions, and waited for the others."""
    offsets = GroupOffsets()
    commits = [(offsets.begin({TP: at(5)}, PRODUCER), 7), (offsets.begin({TP: at(6)}, PRODUCER), MARKER + 1)]
    for commit, batch_offset in commits if is_heard_in_order else reversed(commits):
        offsets.appended(commit, batch_offset)
    offsets.end_transaction(PRODUCER, is_commit=is_commit, marker_offset=MARKER)
    assert offsets.get(TP) == (at(5) if is_commit else None)
    assert offsets.is_pending(TP) and offsets.waits_for(PRODUCER)
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER + 2)
    assert offsets.get(TP) == at(6) and offsets.open_producers == set()
    assert not offsets.overtaken


def test_of_many_values_the_newest_one_before_each_marker_counts():
    offsets = GroupOffsets()
    for batch_offset in (1, 2, 4, 5, 7):
        offsets.appended(offsets.begin({TP: at(batch_offset)}, PRODUCER), batch_offset)
    for marker_offset, is_commit, found in ((3, True, at(2)), (6, False, at(2)), (8, True, at(7))):
        offsets.end_transaction(PRODUCER, is_commit=is_commit, marker_offset=marker_offset)
        assert offsets.get(TP) == found
    assert not offsets.overtaken and not offsets.is_pending(TP)


def test_an_overtaken_value_replaces_none_of_a_newer_batch():
    offsets = GroupOffsets()
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 6)
    offsets.appended(offsets.begin({TP: at(7)}), 7)
    offsets.appended(offsets.begin({TP: at(6)}, PRODUCER), MARKER + 1)
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.get(TP) == at(7)


def test_a_removed_offset_does_not_come_back_from_below_a_newer_one():
    offsets = GroupOffsets()
    for batch_offset in (7, MARKER + 1):
        offsets.appended(offsets.begin({TP: at(5), OTHER: at(5)}, PRODUCER), batch_offset)
    offsets.remove([TP])
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.get(TP) is None and offsets.get(OTHER) == at(5)


def test_values_without_a_marker_behind_them_are_dropped_once_they_are_overtaken():
    offsets = GroupOffsets()
    for batch_offset in (1, 4, 5, 7):
        offsets.appended(offsets.begin({TP: at(batch_offset)}, PRODUCER), batch_offset)
    offsets.drop_overtaken(PRODUCER, since=4)
    assert [found.batch_offset for _, found in offsets.overtaken[PRODUCER]] == [1]
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=3)
    assert offsets.get(TP) == at(1)
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=8)
    assert offsets.get(TP) == at(7)


def test_of_two_markers_the_first_one_behind_a_commit_decides():
    offsets = GroupOffsets()
    commit = offsets.begin({TP: at(5)}, PRODUCER)
    for marker_offset, is_commit in ((3, False), (5, True), (7, False)):
        offsets.end_transaction(PRODUCER, is_commit=is_commit, marker_offset=marker_offset)
    offsets.appended(commit, 4)
    assert offsets.get(TP) == at(5)


def test_an_offset_of_a_deleted_topic_does_not_come_back_with_its_transaction():
    offsets = GroupOffsets()
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 7)
    offsets.remove([TP])
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.is_empty


def test_an_offset_that_expires_takes_none_of_an_open_transaction_along():
    offsets = GroupOffsets()
    offsets.restore(TP, Committed(1, at(4)))
    offsets.appended(offsets.begin({TP: at(5)}, PRODUCER), 7)
    offsets.expire(offsets.expired(RETENTION_MS, RETENTION_MS, lambda value: value.commit_timestamp))
    assert offsets.get(TP) is None
    offsets.end_transaction(PRODUCER, is_commit=True, marker_offset=MARKER)
    assert offsets.get(TP) == at(5)


# --- deletion by an operator -----------------------------------------------------------------------------------------


def test_all_offsets_of_a_group_without_members_may_be_deleted():
    codes = dict.fromkeys([TP, OTHER], ErrorCode.NONE)
    assert may_delete_offsets(Scene().group, [TP, OTHER]) == (ErrorCode.NONE, codes)


def test_of_a_consumer_group_only_offsets_that_nobody_reads_may_be_deleted():
    scene = Scene()
    scene.stable()
    wanted = {TP: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, OTHER: ErrorCode.NONE}
    assert may_delete_offsets(scene.group, wanted) == (ErrorCode.NONE, wanted)


def test_what_a_group_reads_that_nobody_can_tell_may_not_be_deleted():
    scene = Scene()
    scene.stable(protocols=(("range", b"?"),))
    error, codes = may_delete_offsets(scene.group, [TP])
    assert (error, codes) == (ErrorCode.NONE, {TP: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC})
    other = Scene()
    other.stable(protocol_type="connect")
    assert may_delete_offsets(other.group, [TP]) == (ErrorCode.NON_EMPTY_GROUP, {})


def test_a_dead_group_has_no_offsets_to_delete():
    scene = Scene()
    scene.unload()
    assert may_delete_offsets(scene.group, [TP]) == (ErrorCode.GROUP_ID_NOT_FOUND, {})


# --- expiry ----------------------------------------------------------------------------------------------------------


def test_rule_61_offsets_of_a_group_with_members_stay_while_they_are_read():
    scene = with_offsets(Scene(initial_delay_ms=10), TP, OTHER)
    scene.stable(1, session_ms=100 * RETENTION_MS, rebalance_ms=1000)
    scene.advance(RETENTION_MS)
    assert expired(scene) == [OTHER], "nobody reads its topic any more"


def test_offsets_of_an_empty_group_expire_after_the_last_member_left():
    scene = with_offsets(Scene(initial_delay_ms=10), TP)
    (member,) = scene.stable(1, session_ms=100 * RETENTION_MS, rebalance_ms=1000)
    scene.advance(RETENTION_MS)
    scene.leave(member)
    assert expired(scene) == []
    scene.advance(RETENTION_MS)
    assert expired(scene) == [TP]


def test_offsets_without_members_expire_after_the_last_commit():
    scene = with_offsets(Scene(), TP)
    scene.advance(RETENTION_MS - 1)
    assert expired(scene) == []
    scene.advance(1)
    assert expired(scene) == [TP]


def test_nothing_expires_during_a_rebalance():
    scene = with_offsets(Scene(initial_delay_ms=10), TP)
    scene.stable(1, session_ms=100 * RETENTION_MS, rebalance_ms=100 * RETENTION_MS)
    scene.join()
    scene.advance(200_000)
    assert expired_offsets(scene.group, now_ms=2 * scene.clock.wall_ms(), retention_ms=1) == []


def test_an_offset_with_an_expiry_of_its_own_keeps_to_it():
    scene = Scene()
    scene.group.offsets.restore(TP, Committed(0, at(1, 0, scene.clock.wall_ms() + 5)))
    scene.advance(4)
    assert expired(scene) == []
    scene.advance(1)
    assert expired(scene) == [TP]


def test_an_offset_with_a_commit_on_its_way_does_not_expire():
    scene = with_offsets(Scene(), TP)
    scene.group.offsets.begin({TP: at(2)})
    scene.advance(2 * RETENTION_MS)
    assert expired(scene) == []
