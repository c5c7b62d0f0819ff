"""The formats kafka_zk and kafka_zk_log in a Spark session, against a broker of ours."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import CaseInsensitiveDict

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.log.files import names
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Codec, Record, build_batch
from kafka_zk.spark.sources.errors import DataLossError, SourceError
from kafka_zk.spark.sources.kafka.reader import KafkaReader
from kafka_zk.spark.sources.kafka.settings import batch_settings
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot
from tests.unit.client.range_reading.given import T0, data, marker
from tests.unit.spark.sources.log_folder import put_segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
HEADERS = (("h", b"x"), ("n", None))
LOGS = {
    "compacted": data(0, 1, last_offset=9) + data(14, 2) + data(20, 0, last_offset=29) + data(30),
    "retained": data(10, 5),
    "transactions": data(0, 2, producer_id=1)
    + data(2, producer_id=2)
    + marker(3, 1, commit=False)
    + marker(4, 2, commit=True)
    + data(5, producer_id=3)
    + data(6),
    "codecs": b"".join(
        bytes(build_batch([Record(int(codec), T0, b"k", codec.name.encode(), HEADERS)], base_offset=codec, codec=codec))
        for codec in Codec
    ),
}
"""Topics of one partition whose logs hold what no producer can write at once."""


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One with the topics of LOGS and an empty one; it has recovered them as after a crash."""
    # The records are of 2023: retention would delete them, some time after the start.
    forever = {"log.retention.ms": "-1"}
    made = OurBroker(tmp_path_factory.mktemp("broker"), fresh_chroot(zookeeper, "spark-sources"), overrides=forever)
    made.start()
    try:
        create(made, "empty", *LOGS)
        made.stop()
        for topic, content in LOGS.items():
            directory = made.log_dir / f"{topic}-0"
            for path in directory.glob("0*"):
                path.unlink()
            put_segment(directory, content, indexed=False)
        (made.log_dir / names.CLEAN_SHUTDOWN).unlink()
        for checkpoint in (names.RECOVERY_POINTS, names.HIGH_WATERMARKS):
            (made.log_dir / checkpoint).unlink()
        made.start()
        yield made
    finally:
        made.stop()


def create(broker: OurBroker, *topics: str, partitions: int = 1) -> None:
    """Topics that have their leaders when this returns."""
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.create_topics([NewTopic(topic, partitions, 1) for topic in topics])

        def led() -> bool:
            described = admin.describe_topics(topics)
            return all(each.leader is not None for topic in described.values() for each in topic.partitions)

        wait_until(led, "the new topics have leaders")


def produce(broker: OurBroker, topic: str, values: list[bytes], partition: int = 0) -> None:
    config = {"bootstrap.servers": broker.bootstrap, "key.serializer": BYTES, "value.serializer": BYTES}
    with KafkaProducer(config) as producer:
        sent = [
            producer.send(topic, value, b"key", partition, T0 + index, HEADERS) for index, value in enumerate(values)
        ]
    for future in sent:
        future.result(0)


@pytest.fixture(scope="module")
def frame(spark: SparkSession, broker: OurBroker) -> Callable[..., DataFrame]:
    def read(topic: str, **options: str) -> DataFrame:
        given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "includeHeaders": "true"}
        dotted = {name.replace("__", "."): value for name, value in options.items()}
        return spark.read.format("kafka_zk").options(**(given | dotted)).load()

    return read


def offsets(rows: DataFrame) -> list[int]:
    return sorted(row["offset"] for row in rows.select("offset").collect())


def test_rows_are_the_records(frame: Callable[..., DataFrame], broker: OurBroker) -> None:
    create(broker, "rows", partitions=2)
    produce(broker, "rows", [b"a", b"b"], partition=0)
    produce(broker, "rows", [b"c"], partition=1)
    rows = (
        frame("rows").selectExpr("*", "cast(timestamp as double) as seconds").orderBy("partition", "offset").collect()
    )
    assert [(bytes(row["key"]), bytes(row["value"]), row["partition"], row["offset"]) for row in rows] == [
        (b"key", b"a", 0, 0),
        (b"key", b"b", 0, 1),
        (b"key", b"c", 1, 0),
    ]
    assert {(row["topic"], row["timestampType"]) for row in rows} == {("rows", 0)}
    assert [row["seconds"] for row in rows] == [T0 / 1000, (T0 + 1) / 1000, T0 / 1000]
    assert [(each["key"], each["value"]) for each in rows[0]["headers"]] == list(HEADERS)


def test_every_codec_is_read(frame: Callable[..., DataFrame]) -> None:
    rows = frame("codecs").orderBy("offset").collect()
    assert [bytes(row["value"]).decode() for row in rows] == [codec.name for codec in Codec]


def test_holes_of_compaction_are_no_loss(frame: Callable[..., DataFrame]) -> None:
    assert offsets(frame("compacted")) == [0, 14, 15, 30]
    inside = {"startingOffsets": '{"compacted":{"0":3}}', "endingOffsets": '{"compacted":{"0":25}}'}
    assert offsets(frame("compacted", minPartitions="5", **inside)) == [14, 15]


def test_committed_records_end_at_an_open_transaction(frame: Callable[..., DataFrame]) -> None:
    assert offsets(frame("transactions")) == [0, 1, 2, 5, 6]
    assert offsets(frame("transactions", kafka__isolation__level="read_committed")) == [2]


def test_segments_have_the_same_rows(spark: SparkSession, frame: Callable[..., DataFrame], broker: OurBroker) -> None:
    topics = ",".join(LOGS)
    log = spark.read.format("kafka_zk_log").options(subscribe=topics, includeHeaders="true").load(str(broker.log_dir))
    cluster = frame(topics)
    assert log.schema == cluster.schema
    ordered = [sorted(each.collect(), key=lambda row: (row["topic"], row["offset"])) for each in (log, cluster)]
    assert ordered[0] == ordered[1]
    assert len(ordered[0]) == 4 + 5 + 5 + len(Codec)


def test_an_empty_topic_has_no_rows(frame: Callable[..., DataFrame]) -> None:
    assert frame("empty").collect() == []


def test_what_cannot_be_read_is_told_in_one_sentence(frame: Callable[..., DataFrame]) -> None:
    def told(topic: str, **options: str) -> str:
        with pytest.raises(PySparkException) as caught:
            frame(topic, **options).collect()
        return str(caught.value)

    assert "There is no topic nope in the cluster" in told("nope")
    assert "Offsets 3 to 9 of partition retained-0 are gone: its log starts at offset 10." in told(
        "retained", startingOffsets='{"retained":{"0":3}}'
    )
    assert "lies beyond the end of its log, offset 15." in told("retained", endingOffsets='{"retained":{"0":16}}')
    assert "must name every partition" in told("retained", startingOffsets='{"retained":{"1":12}}')
    assert "startingOffsets can't be latest in a batch query" in told("retained", startingOffsets="latest")
    assert offsets(frame("retained", startingOffsets='{"retained":{"0":3}}', failOnDataLoss="false")) == [
        *range(10, 15)
    ]


def test_times_become_offsets(frame: Callable[..., DataFrame]) -> None:
    assert offsets(frame("retained", startingTimestamp=str(T0 + 12), endingTimestamp=str(T0 + 14))) == [12, 13]


def reader(broker: OurBroker, topic: str, **options: str) -> KafkaReader:
    """What Spark makes of the options, without Spark."""
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return KafkaReader(
        batch_settings(CaseInsensitiveDict({"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **dotted}))
    )


IMPATIENT = {"kafka__default__api__timeout__ms": "1500", "kafka__request__timeout__ms": "1000"}


def test_without_a_broker_planning_ends_with_a_sentence(broker: OurBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    made = reader(broker, "rows", **IMPATIENT)
    made._settings.client["bootstrap.servers"] = address  # type: ignore[index]
    with pytest.raises(SourceError, match=f"at {address}: .*Timed out"):
        made.partitions()


def test_a_range_whose_records_go_while_it_is_planned_is_lost(broker: OurBroker) -> None:
    made = reader(broker, "retained")
    (piece,) = made.partitions()
    piece.start_offset = 4
    with pytest.raises(DataLossError, match="Offsets 4 to 9 of partition retained-0 are gone"):
        list(made.read(piece))
    piece.start_offset, piece.end_offset = 15, 99
    with pytest.raises(SourceError, match="Offsets 15 to 98 of partition retained-0 could not be read for"):
        list(reader(broker, "retained", **IMPATIENT).read(piece))
    piece.start_offset = 40
    with pytest.raises(DataLossError, match="its log ends at offset 15: offsets 40 to 98 cannot be read"):
        list(made.read(piece))


def test_a_stream_reads_in_steps_goes_on_where_it_was_and_shows_its_group(
    spark: SparkSession, broker: OurBroker, tmp_path: Path
) -> None:
    create(broker, "steps", "copied")
    produce(broker, "steps", [b"%d" % index for index in range(10)])
    options = {"kafka.bootstrap.servers": broker.bootstrap}
    source = spark.readStream.format("kafka_zk").options(
        **options, subscribe="steps", startingOffsets="earliest", maxOffsetsPerTrigger="4", groupIdForCommit="shown"
    )

    def run() -> list[Any]:
        sink = source.load().select("key", "value", "partition").writeStream.format("kafka_zk")
        query = (
            sink.options(**options, topic="copied", checkpointLocation=str(tmp_path)).trigger(availableNow=True).start()
        )
        assert query.awaitTermination(300)
        return [each["numInputRows"] for each in query.recentProgress]

    assert run() == [4, 4, 2]
    produce(broker, "steps", [b"last"])
    assert run() == [1]
    copied = spark.read.format("kafka_zk").options(**options, subscribe="copied").load().orderBy("offset").collect()
    assert [bytes(row["value"]) for row in copied] == [*(b"%d" % index for index in range(10)), b"last"]
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        assert admin.list_consumer_group_offsets("shown")[TopicPartition("steps", 0)] in (8, 10)


def test_rows_are_written_where_their_columns_say(
    spark: SparkSession, frame: Callable[..., DataFrame], broker: OurBroker
) -> None:
    create(broker, "written", partitions=2)
    kinds = "topic string, key string, value binary, partition int, headers array<struct<key:string,value:binary>>"
    rows = spark.createDataFrame([("written", "k", b"v", 1, list(HEADERS)), ("written", None, None, 0, None)], kinds)
    writer = rows.write.format("kafka_zk").option("kafka.bootstrap.servers", broker.bootstrap)
    writer.mode("append").save()
    found = frame("written").orderBy("partition").collect()
    assert [(row["key"], row["value"], row["headers"]) for row in found[:1]] == [(None, None, None)]
    assert (bytes(found[1]["key"]), bytes(found[1]["value"])) == (b"k", b"v")
    assert [(each["key"], each["value"]) for each in found[1]["headers"]] == list(HEADERS)
    with pytest.raises(PySparkException, match="the mode must be append"):
        writer.mode("overwrite").save()
    with pytest.raises(PySparkException, match="Could not write a record for"):
        writer.option("topic", "no such name!").mode("append").save()


def test_a_broker_that_is_gone_ends_a_task_with_a_sentence(broker: OurBroker) -> None:
    # The last test: it stops the broker.
    made = reader(broker, "compacted", **IMPATIENT)
    (piece,) = made.partitions()
    broker.stop()
    started = time.monotonic()
    with pytest.raises(SourceError, match="Offsets 0 to 30 of partition compacted-0 could not be read for"):
        list(made.read(piece))
    assert time.monotonic() - started < 60
