"""LogDirectory: the state of one entry of log.dirs that all its logs share.

Role        Acts. Knows whether the disk works and whether it stalls; takes the directory offline on a disk error.
Invariants  The first OSError takes the directory offline for ever: later calls on its logs raise KafkaStorageError.
            The caller may hold any turn, so `on_failure` does not switch.
            After a slow inline write, writes go to the pool for a while, so that a stalled page cache does not block
            the loop.
Source      LogDirFailureChannel, LocalLog.maybeHandleIOException.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_zk.clock import Clock
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.pools import LogPools
from kafka_zk.log.produce.rules import ConversionBegins
from kafka_zk.log.segments.mending import IndexMender
from kafka_zk.log.segments.open_segments import OpenSegments
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("kafka.server.LogDirFailureChannel")

SLOW_WRITE_MS: Final = 2
POOLED_FOR_MS: Final = 100


class LogDirectory:
    """`inline_from_ms`: monotonic time from which small writes may be done on the loop again; 0 when always."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        pools: LogPools,
        on_failure: Callable[[str], None],
        open_segments: OpenSegments,
        disk: Disk = DISK,
        note_flush_ms: Callable[[int], None] | None = None,
        conversion_begins: ConversionBegins | None = None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.now_ms = clock.monotonic_ms
        self.pools = pools
        self.open_segments = open_segments
        self.index_mender = IndexMender(pools)
        self.disk = disk
        self.conversion_begins = conversion_begins
        self.write_recovery_points: Callable[[], None] = lambda: None
        self.lower_checkpoints: Callable[[TopicPartition, int, int], None] = lambda partition, recovery, start: None
        """Blocks. A log was cut, to this recovery point and log start. Raises KafkaStorageError."""
        self.is_offline = False
        self.inline_from_ms = 0
        self._on_failure = on_failure
        self._note_flush_ms = note_flush_ms

    def stalled(self) -> None:
        """A write on the loop took longer than SLOW_WRITE_MS."""
        self.inline_from_ms = self.clock.monotonic_ms() + POOLED_FOR_MS

    def flushed(self, took_ms: int) -> None:
        """Note how long the sync of a segment took."""
        if self._note_flush_ms is not None:
            self._note_flush_ms(took_ms)

    def sync_replaced_soon(self, path: Path) -> None:
        """Make a replaced small file durable, in the background."""
        self._sync_soon(path, self.disk.sync_replaced)

    def sync_path_soon(self, path: Path) -> None:
        """Make a file, or the names in a directory, durable, in the background."""
        self._sync_soon(path, self.disk.sync_path)

    def _sync_soon(self, path: Path, sync: Callable[[Path], None]) -> None:
        """Whoever depends on it syncs it again, but a disk tells once what it could not write: then it is lost."""

        def failed(error: OSError) -> None:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                log.warning("Syncing %s later: %s", path, error)
            else:
                self.fail(f"Error while syncing {path}", error)

        self.pools.sync_soon(path, sync, failed)

    def room(self) -> tuple[int, int]:
        """Blocks. Bytes of the file system below: all of them, and those that are left for us. Raises OSError."""
        found = self.pools.run_to_end(self.pools.read, self.disk.statvfs, self.path)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def must_pool(self) -> bool:
        """Whether small writes go to the pool, too. Asked only while `inline_from_ms` is not 0."""
        if self.clock.monotonic_ms() < self.inline_from_ms:
            return True
        self.inline_from_ms = 0
        return False

    def fail(self, message: str, error: OSError, *, trace: bool = True) -> KafkaStorageError:
        """Take the directory offline; returns the error for its users, with its cause. Does not switch.

        `trace`: tell where it happened, too, not only what. Of a full disk that would say nothing more.
        """
        if not self.is_offline:
            self.is_offline = True
            if error.errno == errno.ENOSPC:
                log.error("%s: %s. No space is left in %s: free some and start again.", message, error, self.path)
            elif trace:
                log.error("%s", message, exc_info=error)
            else:
                log.error("%s: %s", message, error)
            self._on_failure(str(self.path))
        return caused_by(KafkaStorageError(message), error)

    def check_online(self) -> None:
        """Raises KafkaStorageError."""
        if self.is_offline:
            raise KafkaStorageError(f"The log dir {self.path} is already offline due to a previous IO exception.")

    @contextmanager
    def guard(self, message: str) -> Iterator[None]:
        """Turn an OSError inside into the failure of this directory. Raises KafkaStorageError."""
        self.check_online()
        try:
            yield
        except OSError as error:
            raise self.fail(message, error) from error

    def __repr__(self) -> str:
        return f"{self.path}{' offline' if self.is_offline else ''}"
