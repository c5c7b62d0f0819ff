"""RetiredLogs: deleted partitions, until their files are deleted.

Role        Acts. The rename deletes a partition; the rest is cleanup, also after a restart.
Invariants  After the rename the partition is no longer found, and a new one of the same name may be created.
            Files are deleted log.segment.delete.delay.ms later, in a thread.
Source      LogManager.asyncDelete, addLogToBeDeleted, deleteLogs.
"""

from __future__ import annotations

import logging
import uuid
from functools import partial
from pathlib import Path

from kafka_zk.clock import Clock
from kafka_zk.log.directory.deletion import delete_later, delete_tree
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.files.names import DirKind, marked_dir_name
from kafka_zk.log.unified_log import UnifiedLog

log = logging.getLogger("kafka.log.LogManager")


class RetiredLogs:
    def __init__(self, clock: Clock, delay_ms: int) -> None:
        self._clock = clock
        self.delay_ms = delay_ms

    def retire(self, retired: UnifiedLog, kind: DirKind = DirKind.DELETED) -> None:
        """Blocks. Rename the directory of a log that is out of service and have it removed. KafkaStorageError.

        One that is set aside (STRAY) stays there.
        """
        with retired.turn:
            retired.flusher.wait()
            self.retire_in_turn(retired, kind)

    def retire_in_turn(self, retired: UnifiedLog, kind: DirKind = DirKind.DELETED) -> None:
        """The same, called with the log's turn held and no flush running. Does not switch. Raises KafkaStorageError."""
        directory = retired.log_dir
        name = marked_dir_name(retired.topic_partition, kind, uuid.uuid4())
        with directory.guard(f"Error while renaming dir for {retired.topic_partition} in log dir {directory.path}"):
            target = directory.path / name
            directory.disk.rename(retired.directory, target)
            directory.sync_path_soon(directory.path)
        retired.renamed_to(target)
        retired.close_files()
        if kind is DirKind.STRAY:
            log.warning("Log for partition %s is set aside as %s", retired.topic_partition, target)
            return
        log.info("Log for partition %s is renamed to %s and is scheduled for deletion", retired.topic_partition, target)
        self.remove_later(target, directory)

    def remove_later(self, path: Path, directory: LogDirectory) -> None:
        """Have a directory that is marked deleted removed after the delay."""

        delete_later(
            directory,
            self.delay_ms,
            partial(delete_tree, path, directory),
            f"Error while deleting {path} in dir {directory.path}.",
            done=partial(log.info, "Deleted log for partition in %s.", path),
        )
