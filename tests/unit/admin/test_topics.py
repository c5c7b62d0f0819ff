"""Topics made and enlarged in a ZooKeeper in memory: what is checked first, and what is written."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

import pytest

from kafka_zk.admin.topics import BeforeChange, NewTopic
from kafka_zk.protocol.errors import BrokerError, InvalidPartitions, TopicAlreadyExists
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.zk.operations import SetData
from kafka_zk.zk.topics import topic_assignment
from kafka_zk.zk.znodes import ConfigEntityZNode, TopicZNode

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


@pytest.mark.parametrize(("protocol", "has_id"), [("2.7", False), ("2.8", True)])
def test_before_protocol_2_8_a_topic_has_no_id(protocol: str, has_id: bool) -> None:
    cluster = Cluster(**{"inter.broker.protocol.version": protocol})
    created = cluster.admin.create(NewTopic("t", 1, 1))
    written = topic_assignment(cluster.zk, "t")
    assert written is not None
    assert (written.topic_id is not None, created.topic_id != NULL_UUID) == (has_id, has_id)


class Rivals:
    """One broker creates `t`; at the switch with this number another one does the same, in one go.

    Or it has come no further than the `half_way` of Apache's: the config, not yet the topic.
    """

    def __init__(self, at: int, *, left_behind: bool = False, half_way: bool = False) -> None:
        self.cluster = Cluster()
        self.at = at
        self.half_way = half_way
        self.seen = 0
        self.created: dict[str, UUID] = {}
        if left_behind:
            self.cluster.zookeeper.ensure("/config/topics/t", ConfigEntityZNode.encode({"retention.ms": "1"}))
        self.cluster.zookeeper.switch = self._switch
        self._create("5")

    def _switch(self) -> None:
        self.seen += 1
        if self.seen != self.at + 1:
            return
        if self.half_way:
            self.cluster.zookeeper.ensure("/config/topics/t")
            self.cluster.zookeeper.apply(0, [SetData("/config/topics/t", ConfigEntityZNode.encode({}))])
        else:
            self._create("7")

    def _create(self, retention_ms: str) -> None:
        topic = NewTopic("t", 1, 1, configs=[("retention.ms", retention_ms)])
        with suppress(TopicAlreadyExists):
            self.created[retention_ms] = self.cluster.admin.create(topic).topic_id

    def stored(self) -> tuple[str, UUID | None]:
        """The config and the topic id."""
        nodes = self.cluster.zookeeper.nodes
        config = ConfigEntityZNode.decode(nodes["/config/topics/t"].data)
        return config["retention.ms"], TopicZNode.decode(nodes["/brokers/topics/t"].data).topic_id


@pytest.mark.parametrize("left_behind", [False, True], ids=["", "an earlier config is left"])
def test_of_two_who_create_a_topic_at_once_one_wins_with_its_config(left_behind: bool) -> None:
    alone = Rivals(-1, left_behind=left_behind)
    for at in range(alone.seen):
        rivals = Rivals(at, left_behind=left_behind)
        assert [rivals.stored()] == list(rivals.created.items()), f"the other came before step {at}"


def test_a_config_that_another_has_just_written_for_its_own_topic_is_not_ours() -> None:
    steps = Rivals(-1).seen
    for at in range(steps - 1):
        assert Rivals(at, half_way=True).stored()[0] == "5", f"the other came before step {at}"


def test_a_topic_that_nobody_else_creates_has_the_versions_of_apaches() -> None:
    nodes = Rivals(-1).cluster.zookeeper.nodes
    assert (nodes["/config/topics/t"].version, nodes["/brokers/topics/t"].version) == (0, 0)
    nodes = Rivals(-1, left_behind=True).cluster.zookeeper.nodes
    assert (nodes["/config/topics/t"].version, nodes["/brokers/topics/t"].version) == (1, 0)


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
