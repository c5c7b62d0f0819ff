"""Committed offsets of a group: what is valid when, and what expires (KIP-211)."""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.expiry import expired_offsets
from kafka_zk.coordinator.group.decisions.offsets import Committed, GroupOffsets, OffsetAndMetadata
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.scene import Scene

TP = TopicPartition("t", 0)
OTHER = TopicPartition("unread", 0)
RETENTION_MS = 1_000_000


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
    offsets, commit = GroupOffsets(), {TP: at(5)}
    offsets.begin(commit)
    assert offsets.get(TP) is None and offsets.is_pending(TP) and not offsets.is_empty
    offsets.appended(commit, 7)
    assert offsets.get(TP) == at(5) and not offsets.is_pending(TP)


def test_a_failed_commit_leaves_the_old_offset_and_nothing_pending():
    offsets, commit = GroupOffsets(), {TP: at(5)}
    offsets.restore(TP, Committed(1, at(4)))
    offsets.begin(commit)
    offsets.failed(commit)
    assert offsets.get(TP) == at(4) and not offsets.is_pending(TP)


def test_commits_that_overtake_each_other_end_with_the_one_that_is_last_in_the_log():
    offsets, first, second = GroupOffsets(), {TP: at(5)}, {TP: at(6)}
    offsets.begin(first)
    offsets.begin(second)
    offsets.appended(second, 9)
    assert not offsets.is_pending(TP)
    offsets.appended(first, 8)
    assert offsets.get(TP) == at(6)


def test_an_offset_of_a_deleted_topic_does_not_come_back_with_a_late_append():
    """KAFKA-2000, KAFKA-15784."""
    offsets, commit = GroupOffsets(), {TP: at(5)}
    offsets.begin(commit)
    assert offsets.remove([TP]) == []
    offsets.appended(commit, 1)
    assert offsets.get(TP) is None and offsets.is_empty


def test_offsets_of_a_group_with_members_stay_while_they_are_read():
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
