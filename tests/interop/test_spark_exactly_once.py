"""A streaming query into a topic with exactlyOnce: tries that are repeated, too late, side by side, or killed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.errors import ProducerFenced
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.kafka.exactly_once import Part, PartWriter
from kafka_zk.spark.sources.kafka.write_settings import WriteSettings
from kafka_zk.spark.sources.kafka.writer import SERIALIZERS, write_part
from tests.support.apache import ApacheBroker, topics
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S
from tests.support.our_consumer import Consumers, poll_until
from tests.support.processes import ChildProcess
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Broker = ApacheBroker | OurBroker
KINDS = [ApacheBroker, OurBroker]
PARTITIONS = 2
COUNT = 4000


@pytest.fixture(scope="module", params=KINDS)
def broker(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    running = request.param(tmp_path_factory.mktemp("sink"), fresh_chroot(zookeeper, "exactly-once")).start()
    yield running
    running.stop()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    return created(broker, request.node.originalname[-80:])


def created(broker: Broker, name: str) -> str:
    ran = topics(broker.bootstrap, "--create", "--topic", name, "--partitions", str(PARTITIONS))
    assert ran.exit_code == 0, ran
    return name


@pytest.fixture
def consumers(broker: Broker) -> Iterator[Consumers]:
    with Consumers(broker.bootstrap) as made:
        yield made


def values(consumers: Consumers, topic: str) -> list[str]:
    """What was committed, sorted."""
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    consumer = consumers(isolation_level="read_committed")
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    found = poll_until([consumer], lambda: all(consumer.position(each) >= ends[each] for each in partitions))
    return sorted(record.value for record in found)


def rows(*texts: str) -> Iterator[pa.RecordBatch]:
    return iter([pa.RecordBatch.from_pydict({"value": [text]}) for text in texts])


class Sink:
    """What Spark calls in a task, for one query."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.client = {"bootstrap.servers": broker.bootstrap}
        self.topic = topic
        self._settings = WriteSettings(self.client, topic, ("value",), exactly_once=True)

    def part(self, batch_id: int, task: int = 0) -> Part:
        return Part(self.topic, batch_id, task)

    def write(self, part: Part, *texts: str) -> None:
        write_part(self._settings, rows(*texts), part)

    def producer(self, part: Part) -> KafkaProducer:
        return KafkaProducer({**self.client, **SERIALIZERS, "transactional.id": part.name})


@pytest.fixture
def sink(broker: Broker, topic: str) -> Sink:
    return Sink(broker, topic)


def test_a_part_that_was_committed_is_not_written_again(sink: Sink, consumers: Consumers) -> None:
    sink.write(sink.part(0), "a", "b")
    sink.write(sink.part(0, task=1), "c")
    # The driver was killed before it noted the batch.
    sink.write(sink.part(0), "b", "a")
    sink.write(sink.part(0, task=1), "c")
    sink.write(sink.part(1), "a", "d")
    assert values(consumers, sink.topic) == ["a", "a", "b", "c", "d"]


def test_a_try_that_comes_too_late_writes_nothing(sink: Sink, consumers: Consumers) -> None:
    with sink.producer(sink.part(0)) as producer:
        zombie = PartWriter(producer, sink.client, sink.part(0), sink.topic)
        producer.send(sink.topic, b"zombie").result(PATIENCE_S)
        sink.write(sink.part(0), "a")
        with pytest.raises(ProducerFenced):
            zombie.finish()
    sink.write(sink.part(1), "b")
    # One that begins late finds that it is late.
    sink.write(sink.part(0), "a")
    assert values(consumers, sink.topic) == ["a", "b"]


def test_two_tries_side_by_side_write_once(sink: Sink, consumers: Consumers) -> None:
    with sink.producer(sink.part(0)) as slow, sink.producer(sink.part(0)) as quick:
        first = PartWriter(slow, sink.client, sink.part(0), sink.topic)
        slow.send(sink.topic, b"a").result(PATIENCE_S)
        second = PartWriter(quick, sink.client, sink.part(0), sink.topic)
        quick.send(sink.topic, b"a").result(PATIENCE_S)
        with pytest.raises(ProducerFenced):
            first.finish()
        second.finish()
    assert values(consumers, sink.topic) == ["a"]


def test_a_part_whose_rows_have_changed_is_refused(sink: Sink, consumers: Consumers) -> None:
    sink.write(sink.part(0), "a", "b")
    with pytest.raises(SourceError, match=r"Task 0 of batch 0 wrote other rows to .* before"):
        sink.write(sink.part(0), "a", "c")
    assert values(consumers, sink.topic) == ["a", "b"]


def test_a_part_that_fails_half_way_leaves_nothing(sink: Sink, consumers: Consumers) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows("a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_part(sink._settings, failing(), sink.part(0))
    with pytest.raises(SourceError, match=r"Could not write a record for .*The message is 2000088 bytes"):
        sink.write(sink.part(0), "a", "x" * 2_000_000, "b")
    sink.write(sink.part(0), "a", "b")
    assert values(consumers, sink.topic) == ["a", "b"]


def fill(broker: Broker, source: str) -> list[str]:
    with KafkaProducer({"bootstrap.servers": broker.bootstrap, **SERIALIZERS, "linger.ms": 5}) as producer:
        for number in range(COUNT):
            producer.send(source, b"%06d" % number, partition=number % PARTITIONS)
    return [f"{number:06}" for number in range(COUNT)]


def copy(session: SparkSession, bootstrap: str, source: str, target: str, checkpoint: str, per_batch: int) -> Any:
    """A query that copies what is there in small batches; started."""
    from kafka_zk.spark import register

    register(session)
    given = {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest", "subscribe": source}
    reading = session.readStream.format("kafka_zk").options(**given).option("maxOffsetsPerTrigger", per_batch)
    writing = reading.load().select("value").writeStream.format("kafka_zk").option("exactlyOnce", "true")
    writing = writing.option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    return writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


def test_a_batch_that_is_repeated_writes_nothing_twice(
    spark: SparkSession, broker: Broker, consumers: Consumers, topic: str, tmp_path: Path
) -> None:
    source, checkpoint = created(broker, f"{topic}-source"), tmp_path / "checkpoint"
    expected = fill(broker, source)
    copy(spark, broker.bootstrap, source, topic, str(checkpoint), COUNT // 4).awaitTermination()
    assert values(consumers, topic) == expected
    # As if the driver had been killed before it noted the last batch.
    last = max((path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()), key=lambda p: int(p.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    copy(spark, broker.bootstrap, source, topic, str(checkpoint), COUNT // 4).awaitTermination()
    assert values(consumers, topic) == expected


DRIVER = """
import sys
from pathlib import Path
from tests.interop.test_spark_exactly_once import copy
from tests.support.spark import start_spark
bootstrap, source, target, folder = sys.argv[1:]
session = start_spark(Path(folder) / "warehouse")
copy(session, bootstrap, source, target, folder + "/checkpoint", 800).awaitTermination()
"""


@pytest.mark.slow
def test_a_driver_that_is_killed_again_and_again_copies_each_record_once(
    broker: Broker, consumers: Consumers, topic: str, tmp_path: Path
) -> None:
    source = created(broker, f"{topic}-source")
    expected = fill(broker, source)
    driver = ChildProcess(
        [sys.executable, "-c", DRIVER, broker.bootstrap, source, topic, str(tmp_path)], tmp_path / "driver.log"
    )
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    looking = consumers(isolation_level="read_committed")
    try:
        for share in (5, 2):
            driver.start()
            driver.wait_ready(
                lambda share=share: sum(looking.end_offsets(partitions).values()) >= COUNT // share,  # type: ignore[misc]
                f"a {share}th is copied",
                4 * PATIENCE_S,
            )
            driver.kill_all()
            shutil.rmtree(tmp_path / "warehouse", ignore_errors=True)
        driver.start()
        assert driver.wait(4 * int(PATIENCE_S)) == 0, driver.output()
    finally:
        driver.kill_all()
    assert values(consumers, topic) == expected
