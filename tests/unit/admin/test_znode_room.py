"""Topics that ZooKeeper cannot hold: refused by their count or size, before anything is built or written."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafka_zk.admin import topics
from kafka_zk.admin.topics import NewTopic
from kafka_zk.admin.znode_room import check_fits, digits_of_indexes, partitions_that_fit
from kafka_zk.protocol.errors import InvalidPartitions
from kafka_zk.zk.limits import room_for_data
from kafka_zk.zk.znodes import PartitionReplicas, TopicAssignment, TopicZNode

from .given import Cluster

LARGEST = 2**31 - 1
MAX_BYTES = 20_000


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.zk.max_request_bytes = MAX_BYTES
    return made


def spread(count: int, *, brokers: int = 3, factor: int = 3, first: int = 1) -> TopicAssignment:
    replicas = {i: PartitionReplicas(tuple(first + (i + k) % brokers for k in range(factor))) for i in range(count)}
    return TopicAssignment(replicas, UUID(int=5))


def refused_with(error: pytest.ExceptionInfo[InvalidPartitions]) -> int:
    """The number that would fit."""
    return int(str(error.value).rpartition("holds ")[2].split()[0])


def never(*_: object, **__: object) -> Any:
    raise AssertionError("an assignment is built")


def test_a_number_that_cannot_fit_is_refused_without_an_assignment(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched, pytest.raises(InvalidPartitions, match=r"jute\.maxbuffer") as refused:
        patched.setattr(topics, "assign_replicas", never)
        cluster.admin.create(NewTopic("t", LARGEST, 3))
    assert cluster.zookeeper.writes == []
    fitting = refused_with(refused)
    with pytest.raises(InvalidPartitions) as one_more:
        cluster.admin.create(NewTopic("t", fitting + 1, 3))
    assert refused_with(one_more) == fitting
    assert cluster.zookeeper.writes == []
    assert cluster.admin.create(NewTopic("t", fitting, 3)).partition_count == fitting
    size = len(cluster.zookeeper.nodes["/brokers/topics/t"].data or b"")
    room = room_for_data("/brokers/topics/t", max_bytes=MAX_BYTES)
    assert room - 20 < size <= room < MAX_BYTES


def test_a_topic_does_not_grow_beyond_what_fits(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.admin.create(NewTopic("t", 1, 3))
    cluster.zookeeper.writes.clear()
    with monkeypatch.context() as patched, pytest.raises(InvalidPartitions) as refused:
        patched.setattr(topics, "assign_more_replicas", never)
        cluster.admin.add_partitions("t", total_count=LARGEST, given=None, validate_only=False)
    fitting = refused_with(refused)
    with pytest.raises(InvalidPartitions):
        cluster.admin.add_partitions("t", total_count=fitting + 1, given=None, validate_only=True)
    assert cluster.zookeeper.writes == []
    cluster.admin.add_partitions("t", total_count=fitting, given=None, validate_only=False)


def test_an_assignment_by_hand_is_refused_with_the_number_of_its_partitions_that_fit(cluster: Cluster) -> None:
    by_hand = {index: [1, 2, 3] for index in range(2_000)}
    with pytest.raises(InvalidPartitions, match="2000 partitions"):
        cluster.admin.create(NewTopic("t", assignment=by_hand))
    assert cluster.zookeeper.writes == []


@pytest.mark.parametrize("brokers", [(1, 3), (98, 5), (999_999, 7)])
@pytest.mark.parametrize("factor", [1, 3])
@pytest.mark.parametrize("room", [300, 5_000, 40_000])
def test_the_number_that_fits_is_what_the_znode_holds(brokers: tuple[int, int], factor: int, room: int) -> None:
    first, count = brokers
    whole = spread(room // 8, brokers=count, factor=factor, first=first)
    with pytest.raises(InvalidPartitions) as refused:
        check_fits("t", whole, room)
    fitting = refused_with(refused)
    kept = {index: whole.partitions[index] for index in range(fitting + 1)}
    assert len(TopicZNode.encode(TopicAssignment(kept, whole.topic_id))) > room
    del kept[fitting]
    assert len(TopicZNode.encode(TopicAssignment(kept, whole.topic_id))) <= room
    check_fits("t", TopicAssignment(kept, whole.topic_id), room)
    ids = range(first, first + count)
    assert abs(partitions_that_fit(room, broker_ids=ids, replication_factor=factor) - fitting) <= 1


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 100, 101, 1234, 100_000])
def test_the_digits_of_indexes_are_counted(count: int) -> None:
    assert digits_of_indexes(count) == sum(len(str(index)) for index in range(count))
