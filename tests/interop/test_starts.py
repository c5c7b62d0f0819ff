"""Directories that a start must put in order first: what ours leaves in them is, file by file, what Apache leaves.

Segments with offsets out of reach of their base, splits of them that a kill broke off at every step, stray snapshots.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from kafka_zk.log.files import clean_shutdown, names
from kafka_zk.log.files.checkpoint import encode_offsets
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.unit.log.given import TP, Place, WatchedDisk, produced, topic_config

NOW = int(time.time() * 1000)
"""Producers of older records would be forgotten."""

STARTED = "started (kafka.server.KafkaServer)"
FORGOTTEN = "noindex-stopped-0"
FAR = 2**31 + 5
END = 2 * FAR + 8
CONFIG = {
    "log.index.interval.bytes": "200",
    "log.segment.bytes": "4000",
    "log.retention.ms": "-1",
    "log.cleaner.enable": "false",
}


def placed(batch: memoryview, offset: int) -> bytes:
    """As a leader of epoch 0 wrote it."""
    batch[:8], batch[12:16] = offset.to_bytes(8), bytes(4)
    return bytes(batch)


def far_apart() -> bytes:
    """Batches of which some are out of reach of others, one an aborted transaction's, and an idempotent producer."""
    content, number = b"", 0
    for sequence, base in enumerate((0, FAR, END - 8)):
        for offset in range(base, base + 6):
            content += placed(
                produced(f"value {number}", timestamp=NOW + number, producer_id=3, epoch=0, sequence=number), offset
            )
            number += 1
        data = produced("gone", timestamp=NOW, producer_id=7, epoch=0, sequence=sequence, transactional=True)
        end = EndTransactionMarker(ControlType.ABORT, 0)
        marker = memoryview(build_marker(end, producer_id=7, producer_epoch=0, timestamp_ms=NOW))
        content += placed(data, base + 6) + placed(marker, base + 7)
    return content


def given_overflow(partition: Path, *, index: bool) -> None:
    partition.mkdir(parents=True)
    (partition / names.offset_file_name(0, names.LOG)).write_bytes(far_apart())
    (partition / names.LEADER_EPOCHS).write_bytes(b"")
    if index:
        (partition / names.offset_file_name(0, names.OFFSET_INDEX)).write_bytes(b"")


def given_broken_off_splits(folder: Path, data: Path) -> int:
    """A partition for each step of a split that a kill may come before; how many."""
    disk = WatchedDisk()
    given_overflow(folder / str(TP), index=True)
    place = Place(folder, disk=disk)
    copies = disk.copy_before_each_change(folder, data.parent / "copies")
    place.crash(place.open(topic_config(index_interval_bytes=200)))
    seen = set()
    for _, copy in copies:
        state = tuple((path.name, path.read_bytes()) for path in sorted((copy / str(TP)).iterdir()))
        is_under_way = any(name.endswith((names.CLEANED, names.SWAP)) for name, _ in state)
        if is_under_way and state not in seen:
            shutil.copytree(copy / str(TP), data / f"step{len(seen)}-0")
            seen.add(state)
    return len(seen)


def given_snapshots(partition: Path, *, stray: tuple[int, ...]) -> int:
    """A log that was closed, and snapshots that stand at no segment; where it ends."""
    place = Place(partition.parent)
    shutil.rmtree(place.partition)
    place.partition = partition
    partition.mkdir(parents=True)
    log = place.open(topic_config(segment_bytes=300, index_interval_bytes=200))
    for number in range(8):
        batch = produced(str(number), timestamp=NOW + number, producer_id=1, epoch=0, sequence=number)
        log.append_as_leader(batch, leader_epoch=0)
    log.close()
    content = (partition / names.offset_file_name(8, names.PRODUCER_SNAPSHOT)).read_bytes()
    for offset in stray:
        path = partition / names.offset_file_name(offset, names.PRODUCER_SNAPSHOT)
        if not path.exists():
            path.write_bytes(content)
    return 8


def left_in(log_dir: Path) -> dict[str, bytes]:
    """All that stays of the partitions' files; what is on its way to deletion is as good as gone.

    Of a log that was split after a clean stop Apache forgets aborted transactions and producers.
    """
    return {
        str(path.relative_to(log_dir)): path.read_bytes()
        for path in sorted(log_dir.glob("*-0/*"))
        if not path.name.endswith(names.DELETED)
        and not (path.parent.name == FORGOTTEN and path.suffix in (names.TRANSACTION_INDEX, names.PRODUCER_SNAPSHOT))
    }


@pytest.fixture
def directories(tmp_path: Path) -> dict[str, Path]:
    """`stopped` after a clean stop, `killed` after a crash."""
    stopped, killed = tmp_path / "before" / "stopped", tmp_path / "before" / "killed"
    for data in (stopped, killed):
        data.mkdir(parents=True)
        given_overflow(data / f"noindex-{data.name}-0", index=False)
        ends = {
            TopicPartition(f"strays{number}-{data.name}", 0): given_snapshots(
                data / f"strays{number}-{data.name}-0", stray=stray
            )
            for number, stray in enumerate([(1,), (1, 5), (7,), (1, 9), (9, 11)])
        }
        (data / names.RECOVERY_POINTS).write_bytes(encode_offsets(ends if data is stopped else {}))
    given_overflow(killed / "overflow-0", index=True)
    assert given_broken_off_splits(tmp_path / "made", killed) > 20
    clean_shutdown.write(stopped)
    return {"stopped": stopped, "killed": killed}


def started_and_stopped(kind: type[ApacheBroker | OurBroker], home: Path, zookeeper: str, dirs: list[Path]) -> None:
    broker = kind(home, zookeeper, overrides={**CONFIG, "log.dirs": ",".join(map(str, dirs))})
    try:
        broker.start()
        if kind is ApacheBroker:  # Told to stop before this it ends as if it was killed.
            wait_until(lambda: STARTED in broker.process.output(), "Apache Kafka has started")
        broker.stop()
    finally:
        broker.kill()


def test_a_start_leaves_the_same_files(tmp_path: Path, zookeeper_connect: str, directories: dict[str, Path]) -> None:
    left: dict[type, dict[str, dict[str, bytes]]] = {}
    for kind in (ApacheBroker, OurBroker):
        home = tmp_path / kind.__name__
        shutil.copytree(tmp_path / "before", home / "data")
        dirs = {name: home / "data" / name for name in directories}
        started_and_stopped(kind, home, f"{zookeeper_connect}/{kind.__name__}", list(dirs.values()))
        left[kind] = {name: left_in(path) for name, path in dirs.items()}
    ours, theirs = left[OurBroker], left[ApacheBroker]
    for name in directories:
        assert len(theirs[name]) > 10
        partitions = {file.split("/")[0] for file in (*ours[name], *theirs[name])}
        differing = {
            partition: {
                file
                for file in {*ours[name], *theirs[name]}
                if file.startswith(f"{partition}/") and ours[name].get(file) != theirs[name].get(file)
            }
            for partition in sorted(partitions)
        }
        assert {partition: sorted(files) for partition, files in differing.items() if files} == {}, name
