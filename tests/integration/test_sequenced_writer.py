"""Records under sequences of the caller's: what a leader takes once, refuses, and tells of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_zk.client.range_writing.arrivals import Arrival, Arrivals, ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import Overtaken, SequencedWriter
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("sequences"), fresh_chroot(zookeeper, "sequences")).start()
    yield running
    running.stop()


def records(first: int, count: int, timestamp: int = -1) -> list[Record]:
    return [Record(0, timestamp, None, b"%d" % (first + n), (("h", None),)) for n in range(count)]


def test_a_leader_takes_noted_sequences_once(broker: OurBroker) -> None:
    clients = Librdkafka(broker.bootstrap)
    to = TopicPartition(clients.topic(partitions=1), 0)
    with SequencedWriter({"bootstrap.servers": broker.bootstrap, "compression.type": "gzip"}) as writer:
        identity = writer.new_identity()
        assert writer.decided_end(to) == 0
        assert writer.append(to, identity, 0, records(0, 3)) == [(0, 3)]
        assert writer.append(to, identity, 0, records(0, 3)) == [(0, 3)], "it was there already"
        assert writer.append(to, identity, 3, records(3, 2, timestamp=-86_400_000)) == [(3, 2)]
        with pytest.raises(Overtaken):
            writer.append(to, identity, 4, records(4, 2))
        following = ProducerIdentity(identity.producer_id, identity.epoch + 1)
        assert writer.append(to, following, 0, records(5, 1)) == [(5, 1)]
        with pytest.raises(Overtaken):
            writer.append(to, identity, 5, records(5, 1))
        assert writer.decided_end(to) == 6
        assert writer.arrived(to, 0, 6, identity) == Arrivals(5, (Arrival(0, 0, 3), Arrival(3, 3, 2)))
    messages = clients.read(to.topic, 6, partition=0)
    assert [message.value() for message in messages] == [b"%d" % n for n in range(6)]
    clients.close()


def test_a_batch_that_is_too_large_for_the_topic_goes_in_parts(broker: OurBroker) -> None:
    clients = Librdkafka(broker.bootstrap)
    to = TopicPartition(clients.topic(partitions=1, max_message_bytes=600), 0)
    with SequencedWriter({"bootstrap.servers": broker.bootstrap}) as writer:
        large = [Record(0, -1, None, b"x" * 200) for _ in range(5)]
        assert writer.append(to, writer.new_identity(), 0, large) == [(0, 2), (2, 1), (3, 2)]
    clients.close()
