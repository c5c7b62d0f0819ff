"""Creates the files of a new partition.

Role        Plain and synchronous: nearly all of it is waiting for the disk, so a thread runs it.
Invariants  When it returns, the topic id and the names of all files are durable: no record may be written to a
            directory whose topic id a power cut could take away. The first leader epoch is written and not synced:
            a start after a crash drops every epoch that begins at the end of the log, as Apache's does, so a sync
            before the first record keeps nothing. The first flush syncs it (EpochJournal).
Source      LogManager.createLogDirectory, UnifiedLog.assignTopicId, maybeFlushMetadataFile; LogLoader.load.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.leader_epoch_file import EpochEntry, encode_epochs
from kafka_zk.log.segments.roll import drawn_jitter_ms
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.types import NULL_UUID


def make_partition(
    directory: Path,
    topic_id: UUID,
    config: LogConfig,
    *,
    epochs: Sequence[EpochEntry] = (),
    now_ms: int,
    disk: Disk,
    jitter_below: Callable[[int], int] = lambda bound: 0,
) -> LogSegment:
    """Make the directory and what is in it; its first segment. Raises FileExistsError for the directory, OSError.

    Two syncs: of the topic id, and of the directory for all names in it.
    """
    disk.mkdir(directory)
    _write_epochs(directory / names.LEADER_EPOCHS, epochs, disk)
    jitter_ms = drawn_jitter_ms(
        jitter_ms=config.segment_jitter_ms, segment_ms=config.segment_ms, draw_below=jitter_below
    )
    segment = LogSegment(directory, 0, config, created_ms=now_ms, jitter_ms=jitter_ms, disk=disk)
    segment.create_files(preallocate_bytes=config.segment_bytes if config.preallocate else 0)
    if topic_id == NULL_UUID:
        disk.sync_path(directory)
    else:
        partition_metadata.write(directory / names.PARTITION_METADATA, topic_id, disk)
    return segment


def _write_epochs(path: Path, epochs: Sequence[EpochEntry], disk: Disk) -> None:
    """Nobody reads it yet, so no temporary file is needed."""
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if epochs:
            disk.write_whole(descriptor, encode_epochs(list(epochs)), 0)
    finally:
        disk.close(descriptor)
