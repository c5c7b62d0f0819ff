"""PlacedLogs: every log and future log of the broker, and the log directory of each.

Role        Plain: one table, shared by the LogManager, the moves and the checkpoints.
Invariants  A partition has at most one log and one future log, in different directories. `log_count` of a directory
            counts what lies there and what is being made there.
Source      LogManager's currentLogs, futureLogs and logsByDir.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import LogDirNotFound
from kafka_zk.protocol.types import TopicPartition


class PlacedLogs:
    """`current` are in service; `future` shall take the place of the current log of their partition."""

    def __init__(self, dirs: Sequence[DataDir]) -> None:
        self.dirs = dirs
        self.current: dict[TopicPartition, UnifiedLog] = {}
        self.future: dict[TopicPartition, UnifiedLog] = {}
        self.preferred: dict[TopicPartition, DataDir] = {}
        """Where partitions are to be made that are not here yet."""

    def live_dirs(self) -> list[DataDir]:
        return [data_dir for data_dir in self.dirs if not data_dir.directory.is_offline]

    def live_dir_at(self, path: str) -> DataDir:
        """Raises LogDirNotFound, KafkaStorageError when it is offline."""
        for data_dir in self.dirs:
            if str(data_dir.path) == path:
                data_dir.directory.check_online()
                return data_dir
        raise LogDirNotFound(f"Log dir {path} is not found in the config.")

    def dir_of(self, log: UnifiedLog) -> DataDir:
        return next(data_dir for data_dir in self.dirs if data_dir.directory is log.log_dir)

    def in_dir(self, data_dir: DataDir, *, with_future: bool) -> list[UnifiedLog]:
        every = [*self.current.values(), *(self.future.values() if with_future else ())]
        return [each for each in every if each.log_dir is data_dir.directory]

    def is_in(self, data_dir: DataDir, topic_partition: TopicPartition) -> bool:
        logs = (self.current.get(topic_partition), self.future.get(topic_partition))
        return any(each is not None and each.log_dir is data_dir.directory for each in logs)
