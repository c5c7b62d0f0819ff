"""Spark's own connector for Kafka on our broker, and our data source beside it: same schema, rows and options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kafka_zk.spark.jobs.streams import run_to_end
from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, Librdkafka, Written
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

JVM, OURS = "kafka", "kafka_zk"
T0 = 1_700_000_000_000
PARTITIONS = 3
SHAPES = [
    Written(b"value", b"key", (("h", b"1"), ("h", None), ("", b"")), T0),
    Written(None, b"tombstone", (), T0 + 1),
    Written(b"", None, (), T0 + 2),
    *(Written(b"v%d" % number, b"k%d" % (number % 9), (("n", b"%d" % number),), T0 + number) for number in range(200)),
]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("spark-connector"), fresh_chroot(zookeeper, "spark-connector")).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output()


@pytest.fixture
def topic(kafka: Librdkafka) -> str:
    """Records of every shape in batches of every codec."""
    name = kafka.topic(partitions=PARTITIONS)
    for number, codec in enumerate(CODECS):
        kafka.write(name, SHAPES, partition=number % PARTITIONS, compression_type=codec, linger_ms=20)
    return name


def reading(spark: SparkSession, source: str, broker: OurBroker, **options: str) -> DataFrame:
    reader = spark.read.format(source).option("kafka.bootstrap.servers", broker.bootstrap)
    return reader.options(includeHeaders="true", **options).load()


def rows(frame: DataFrame) -> list[Any]:
    return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))


def offsets(topic: str, *each: int) -> str:
    return json.dumps({topic: {str(index): offset for index, offset in enumerate(each)}})


def test_every_record_is_the_same_in_both(spark: SparkSession, broker: OurBroker, topic: str) -> None:
    theirs, ours = (reading(spark, source, broker, subscribe=topic) for source in (JVM, OURS))
    assert ours.schema == theirs.schema
    expected = rows(theirs)
    assert len(expected) == len(SHAPES) * len(CODECS)
    assert rows(ours) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "{from}", "endingOffsets": "{to}"},
        {"startingOffsets": "{from}", "endingOffsets": "latest", "minPartitions": "7"},
        {"startingTimestamp": str(T0 + 100), "endingTimestamp": str(T0 + 150)},
        {"assign": '{{"{topic}": [0, 2]}}'},
        {"subscribePattern": "{topic}"},
    ],
    ids=lambda options: "+".join(options),
)
def test_options_choose_the_same_records(
    spark: SparkSession, broker: OurBroker, topic: str, options: dict[str, str]
) -> None:
    given = {
        name: text.format(**{"topic": topic, "from": offsets(topic, 5, -2, 100), "to": offsets(topic, 150, 7, -1)})
        for name, text in options.items()
    }
    chosen = {} if {"assign", "subscribePattern"} & set(options) else {"subscribe": topic}
    theirs, ours = (rows(reading(spark, source, broker, **chosen, **given)) for source in (JVM, OURS))
    assert theirs and ours == theirs


def streamed(spark: SparkSession, source: str, broker: OurBroker, topic: str, folder: Path) -> list[Any]:
    stream = spark.readStream.format(source).option("kafka.bootstrap.servers", broker.bootstrap)
    frame = stream.options(
        subscribe=topic, startingOffsets="earliest", includeHeaders="true", maxOffsetsPerTrigger="300"
    ).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    stream = writer.trigger(availableNow=True)
    assert run_to_end(lambda: stream.start(str(folder / "data")), source).batches > 2, "several batches"
    return rows(spark.read.parquet(str(folder / "data")))


def test_streams_bring_the_same_records(spark: SparkSession, broker: OurBroker, topic: str, tmp_path: Path) -> None:
    theirs = streamed(spark, JVM, broker, topic, tmp_path / "theirs")
    assert len(theirs) == len(SHAPES) * len(CODECS)
    assert streamed(spark, OURS, broker, topic, tmp_path / "ours") == theirs


@pytest.mark.parametrize(("writer", "reader"), [(JVM, OURS), (OURS, JVM)])
def test_one_reads_what_the_other_wrote(
    spark: SparkSession, broker: OurBroker, kafka: Librdkafka, writer: str, reader: str
) -> None:
    target = kafka.topic(partitions=PARTITIONS)
    frame = spark.createDataFrame(
        [(b"k%d" % n if n % 5 else None, b"v%d" % n if n % 7 else None, n % PARTITIONS) for n in range(100)],
        "key BINARY, value BINARY, partition INT",
    )
    frame.write.format(writer).mode("append").option("kafka.bootstrap.servers", broker.bootstrap).option(
        "topic", target
    ).save()
    read = reading(spark, reader, broker, subscribe=target).select("key", "value", "partition")
    assert sorted(map(str, read.collect())) == sorted(map(str, frame.collect()))


def test_without_a_partition_both_choose_the_same_one_by_key(
    spark: SparkSession, broker: OurBroker, kafka: Librdkafka
) -> None:
    frame = spark.createDataFrame([(b"key-%d" % n, b"v") for n in range(60)], "key BINARY, value BINARY")
    found = []
    for source in (JVM, OURS):
        target = kafka.topic(partitions=PARTITIONS)
        frame.write.format(source).mode("append").option("kafka.bootstrap.servers", broker.bootstrap).option(
            "topic", target
        ).save()
        read = reading(spark, JVM, broker, subscribe=target).select("key", "partition")
        found.append(sorted(map(tuple, read.collect())))
    assert found[0] == found[1]
