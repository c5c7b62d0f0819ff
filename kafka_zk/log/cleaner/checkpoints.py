"""CleanerCheckpoints: the first dirty offset of each log, in memory and in each directory's file.

Role        Acts. The file is read once; every change rewrites it.
Invariants  The file exists from the first start on, empty at first. It names only existing logs.
            A file that cannot be read counts as empty, with a warning: then more is cleaned than needed.
Source      Kafka 3.9 LogCleanerManager: allCleanerCheckpoints, updateCheckpoints, maybeTruncateCheckpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, read_offsets
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("kafka.log.LogCleanerManager")


class CleanerCheckpoints:
    def __init__(self, dirs: Sequence[DataDir], is_known: Callable[[TopicPartition], bool]) -> None:
        self._dirs = dirs
        self._is_known = is_known
        self._offsets: dict[LogDirectory, dict[TopicPartition, int]] = {}

    def read(self) -> None:
        """Read the checkpoints of every live directory. Raises nothing: a directory that fails goes offline."""
        for data_dir in self._dirs:
            directory = data_dir.directory
            if directory.is_offline:
                continue
            path = data_dir.path / names.CLEANER_OFFSETS
            try:
                self._offsets[directory] = read_offsets(path)
                if not path.exists():
                    directory.disk.replace_file(path, b"")
            except MalformedCheckpoint as error:
                log.warning("Error occurred while reading %s, counted as empty: %s", path, error)
            except OSError as error:
                directory.fail(f"Failed to access checkpoint file {path} in dir {data_dir.path}", error)

    def get(self, topic_partition: TopicPartition, directory: LogDirectory) -> int | None:
        return self._offsets.get(directory, {}).get(topic_partition)

    def put(self, topic_partition: TopicPartition, directory: LogDirectory, offset: int) -> None:
        """Blocks. Let the next cleaning begin at `offset`. Raises KafkaStorageError."""
        self._offsets.setdefault(directory, {})[topic_partition] = offset
        self.write(directory)

    def forget(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        """In memory; `write` follows."""
        self._offsets.get(directory, {}).pop(topic_partition, None)

    def write(self, directory: LogDirectory) -> None:
        """Blocks. Raises KafkaStorageError."""
        offsets = self._offsets.setdefault(directory, {})
        for gone in [each for each in offsets if not self._is_known(each)]:
            del offsets[gone]
        data_dir = next(each for each in self._dirs if each.directory is directory)
        data_dir.write_checkpoint(names.CLEANER_OFFSETS, offsets)
