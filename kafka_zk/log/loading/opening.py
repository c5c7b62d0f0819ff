"""LogOpener: from a directory's name to a UnifiedLog, at start-up and for new partitions.

Role        Acts on files. Yields to other greenlets between logs and inside long recoveries.
Invariants  A directory that is no partition stops the start: it is not ours to ignore. Directories set aside (-stray)
            are left alone; those marked deleted are removed later.
Source      LogManager.loadLogs, loadLog, getOrCreateLog.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import UUID

import gevent

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.names import DirKind
from kafka_zk.log.loading.loader import LoadedLog, LogLoader, partition_dirs
from kafka_zk.log.loading.new_partition import make_partition
from kafka_zk.log.loading.refusals import partition_of, second_directory, topic_id_of
from kafka_zk.log.pools import LogPools
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

log = logging.getLogger("kafka.log.LogManager")

LOGS_BETWEEN_SWITCHES = 32


@dataclass(slots=True)
class PartitionDirs:
    """What was found in one log directory."""

    live: list[UnifiedLog] = field(default_factory=list)
    future: list[UnifiedLog] = field(default_factory=list)
    deleted: list[Path] = field(default_factory=list)


class LogOpener:
    def __init__(
        self,
        config: BrokerConfig,
        topic_config: Callable[[str], LogConfig],
        clock: Clock,
        pools: LogPools,
        chance: random.Random,
    ) -> None:
        self._config = config
        self._topic_config = topic_config
        self._clock = clock
        self._pools = pools
        self._chance = chance

    def load_all(self, data_dir: DataDir) -> PartitionDirs:
        """Blocks. Open every partition of a directory. Raises InvalidLogDirectory, OSError."""
        found = PartitionDirs()
        paths = list(partition_dirs(data_dir.path))
        if not data_dir.had_clean_stop and paths:
            log.info("Recovering %d logs from %s since no clean shutdown file was found", len(paths), data_dir.path)
        else:
            log.info(
                "Skipping recovery of %d logs from %s since clean shutdown file was found", len(paths), data_dir.path
            )
        configs: dict[str, LogConfig] = {}
        to_sync: list[Path] = []
        for number, path in enumerate(paths, 1):
            parsed = partition_of(path)
            if parsed.kind is DirKind.DELETED:
                found.deleted.append(path)
            elif parsed.kind is not DirKind.STRAY:
                topic = parsed.topic_partition.topic
                config = configs.get(topic) or configs.setdefault(topic, self._topic_config(topic))
                opened = self._open(data_dir, path, parsed.topic_partition, config, to_sync.append)
                opened.is_future = parsed.kind is DirKind.FUTURE
                (found.future if opened.is_future else found.live).append(opened)
                self._report(opened, number, len(paths), data_dir)
            if number % LOGS_BETWEEN_SWITCHES == 0:
                gevent.sleep(0)
        self._pools.for_each(to_sync, lambda path: self._sync_snapshot(path, data_dir.directory.disk))
        self._pools.drain()
        return found

    def _sync_snapshot(self, path: Path, disk: Disk) -> None:
        """Blocks. A snapshot that the same recovery has deleted again needs none."""
        with suppress(FileNotFoundError):
            self._pools.run_to_end(self._pools.sync, disk.sync_replaced, path)

    def create(self, data_dir: DataDir, topic_partition: TopicPartition, topic_id: UUID) -> UnifiedLog:
        """Blocks. Make the directory of a partition and what is in it, durably. Raises KafkaStorageError."""
        path, directory = data_dir.path / str(topic_partition), data_dir.directory
        config = self._topic_config(topic_partition.topic)
        with directory.guard(f"Error while creating log for {topic_partition} in dir {data_dir.path}"):
            for offsets in (data_dir.recovery_points, data_dir.log_start_offsets, data_dir.high_watermarks):
                offsets.pop(topic_partition, None)
            make = partial(make_partition, now_ms=self._clock.wall_ms(), disk=directory.disk)
            try:
                segment = self._pools.run_to_end(self._pools.sync, make, path, topic_id, config)
            except FileExistsError:
                # Left there by a creation that a stop of the process cut off.
                return self._open(data_dir, path, topic_partition, config)
            data_dir.has_new_names = True
            if directory.is_offline:
                segment.close_files()
                directory.check_online()
        segments = Segments()
        segments.add(segment)
        directory.open_segments.track(segment)
        producers, epochs = self._journals(path, topic_partition, directory.disk)
        epochs.begin()
        return UnifiedLog(
            topic_partition,
            directory=path,
            log_dir=directory,
            config=config,
            topic_id=None if topic_id == NULL_UUID else topic_id,
            loaded=LoadedLog(segments, log_start_offset=0, log_end_offset=0, recovery_point=0),
            producers=producers,
            epochs=epochs,
            jitter_below=self._chance.randrange,
        )

    def _journals(
        self, path: Path, topic_partition: TopicPartition, disk: Disk
    ) -> tuple[ProducerJournal, EpochJournal]:
        pools = self._pools
        producers = ProducerJournal(path, str(topic_partition), self._config.producer_id_expiration_ms, disk)
        return producers, EpochJournal(path, disk, lambda changed: pools.sync_soon(changed, disk.sync_replaced))

    def refuse_second(self, found: UnifiedLog, known: UnifiedLog | None) -> None:
        """Raises InvalidLogDirectory when a partition is in two directories."""
        if known is not None:
            raise second_directory(known.directory, found.directory)

    def _open(
        self,
        data_dir: DataDir,
        path: Path,
        topic_partition: TopicPartition,
        config: LogConfig,
        sync_later: Callable[[Path], None] | None = None,
    ) -> UnifiedLog:
        directory, disk = data_dir.directory, data_dir.directory.disk
        producers, epochs = self._journals(path, topic_partition, disk)
        epochs.create()
        producers.sync_later = sync_later
        loaded = LogLoader(
            directory=path,
            topic_partition=str(topic_partition),
            config=config,
            producers=producers,
            epochs=epochs,
            disk=disk,
            clean_stop=data_dir.had_clean_stop,
            recovery_point=data_dir.recovery_points.get(topic_partition, 0),
            log_start_offset=data_dir.log_start_offsets.get(topic_partition, 0),
            now_ms=self._clock.wall_ms(),
            breathe=lambda: gevent.sleep(0),
        ).load()
        producers.sync_later = None
        for segment in loaded.segments:
            if segment.is_open:
                # Made just now, or read because the last stop was not clean.
                directory.open_segments.track(segment)
        return UnifiedLog(
            topic_partition,
            directory=path,
            log_dir=directory,
            config=config,
            topic_id=topic_id_of(path),
            loaded=loaded,
            producers=producers,
            epochs=epochs,
            high_watermark=data_dir.high_watermarks.get(topic_partition, 0),
            jitter_below=self._chance.randrange,
        )

    def _report(self, opened: UnifiedLog, number: int, total: int, data_dir: DataDir) -> None:
        log.info(
            "Completed load of %s with %d segments, local-log-start-offset %d and log-end-offset %d "
            "(%d/%d completed in %s)",
            opened.topic_partition,
            len(opened.segments),
            opened.log_start_offset,
            opened.log_end_offset,
            number,
            total,
            data_dir.path,
        )
