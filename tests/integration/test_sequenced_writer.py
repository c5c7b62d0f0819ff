"""Records under sequences of the caller's: what a leader takes once, refuses, and tells of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.client.errors import DisconnectException
from kafka_zk.client.range_writing.arrivals import Arrival, Arrivals, ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import Overtaken, SequencedWriter
from kafka_zk.client.range_writing.shared_transaction import SharedTransaction
from kafka_zk.protocol.errors import ProducerFenced
from kafka_zk.protocol.messages.produce import PRODUCE_REQUEST
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
        assert writer.append(to, identity, 0, records(0, 3), behind=0) == [(0, 3)]
        assert writer.append(to, identity, 0, records(0, 3), behind=0) == [(0, 3)], "it was there already"
        assert writer.append(to, identity, 3, records(3, 2, timestamp=-86_400_000), behind=0) == [(3, 2)]
        with pytest.raises(Overtaken):
            writer.append(to, identity, 4, records(4, 2), behind=0)
        following = ProducerIdentity(identity.producer_id, identity.epoch + 1)
        assert writer.append(to, following, 0, records(5, 1), behind=0) == [(5, 1)]
        with pytest.raises(Overtaken):
            writer.append(to, identity, 5, records(5, 1), behind=0)
        assert writer.decided_end(to) == 6
        assert writer.arrived(to, 0, 6, identity) == Arrivals(5, (Arrival(0, 0, 3), Arrival(3, 3, 2)))
    messages = clients.read(to.topic, 6, partition=0)
    assert [message.value() for message in messages] == [b"%d" % n for n in range(6)]
    clients.close()


@pytest.mark.parametrize("days_old", [0, 2])
def test_what_a_leader_took_and_did_not_answer_before_it_was_killed_is_not_sent_again(
    zookeeper: ZooKeeperServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days_old: int
) -> None:
    """A producer all of whose records are older than a day has expired when the leader starts."""
    broker = OurBroker(tmp_path, fresh_chroot(zookeeper, "old-records")).start()
    clients = Librdkafka(broker.bootstrap)
    to = TopicPartition(clients.topic(partitions=1), 0)
    at = int(time.time() * 1000) - days_old * 86_400_000
    lost: list[int] = []
    asked = SequencedWriter._asked

    def answer_is_lost(writer: SequencedWriter, node_id: int, request: Any, *more: Any) -> Any:
        answers, errors = asked(writer, node_id, request, *more)
        if request is not PRODUCE_REQUEST or lost:
            return answers, errors
        base_offset = answers[0].responses[0].partition_responses[0].base_offset
        if not base_offset:
            return answers, errors
        lost.append(base_offset)
        broker.kill()
        broker.start()
        return [], [DisconnectException("the leader is gone")]

    monkeypatch.setattr(SequencedWriter, "_asked", answer_is_lost)
    try:
        with SequencedWriter({"bootstrap.servers": broker.bootstrap}) as writer:
            identity, behind = writer.new_identity(), 0
            for sequence in (0, 2, 4):
                assert writer.append(to, identity, sequence, records(sequence, 2, at), behind=behind) == [(sequence, 2)]
                behind = sequence + 2
            assert writer.decided_end(to) == 6
        assert lost == [2]
    finally:
        clients.close()
        broker.stop()


def test_a_batch_that_is_too_large_for_the_topic_goes_in_parts(broker: OurBroker) -> None:
    clients = Librdkafka(broker.bootstrap)
    to = TopicPartition(clients.topic(partitions=1, max_message_bytes=600), 0)
    with SequencedWriter({"bootstrap.servers": broker.bootstrap}) as writer:
        large = [Record(0, -1, None, b"x" * 200) for _ in range(5)]
        assert writer.append(to, writer.new_identity(), 0, large, behind=0) == [(0, 2), (2, 1), (3, 2)]
    clients.close()


def test_a_shared_transaction_knows_whether_another_has_begun(broker: OurBroker) -> None:
    clients = Librdkafka(broker.bootstrap)
    to = TopicPartition(clients.topic(partitions=1), 0)
    clients.close()
    client = {"bootstrap.servers": broker.bootstrap}
    with SharedTransaction(client, to.topic) as first:
        first.begin()
        assert not first.is_ended_by_others()
        first.add([to])
        assert not first.is_ended_by_others()
        with SharedTransaction(client, to.topic) as second:
            second.begin()
            assert first.is_ended_by_others() and not second.is_ended_by_others()
            with pytest.raises(ProducerFenced):
                first.commit()
            assert first.is_taken_over()
