"""Chooses between two copies of a partition after an interrupted move between log directories.

Role        `put_back` acts on names, before anything is opened; `choose` is pure, once both logs are.
Invariants  A partition that has a copy and no log gets its log back: never an empty one, to which the copy would
            be cut. A log is deleted only for one that has all that it has; else it is set aside (-stray).
Source      Apache refuses to start with two directories of a partition, and deletes a copy that has no log by making
            an empty one (LogManager.loadLogs, Partition.maybeCreateFutureReplica).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.files.leader_epoch_file import read_epochs
from kafka_zk.log.files.names import DirKind
from kafka_zk.log.files.partition_metadata import MalformedPartitionMetadata
from kafka_zk.log.loading.directory_load import DirectoryLoad, FoundPartition
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import HEADER_SIZE, MAGIC_AT, read_header

log_lines = logging.getLogger("kafka.log.LogManager")

Place = tuple[DirectoryLoad, FoundPartition]


def put_back(loads: Sequence[DirectoryLoad], topic_config: Callable[[str], LogConfig]) -> None:
    """Blocks. Give each partition that has a copy and no log its log back. `loads`: of every directory there is.

    What takes the place is the copy, or a log of the same topic that is marked deleted, if that reaches further: then
    the move continues. Raises KafkaStorageError through the directory's guard.
    """
    places: dict[TopicPartition, list[Place]] = defaultdict(list)
    for load in loads:
        for found in load.found:
            places[found.partition.topic_partition].append((load, found))
    for topic_partition, known in places.items():
        kinds = {found.partition.kind for _, found in known}
        if DirKind.FUTURE in kinds and DirKind.LIVE not in kinds:
            _put_back(topic_partition, known, topic_config)


def _put_back(
    topic_partition: TopicPartition, known: Sequence[Place], topic_config: Callable[[str], LogConfig]
) -> None:
    copy = next(place for place in known if place[1].partition.kind is DirKind.FUTURE)
    topic_id = _topic_id(copy[1].path)
    candidates = [copy]
    candidates += [
        place for place in known if place[1].partition.kind is DirKind.DELETED and _topic_id(place[1].path) == topic_id
    ]
    load, chosen = max(candidates, key=lambda place: _extent(place[1].path))
    directory = load.data_dir.directory
    target = directory.path / str(topic_partition)
    with directory.guard(f"Error while renaming {chosen.path} to {target}"):
        directory.disk.rename(chosen.path, target)
        directory.pools.run_to_end(directory.pools.sync, directory.disk.sync_path, directory.path)
    load.open_as_live(chosen, target, topic_config(topic_partition.topic))
    log_lines.warning(
        "%s lost its log during a move between log directories; using its copy: %s, renamed from %s",
        topic_partition,
        target,
        chosen.path.name,
    )


def _topic_id(path: Path) -> UUID | None:
    with suppress(MalformedPartitionMetadata, OSError):
        return partition_metadata.read(path / names.PARTITION_METADATA)
    return None


def _extent(path: Path) -> tuple[int, int]:
    """How far a log reaches: its last epoch and its end; what cannot be read counts as nothing."""
    epoch, end_offset = -1, -1
    with suppress(OSError, ValueError):
        entries = read_epochs(path / names.LEADER_EPOCHS)
        epoch = entries[-1].epoch if entries else -1
    with suppress(OSError):
        segments = sorted(each for each in path.iterdir() if each.name.endswith(names.LOG))
        if segments:
            end_offset = _end_of(segments[-1])
    return epoch, end_offset


def _end_of(segment: Path) -> int:
    """Behind the last whole batch. Raises OSError."""
    end_offset, position, size_bytes = int(segment.stem), 0, segment.stat().st_size
    with segment.open("rb") as file, suppress(CorruptMessage):
        while position + HEADER_SIZE <= size_bytes:
            file.seek(position)
            head = file.read(HEADER_SIZE)
            header = read_header(head, 0)
            if head[MAGIC_AT] != 2 or header.base_offset < end_offset or position + header.size_bytes > size_bytes:
                break
            end_offset, position = header.last_offset + 1, position + header.size_bytes
    return end_offset


class Choice(NamedTuple):
    """Of two logs of one partition. `is_covered`: the log that is kept has all that the other has."""

    kept: UnifiedLog
    other: UnifiedLog
    is_covered: bool


def choose(one: UnifiedLog, other: UnifiedLog) -> Choice | None:
    """Which of two logs of one partition to continue with; None for two topics' logs.

    They were equal when the move ended. What was written since went to one of them only, and has the newer epochs.
    """
    if one.topic_id != other.topic_id and None not in (one.topic_id, other.topic_id):
        return None
    kept, other = (one, other) if _reach(one) >= _reach(other) else (other, one)
    common = kept.end_offset_for(other.latest_epoch)
    is_covered = common.leader_epoch == other.latest_epoch and other.log_end_offset <= common.end_offset
    return Choice(kept, other, is_covered or other.log_end_offset == other.log_start_offset)


def _reach(log: UnifiedLog) -> tuple[int, int]:
    return log.latest_epoch, log.log_end_offset
