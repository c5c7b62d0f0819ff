"""What Apache Kafka 3.9.1's cleaner made of three logs, in three rounds: ours makes the same files, byte for byte.

Records that came between two rounds were cleaned in the round that followed; their original batches are not there any
more. So rounds 2 and 3 begin with the older segments as the round before left them and the newer ones as that round
left them, in which nothing is left to remove.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import TopicPartition
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import GOLDEN, Place, topic_config, unpack

CASE = GOLDEN / "12-compacted"
STATES = ("before", "after1", "after2", "after3")
DELETE_RETENTION_MS = 20_000
COMPACT, TRANSACTIONS, COMPACT_DELETE = (
    TopicPartition(topic, 0) for topic in ("golden-compact", "golden-compact-tx", "golden-compact-delete")
)
_SOURCE = re.compile(r"Cleaning LogSegment\(baseOffset=(\d+), size=\d+, lastModifiedTime=(\d+).*? in log (\S+) into")


def modified_ms(partition: TopicPartition, number: int) -> dict[int, int]:
    """Base offset -> modification time of each segment that a round began with, from Apache's log lines."""
    lines = (CASE / f"broker-log-cleaning-{number}.txt").read_text()
    return {int(match[1]): int(match[2]) for match in _SOURCE.finditer(lines) if match[3] == str(partition)}


@pytest.fixture(scope="module")
def dirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("12-compacted/log-dirs.tar.gz", tmp_path_factory.mktemp("compacted"))


def offset(directory: Path, name: str, partition: TopicPartition) -> int | None:
    return read_offsets(directory / name).get(partition)


def given_log(
    dirs: Path, path: Path, partition: TopicPartition, number: int, *, segment_bytes: int, now_ms: int
) -> UnifiedLog:
    """The log as it was (see above) when round `number` began."""
    older, newer = dirs / STATES[number - 1], dirs / STATES[number]
    dirty_from = offset(older, "cleaner-offset-checkpoint", partition) if number > 1 else None
    place = Place(path)
    place.partition = path / str(partition)
    place.topic_partition = partition
    shutil.copytree(older / str(partition), place.partition)
    remove_stray_snapshots(place.partition)
    if dirty_from is not None:
        for file in (newer / str(partition)).iterdir():
            if file.stem.isdigit() and int(file.stem) >= dirty_from:
                shutil.copy(file, place.partition)
    for base_offset, ms in modified_ms(partition, number).items():
        os.utime(place.partition / f"{base_offset:020d}.log", ns=(ms * 10**6, ms * 10**6))
    place.clock.set_wall(now_ms - place.clock.wall_ms())
    end = offset(newer if number > 1 else older, "recovery-point-offset-checkpoint", partition)
    assert end is not None
    config = topic_config(
        cleanup_policy="compact",
        segment_bytes=segment_bytes,
        delete_retention_ms=DELETE_RETENTION_MS,
        index_interval_bytes=4096 if partition == COMPACT_DELETE else 512,
    )
    snapshots = {file: file.read_bytes() for file in place.partition.glob("*.snapshot")}
    log = place.open(config, clean=True, recovery_point=end, high_watermark=end)
    # Apache's went on from the older state without another start.
    for file, content in snapshots.items():
        file.write_bytes(content)
    return log


def remove_stray_snapshots(directory: Path) -> None:
    """As every start of Apache's does: what is left of an earlier stop, at no segment's base and not the newest."""
    *older, _ = sorted(directory.glob("*.snapshot"))
    for snapshot in older:
        if not snapshot.with_suffix(".log").exists():
            snapshot.unlink()


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if not file.name.endswith(".deleted")}


@pytest.mark.parametrize(
    ("partition", "number", "segment_bytes", "now_ms"),
    [
        (COMPACT, 1, 4096, 1795191098225),
        (TRANSACTIONS, 1, 1024, 1795191098342),
        (COMPACT_DELETE, 1, 4096, 1795191098500),
        # Smaller, where the dirty segments are as small as cleaning made them: groups are formed by size.
        (COMPACT, 2, 2048, 1795191130664),
        (TRANSACTIONS, 2, 1024, 1795191131842),
        (TRANSACTIONS, 3, 1024, 1795191166842),
    ],
)
def test_a_round_leaves_the_files_that_apaches_left(
    dirs: Path, tmp_path: Path, partition: TopicPartition, number: int, segment_bytes: int, now_ms: int
) -> None:
    """`now_ms`: Apache's delete horizons of that round less delete.retention.ms."""
    log = given_log(dirs, tmp_path, partition, number, segment_bytes=segment_bytes, now_ms=now_ms)
    before, after = dirs / STATES[number - 1], dirs / STATES[number]
    checkpoint = offset(before, "cleaner-offset-checkpoint", partition) if number > 1 else None
    end = clean(log, checkpoint)
    assert end == offset(after, "cleaner-offset-checkpoint", partition)
    ours, theirs = files(log.directory), files(after / str(partition))
    assert sorted(ours) == sorted(theirs)
    assert [name for name in theirs if ours[name] != theirs[name]] == []
