"""Fetches that wait for one partition ten thousand times over: who produces to it does not pay for them."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from kafka_zk.protocol.messages.fetch import FETCH_REQUEST, FetchPartition, FetchRequest, FetchTopic
from tests.support.broker import OurBroker
from tests.support.probe import worked_ns
from tests.support.raw_client import RawClient
from tests.support.wire import create_topic, write
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

pytestmark = pytest.mark.alone

TOPIC = "t"
CLIENTS, NAMED = 5, 10_000
PRODUCES = 40
TIMES_DEARER = 10
"""Each entry that is asked at a produce makes it some hundred times dearer here; a busy machine does not."""
FOR_EVER_MS, MORE_THAN_THERE_IS = (1 << 31) - 1, 1 << 30


def produce_ms(client: RawClient, broker: OurBroker) -> float:
    """The median of a few, of what the broker's loop was at work: what else the machine does is no fault of its own."""
    found = []
    for _ in range(PRODUCES):
        began_ns = worked_ns(broker.process.pid)
        write(client, TOPIC, [b"x"])
        found.append((worked_ns(broker.process.pid) - began_ns) / 1e6)
    return statistics.median(found)


def test_a_produce_does_not_pay_for_what_waiting_fetches_name_again_nor_for_clients_that_have_gone(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    broker = OurBroker(tmp_path, fresh_chroot(zookeeper, "waiting")).start()
    waiting: list[RawClient] = []
    try:
        with RawClient(broker.bootstrap) as client:
            create_topic(client, TOPIC)
            alone_ms = produce_ms(client, broker)
            again = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)] * NAMED
            request = FetchRequest(
                max_wait_ms=FOR_EVER_MS,
                min_bytes=MORE_THAN_THERE_IS,
                topics=[FetchTopic(topic=TOPIC, partitions=again)],
            )
            for _ in range(CLIENTS):
                waiting.append(RawClient(broker.bootstrap))
                waiting[-1].post(FETCH_REQUEST, request, 11)
            beside_ms = produce_ms(client, broker)
            for each in waiting:
                each.close()
            after_ms = produce_ms(client, broker)
    finally:
        for each in waiting:
            each.close()
        broker.stop()
    assert max(beside_ms, after_ms) < TIMES_DEARER * alone_ms, (alone_ms, beside_ms, after_ms)
