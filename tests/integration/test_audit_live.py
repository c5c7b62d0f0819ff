"""audit of a live cluster: a replica that holds other batches than its leader is found and named. With --full."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest
from confluent_kafka.admin import NewTopic

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.record.batch import batches, computed_crc, read_header
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written
from tests.support.pipeline import PipelineJob
from tests.support.processes import wait_until

BROKERS = (1, 2, 3)
DIVERGED = 3
CRC_AT = 17
TOPIC = "replicated"
SAME, CHANGED, HOLED = range(3)
"""Partitions: alike everywhere, one batch changed together with its checksum, one batch gone from the middle."""


@pytest.fixture
def brokers(zookeeper_connect: str, tmp_path: Path) -> Iterator[list[OurBroker]]:
    made = [OurBroker(tmp_path / f"broker-{each}", zookeeper_connect, broker_id=each) for each in BROKERS]
    for each in made:
        each.start()
    yield made
    for each in made:
        each.stop()


def in_sync_everywhere(broker: OurBroker) -> bool:
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        (topic,) = admin.describe_topics([TOPIC]).values()
    return all(len(info.isr) == len(BROKERS) for info in topic.partitions)


def fill(broker: OurBroker) -> None:
    """Three batches of five records in each partition, on every replica."""
    clients = Librdkafka(broker.bootstrap)
    given = NewTopic(TOPIC, 3, len(BROKERS), config={"retention.ms": "-1"})
    clients.admin.create_topics([given], operation_timeout=PATIENCE_S)[TOPIC].result(PATIENCE_S)
    for partition in range(3):
        for start in (0, 5, 10):
            records = [Written(b"value-%d" % (start + number)) for number in range(5)]
            clients.write(TOPIC, records, partition=partition, linger_ms=100, acks="all")
    clients.close()


def diverge(broker: OurBroker) -> None:
    """Change the second batch of one partition, and take it away from another; what the log says of itself is sound."""
    for partition in (CHANGED, HOLED):
        path = broker.log_dir / f"{TOPIC}-{partition}" / f"{0:020d}.log"
        data = bytearray(path.read_bytes())
        second = [batch for batch in batches(bytes(data)) if batch.header.base_offset == 5]
        assert second, "the second batch begins at offset 5"
        start, size = second[0].position, second[0].header.size_bytes
        if partition == HOLED:
            del data[start : start + size]
        else:
            at = data.index(b"value-7", start)
            data[at : at + 7] = b"VALUE-7"
            data[start + CRC_AT : start + CRC_AT + 4] = struct.pack(
                ">I", computed_crc(data, start, read_header(data, start))
            )
        path.write_bytes(data)


@pytest.mark.slow
def test_a_diverged_replica_of_a_running_cluster_is_found(brokers: list[OurBroker], tmp_path: Path) -> None:
    fill(brokers[0])
    wait_until(lambda: in_sync_everywhere(brokers[0]), "every replica is in sync")
    audit = ("audit", "--live", "--topics", TOPIC, "--bootstrap-server", brokers[0].bootstrap)
    PipelineJob(tmp_path / "sound", *audit).run()

    victim = brokers[BROKERS.index(DIVERGED)]
    victim.stop()
    diverge(victim)
    victim.start()
    wait_until(lambda: in_sync_everywhere(brokers[0]), "the diverged replica is in sync again")
    job = PipelineJob(tmp_path / "diverged", *audit, "--report", str(tmp_path / "report"))
    with job:
        job.start()
        assert job.wait() == 2, job.process.output()
    rows = pyarrow.dataset.dataset(tmp_path / "report", format="parquet").to_table().to_pylist()
    found = {
        (row["severity"], row["kind"], row["partition"], row["first_offset"], row["last_offset"]): row["what"]
        for row in rows
    }
    assert sorted(found) == [
        ("error", "batch-missing", HOLED, 5, 9),
        ("error", "replicas-differ", CHANGED, 5, 9),
    ]
    assert found["error", "batch-missing", HOLED, 5, 9] == "in broker 1, broker 2, not in broker 3"
    assert {row["place"] for row in rows} == {"broker 1, broker 2, broker 3"}
