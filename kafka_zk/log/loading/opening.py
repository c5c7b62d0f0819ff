"""LogOpener: from a directory's name to a UnifiedLog, at startup and for new partitions.

Role        Acts on files. `open` is for threads and touches nothing that belongs to the loop.
Source      LogManager.loadLog, getOrCreateLog.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.files.leader_epoch_file import EpochEntry
from kafka_zk.log.files.names import MAX_NAME_LENGTH, DirKind, marked_dir_name
from kafka_zk.log.loading.loader import LoadedLog, LogLoader
from kafka_zk.log.loading.new_partition import make_partition
from kafka_zk.log.pools import LogPools
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import CorruptMessage, InvalidTopicException
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

NO_EPOCH = -1


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

    def create(
        self,
        data_dir: DataDir,
        topic_partition: TopicPartition,
        topic_id: UUID,
        *,
        leader_epoch: int = NO_EPOCH,
        is_future: bool = False,
    ) -> UnifiedLog:
        """Blocks. Make the directory of a partition and what is in it, durably.

        `leader_epoch`: it begins with this log, and is durable once there are records below the recovery point.
        `is_future`: it will replace the one in another directory, and has its own name until then.
        Raises KafkaStorageError, and InvalidTopicException for a name that no directory can have.
        """
        name = marked_dir_name(topic_partition, DirKind.FUTURE, uuid4()) if is_future else str(topic_partition)
        if len(name.encode(errors="replace")) > MAX_NAME_LENGTH or "/" in name:
            # Only a topic that was written into ZooKeeper by hand has such a name; the disk is not to blame.
            raise InvalidTopicException(f"The topic name cannot be that of a directory: {name}")
        path, directory = data_dir.path / name, data_dir.directory
        config = self._topic_config(topic_partition.topic)
        first_epochs = [] if leader_epoch < 0 else [EpochEntry(leader_epoch, 0)]
        with directory.guard(f"Error while creating log for {topic_partition} in dir {data_dir.path}"):
            make = partial(
                make_partition,
                epochs=first_epochs,
                now_ms=self._clock.wall_ms(),
                disk=directory.disk,
                jitter_below=self._chance.randrange,
            )
            try:
                segment = self._pools.run_to_end(self._pools.sync, make, path, topic_id, config)
            except FileExistsError:
                # Left there by a creation that a stop of the process cut off.
                return self._open_left_over(data_dir, path, topic_partition, config)
            data_dir.has_new_names = True
            if directory.is_offline:
                segment.close_files()
                directory.check_online()
        segments = Segments()
        segments.add(segment)
        directory.open_segments.track(segment)
        producers, epochs = self._journals(path, topic_partition, directory)
        epochs.begin(first_epochs)
        created = UnifiedLog(
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
        created.is_future = is_future
        return created

    def open(
        self,
        data_dir: DataDir,
        path: Path,
        topic_partition: TopicPartition,
        config: LogConfig,
        *,
        sync_later: Callable[[Path], None],
        breathe: Callable[[], None] = lambda: None,
        on_progress: Callable[[int], None] = lambda remaining: None,
    ) -> UnifiedLog:
        """In a thread. A partition that is there, made whole if need be; no file is open then.

        `sync_later` is called with files that are to be made durable, `breathe` is called every few megabytes,
        `on_progress` with how many segments are still to be recovered.
        Raises MalformedPartitionMetadata, OSError.
        """
        directory = data_dir.directory
        producers, epochs = self._journals(path, topic_partition, directory)
        producers.sync_later = epochs.sync_soon = sync_later
        loader = LogLoader(
            directory=path,
            topic_partition=str(topic_partition),
            config=config,
            producers=producers,
            epochs=epochs,
            disk=directory.disk,
            clean_stop=data_dir.had_clean_stop,
            recovery_point=data_dir.recovery_points.get(topic_partition, 0),
            knows_recovery_point=data_dir.knows_recovery_points,
            first_dirty_offset=data_dir.first_dirty_offsets.get(topic_partition, 0),
            log_start_offset=data_dir.log_start_offsets.get(topic_partition, 0),
            now_ms=self._clock.wall_ms(),
            jitter_below=self._chance.randrange,
            breathe=breathe,
            sync_later=sync_later,
            on_progress=on_progress,
        )
        try:
            loaded = loader.load()
        except CorruptMessage as error:  # The directory contradicts itself.
            raise OSError(f"{path}: {error}") from error
        producers.sync_later, epochs.sync_soon = None, directory.sync_replaced_soon
        for segment in loaded.segments:
            # There may be thousands to load, and few descriptors.
            segment.close_if_idle()
        return UnifiedLog(
            topic_partition,
            directory=path,
            log_dir=directory,
            config=config,
            topic_id=partition_metadata.read(path / names.PARTITION_METADATA),
            loaded=loaded,
            producers=producers,
            epochs=epochs,
            high_watermark=data_dir.high_watermarks.get(topic_partition, 0),
            jitter_below=self._chance.randrange,
        )

    def _open_left_over(
        self, data_dir: DataDir, path: Path, topic_partition: TopicPartition, config: LogConfig
    ) -> UnifiedLog:
        """Blocks. The partition whose creation a stop of the process cut off."""
        pools, to_sync = self._pools, list[Path]()
        opened = pools.run_to_end(
            pools.sync, partial(self.open, data_dir, path, topic_partition, config, sync_later=to_sync.append)
        )
        for changed in to_sync:
            pools.run_to_end(pools.sync, data_dir.directory.disk.sync_replaced, changed)
        return opened

    def _journals(
        self, path: Path, topic_partition: TopicPartition, directory: LogDirectory
    ) -> tuple[ProducerJournal, EpochJournal]:
        expiration_ms = self._config.producer_id_expiration_ms
        producers = ProducerJournal(path, str(topic_partition), expiration_ms, directory.disk)
        producers.state.verifications.is_required = self._config.transaction_partition_verification_enable
        return producers, EpochJournal(path, directory.disk, directory.sync_replaced_soon)
