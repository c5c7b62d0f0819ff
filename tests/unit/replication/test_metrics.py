"""What monitoring sees of the replicas: each gauge beside the state that it tells of."""

from __future__ import annotations

from pathlib import Path

import pytest
from crc32c import crc32c

from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, build_batch
from kafka_zk.record.batch import ATTRIBUTES_AT, CONTROL_BIT, CRC_AT, CRC_FROM
from kafka_zk.record.legacy import build_message_set

from .broker import Broker, answered, fetch_request, produce_request, records
from .test_following import Pair, end_of, eventually

OF_PARTITION = (
    "UnderReplicated",
    "InSyncReplicasCount",
    "UnderMinIsr",
    "AtMinIsr",
    "ReplicasCount",
    "LastStableOffsetLag",
)


def value(metrics: MetricsRegistry, name: str, **tags: object) -> object:
    metric = metrics.find(name, **tags)
    assert metric is not None, f"{name} {tags}"
    attributes = metric.attributes()
    return attributes["Count"] if "Count" in attributes else attributes["Value"]


def of_partition(broker: Broker, topic: str = "t", partition: int = 0) -> tuple[object, ...]:
    """The values of OF_PARTITION."""
    name = "kafka.cluster:type=Partition,name="
    return tuple(value(broker.metrics, name + each, topic=topic, partition=partition) for each in OF_PARTITION)


@pytest.fixture
def two_in_sync(tmp_path: Path) -> Broker:
    return Broker(tmp_path, overrides={"min.insync.replicas": "2"})


def test_a_leader_tells_of_its_isr_and_a_follower_of_nothing(two_in_sync: Broker) -> None:
    broker = two_in_sync
    broker.lead(replicas=(1, 2, 3))
    assert of_partition(broker) == (0, 3, 0, 0, 3, 0)
    broker.lead(replicas=(1, 2, 3), isr=(1, 2), epoch=1, partition_epoch=1)
    assert of_partition(broker) == (1, 2, 0, 1, 3, 0)
    broker.lead(replicas=(1, 2, 3), isr=(1,), epoch=2, partition_epoch=2)
    assert of_partition(broker) == (1, 1, 1, 0, 3, 0)
    broker.order(replicas=(1, 2, 3), isr=(2,), leader=2, epoch=3, partition_epoch=3)
    assert of_partition(broker) == (0, 0, 0, 0, 0, 0)
    broker.close()


def test_replicas_that_a_reassignment_adds_do_not_count(two_in_sync: Broker) -> None:
    broker = two_in_sync
    partition = broker.lead(replicas=(1, 2, 3), isr=(1, 2))
    partition.adding_replicas = (3,)
    assert of_partition(broker) == (0, 2, 0, 1, 2, 0)
    broker.close()


def test_an_open_transaction_holds_the_last_stable_offset_back(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.lead()
    broker.produce(3)
    log = broker.partition().log
    assert log is not None
    log.last_stable_offset = 1
    assert of_partition(broker)[-1] == 2
    broker.close()


def test_a_partition_that_is_gone_has_no_gauges(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.lead("t", 0)
    broker.lead("u", 0)
    before = len(broker.metrics)
    broker.manager.hosted.mark_offline(TopicPartition("t", 0))
    assert broker.metrics.find("kafka.cluster:type=Partition,name=AtMinIsr", topic="t", partition=0) is None
    assert of_partition(broker, "u") == (0, 1, 0, 1, 1, 0)
    assert len(broker.metrics) == before - len(OF_PARTITION)
    broker.close()


def test_producers_are_counted_over_all_logs(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.lead("t", 0)
    broker.lead("u", 0)
    for topic, producer_id in (("t", 1), ("t", 2), ("u", 2)):
        broker.produce(topic=topic, producer_id=producer_id, producer_epoch=0, base_sequence=0)
    assert value(broker.metrics, "kafka.server:type=ReplicaManager,name=ProducerIdCount") == 3
    broker.close()


def test_a_fetch_that_waited_in_vain_counts_for_its_kind(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.lead(replicas=(1, 2))
    for replica, kind in ((-1, "consumer"), (2, "follower")):
        broker.call(fetch_request(0, replica=replica, max_wait_ms=500, leader_epoch=0), 12)
        broker.clock.advance(499)
        name = "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec"
        assert value(broker.metrics, name, fetcherType=kind) == 0
        broker.clock.advance(1)
        assert value(broker.metrics, name, fetcherType=kind) == 1
    broker.close()


def test_evicted_fetch_sessions_are_counted(tmp_path: Path) -> None:
    broker = Broker(tmp_path, {"max.incremental.fetch.session.cache.slots": "1"})
    broker.lead()
    name = "kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec"
    for expected in (0, 1, 2):
        assert broker.fetch(0, session=(0, 0)).session_id > 0
        assert value(broker.metrics, name) == expected
        broker.clock.advance(120_001)
    broker.clock.advance(5_000)
    broker.metrics.fold()
    meter = broker.metrics.find(name)
    assert meter is not None
    assert meter.attributes()["Count"] == 2
    broker.close()


def test_a_follower_shows_its_lag_and_what_it_fetched(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.order()
    pair.leader.produce(3)
    eventually(pair, lambda: end_of(pair.followed) == 3)
    metrics = pair.follower.metrics
    (fetcher,) = pair.follower.manager.fetchers._fetchers.values()
    client = {"clientId": "ReplicaFetcherThread-0-1"}
    lag = "kafka.server:type=FetcherLagMetrics,name=ConsumerLag"
    eventually(pair, lambda: value(metrics, lag, **client, topic="t", partition=0) == 0)
    where = {**client, "brokerHost": fetcher.node.host, "brokerPort": fetcher.node.port}
    stats = "kafka.server:type=FetcherStats,name="
    log = pair.led.log
    assert log is not None
    assert value(metrics, f"{stats}BytesPerSec", **where) == log.size_bytes
    assert value(metrics, f"{stats}RequestsPerSec", **where) >= 1  # type: ignore[operator]
    assert value(metrics, "kafka.server:type=ReplicaFetcherManager,name=MinFetchRate", clientId="Replica") == 0
    pair.follower.clock.advance(5_000)
    metrics.fold()
    assert value(metrics, "kafka.server:type=ReplicaFetcherManager,name=MinFetchRate", clientId="Replica") > 0  # type: ignore[operator]
    assert value(metrics, "kafka.server:type=BrokerTopicMetrics,name=ReassignmentBytesInPerSec") == 0
    # It leads now: nobody is followed any more, and nothing is left of the fetcher.
    pair.order(leader=2, epoch=1)
    eventually(pair, lambda: metrics.find(f"{stats}BytesPerSec", **where) is None)
    assert metrics.find(lag, **client, topic="t", partition=0) is None
    assert value(metrics, "kafka.server:type=ReplicaFetcherManager,name=MinFetchRate", clientId="Replica") == 0
    pair.close()


def test_bytes_to_a_replica_that_a_reassignment_adds_count_on_both_sides(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.order(isr=(1,))
    pair.led.adding_replicas = pair.followed.adding_replicas = (2,)
    pair.leader.produce(3)
    eventually(pair, lambda: end_of(pair.followed) == 3)
    log = pair.led.log
    assert log is not None
    name = "kafka.server:type=BrokerTopicMetrics,name="
    for broker, side in ((pair.leader, "Out"), (pair.follower, "In")):
        for kind in ("Reassignment", "Replication"):
            assert value(broker.metrics, f"{name}{kind}Bytes{side}PerSec") == log.size_bytes, (side, kind)
    pair.close()


FAULTS = ("NoKeyCompactedTopicRecords", "InvalidMagicNumberRecords", "InvalidMessageCrcRecords",
          "InvalidOffsetOrSequenceRecords")  # fmt: skip


def keyless(count: int) -> memoryview:
    return memoryview(build_batch([Record(offset, 1_000, None, b"v") for offset in range(count)]))


def patched(at: int, value: bytes) -> memoryview:
    """A batch with other bytes from `at` on, and a right crc."""
    batch = bytearray(records(2))
    batch[at : at + len(value)] = value
    batch[CRC_AT:CRC_FROM] = crc32c(batch[CRC_FROM:]).to_bytes(4, "big")
    return memoryview(batch)


def damaged() -> memoryview:
    batch = bytearray(records(2))
    batch[-1] ^= 1
    return memoryview(batch)


def of_both_magics() -> memoryview:
    return memoryview(build_message_set([Record(0, 1_000, b"k", b"v")], magic=1) +
                      build_message_set([Record(0, 1_000, b"k", b"v")], magic=0))  # fmt: skip


@pytest.mark.parametrize(
    ("batch", "version", "counts"),
    [
        (keyless(3), 9, (3, 0, 0, 0)),
        (of_both_magics(), 2, (0, 1, 0, 0)),
        (damaged(), 9, (0, 0, 1, 0)),
        (patched(23, (7).to_bytes(4, "big")), 9, (0, 0, 0, 1)),  # last offset delta
        (patched(ATTRIBUTES_AT, CONTROL_BIT.to_bytes(2, "big")), 9, (0, 0, 0, 1)),
        (records(2, producer_id=5, producer_epoch=0), 9, (0, 0, 0, 1)),  # no sequence
        (records(2), 9, (0, 0, 0, 0)),
    ],
)
def test_refused_records_count_by_what_is_wrong_with_them(
    tmp_path: Path, batch: memoryview, version: int, counts: tuple[int, ...]
) -> None:
    broker = Broker(tmp_path, overrides={"cleanup.policy": "compact"})
    broker.lead()
    answer = answered(broker.call(produce_request(batch), version))
    assert (answer.error_code != 0) == any(counts)
    name = "kafka.server:type=BrokerTopicMetrics,name="
    assert tuple(value(broker.metrics, f"{name}{fault}PerSec") for fault in FAULTS) == counts
    broker.close()


def test_every_partition_that_is_read_counts_as_a_fetch_whoever_asks(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.lead(replicas=(1, 2))
    broker.produce(1)
    name = "kafka.server:type=BrokerTopicMetrics,name="
    for count, replica in enumerate((-1, 2, 2), start=1):
        answered(broker.call(fetch_request(0, replica=replica, leader_epoch=0), 12))
        broker.metrics.fold()
        assert value(broker.metrics, f"{name}TotalFetchRequestsPerSec", topic="t") == count
    log = broker.partition().log
    assert log is not None
    assert value(broker.metrics, f"{name}ReplicationBytesOutPerSec") == 2 * log.size_bytes
    broker.close()


def test_a_produce_that_was_never_acknowledged_counts_for_its_partition(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.lead(replicas=(1, 2))
    name = "kafka.server:type=DelayedProduceMetrics,name=ExpiresPerSec"
    broker.produce(acks=-1)
    broker.clock.advance(999)
    assert broker.metrics.find(name) is None
    broker.clock.advance(1)
    assert value(broker.metrics, name) == 1
    assert value(broker.metrics, name, topic="t", partition=0) == 1
    broker.close()
