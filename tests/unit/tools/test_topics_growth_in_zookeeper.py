"""kafka-topics --alter --partitions beside somebody who changes the same topic, in a ZooKeeper in memory."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from kafka_zk.protocol.errors import InvalidPartitions
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.topics.zookeeper_changes import Change, _add_partitions
from kafka_zk.zk.operations import SetData
from kafka_zk.zk.registration import register_broker
from kafka_zk.zk.znodes import BrokerRegistration, PartitionReplicas, TopicAssignment, TopicZNode
from tests.simulation.model_zookeeper import ModelZooKeeper

PATH = TopicZNode.path("t")


def of_partitions(count: int) -> bytes:
    return TopicZNode.encode(TopicAssignment({i: PartitionReplicas((1,)) for i in range(count)}, UUID(int=5)))


def grown(at: int) -> tuple[bool, int]:
    """Whether somebody else made them four at the switch `at` of a growth to two; how many there are in the end."""
    zookeeper = ModelZooKeeper().with_kafka_paths()
    zk: Any = zookeeper.client()
    register_broker(zk, BrokerRegistration(1, ()))
    zookeeper.ensure(PATH, of_partitions(1))
    seen = 0

    def somebody_else() -> None:
        nonlocal seen
        if seen == at:
            zookeeper.apply(0, [SetData(PATH, of_partitions(4))])
        seen += 1

    zookeeper.switch = somebody_else
    with suppress(JavaError, InvalidPartitions):
        _add_partitions("t", Change({}, [], partition_count=2, assignment={}, disable_rack_aware=False), 2, zk)
    return seen > at, len(TopicZNode.decode(zookeeper.nodes[PATH].data).partitions)


def test_partitions_that_are_added_meanwhile_stay() -> None:
    outcomes = [grown(at) for at in range(10)]
    assert outcomes[0] == (True, 4)
    assert outcomes[-1] == (False, 2)
    assert set(outcomes) == {(True, 4), (False, 2)}
