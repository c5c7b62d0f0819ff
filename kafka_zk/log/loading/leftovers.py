"""Completes or reverts interrupted deletions, cleanings and splits in a partition's directory.

Role        Acts on files, plain and synchronous.
Invariants  .deleted: no longer needed. .cleaned: unfinished, so the swaps at or above the smallest are of a split that
            is not either. Other .swap files are finished and replace everything in their range of offsets, snapshots
            included, and the segment whose parts they are. What is left has no suffix.
Source      LogLoader.load, removeTempFilesAndCollectSwapFiles.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.names import OffsetFile
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.errors import CorruptMessage

log = logging.getLogger("kafka.log.LogLoader")


class Leftovers:
    """Those of one directory. `prefix` is how its lines begin."""

    def __init__(self, directory: Path, config: LogConfig, disk: Disk, prefix: str) -> None:
        self._directory = directory
        self._config = config
        self._disk = disk
        self._prefix = prefix

    def clear(self, files: Iterable[OffsetFile]) -> bool:
        """Revert or complete interrupted operations; whether anything changed. Raises CorruptMessage, OSError."""
        found = list(files)
        if not any(file.state for file in found):
            return False
        for file in _having(found, names.DELETED):
            self._unlink(file)
        swaps = self._valid_swaps(found)
        for file in _having(found, names.CLEANED):
            self._unlink(file)
        self._remove_replaced(swaps, _having(found, ""))
        for file in swaps:
            log.info(
                "%s Recovering file %s by renaming from %s files.", self._prefix, self._path(file).name, names.SWAP
            )
            self._disk.rename(self._path(file), self._path(file._replace(state="")))
        self._disk.sync_path(self._directory)
        return True

    def _valid_swaps(self, files: list[OffsetFile]) -> list[OffsetFile]:
        """Returns the finished .swap files; removes the others."""
        smallest_cleaned = min((file.offset for file in _having(files, names.CLEANED)), default=1 << 63)
        valid = []
        for file in _having(files, names.SWAP):
            if file.offset >= smallest_cleaned:
                log.debug(
                    "%s Deleting invalid swap file %s minCleanedFileOffset: %d",
                    self._prefix,
                    self._path(file),
                    smallest_cleaned,
                )
                self._unlink(file)
            else:
                valid.append(file)
        return valid

    def _remove_replaced(self, swaps: list[OffsetFile], live: list[OffsetFile]) -> None:
        logs = [file for file in swaps if file.kind == names.LOG]
        for file in logs:
            log.info(
                "%s Found log file %s from interrupted swap operation, which is recoverable from %s files by renaming.",
                self._prefix,
                self._path(file),
                names.SWAP,
            )
        first = min((file.offset for file in logs), default=0)
        end = max((self._end(file) for file in logs), default=0)
        split_base = self._base_of_parts_from(first, live)
        for file in live:
            if first <= file.offset < end or file.offset == split_base:
                log.info(
                    "%s Deleting segment files %s that is compacted but has not been deleted yet.",
                    self._prefix,
                    self._path(file).name,
                )
                self._unlink(file)

    def _base_of_parts_from(self, offset: int, live: list[OffsetFile]) -> int | None:
        """Of the segment below `offset` whose first batch holds it, if there is one: its parts begin there. OSError.

        Where a segment's first records were cleaned away, the first part of its split begins behind its base. Offsets
        are not under the crc: a damaged one further behind must not take a whole segment away.
        """
        before = [file for file in live if file.kind == names.LOG and file.offset < offset]
        if not before:
            return None
        path = self._path(before[-1])
        file = SegmentFile(path, os.stat(path).st_size, self._disk)
        with suppress(CorruptMessage):  # Nothing was split after the readable part, and the loader checks it.
            for _, first in islice(file.headers(0), 1):
                if first.base_offset <= offset <= first.last_offset:
                    return before[-1].offset
        return None

    def _end(self, file: OffsetFile) -> int:
        """The offset behind the last batch of a .log.swap. Raises CorruptMessage, OSError."""
        segment = LogSegment(
            self._directory,
            file.offset,
            self._config,
            size_bytes=os.stat(self._path(file)).st_size,
            created_ms=0,
            disk=self._disk,
            suffix=names.SWAP,
        )
        try:
            return segment.next_offset()
        finally:
            segment.close_files()

    def _path(self, file: OffsetFile) -> Path:
        return self._directory / names.offset_file_name(*file)

    def _unlink(self, file: OffsetFile) -> None:
        self._disk.remove_if_exists(self._path(file))


def _having(files: list[OffsetFile], state: str) -> list[OffsetFile]:
    return sorted(file for file in files if file.state == state)
