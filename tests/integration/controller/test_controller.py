"""Our controller over a real ZooKeeper and real sockets."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from kafka_zk.controller import events
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk import cluster
from kafka_zk.zk.topics import create_topic, mark_for_deletion, partition_leaderships, topic_names
from kafka_zk.zk.znodes import PartitionReplicas, TopicAssignment
from tests.integration.conftest import ConnectZk
from tests.integration.controller.listening_broker import ListeningBroker
from tests.support.zookeeper import ZooKeeperServer, eventually, expire

PARTITION = TopicPartition("t", 0)
TOPIC_ID = uuid.UUID(int=77)

StartBroker = Callable[[int], ListeningBroker]


@pytest.fixture
def start_broker(connect_zk: ConnectZk) -> Iterator[StartBroker]:
    brokers: list[ListeningBroker] = []

    def start(broker_id: int) -> ListeningBroker:
        zk = connect_zk()
        cluster.create_top_level_paths(zk)
        broker = ListeningBroker(broker_id, zk)
        brokers.append(broker)
        return broker.start()

    yield start
    for broker in brokers:
        broker.stop()


def make_topic(broker: ListeningBroker, *replicas: int) -> None:
    create_topic(broker.zk, "t", TopicAssignment({0: PartitionReplicas(replicas)}, TOPIC_ID), {})


def test_the_first_broker_becomes_controller_and_talks_to_itself_over_its_socket(start_broker: StartBroker) -> None:
    broker = start_broker(1)
    eventually(lambda: broker.told.requests)
    assert broker.controller.is_active
    assert broker.controller.controller_epoch == 1
    assert broker.zk.get("/controller_epoch")[0] == b"1"
    assert isinstance(broker.told.requests[0], UpdateMetadataRequest)
    assert broker.headers[0] == (6, 8, "1")
    assert broker.told.live_brokers == [1]


def test_a_topic_made_in_zookeeper_gets_a_leader_and_is_announced(start_broker: StartBroker) -> None:
    broker = start_broker(1)
    eventually(lambda: broker.controller.is_active)
    make_topic(broker, 1)
    eventually(lambda: PARTITION in broker.told.metadata)
    state = partition_leaderships(broker.zk, [PARTITION])[PARTITION]
    assert (state.leader, state.isr, state.leader_epoch, state.controller_epoch) == (1, (1,), 0, 1)
    (request,) = [request for request in broker.told.requests if isinstance(request, LeaderAndIsrRequest)]
    assert request.topic_states[0].topic_id == TOPIC_ID
    assert request.topic_states[0].partition_states[0].is_new
    assert (4, 7, "1") in broker.headers


def test_a_deleted_topic_vanishes_from_zookeeper(start_broker: StartBroker) -> None:
    broker = start_broker(1)
    eventually(lambda: broker.controller.is_active)
    make_topic(broker, 1)
    eventually(lambda: PARTITION in broker.told.hosted)
    mark_for_deletion(broker.zk, "t")
    eventually(lambda: topic_names(broker.zk) == [] and broker.zk.exists("/admin/delete_topics/t") is None)
    assert broker.zk.exists("/config/topics/t") is None
    assert (broker.told.hosted, broker.told.metadata) == ({}, {})


def test_after_an_expired_session_another_broker_is_the_controller(
    start_broker: StartBroker, zookeeper: ZooKeeperServer
) -> None:
    first = start_broker(1)
    eventually(lambda: first.controller.is_active)
    second = start_broker(2)
    make_topic(first, 1, 2)
    eventually(lambda: PARTITION in second.told.hosted)
    old_epoch = first.told.epoch
    expire(zookeeper, first.zk)
    eventually(lambda: second.controller.is_active and not first.controller.is_active)
    eventually(lambda: first.told.epoch > old_epoch and first.told.live_brokers == [1, 2])
    assert second.controller.controller_epoch == 2
    eventually(lambda: first.controller.active_controller_id == 2)
    state = partition_leaderships(second.zk, [PARTITION])[PARTITION]
    eventually(lambda: first.told.hosted[PARTITION] == (state.leader, state.leader_epoch))


def test_a_lonely_controller_whose_session_expired_is_elected_again(
    start_broker: StartBroker, zookeeper: ZooKeeperServer
) -> None:
    broker = start_broker(1)
    eventually(lambda: broker.controller.is_active)
    make_topic(broker, 1)
    eventually(lambda: PARTITION in broker.told.hosted)
    expire(zookeeper, broker.zk)
    eventually(lambda: broker.controller.controller_epoch == 2)
    eventually(lambda: broker.told.controller_epoch == 2)
    pending = broker.controller.submit(events.AllocateProducerIds(1, broker.told.epoch))
    assert pending.result(10_000) == (0, 1000)


def test_a_controller_survives_a_zookeeper_that_was_away(start_broker: StartBroker, zookeeper: ZooKeeperServer) -> None:
    broker = start_broker(1)
    eventually(lambda: broker.controller.is_active)
    zookeeper.stop()
    zookeeper.start()
    eventually(lambda: broker.zk.state == "CONNECTED")
    make_topic(broker, 1)
    eventually(lambda: PARTITION in broker.told.hosted)


def test_the_next_broker_takes_over_from_one_that_stopped(start_broker: StartBroker) -> None:
    first = start_broker(1)
    eventually(lambda: first.controller.is_active)
    second = start_broker(2)
    eventually(lambda: second.told.live_brokers == [1, 2])
    first.stop()
    first.zk.close()
    eventually(lambda: second.controller.is_active)
    eventually(lambda: second.told.live_brokers == [2])
