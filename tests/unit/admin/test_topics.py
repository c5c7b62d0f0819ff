"""Topics made and enlarged in a ZooKeeper in memory: what is checked first, and what is written."""

from __future__ import annotations

import pytest

from kafka_zk.admin.topics import BeforeChange, NewTopic
from kafka_zk.protocol.errors import BrokerError, InvalidPartitions, TopicAlreadyExists
from kafka_zk.zk.topics import topic_assignment

from .given import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.mark.parametrize(
    "wrong",
    [
        NewTopic("a b", 1, 1),
        NewTopic("", 1, 1),
        NewTopic("t", 0, 1),
        NewTopic("t", 1, 4),
        NewTopic("t", 1, 1, configs=[("retention.ms", "soon")]),
        NewTopic("t", 1, 1, configs=[("no.such.key", "1")]),
        NewTopic("t", 1, 1, configs=[("retention.ms", None), ("retention.ms", "5")]),
        NewTopic("t", -1, -1, assignment={0: [1, 1]}),
        NewTopic("t", -1, -1, assignment={0: [1], 1: [1, 2]}),
        NewTopic("t", 2, 1, assignment={0: [1]}),
    ],
    ids=str,
)
def test_rule_15_a_refused_topic_leaves_zookeeper_untouched(cluster: Cluster, wrong: NewTopic) -> None:
    with pytest.raises(BrokerError):
        cluster.admin.create(wrong)
    assert cluster.zookeeper.writes == []


def test_a_topics_config_is_written_before_the_topic(cluster: Cluster) -> None:
    cluster.admin.create(NewTopic("t", 2, 3, configs=[("retention.ms", "5")]))
    paths = [operation.path for operation in cluster.zookeeper.writes if operation.path.endswith("/t")]
    assert paths == ["/config/topics/t", "/brokers/topics/t"]


def test_validating_only_writes_nothing(cluster: Cluster) -> None:
    created = cluster.admin.create(NewTopic("t", 2, 3), validate_only=True)
    assert (created.partition_count, created.replication_factor) == (2, 3)
    assert cluster.zookeeper.writes == []


def test_a_name_that_would_share_its_metrics_with_another_is_refused(cluster: Cluster) -> None:
    cluster.admin.create(NewTopic("a.b", 1, 1))
    with pytest.raises(BrokerError, match="collide"):
        cluster.admin.create(NewTopic("a_b", 1, 1))


def test_a_topic_in_deletion_is_not_made_again_yet(cluster: Cluster) -> None:
    cluster.admin.delete("t")
    with pytest.raises(TopicAlreadyExists, match="marked for deletion"):
        cluster.admin.create(NewTopic("t", 1, 1))


def test_rule_19_a_topic_that_grows_keeps_its_id(cluster: Cluster) -> None:
    created = cluster.admin.create(NewTopic("t", 1, 2))
    cluster.admin.add_partitions("t", total_count=3, given=None, validate_only=False)
    grown = topic_assignment(cluster.zk, "t")
    assert grown is not None
    assert (grown.topic_id, sorted(grown.partitions)) == (created.topic_id, [0, 1, 2])


def test_a_topic_never_shrinks(cluster: Cluster) -> None:
    cluster.admin.create(NewTopic("t", 2, 1))
    before = list(cluster.zookeeper.writes)
    with pytest.raises(InvalidPartitions):
        cluster.admin.add_partitions("t", total_count=1, given=None, validate_only=False)
    assert cluster.zookeeper.writes == before


def partition_count(cluster: Cluster) -> int:
    found = topic_assignment(cluster.zk, "t")
    assert found is not None
    return len(found.partitions)


def test_two_who_let_a_topic_grow_at_once_do_not_undo_each_other(cluster: Cluster) -> None:
    cluster.admin.create(NewTopic("t", 1, 1))

    def grow(total_count: int, before_change: BeforeChange = lambda count: None) -> None:
        cluster.admin.add_partitions(
            "t", total_count=total_count, given=None, validate_only=False, before_change=before_change
        )

    with pytest.raises(InvalidPartitions, match="currently has 3 partitions"):
        grow(2, lambda count: grow(3))
    assert partition_count(cluster) == 3
    grow(5, lambda count: grow(4))
    assert partition_count(cluster) == 5


def test_a_topic_grows_also_by_a_write_that_is_sent_twice(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.admin.create(NewTopic("t", 1, 1))
    set_once = cluster.zk.set

    def set_twice(*arguments: object) -> None:
        set_once(*arguments)
        set_once(*arguments)

    monkeypatch.setattr(cluster.zk, "set", set_twice)
    cluster.admin.add_partitions("t", total_count=2, given=None, validate_only=False)
    assert partition_count(cluster) == 2
