"""DirectoryLoad: opens every partition of one log directory at startup, in threads.

Role        Acts. The loop waits; num.recovery.threads.per.data.dir threads take one partition after the other.
Invariants  The names of all partitions are known good before the first one is opened. The first error ends the load:
            its threads finish the partition they have, or the few megabytes of it, and nothing of it is taken into
            service. All changes are durable when the load has ended.
            Directories set aside (-stray) are left alone; those marked deleted are removed later.
Source      LogManager.loadLogs, loadLog.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from kafka_zk.clock import Clock
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.directory.partition_dirs import partition_dirs
from kafka_zk.log.files.names import DirKind, PartitionDir
from kafka_zk.log.loading.opening import LogOpener
from kafka_zk.log.loading.refusals import partition_of
from kafka_zk.log.pools import LogPools
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import TopicPartition, uuid_to_base64

log = logging.getLogger("kafka.log.LogManager")

MANY_FILES = 100
"""From here on syncing the whole file system is quicker than each file."""


class LoadStopped(Exception):
    """The load was stopped."""


class FoundPartition(NamedTuple):
    path: Path
    partition: PartitionDir


class DirectoryLoad:
    """`live`, `future`: the opened logs, once `run` has returned. `deleted`: directories to remove.

    While it runs: `remaining_logs`, and `remaining_segments` by the number of the thread, are still to be recovered.
    """

    def __init__(self, data_dir: DataDir, opener: LogOpener, pools: LogPools, clock: Clock) -> None:
        self.data_dir = data_dir
        self.live: list[UnifiedLog] = []
        self.future: list[UnifiedLog] = []
        self.deleted: list[Path] = []
        self.found: list[FoundPartition] = []
        self.put_back: set[TopicPartition] = set()
        self.remaining_logs = 0
        self.remaining_segments: dict[int, int] = {}
        self._opener = opener
        self._pools = pools
        self._clock = clock
        self._configs: dict[str, LogConfig] = {}
        self._to_sync: list[Path] = []
        self._waiting: Iterator[FoundPartition] = iter(())
        self._thread_numbers: Iterator[int] = count()
        self._done_count = 0
        self._counting = threading.Lock()
        self._is_stopping = False

    def look(self, topic_config: Callable[[str], LogConfig]) -> None:
        """Blocks. Learn which partitions there are. Raises InvalidLogDirectory, OSError."""
        path = self.data_dir.path
        self.found = [FoundPartition(each, partition_of(each)) for each in partition_dirs(path)]
        for topic in {each.partition.topic_partition.topic for each in self._to_open()}:
            self._configs[topic] = topic_config(topic)
        if not self.found:
            log.info("No logs found to be loaded in %s", path)
        elif self.data_dir.had_clean_stop:
            found = len(self.found)
            log.info("Skipping recovery of %d logs from %s since clean shutdown file was found", found, path)
        else:
            log.info("Recovering %d logs from %s since no clean shutdown file was found", len(self.found), path)

    def open_as_live(self, found: FoundPartition, path: Path, config: LogConfig) -> None:
        """`found` has become `path`, which is the partition's log now."""
        topic_partition = found.partition.topic_partition
        self.found[self.found.index(found)] = FoundPartition(path, PartitionDir(topic_partition, DirKind.LIVE))
        self._configs[topic_partition.topic] = config
        self.put_back.add(topic_partition)

    def run(self, thread_count: int) -> None:
        """Blocks. Open them. Raises LoadStopped, KafkaStorageError, OSError."""
        self.deleted = [each.path for each in self.found if each.partition.kind is DirKind.DELETED]
        for each in self.found:
            if each.partition.kind is DirKind.STRAY:
                log.warning("Found stray log: %s", each.path)
        to_open = list(self._to_open())
        self._done_count = len(self.found) - len(to_open)
        self.remaining_logs = len(to_open)
        # The threads share it: taking the next one is a single step of the interpreter.
        self._waiting = iter(to_open)
        if to_open:
            try:
                self._pools.run_in_threads(min(thread_count, len(to_open)), self._open_waiting)
            except BaseException:
                self.stop()
                raise
        self._breathe()
        self._sync()

    def stop(self) -> None:
        """Make the threads stop soon."""
        self._is_stopping = True

    def _to_open(self) -> Iterable[FoundPartition]:
        return (each for each in self.found if each.partition.kind in (DirKind.LIVE, DirKind.FUTURE))

    def _open_waiting(self) -> None:
        """In a thread."""
        number = next(self._thread_numbers)
        try:
            for each in self._waiting:
                self._breathe()
                self._open(each, partial(self.remaining_segments.__setitem__, number))
        except LoadStopped:
            return  # The caller of `stop` knows why.
        except BaseException:
            self.stop()
            raise

    def _breathe(self) -> None:
        """Raises LoadStopped."""
        if self._is_stopping:
            raise LoadStopped(f"The load of {self.data_dir.path} was stopped")

    def _open(self, found: FoundPartition, on_progress: Callable[[int], None]) -> None:
        topic_partition = found.partition.topic_partition
        started_ms = self._clock.monotonic_ms()
        opened = self._opener.open(
            self.data_dir,
            found.path,
            topic_partition,
            self._configs[topic_partition.topic],
            sync_later=self._to_sync.append,
            breathe=self._breathe,
            on_progress=on_progress,
        )
        opened.is_future = found.partition.kind is DirKind.FUTURE
        with self._counting:
            (self.future if opened.is_future else self.live).append(opened)
            self._done_count += 1
            self.remaining_logs -= 1
            self._report(opened, self._clock.monotonic_ms() - started_ms)

    def _report(self, opened: UnifiedLog, took_ms: int) -> None:
        topic, partition = opened.topic_partition
        log.info(
            "Completed load of Log(dir=%s%s, topic=%s, partition=%d, highWatermark=%d, lastStableOffset=%d, "
            "logStartOffset=%d, logEndOffset=%d) with %d segments, local-log-start-offset %d and log-end-offset %d "
            "in %dms (%d/%d completed in %s)",
            opened.directory,
            "" if opened.topic_id is None else f", topicId={uuid_to_base64(opened.topic_id)}",
            topic,
            partition,
            opened.high_watermark,
            opened.last_stable_offset,
            opened.log_start_offset,
            opened.log_end_offset,
            len(opened.segments),
            opened.log_start_offset,
            opened.log_end_offset,
            took_ms,
            self._done_count,
            len(self.found),
            self.data_dir.path,
        )

    def _sync(self) -> None:
        """Blocks. Make durable what the load has changed."""
        changed = list(dict.fromkeys(self._to_sync))
        if len(changed) >= MANY_FILES and self.data_dir.can_sync_at_once():
            self.data_dir.sync_at_once()
        else:
            self._pools.for_each(changed, self._sync_one)

    def _sync_one(self, path: Path) -> None:
        """Blocks. A snapshot that the same recovery has deleted again needs none."""
        with suppress(FileNotFoundError):
            self._pools.run_to_end(self._pools.sync, self.data_dir.directory.disk.sync_replaced, path)
