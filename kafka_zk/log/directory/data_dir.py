"""DataDir: the lock, meta.properties and checkpoints of one entry of log.dirs.

Role        Acts. Checkpoints are encoded on the loop and written by a thread, one write of a file at a time.
Invariants  A directory is used by one broker process: a POSIX lock on `.lock`, the kind that Java's FileLock takes.
            A checkpoint that cannot be read counts as empty, with a warning: then more is recovered than needed.
            A new partition begins with checkpoints that do not name it: they would speak of a deleted one of its name.
Source      LogManager.createAndValidateLogDirs, lockLogDirs, checkpointRecoveryOffsetsInDir.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.files import meta_properties, names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, encode_offsets, read_offsets
from kafka_zk.log.files.meta_properties import MetaProperties
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("kafka.log.LogManager")


class DirectoryInUse(Exception):
    """Another process uses a log directory, or the configuration names it twice."""


class DataDir:
    """`had_clean_stop`: the marker was there at start. `had_logs`: so were partitions. `is_loaded`: all were opened.

    `log_count`: its partitions, those that are just being made included. `has_new_names`: of partitions that were made
    and whose directories' names are not synced. `knows_recovery_points`: their checkpoint can be read, so that what it
    does not name was made after it.
    """

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        self.path = directory.path
        self.had_clean_stop = False
        self.had_logs = False
        self.is_loaded = False
        self.log_count = 0
        self.has_new_names = False
        self.knows_recovery_points = False
        self.recovery_points: dict[TopicPartition, int] = {}
        self.log_start_offsets: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.first_dirty_offsets: dict[TopicPartition, int] = {}
        self.on_the_way: list[tuple[str, dict[TopicPartition, int]]] = []
        """Checkpoints, by the names of their files, that are being written or wait."""
        self._on_disk: dict[str, dict[TopicPartition, int]] = {}
        self._lock = -1
        self._writing = Turn()

    def create(self) -> None:
        """Create the directory if needed, and check that it is readable. Raises OSError."""
        if not self.path.exists():
            log.info("Log directory %s not found, creating it.", self.path)
            self.path.mkdir(parents=True)
            self.directory.disk.sync_path(self.path.parent)
        if not self.path.is_dir() or not os.access(self.path, os.R_OK):
            raise OSError(f"{self.path} is not a readable log directory.")

    def lock(self) -> None:
        """Take the lock; idempotent. Raises DirectoryInUse, OSError."""
        if self._lock >= 0:
            return
        descriptor = os.open(self.path / names.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise DirectoryInUse(
                f"Failed to acquire lock on file {names.LOCK} in {self.path}. A Kafka instance in another process or "
                "thread is using this directory."
            ) from error
        self._lock = descriptor

    def unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def meta_path(self) -> Path:
        return self.path / names.META_PROPERTIES

    def write_identity(self, *, broker_id: int, cluster_id: str, now_ms: int) -> None:
        """Write meta.properties unless it says the same already. Raises OSError, MalformedMetaProperties with it."""
        meta = MetaProperties(broker_id, cluster_id)
        if meta_properties.read(self.meta_path) != meta:
            meta_properties.write(self.meta_path, meta, now_ms, self.directory.disk)

    def read_checkpoints(self) -> None:
        """Raises OSError."""
        recovery_points = self._read(names.RECOVERY_POINTS)
        self.knows_recovery_points = recovery_points is not None
        self.recovery_points = recovery_points or {}
        self.log_start_offsets = self._read(names.LOG_START_OFFSETS) or {}
        self.high_watermarks = self._read(names.HIGH_WATERMARKS) or {}
        self.first_dirty_offsets = self._read(names.CLEANER_OFFSETS) or {}
        self._on_disk = {
            names.RECOVERY_POINTS: dict(self.recovery_points),
            names.LOG_START_OFFSETS: dict(self.log_start_offsets),
            names.HIGH_WATERMARKS: dict(self.high_watermarks),
            names.CLEANER_OFFSETS: dict(self.first_dirty_offsets),
        }

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Blocks. Replace one of the checkpoint files, durably. Raises KafkaStorageError."""
        checkpoint = name, dict(offsets)
        self.on_the_way.append(checkpoint)
        try:
            with self._writing:
                self._write(*checkpoint)
        finally:
            self.on_the_way.remove(checkpoint)

    def may_say(self, name: str, topic_partition: TopicPartition) -> int:
        """The most that one of the checkpoint files says of a partition, now or once the writes under way have ended.

        0 when they do not name it.
        """
        known = [self._on_disk.get(name, {}), *(offsets for each, offsets in self.on_the_way if each == name)]
        return max(offsets.get(topic_partition, 0) for offsets in known)

    def forget(self, topic_partition: TopicPartition, is_here: Callable[[TopicPartition], bool]) -> None:
        """Blocks. Have no checkpoint name a partition that is about to be made. Raises KafkaStorageError.

        What they say of others that are gone, too, goes with it: many may be recreated at a time.
        """
        read = self.recovery_points, self.log_start_offsets, self.high_watermarks, self.first_dirty_offsets
        for offsets in read:
            offsets.pop(topic_partition, None)
        with self._writing:  # After all writes queued before the earlier partition was removed.
            for name, offsets in list(self._on_disk.items()):
                if topic_partition in offsets:
                    self._write(name, {each: offset for each, offset in offsets.items() if is_here(each)})

    def sync_names(self) -> None:
        """Blocks. Make the names of new partitions durable: one sync for all of them. Raises KafkaStorageError."""
        if self.has_new_names:
            self.has_new_names = False
            directory = self.directory
            with directory.guard(f"Error while syncing {self.path}"):
                directory.pools.run_to_end(directory.pools.sync, directory.disk.sync_path, self.path)

    def can_sync_at_once(self) -> bool:
        """Whether one call syncs the files of all logs. Raises OSError."""
        return self._lock >= 0 and self.directory.disk.can_sync_at_once(self.path)

    def sync_at_once(self) -> None:
        """Blocks. Sync everything in this directory (and on its file system). Raises KafkaStorageError.

        The lock is open since the start, so no error of the disk since then is missed.
        """
        directory = self.directory
        with directory.guard(f"Error while syncing {self.path}"):
            directory.pools.run_to_end(directory.pools.sync, directory.disk.sync_at_once, self._lock)

    def _write(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        directory = self.directory

        def replace() -> None:
            # The text is made in the thread, too: where there are thousands of partitions it takes milliseconds.
            directory.disk.replace_file(self.path / name, encode_offsets(offsets))
            # Reported here: the greenlet that waits for this thread may be killed.
            self._on_disk[name] = offsets

        with directory.guard(f"Error while writing to checkpoint file {self.path / name}"):
            directory.pools.run_to_end(directory.pools.maintenance, replace)

    def _read(self, name: str) -> dict[TopicPartition, int] | None:
        """None when there is no such file, or none that can be read. Raises OSError."""
        path = self.path / name
        try:
            return read_offsets(path) if path.exists() else None
        except MalformedCheckpoint as error:
            log.warning("Error occurred while reading %s of directory %s, counted as empty: %s", name, self.path, error)
            return None

    def __repr__(self) -> str:
        return f"data dir {self.directory}"
