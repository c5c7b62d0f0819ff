"""A partition with open, committed and aborted transactions goes from Apache's broker to ours and back: readers of
committed data get the same records from each leader, and come to the same end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, Producer, TopicPartition

from tests.interop.test_replication_with_apache import APACHE, OURS, MixedCluster, values
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S
from tests.support.markers import wait_for_markers
from tests.support.processes import wait_until

TOPIC = "in-transactions"


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str) -> Iterator[MixedCluster]:
    made = MixedCluster(tmp_path, zookeeper_connect)
    yield made
    made.stop()


def begun(cluster: MixedCluster, transactional_id: str, count: int) -> Producer:
    """A transaction that is open, with so many records."""
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id, "linger.ms": 0}
    producer = Producer({**settings, "transaction.timeout.ms": 900_000})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for number in range(count):
        producer.produce(TOPIC, f"{transactional_id} {number}")
    assert producer.flush(PATIENCE_S) == 0
    return producer


def read_to_the_end(cluster: MixedCluster, begin: int = OFFSET_BEGINNING) -> tuple[list[tuple[int, str]], int]:
    """Offset and value of each committed record, and where a reader meets the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, begin)])
    found: list[tuple[int, str]] = []
    while True:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"no end after {found}"
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            consumer.close()
            return found, message.offset()
        found.append((message.offset(), message.value().decode()))


def test_readers_of_committed_data_see_the_same_from_each_leader(cluster: MixedCluster) -> None:
    cluster.create(TOPIC, [APACHE, OURS])
    begun(cluster, "committed", 3).commit_transaction(PATIENCE_S)
    begun(cluster, "aborted", 4).abort_transaction(PATIENCE_S)
    ending, open_one = begun(cluster, "aborted later", 2), begun(cluster, "open", 2)
    begun(cluster, "hidden by the open one", 1).commit_transaction(PATIENCE_S)
    ending.abort_transaction(PATIENCE_S)
    wait_for_markers(cluster.bootstrap)
    cluster.produce(TOPIC, values(0, 5))
    wait_until(lambda: cluster.isr(TOPIC) == [OURS, APACHE], "both have everything")
    seen = read_to_the_end(cluster)
    assert [value for _, value in seen[0]] == [f"committed {number}" for number in range(3)]
    assert read_to_the_end(cluster, OFFSET_END) == ([], seen[1])

    cluster.apache.stop()
    wait_until(lambda: cluster.leader(TOPIC) == OURS, "ours leads")
    assert read_to_the_end(cluster) == seen
    assert read_to_the_end(cluster, OFFSET_END) == ([], seen[1])

    cluster.apache.start()
    wait_until(lambda: cluster.isr(TOPIC) == [OURS, APACHE], "Apache's broker is in sync again")
    cluster.ours.kill()
    wait_until(lambda: cluster.leader(TOPIC) == APACHE, "Apache's broker leads")
    assert read_to_the_end(cluster) == seen

    cluster.ours.start()
    wait_until(lambda: cluster.isr(TOPIC) == [OURS, APACHE], "ours is in sync again")
    open_one.abort_transaction(PATIENCE_S)
    wait_for_markers(cluster.bootstrap)
    ended = [value for _, value in read_to_the_end(cluster)[0]]
    written = [value.decode() for value in values(0, 5)]
    assert ended == [*(f"committed {number}" for number in range(3)), "hidden by the open one 0", *written]
    wait_until(lambda: cluster.data(cluster.ours, TOPIC) == cluster.data(cluster.apache, TOPIC), "equal bytes")
    wait_until(lambda: aborted_in(cluster.ours) == aborted_in(cluster.apache), "equal indexes of aborted transactions")


def aborted_in(broker: ApacheBroker | OurBroker) -> dict[str, bytes]:
    """The indexes of aborted transactions."""
    return {path.name: path.read_bytes() for path in broker.log_dir.glob(f"{TOPIC}-0/*.txnindex")}
