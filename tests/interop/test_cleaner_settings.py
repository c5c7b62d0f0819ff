"""Each setting of the cleaner, changed while it runs: the cleaner goes by the new value, Apache's and ours alike.

What a cleaner does is read from its log, whose lines are the same on both sides, and from what it leaves of a topic.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigResource, ConfigSource, ResourceType
from kafka_zk.protocol.messages import produce
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import Record
from tests.support import wire
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

OWN = ConfigResource(ResourceType.BROKER, "0")
MIB = 1 << 20
BYTES_PER_KEY = 24
"""What Kafka's table takes: an MD5 and an offset."""
STATIC = {
    "log.cleaner.backoff.ms": "20",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.dedupe.buffer.size": str(16 * MIB),
    "log.cleanup.policy": "compact",
    "log.roll.ms": "1",
}
_CLEANED = re.compile(
    r"Log cleaner thread (\d+) cleaned log (\S+) \(dirty section = \[(\d+), (\d+)\]\).*?Buffer utilization: ([\d.]+)%",
    re.DOTALL,
)
Pair = tuple[bytes, bytes | None]


class Cleaned(NamedTuple):
    """One cleaning, as the log tells of it; the dirty section's end is exclusive."""

    thread: int
    start: int
    end: int
    utilization_percent: float


class Scene:
    """A running broker and what its cleaner says."""

    def __init__(self, broker: ApacheBroker | OurBroker, log: Path) -> None:
        self._log = log
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self._client = RawClient(broker.bootstrap)
        self._topic_count = 0
        self._now_ms = int(time.time() * 1000) - 100_000
        wire.wait_for_brokers(self._client)

    def close(self) -> None:
        self._client.close()
        self._admin.close()

    def set(self, **values: float) -> None:
        """Give these log.cleaner keys of the broker values, all its other keys none, and wait until it has them."""
        wanted = {"log.cleaner." + name.replace("_", "."): value for name, value in values.items()}
        self._admin.alter_configs({OWN: {name: str(value) for name, value in wanted.items()}})

        def shown() -> dict[str, float]:
            entries = self._admin.describe_configs([OWN])[OWN]
            return {
                entry.name: float(entry.value or "nan")
                for entry in entries
                if entry.source == ConfigSource.DYNAMIC_BROKER_CONFIG
            }

        wait_until(lambda: shown() == wanted, f"the broker has {wanted}")

    def topic(self, **configs: object) -> str:
        self._topic_count += 1
        name = f"t-{self._topic_count}"
        given = {key.replace("_", "."): str(value) for key, value in configs.items()}
        wire.create_topic(self._client, name, configs=given)
        return name

    def write(self, topic: str, batch: Sequence[Pair]) -> None:
        """One batch, in a segment that ends behind it: from here on it may be cleaned."""
        for pairs in (batch, [(b"the last", b"")]):
            # Each begins a segment, because it is later than log.roll.ms.
            self._now_ms += 10
            records = [Record(offset, self._now_ms, key, value, []) for offset, (key, value) in enumerate(pairs)]
            partition = produce.PartitionProduceData(index=0, records=build_batch(records))
            data = produce.TopicProduceData(name=topic, partition_data=[partition])
            request = produce.ProduceRequest(acks=1, timeout_ms=wire.ANSWER_MS, topic_data=[data])
            answer = self._client.send(produce.PRODUCE_REQUEST, request, 9)
            assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def keys(self, topic: str) -> list[bytes | None]:
        return [record.key for record in wire.read(self._client, topic)]

    def text(self) -> str:
        return self._log.read_text()

    def cleanings(self, topic: str) -> list[Cleaned]:
        found = _CLEANED.findall(self.text())
        return [
            Cleaned(int(thread), int(start), int(end), float(used))
            for thread, name, start, end, used in found
            if name == f"{topic}-0"
        ]

    def wait_cleaned(self, topic: str, times: int = 1) -> list[Cleaned]:
        wait_until(lambda: len(self.cleanings(topic)) >= times, f"{topic} is cleaned {times} times")
        return self.cleanings(topic)

    def stays_dirty(self, topic: str, **configs_of_another: object) -> bool:
        """Whether the cleaner passes by, while it cleans a topic with these configs that was written later."""
        other = self.topic(**configs_of_another)
        self.write(other, pairs(2))
        self.wait_cleaned(other)
        return not self.cleanings(topic)


KINDS: dict[str, Callable[..., ApacheBroker | OurBroker]] = {"apache": ApacheBroker, "ours": OurBroker}
LOGS = {"apache": "broker.log", "ours": "logs/log-cleaner.log"}


@pytest.fixture(scope="module", params=KINDS)
def scene(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp(f"cleaner-{request.param}")
    broker = KINDS[request.param](folder, fresh_chroot(zookeeper, "cleaner"), overrides=STATIC).start()
    try:
        made = Scene(broker, folder / LOGS[request.param])
        yield made
        made.close()
    finally:
        broker.kill()


def pairs(count: int, *, value: bytes | None = b"v" * 50) -> list[Pair]:
    return [(b"key %d" % number, value) for number in range(count)]


def test_backoff_ms(scene: Scene) -> None:
    scene.set(backoff_ms=600_000)
    resting = scene.topic()
    scene.write(resting, pairs(2))
    time.sleep(0.5)
    assert scene.cleanings(resting) == []
    scene.set(backoff_ms=20)
    scene.wait_cleaned(resting)
    # It began anew with that round: only the next ones tell that it rests no longer.
    for times in (2, 3):
        scene.write(resting, pairs(2))
        scene.wait_cleaned(resting, times)


def test_min_cleanable_ratio(scene: Scene) -> None:
    scene.set(min_cleanable_ratio=1)
    topic = scene.topic()
    scene.write(topic, pairs(2))
    assert scene.stays_dirty(topic, min_cleanable_dirty_ratio=0.01)
    scene.set(min_cleanable_ratio=0.01)
    scene.wait_cleaned(topic)


def test_max_compaction_lag_ms(scene: Scene) -> None:
    scene.set(min_cleanable_ratio=1)
    topic = scene.topic()
    scene.write(topic, pairs(2))
    assert scene.stays_dirty(topic, min_cleanable_dirty_ratio=0.01)
    scene.set(min_cleanable_ratio=1, max_compaction_lag_ms=1)
    scene.wait_cleaned(topic)


def test_min_compaction_lag_ms(scene: Scene) -> None:
    scene.set(min_compaction_lag_ms=3_600_000)
    topic = scene.topic()
    scene.write(topic, pairs(2))
    assert scene.stays_dirty(topic, min_compaction_lag_ms=0)
    scene.set(min_compaction_lag_ms=0)
    scene.wait_cleaned(topic)


def test_delete_retention_ms(scene: Scene) -> None:
    def after_two_cleanings() -> bool:
        """Whether a tombstone is still there: the first cleaning notes until when, the second may let it go."""
        topic = scene.topic()
        for times, key in enumerate((b"gone", b"other"), 1):
            scene.write(topic, [(key, None), *pairs(2)])
            scene.wait_cleaned(topic, times)
        return b"gone" in scene.keys(topic)

    scene.set()
    assert after_two_cleanings()
    scene.set(delete_retention_ms=0)
    assert not after_two_cleanings()


@pytest.mark.parametrize("buffer_mib", [2, 4])
def test_dedupe_buffer_size(scene: Scene, buffer_mib: int) -> None:
    scene.set(dedupe_buffer_size=buffer_mib * MIB)
    topic, keys = scene.topic(), pairs(4000)
    scene.write(topic, keys)
    slots = buffer_mib * MIB // BYTES_PER_KEY
    assert scene.wait_cleaned(topic)[0] == (0, 0, len(keys), round(100 * len(keys) / slots, 1))


def test_io_buffer_load_factor(scene: Scene) -> None:
    scene.set(dedupe_buffer_size=2 * MIB, io_buffer_load_factor=0.02)
    topic, keys = scene.topic(), pairs(5000)
    scene.write(topic, keys)
    keys_a_round = int(2 * MIB // BYTES_PER_KEY * 0.02)
    sections = [(each.start, each.end) for each in scene.wait_cleaned(topic, 3)]
    assert sections == [(0, keys_a_round), (keys_a_round, 2 * keys_a_round), (2 * keys_a_round, len(keys))]


def test_io_buffer_size(scene: Scene) -> None:
    def growths(batch: Sequence[Pair]) -> list[tuple[int, int]]:
        topic, before = scene.topic(), len(scene.text())
        scene.write(topic, batch)
        scene.wait_cleaned(topic)
        found = re.findall(r"Growing cleaner I/O buffers from (\d+) bytes to (\d+) bytes", scene.text()[before:])
        return [(int(start), int(end)) for start, end in found]

    batch = [(b"k", b"v" * 2000)]
    scene.set(io_buffer_size=100_000)
    assert growths(batch) == []
    # Half of it is to read: doubled until the batch fits, once for the keys and once for the records.
    scene.set(io_buffer_size=2000)
    assert growths(batch) == [(1000, 2000), (2000, 4000)] * 2


def test_threads(scene: Scene) -> None:
    scene.set(threads=2)
    busy = [scene.topic() for _ in range(2)]

    def threads() -> set[int]:
        return {each.thread for topic in busy for each in scene.cleanings(topic)}

    def both_worked() -> bool:
        for topic in busy:
            scene.write(topic, pairs(500))
        return threads() == {0, 1}

    wait_until(both_worked, "both threads have cleaned a log")
    scene.set(threads=1)
    alone = scene.topic()
    for times in range(1, 4):
        scene.write(alone, pairs(2))
        scene.wait_cleaned(alone, times)
    assert {each.thread for each in scene.cleanings(alone)} == {0}


@pytest.mark.alone
def test_io_max_bytes_per_second(scene: Scene) -> None:
    def cleanings_s(enough_s: float = math.inf) -> list[float]:
        """Of up to twenty, each of which reads 45 KB twice and writes as much; the last one took long enough."""
        topic, found = scene.topic(), [0.0]
        while len(found) <= 20 and found[-1] < enough_s:
            began = time.monotonic()
            scene.write(topic, pairs(700))
            scene.wait_cleaned(topic, len(found))
            found.append(time.monotonic() - began)
        return found

    # It looks every 300 ms, and then rests for all that went through.
    scene.set(io_max_bytes_per_second=200_000)
    assert cleanings_s(0.7)[-1] > 0.7
    # All twenty read and write 2.7 MB, which would take more than 13 s.
    scene.set(io_max_bytes_per_second=1e9)
    assert sum(cleanings_s()) < 10
