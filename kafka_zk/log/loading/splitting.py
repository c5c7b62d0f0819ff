"""Splits an overflowed segment found at startup.

Role        Acts on files, plain and synchronous; no log is in service yet.
Invariants  The parts are synced before they are renamed. .cleaned -> .swap from the newest on: until the oldest has its
            name a start undoes the split, and from then on it completes it (leftovers). Old files are removed between.
            Differs from Kafka: they are removed at once, not after file.delete.delay.ms, since they have no readers.
Source      Kafka 3.9 LocalLog.splitOverflowedSegment, replaceSegments.
"""

from __future__ import annotations

import logging
from pathlib import Path

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.splitting import split
from kafka_zk.log.state.producer_journal import ProducerJournal

log = logging.getLogger("kafka.log.LogLoader")


def split_in_place(
    segment: LogSegment, producers: ProducerJournal, config: LogConfig, *, now_ms: int, disk: Disk, prefix: str
) -> list[int]:
    """Split `segment` on the disk; the base offsets of its parts. Raises OSError."""
    directory = producers.directory
    log.info("%s Splitting overflowed segment %s", prefix, segment)
    parts = split(segment, directory, config, now_ms=now_ms, disk=disk)
    bases = [part.base_offset for part in parts]
    log.info("%s Replacing overflowed segment %s with split segments %s", prefix, segment, parts)
    for each in (segment, *parts):
        each.close_files()
    for base in reversed(bases):
        _rename(directory, base, names.CLEANED, names.SWAP, disk)
    disk.sync_path(directory)
    for path in segment.paths():
        disk.remove_if_exists(path)
    if segment.base_offset not in bases:
        producers.delete(segment.base_offset)
    for base in bases:
        _rename(directory, base, names.SWAP, "", disk)
    disk.sync_path(directory)
    return bases


def _rename(directory: Path, base_offset: int, before: str, after: str, disk: Disk) -> None:
    for kind in names.SEGMENT_FILES:
        source = directory / names.offset_file_name(base_offset, kind, before)
        if source.exists():
            disk.rename(source, directory / names.offset_file_name(base_offset, kind, after))
