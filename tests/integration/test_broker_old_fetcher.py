"""An old client that fetches much does not hold the others up, and nothing of its answer stays in the broker."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_zk.protocol.messages import api_versions, fetch, produce
from kafka_zk.record.batch import batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.conversion import convert_down
from kafka_zk.record.record import Record
from tests.support.broker import OurBroker
from tests.support.processes import has_ended, wait_until
from tests.support.raw_client import RawClient
from tests.support.wire import create_topic

TOPIC = "old"
WANTED_BYTES = 50_000_000
SMALL_BYTES = 20
BATCH_RECORDS = 20_000


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect).start()
    yield running
    running.kill()


def given_records(client: RawClient, wanted_bytes: int) -> None:
    """Small ones: what conversion costs is their number."""
    create_topic(client, TOPIC)
    value = random.Random(5).randbytes(SMALL_BYTES)
    batch = build_batch([Record(index, 1_700_000_000_000, None, value) for index in range(BATCH_RECORDS)])
    for _ in range(wanted_bytes // len(batch) + 1):
        data = produce.PartitionProduceData(index=0, records=batch)
        topic = produce.TopicProduceData(name=TOPIC, partition_data=[data])
        answer = client.send(
            produce.PRODUCE_REQUEST, produce.ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic]), 9
        )
        assert answer.responses[0].partition_responses[0].error_code == 0


def old_fetch(max_bytes: int) -> fetch.FetchRequest:
    wanted = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)
    return fetch.FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, topics=[fetch.FetchTopic(topic=TOPIC, partitions=[wanted])]
    )


def longest_gap_s(client: RawClient, until: threading.Event) -> float:
    """How long this client had to wait for its worst answer."""
    longest = 0.0
    while not until.is_set():
        started = time.monotonic()
        client.send(api_versions.API_VERSIONS_REQUEST, api_versions.ApiVersionsRequest(), 0)
        longest = max(longest, time.monotonic() - started)
    return longest


def memory_files(broker: OurBroker) -> int:
    count = 0
    for entry in Path(f"/proc/{broker.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # Closed since it was listed.
            count += "memfd:down-conversion" in os.readlink(entry)
    return count


def children(broker: OurBroker) -> list[int]:
    pid = broker.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.alone
def test_others_do_not_wait_while_fifty_megabytes_are_converted(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as old, RawClient(broker.bootstrap) as other:
        given_records(old, WANTED_BYTES)
        (segment,) = (broker.log_dir / f"{TOPIC}-0").glob("*.log")
        stored = segment.read_bytes()[:WANTED_BYTES]
        converted = threading.Event()
        gaps: list[float] = []
        watcher = threading.Thread(target=lambda: gaps.append(longest_gap_s(other, converted)))
        watcher.start()
        started = time.monotonic()
        old.post(fetch.FETCH_REQUEST, old_fetch(WANTED_BYTES), 2)
        head = old.receive_exactly(4)
        took_s = time.monotonic() - started
        converted.set()
        watcher.join()
        answer = fetch.FETCH_RESPONSE.decode(memoryview(old.receive_exactly(int.from_bytes(head, "big"))), 2, 4)
    assert answer.responses[0].partitions[0].records == convert_down(stored, magic=1)
    print(
        f"converted {len(stored)} bytes in {took_s:.2f} s, the longest wait of another client {gaps[0] * 1000:.1f} ms"
    )
    assert took_s > 0.3, "too quick to tell whether the loop was held up"
    assert gaps[0] < max(0.1, took_s / 10)
    wait_until(lambda: memory_files(broker) == 0, "the converted records are given back")


def test_a_client_that_leaves_takes_its_converted_records_with_it(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as client:
        given_records(client, 5_000_000)
        for _ in range(3):
            leaving = RawClient(broker.bootstrap)
            leaving.post(fetch.FETCH_REQUEST, old_fetch(5_000_000), 2)
            leaving.close()
        reading = client.send(fetch.FETCH_REQUEST, old_fetch(5_000_000), 2).responses[0].partitions[0].records
        assert next(batches(reading)).header.magic == 1
        wait_until(lambda: memory_files(broker) == 0, "the converted records are given back")


def test_the_process_that_converts_ends_with_the_broker(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as client:
        given_records(client, 1_000_000)
        before = children(broker)
        client.send(fetch.FETCH_REQUEST, old_fetch(1_000_000), 2)
        (helper,) = set(children(broker)) - set(before)
        resident_pages = int(Path(f"/proc/{helper}/statm").read_text().split()[1])
        print(f"the helper process has {resident_pages * os.sysconf('SC_PAGESIZE') / 1e6:.1f} MB")
    broker.kill()
    wait_until(lambda: has_ended(helper), "the helper process has ended")
