"""Which directory is a partition's, where a move between two log directories was cut off at its end.

Role        Acts on names, at a start, before any log is opened.
Invariants  Only directories of one topic id are compared; what cannot be told is left as it is. The one whose history
            goes on longer is the partition's (the later epoch, then the later end). Of two in service the other is set
            aside (-stray), never deleted.
Source      Ours; Kafka refuses to start with two, and makes an empty log where there is none.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.files.leader_epoch_file import read_epochs
from kafka_zk.log.files.names import DirKind, PartitionDir, marked_dir_name
from kafka_zk.protocol.errors import CorruptMessage, KafkaStorageError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import HEADER_SIZE, MAGIC_AT, read_header

if TYPE_CHECKING:
    from kafka_zk.log.loading.directory_load import DirectoryLoad, FoundPartition

log = logging.getLogger("kafka.log.LogManager")

Place = tuple["DirectoryLoad", "FoundPartition"]


def settle_moves(loads: Sequence[DirectoryLoad], *, is_all: bool) -> None:
    """Blocks. Rename what a cut off move has left. `is_all`: no directory is offline.

    A directory that fails meanwhile is offline.
    """
    places: dict[TopicPartition, list[Place]] = {}
    for load in loads:
        for found in load.found:
            places.setdefault(found.partition.topic_partition, []).append((load, found))
    for topic_partition, candidates in places.items():
        live = _of_kind(candidates, DirKind.LIVE)
        future = _of_kind(candidates, DirKind.FUTURE)
        if len(live) == 2 and _are_of_one_topic(live):
            kept = max(live, key=_extent)
            (aside,) = (each for each in live if each is not kept)
            log.warning("%s is also in %s, which is set aside", kept[1].path, aside[1].path)
            _rename(*aside, marked_dir_name(topic_partition, DirKind.STRAY, uuid.uuid4()), DirKind.STRAY)
        elif is_all and not live and len(future) == 1:
            deleted = [each for each in _of_kind(candidates, DirKind.DELETED) if _are_of_one_topic([each, *future])]
            if deleted:
                kept = max([*future, *deleted], key=_extent)
                log.warning("%s takes the place of its partition, which has no other", kept[1].path)
                _rename(*kept, str(topic_partition), DirKind.LIVE)


def _of_kind(candidates: Iterable[Place], kind: DirKind) -> list[Place]:
    return [each for each in candidates if each[1].partition.kind is kind]


def _are_of_one_topic(places: Iterable[Place]) -> bool:
    ids = set()
    for _, found in places:
        try:
            ids.add(partition_metadata.read(found.path / names.PARTITION_METADATA))
        except OSError:
            return False
    return len(ids) == 1 and None not in ids


def _extent(place: Place) -> tuple[int, int]:
    """The last epoch and the end offset; what cannot be read counts as nothing."""
    path = place[1].path
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


def _rename(load: DirectoryLoad, found: FoundPartition, name: str, kind: DirKind) -> None:
    directory = load.data_dir.directory
    target = directory.path / name
    with suppress(KafkaStorageError), directory.guard(f"Error while renaming {found.path} to {target}"):
        directory.disk.rename(found.path, target)
        directory.disk.sync_path(directory.path)
    renamed = found._replace(path=target, partition=PartitionDir(found.partition.topic_partition, kind))
    load.found[load.found.index(found)] = renamed
