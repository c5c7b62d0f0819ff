"""Blocks of producer ids that brokers take from ZooKeeper by themselves, under a protocol before 3.0."""

from contextlib import suppress

import gevent
import pytest

from kafka_zk.clock import SystemClock
from kafka_zk.coordinator.transaction.producer_id_znode import ZkProducerIds
from kafka_zk.coordinator.transaction.producer_ids import ProducerIdManager
from kafka_zk.protocol.errors import CoordinatorLoadInProgress, UnknownServerError
from kafka_zk.zk.producer_ids import BLOCK_SIZE, LARGEST_ID, following_block, take_block
from kafka_zk.zk.znodes import ProducerIdBlock, ProducerIdBlockZNode
from tests.simulation.model_zookeeper import ModelZooKeeper


@pytest.fixture
def server():
    return ModelZooKeeper().with_kafka_paths()


def manager(zk, broker_id):
    return ProducerIdManager(
        broker_id=broker_id, broker_epoch=lambda: 7, controller=ZkProducerIds(zk), clock=SystemClock()
    )


def test_two_brokers_never_take_the_same_block(server):
    clients = [server.client() for _ in range(2)]
    server.switch = lambda: gevent.sleep(0)
    takes = [gevent.spawn(take_block, clients[number % 2], number % 2) for number in range(20)]
    gevent.joinall(takes, raise_error=True)
    assert sorted(take.value.first for take in takes) == [BLOCK_SIZE * number for number in range(20)]
    assert all(take.value.last - take.value.first + 1 == BLOCK_SIZE for take in takes)


def test_a_producer_gets_its_id_without_the_controller_and_the_znode_says_whose_the_block_is(server):
    zk = server.client()
    ids = manager(zk, 3)
    waiting = [ids.next_producer_id() for _ in range(2)]
    assert [answer.result(5_000) for answer in waiting] == [0, 1]
    assert ProducerIdBlockZNode.decode(*zk.get(ProducerIdBlockZNode.PATH)) == ProducerIdBlock(3, 0, BLOCK_SIZE - 1)
    assert manager(server.client(), 4).next_producer_id().result(5_000) == BLOCK_SIZE


def test_a_znode_that_says_nothing_refuses_who_waits_until_it_is_repaired(server):
    zk = server.client()
    zk.set(ProducerIdBlockZNode.PATH, b"rubbish")
    ids = manager(zk, 3)
    with pytest.raises(CoordinatorLoadInProgress):
        ids.next_producer_id().result(5_000)
    zk.set(ProducerIdBlockZNode.PATH, b"")
    with gevent.Timeout(5):
        while True:
            answer = ids.next_producer_id()
            with suppress(CoordinatorLoadInProgress):
                assert answer.result(5_000) == 0
                return
            gevent.sleep(0.01)


def test_the_ids_end_where_64_bits_do():
    assert following_block(1, None) == ProducerIdBlock(1, 0, BLOCK_SIZE - 1)
    with pytest.raises(UnknownServerError):
        following_block(1, LARGEST_ID - BLOCK_SIZE)
