"""The lag of groups in a cluster with Apache: the figures of its tool, and what a consumer then really gets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.group_results import CommittedOffset
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition as Ours
from tests.interop.test_cluster_with_apache import APACHE, OURS, Cluster
from tests.support.apache import java, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Written
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import ChildProcess, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

WRITTEN = Path(__file__).parent / "java" / "Written.java"
GROUP_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PATIENT = ("--timeout", "60000")
"""Where an answer takes longer than its five seconds it prints an error, and ends with 0."""
LAG = "kafka_coordinator_group_grouplag_"
BOTH = [[APACHE, OURS]]
WATCHED = {"kafka_zk.metrics.port": "0", "log.cleaner.backoff.ms": "100"}
SMALL = {"cleanup_policy": "compact", "segment_bytes": "3000", "min_cleanable_dirty_ratio": "0.01"}
RECORDS = 400
GROUPS = [f"group-{number}" for number in range(9)]

Place = tuple[str, str, int]
"""Group, topic, partition."""


def watched(*arguments: Any, overrides: dict[str, str], **more: Any) -> OurBroker:
    return OurBroker(*arguments, overrides={**overrides, **WATCHED}, **more)


@pytest.fixture
def cluster(tmp_path: Path, zookeeper: ZooKeeperServer) -> Iterator[Cluster]:
    made = Cluster(tmp_path, fresh_chroot(zookeeper, "lag"), controller=OURS, ours=watched)
    yield made
    made.close()


def fill(cluster: Cluster, folder: Path) -> list[str]:
    """Topics that Apache leads, written through it; then it goes and comes back, and ours leads. The topics."""
    cluster.create("__consumer_offsets", [[APACHE], [OURS], [APACHE]], cleanup_policy="compact")
    cluster.create("__transaction_state", [[APACHE]] * 3, cleanup_policy="compact")
    cluster.create("transactions", BOTH)
    cluster.create("compacted", BOTH, **SMALL)
    cluster.create("deleted", BOTH)
    cluster.create("idle", BOTH)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        cluster.create(f"codec-{codec}", BOTH)
    program = ChildProcess(java(str(WRITTEN), cluster.brokers[APACHE].bootstrap), folder / "written.log")
    program.start()
    assert program.wait() == 0, program.output()
    clients = cluster.clients[APACHE]
    clients.write("compacted", [Written(b"v" * 20, b"%d" % (n % 7)) for n in range(RECORDS)], batch_num_messages=8)
    clients.write("deleted", [Written(b"v")] * RECORDS, batch_num_messages=8)
    topics = ["transactions", "compacted", "deleted", "idle", "codec-gzip", "codec-zstd"]
    cluster.brokers[APACHE].stop()
    for topic in topics:
        cluster.wait_for(topic, OURS, {OURS})
    cluster.brokers[APACHE].start()
    for topic in topics:
        cluster.wait_for(topic, OURS, {APACHE, OURS})
    wait_until(lambda: is_cleaned(cluster), "our cleaner has done what there is to do")
    return topics


def is_cleaned(cluster: Cluster) -> bool:
    """Whether all but the active segment of compacted-0 is behind the cleaner."""
    log_dir = cluster.brokers[OURS].log_dir
    checkpoint = log_dir / "cleaner-offset-checkpoint"
    active = max(int(path.stem) for path in (log_dir / "compacted-0").glob("*.log"))
    return checkpoint.exists() and f"compacted 0 {active}\n" in checkpoint.read_text()


def commit(admin: AdminClient, ends: dict[Ours, int], chance: random.Random) -> dict[Place, int]:
    """Each group somewhere in each log; the first at all ends, the second at all beginnings."""
    committed: dict[Place, int] = {}
    for number, group in enumerate(GROUPS):
        offsets = {
            each: end if number == 0 else 0 if number == 1 else chance.randint(0, end) for each, end in ends.items()
        }

        def is_taken(group: str = group, offsets: dict[Ours, int] = offsets) -> bool:
            try:
                admin.alter_consumer_group_offsets(
                    group, {each: CommittedOffset(offset) for each, offset in offsets.items()}
                )
            except BrokerError:
                return False
            return True

        wait_until(is_taken, "the coordinator has loaded")
        committed |= {(group, *each): offset for each, offset in offsets.items()}
    return committed


def read_from(bootstrap: str, topic: str, partition: int, offset: int) -> int:
    """How many records a consumer gets from there."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "none", "enable.partition.eof": True}
    # What was aborted is there, too, for who reads it.
    settings |= {"isolation.level": "read_uncommitted", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, partition, offset)])
        count = 0
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{topic}-{partition} from {offset}: nothing comes"
            error = message.error()
            if error is None:
                count += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                return count
            else:
                raise AssertionError(error)
    finally:
        consumer.close()


def told_by_apache(bootstrap: str) -> dict[Place, int]:
    """The LAG column of its tool."""
    ran = run_tool(GROUP_TOOL, "--bootstrap-server", bootstrap, "--describe", "--all-groups", *PATIENT)
    assert ran.exit_code == 0, ran.stderr
    rows = [line.split() for line in ran.stdout.splitlines() if line and not line.startswith("GROUP ")]
    return {(row[0], row[1], int(row[2])): int(row[5]) for row in rows}


def shown(page: Scrape, name: str) -> dict[Place, float]:
    return {
        (labels["group"], labels["topic"], int(labels["partition"])): page.value(series, **labels)
        for series, labels in page.series()
        if series == LAG + name
    }


@pytest.mark.slow
def test_the_lag_is_what_apaches_tool_prints_and_what_is_left_can_be_read(
    cluster: Cluster, tmp_path: Path, chance: random.Random
) -> None:
    topics = fill(cluster, tmp_path)
    ours = cluster.brokers[OURS]
    assert isinstance(ours, OurBroker)
    with AdminClient({"bootstrap.servers": ours.bootstrap}) as admin:
        listed = admin.list_offsets({Ours(topic, 0): -1 for topic in topics})
        ends = {each: found.offset for each, found in listed.items() if not isinstance(found, Exception)}
        assert len(ends) == len(topics)
        committed = commit(admin, ends, chance)
        admin.delete_records({Ours("deleted", 0): RECORDS // 2})
    page = Scrape(metrics_port(ours))
    assert page.value(f"{LAG}unansweredcoordinators") == 0
    lags, left = shown(page, "offsetlag"), shown(page, "recordsleft")
    assert lags == told_by_apache(cluster.brokers[APACHE].bootstrap)
    assert lags.keys() == committed.keys()
    distinct = {(topic, partition, offset) for (_, topic, partition), offset in committed.items()}
    readable = {place: read_from(ours.bootstrap, *place) for place in sorted(distinct)}
    assert left == {
        (group, topic, partition): readable[topic, partition, offset]
        for (group, topic, partition), offset in committed.items()
    }
    holes = {topic for (group, topic, _), count in left.items() if count < lags[group, topic, 0]}
    assert holes == {"transactions", "compacted", "deleted"}
