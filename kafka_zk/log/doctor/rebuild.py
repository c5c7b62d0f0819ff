"""Rebuilds indexes, byte for byte as the broker's recovery would.

Role        Acts: the one part of the doctor that changes a data directory. The caller holds its lock.
Invariants  A recovery of the whole log runs on a shadow; its indexes are put in place by temporary file, fsync and
            rename, each for itself, with the owner and mode of its segment. A segment that recovery would cut, and
            those behind it, keep their indexes: that is for a start to decide.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.doctor.partition_files import list_partition
from kafka_zk.log.doctor.rehearsal import CUT, DELETED, Start, rehearse_in, shadow_of
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import DISK


class Rebuilt(NamedTuple):
    """One index file: rewritten, or why not."""

    path: Path
    written: bool
    why: str = ""


def rebuild_indexes(
    directory: Path,
    topic_partition: str,
    *,
    log_start_offset: int,
    index_interval_bytes: int,
    only: frozenset[str] | None = None,
) -> list[Rebuilt]:
    """What was done about each index of a partition that differs from what recovery writes. Raises OSError.

    `only`: the names of the indexes to check; None for all of them.
    """
    files = list_partition(directory)
    if any(file.state in (names.CLEANED, names.SWAP) for file in files.sizes):
        return [
            Rebuilt(directory, False, "a cleaning did not finish: start the broker once, which completes or reverts it")
        ]
    start = Start(
        directory,
        topic_partition,
        clean_stop=False,
        recovery_point=0,
        log_start_offset=log_start_offset,
        index_interval_bytes=index_interval_bytes,
        # All segments are to be kept, whatever lies between them.
        knows_recovery_point=False,
        is_compacted=True,
    )
    with shadow_of(directory) as shadow:
        rehearsal = rehearse_in(start, shadow)
        if rehearsal.failure:
            return [Rebuilt(directory, False, rehearsal.failure)]
        result: list[Rebuilt] = []
        for segment in files.segments:
            if only is not None and only.isdisjoint(segment.name(kind) for kind in names.INDEXES):
                continue
            fate = rehearsal.fates.get(segment.name())
            if fate is not None and fate.action in (CUT, DELETED):
                why = "the segment is damaged: a start would truncate it at the damage"
                result.append(Rebuilt(directory / segment.name(), False, why))
                continue
            kinds = [segment.name(kind) for kind in names.INDEXES]
            wanted = [name for name in kinds if only is None or name in only]
            result += _replace(directory, shadow, segment.name(), wanted)
        return result


def _replace(directory: Path, shadow: Path, log_name: str, wanted: Iterable[str]) -> Iterator[Rebuilt]:
    for name in wanted:
        made, real = shadow / name, directory / name
        if not made.exists():
            continue
        content = made.read_bytes()
        if real.exists() and real.stat().st_size == len(content) and real.read_bytes() == content:
            continue
        _install(real, content, directory / log_name)
        yield Rebuilt(real, True)


def _install(path: Path, content: bytes, like: Path) -> None:
    """Put a file in place durably, with the owner and permissions of `like`."""
    owner = like.stat()
    temporary = f"{path}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        if content:
            DISK.write_whole(descriptor, content, 0)
        if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.fchmod(descriptor, owner.st_mode & 0o777)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(temporary, path)
    DISK.sync_path(path.parent)
