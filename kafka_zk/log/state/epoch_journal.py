"""EpochJournal: the leader epochs of one log and their file.

Role        Plain and synchronous, except that syncing is left to `sync_soon`.
Invariants  The file is read on first use. Each assignment replaces it at once (readers see the old or the new one) and
            it is synced soon after, at the latest when the recovery point passes (`is_synced` tells the flusher):
            batches below the recovery point are never checked again. That of a new log waits for the recovery point.
            A file that a power cut left empty or torn is rebuilt from the log.
Source      LeaderEpochFileCache.writeToFile; LeaderEpochCheckpointFile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.leader_epoch_file import EpochEntry, read_epochs, write_epochs
from kafka_zk.log.state.leader_epoch_cache import LeaderEpochCache

log = logging.getLogger("org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache")


class EpochJournal:
    """`cache` raises MalformedCheckpoint on first use when the file is torn.

    `sync_soon` is called with the file after each change; without it the change is synced at once.
    """

    def __init__(self, directory: Path, disk: Disk = DISK, sync_soon: Callable[[Path], None] | None = None) -> None:
        self.path = directory / names.LEADER_EPOCHS
        self.is_synced = True
        self._is_held = False
        self._disk = disk
        self.sync_soon = sync_soon
        self.rebuild: Callable[[], LeaderEpochCache] | None = None
        """Makes the entries again from the batches; the owner of the log sets it."""
        self._cache: LeaderEpochCache | None = None

    @property
    def cache(self) -> LeaderEpochCache:
        """Raises MalformedCheckpoint while it cannot be rebuilt, OSError."""
        try:
            return self._read()
        except MalformedCheckpoint as error:
            if self.rebuild is None:
                raise
            log.warning("%s; rebuilding it from the log", error)
            self.replace(self.rebuild())
            return self._read()

    def is_torn(self) -> bool:
        """Whether `cache` would have to rebuild the entries. Raises OSError."""
        try:
            self._read()
        except MalformedCheckpoint:
            return True
        return False

    def _read(self) -> LeaderEpochCache:
        if self._cache is None:
            self._cache = LeaderEpochCache(read_epochs(self.path))
        return self._cache

    def create(self) -> None:
        """Make the empty file of a new partition. Raises OSError."""
        if not self.path.exists():
            self._disk.replace_file(self.path, b"", durable=False)

    def begin(self, entries: Sequence[EpochEntry]) -> None:
        """The file was made just now with these entries, which are not synced: nothing has to be read."""
        self._cache = LeaderEpochCache(list(entries))
        self.is_synced = not entries

    def replace(self, cache: LeaderEpochCache) -> None:
        self._cache = cache
        self.write()

    def assign(self, epoch: int, start_offset: int) -> None:
        """Raises OSError."""
        if self.cache.assign(epoch, start_offset):
            self.write()

    def truncate_from_end(self, end_offset: int) -> None:
        """Raises OSError."""
        if self.cache.truncate_from_end(end_offset):
            self.write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Raises OSError."""
        if self.cache.truncate_from_start(start_offset):
            self.write()

    def clear(self) -> None:
        """Raises OSError."""
        if self.cache.clear():
            self.write()

    @contextmanager
    def written_once(self) -> Iterator[None]:
        """Changes made meanwhile are written at the end, if anything is left of them. Raises OSError."""
        before = list(self.cache.entries)
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self.cache.entries != before:
            self.write()

    def write(self) -> None:
        """Raises OSError."""
        if self._is_held:
            return
        self.is_synced = self.sync_soon is None
        write_epochs(self.path, self.cache.entries, self._disk, durable=self.sync_soon is None)
        if self.sync_soon is not None:
            self.sync_soon(self.path)

    def sync(self) -> None:
        """fsync the file, not its name; a thread may run it. Raises OSError."""
        # Before the sync: a write that comes meanwhile sets it back, and is synced once more.
        self.is_synced = True
        try:
            self._disk.sync_path(self.path)
        except OSError:
            self.is_synced = False
            raise

    def moved_to(self, directory: Path) -> None:
        """The partition's directory has a new name."""
        self.path = directory / names.LEADER_EPOCHS
