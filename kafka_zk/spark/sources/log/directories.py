"""Which partitions are in the directories of a query, and how they were left.

Role        Plain: lists directories, reads small files, never writes.
Invariants  A partition is read from one place: two copies of it are an error, not twice its records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.log.files import clean_shutdown, names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, read_offsets
from kafka_zk.log.files.names import DirKind, parse_partition_dir
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceError, SourceOptionError


@dataclass(frozen=True, slots=True)
class LogPlace:
    """One partition's directory. The offsets are the log directory's checkpoints, None where there are none."""

    topic_partition: TopicPartition
    directory: Path
    stopped_cleanly: bool
    recovery_point: int | None
    log_start_offset: int | None


def read_paths(options: Mapping[str, str]) -> list[Path]:
    """The option path (a comma separates several), or what was given to load(). Raises SourceOptionError."""
    texts = options["path"].split(",") if "path" in options else []
    if "paths" in options:
        texts += json.loads(options["paths"])
    paths = [Path(text.strip().removeprefix("file://")) for text in texts if text.strip()]
    if not paths:
        raise SourceOptionError("The option path must name log directories or partition directories.")
    return paths


def find_partitions(paths: Iterable[Path]) -> list[LogPlace]:
    """Blocks. Every living partition below `paths`, by name. Raises SourceError."""
    found: dict[TopicPartition, LogPlace] = {}
    for path in paths:
        for place in _below(path):
            other = found.setdefault(place.topic_partition, place)
            if other.directory.resolve() != place.directory.resolve():
                raise SourceError(
                    f"Partition {place.topic_partition} is in both {other.directory} and "
                    f"{place.directory}; name only one of them."
                )
    return [found[each] for each in sorted(found)]


def _below(path: Path) -> list[LogPlace]:
    try:
        content = sorted(path.iterdir())
        if any(each.name.endswith(names.LOG) for each in content) and (own := _partition_of(path)) is not None:
            return [_place(own, path)]
        return [
            _place(each, entry) for entry in content if entry.is_dir() and (each := _partition_of(entry)) is not None
        ]
    except OSError as error:
        raise SourceError(f"Cannot read {path}: {error.strerror}") from error


def _partition_of(directory: Path) -> TopicPartition | None:
    parsed = parse_partition_dir(directory.resolve().name)
    return parsed.topic_partition if parsed is not None and parsed.kind is DirKind.LIVE else None


def _place(partition: TopicPartition, directory: Path) -> LogPlace:
    log_dir = directory.resolve().parent
    return LogPlace(
        partition,
        directory,
        clean_shutdown.exists(log_dir),
        _checkpointed(log_dir / names.RECOVERY_POINTS, partition),
        _checkpointed(log_dir / names.LOG_START_OFFSETS, partition),
    )


def _checkpointed(path: Path, partition: TopicPartition) -> int | None:
    try:
        return read_offsets(path).get(partition)
    except (MalformedCheckpoint, OSError):
        return None  # A broker takes such a file for empty, too.
