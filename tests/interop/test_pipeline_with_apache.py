"""The pipeline's jobs on Apache's 3.9.1 broker: off it to ours and back, and to files and back.

The topic holds what only Apache's broker can hold yet: transactions, one of them aborted, so that offsets have holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.carried_groups import read_table
from kafka_zk.spark.jobs.cluster import commit_offsets
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written, as_written
from tests.support.markers import wait_for_markers
from tests.support.names import fresh
from tests.support.spark import job_runner
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T0 = 1_700_000_000_000
COMMITTED = {"isolation.level": "read_committed"}
CREATED: dict[str, object] = {"create_topics": True, "topic_config": {"retention.ms": "-1"}}
"""The records are of 2023: retention would delete them."""
PLAIN = [
    Written(b'{"n": %d}' % n if n % 9 else None, b"k%d" % (n % 5) if n % 4 else None, (("h", b"%d" % n),), T0 + n)
    for n in range(30)
]
FIRST, ABORTED, LAST = PLAIN[:10], PLAIN[10:14], PLAIN[14:20]
SPANS = [(0, 0, 10), (16, 10, 6)]
"""Of partition 1: a marker stands at 10, the aborted records from 11 to 14, their marker at 15, the last one at 22."""


@pytest.fixture(scope="module")
def apache(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    running = ApacheBroker(tmp_path_factory.mktemp("apache"), fresh_chroot(zookeeper, "pipeline-apache"))
    # Whoever uses it waits; our broker and Spark start meanwhile.
    running.launch()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory, apache: ApacheBroker
) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("ours"), fresh_chroot(zookeeper, "pipeline-ours")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def legacy(spark: SparkSession, apache: ApacheBroker) -> Iterator[Librdkafka]:
    apache.wait_ready()
    clients = Librdkafka(apache.bootstrap)
    yield clients
    clients.close()


@pytest.fixture
def topic(legacy: Librdkafka) -> str:
    name = legacy.topic(partitions=2)
    legacy.write(name, PLAIN, partition=0)
    producer = legacy.producer(transactional_id=fresh("legacy"))
    producer.init_transactions(PATIENCE_S)
    for records, end in (
        (FIRST, producer.commit_transaction),
        (ABORTED, producer.abort_transaction),
        (LAST, producer.commit_transaction),
    ):
        producer.begin_transaction()
        for each in records:
            producer.produce(
                name, each.value, each.key, headers=list(each.headers), partition=1, timestamp=each.timestamp_ms
            )
        producer.flush(PATIENCE_S)
        end(PATIENCE_S)
    wait_for_markers(legacy.bootstrap)
    return name


def content(clients: Librdkafka, topic: str) -> list[list[Written]]:
    return [
        [as_written(each, with_timestamp=True) for each in clients.read(topic, count, partition=partition)]
        for partition, count in enumerate((len(PLAIN), len(FIRST + LAST)))
    ]


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        found = admin.list_consumer_group_offsets(group)
    return {each.partition: offset for each, offset in found.items() if each.topic == topic}


def test_a_mirror_leads_from_apache_to_ours_and_back_with_offsets_and_groups(
    spark: SparkSession, apache: ApacheBroker, broker: OurBroker, legacy: Librdkafka, topic: str, tmp_path: Path
) -> None:
    # One group stands inside, one in the hole that the aborted transaction left, both at an end in the other partition.
    inside, in_the_hole, back = fresh("inside"), fresh("in-the-hole"), fresh("back")
    for group, offset in ((inside, 7), (in_the_hole, 12)):
        commit_offsets(
            {"bootstrap.servers": apache.bootstrap},
            group,
            {TopicPartition(topic, 0): len(PLAIN), TopicPartition(topic, 1): offset},
        )
    given = {**CREATED, "kafka": COMMITTED, "groups": f"{inside},{in_the_hole}"}
    done = job_runner(spark, apache.bootstrap)(
        "mirror",
        **given,
        topics=topic,
        target_bootstrap_server=broker.bootstrap,
        checkpoint=str(tmp_path / "there"),
        offsets_path=str(tmp_path / "there-offsets"),
        max_offsets_per_trigger=30,
    )
    assert f"46 records in 2 batches; group {inside}: 2 offsets; group {in_the_hole}: 2 offsets" in done.text
    ours = Librdkafka(broker.bootstrap)
    assert content(ours, topic) == [PLAIN, FIRST + LAST]
    assert committed(broker.bootstrap, inside, topic) == {0: 30, 1: 7}
    assert committed(broker.bootstrap, in_the_hole, topic) == {0: 30, 1: 10}, "at the first record behind the hole"
    table = read_table(spark, str(tmp_path / "there-offsets"), {})
    assert joined(table[TopicPartition(topic, 1)]) == SPANS

    job_runner(spark, broker.bootstrap)(
        "mirror",
        **given,
        topics=topic,
        target_bootstrap_server=apache.bootstrap,
        rename={topic: back},
        checkpoint=str(tmp_path / "back"),
        offsets_path=str(tmp_path / "back-offsets"),
    )
    ours.close()
    assert content(legacy, back) == [PLAIN, FIRST + LAST]
    assert committed(apache.bootstrap, in_the_hole, back) == {0: 30, 1: 10}
    assert ours.errors == []


def joined(spans: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Runs that follow each other as one, whatever batches they came in."""
    found: list[tuple[int, int, int]] = []
    for source, target, count in spans:
        if found and (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]) == (source, target):
            found[-1] = (found[-1][0], found[-1][1], found[-1][2] + count)
        else:
            found.append((source, target, count))
    return found


def test_an_archive_of_apaches_is_audited_and_restored_there(
    spark: SparkSession, apache: ApacheBroker, legacy: Librdkafka, topic: str, tmp_path: Path
) -> None:
    run = job_runner(spark, apache.bootstrap)
    archive, group, target = str(tmp_path / "archive"), fresh("archive"), fresh("restored")
    done = run("archive", kafka=COMMITTED, topics=topic, path=archive, group=group)
    assert done.text.startswith("archive: 46 records")
    assert committed(apache.bootstrap, group, topic) == {0: 30, 1: 23}
    restored = {"rename": {topic: target}, "checkpoint": str(tmp_path / "restore")}
    run("restore", path=archive, **CREATED, **restored)
    assert content(legacy, target) == [PLAIN, FIRST + LAST]
    assert run("audit", kafka=COMMITTED, archive=archive).text == "audit: 0 errors, 0 warnings, 0 info"
    assert run("audit", archive=archive).found_wrong, "without read_committed the aborted records are missing"
    assert not run("audit", live=True, topics=[topic, target]).found_wrong
