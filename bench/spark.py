"""Topics into Spark: `python -m bench.spark`: our two data sources beside Spark's own JVM connector, in one session.

One topic of 4 partitions is read whole, every column of every record, into nothing. Each way reads a small topic first,
then they take turns; the best time of each counts. `--check` ends with 1 where a floor is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.brokers import our_broker
from bench.process import run_bench
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record import Record, build_batch
from kafka_zk.record.columns.building import BUILDER
from tests.support.raw_client import RawClient
from tests.support.spark import connector_jars, start_spark
from tests.support.zookeeper import EmbeddedZooKeeper

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 4
BATCH_RECORDS = 150
"""What fits into a producer's batch.size of 16 KiB."""
VALUE = b"0123456789" * 10
FLOORS = {"kafka_zk": 1.0, "kafka_zk_log": 2.0}
"""How much faster than Spark's own connector at least."""
CONNECTOR = "kafka"


def produce(bootstrap: str, topic: str, records: int) -> int:
    """Fill a topic; how many records it took (a multiple of what a batch and the partitions make)."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1, configs={"retention.ms": "-1"})])
        while any(each.leader is None for each in admin.describe_topics([topic])[topic].partitions):
            time.sleep(0.05)
    rows = [Record(index, 1_700_000_000_000 + index, None, VALUE) for index in range(BATCH_RECORDS)]
    batch = bytes(build_batch(rows))
    sent = 0
    with RawClient(bootstrap) as client:
        while sent < records:
            data = [PartitionProduceData(index=index, records=batch) for index in range(PARTITIONS)]
            request = ProduceRequest(
                acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
            )
            answer = client.send(PRODUCE_REQUEST, request, 9)
            errors = {each.error_code for each in answer.responses[0].partition_responses}
            assert errors == {0}, f"produce answered with {errors}"
            sent += BATCH_RECORDS * PARTITIONS
    return sent


class Reading:
    """One session and what is to be read with it."""

    def __init__(self, session: SparkSession, bootstrap: str, data: Path) -> None:
        self._session = session
        self._bootstrap = bootstrap
        self._data = data

    def frame(self, way: str, topic: str) -> DataFrame:
        reader = self._session.read.format(way).option("subscribe", topic)
        if way == "kafka_zk_log":
            return reader.load(str(self._data))
        return reader.option("kafka.bootstrap.servers", self._bootstrap).load()

    def seconds(self, way: str, topic: str) -> float:
        started = time.perf_counter()
        self.frame(way, topic).write.format("noop").mode("overwrite").save()
        return time.perf_counter() - started


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000, help="records of 100 bytes (default 5,000,000)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each reader reads the topic (default 2)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor is missed")
    parser.add_argument("--folder", type=Path, help="directory for the broker's data (default: TMPDIR)")
    return parser.parse_args()


def main() -> int:
    given = options()
    if BUILDER != "compiled":
        print("columns are built by the pure twin; build the compiled modules first (see README.md)", file=sys.stderr)
        return 2
    ways = (CONNECTOR, "kafka_zk", "kafka_zk_log")
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-", dir=given.folder) as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        zookeeper.start()
        broker = our_broker(folder / "ours", zookeeper.connect)
        try:
            broker.start()
            produce(broker.bootstrap, "small", 60_000)
            records = produce(broker.bootstrap, "large", given.records)
            jars = ",".join(str(jar) for jar in connector_jars())
            session = start_spark(folder / "spark", **{"spark.jars": jars})
            reading = Reading(session, broker.bootstrap, folder / "ours" / "data")
            try:
                counts = {way: reading.frame(way, "large").count() for way in ways}
                assert set(counts.values()) == {records}, f"not every way found {records} records: {counts}"
                for way in ways:
                    reading.seconds(way, "small")
                best = dict.fromkeys(ways, float("inf"))
                for _ in range(given.rounds):
                    for way in ways:
                        best[way] = min(best[way], reading.seconds(way, "large"))
                return report(best, records, given.check)
            finally:
                session.stop()
        finally:
            broker.stop()
            zookeeper.stop()


def report(best: dict[str, float], records: int, check: bool) -> int:
    print(f"{records:,} records of {len(VALUE)} bytes, {PARTITIONS} partitions, local[2]")
    missed = False
    for way, seconds in best.items():
        lead = best[CONNECTOR] / seconds
        print(f"  {way:14s}{seconds:8.2f} s {records / seconds:12,.0f} records/s {lead:6.2f} x")
        if lead < FLOORS.get(way, 0.0):
            print(f"floor missed: {way} is {lead:.2f} times as fast as Spark's own connector, not {FLOORS[way]}")
            missed = True
    return 1 if missed and check else 0


if __name__ == "__main__":
    run_bench(main)
