"""A broker that was killed between the decision of a transaction and its markers writes them after its next start."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from kafka_zk.client import KafkaConsumer, KafkaProducer
from kafka_zk.coordinator.placement import Placement
from kafka_zk.coordinator.transaction.decisions.records import LogReplay, transaction_key, transaction_value
from kafka_zk.coordinator.transaction.decisions.states import TransactionState
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from tests.support import wire
from tests.support.broker import FOR_ONE_BROKER, OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

TOPICS = [f"t{number}" for number in range(5)]
ID = "killed"
BYTES = "org.apache.kafka.common.serialization.ByteArray"
SERIALIZERS = {f"{part}.serializer": f"{BYTES}Serializer" for part in ("key", "value")}
DESERIALIZERS = {f"{part}.deserializer": f"{BYTES}Deserializer" for part in ("key", "value")}


def decide(log_dir: Path) -> None:
    """Write the decision to commit behind what the coordinator has stored, as if it was killed right after that."""
    partition = Placement(int(FOR_ONE_BROKER["transaction.state.log.num.partitions"])).partition_for(ID)
    (log,) = (log_dir / f"__transaction_state-{partition}").glob("*.log")
    stored = list(batches(log.read_bytes()))
    replay = LogReplay()
    for batch in stored:
        replay.apply(batch)
    (transaction,) = replay.transactions()
    assert transaction.state is TransactionState.ONGOING
    change = transaction.end(TransactionState.PREPARE_COMMIT, transaction.updated_ms + 1)
    header = stored[-1].header
    record = Record(0, change.updated_ms, transaction_key(ID), transaction_value(change))
    batch = build_batch([record], base_offset=header.next_offset, leader_epoch=header.partition_leader_epoch)
    with log.open("ab") as file:
        file.write(batch)


def committed_values(broker: OurBroker, count: int) -> list[bytes]:
    """`count` values of what readers of committed records see, sorted."""
    values: list[bytes] = []
    config = {
        "bootstrap.servers": broker.bootstrap,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        **DESERIALIZERS,
    }
    with closing(KafkaConsumer(config)) as consumer:
        consumer.assign([TopicPartition(topic, 0) for topic in TOPICS])

        def has_all() -> bool:
            values.extend(record.value for record in consumer.poll(0.1))
            return len(values) >= count

        wait_until(has_all, f"{count} records are committed")
    return sorted(values)


def test_the_markers_of_what_was_decided_before_a_kill_are_written(tmp_path: Path, zookeeper_connect: str) -> None:
    """Its leaderships come before the metadata: what that does not have yet was not deleted."""
    broker = OurBroker(tmp_path, zookeeper_connect).start()
    try:
        with RawClient(broker.bootstrap) as client:
            for topic in TOPICS:
                wire.create_topic(client, topic, 1)
        for life in range(2):
            producer = KafkaProducer({"bootstrap.servers": broker.bootstrap, "transactional.id": ID, **SERIALIZERS})
            producer.init_transactions()
            producer.begin_transaction()
            for topic in TOPICS:
                producer.send(topic, b"%d" % life).result(60)
            broker.kill()
            decide(broker.log_dir)
            broker.start()
            assert committed_values(broker, len(TOPICS) * (life + 1)) == sorted(
                b"%d" % each for each in range(life + 1) for _ in TOPICS
            )
            producer.close(0)
    finally:
        broker.kill()
