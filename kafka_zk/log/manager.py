"""LogManager: all logs of this broker, over all of its log directories.

Role        Acts. Places, opens, finds and deletes logs; runs retention, flushes and checkpoints on the clock.
Invariants  A partition is in one directory. New ones are created in the live directory with the fewest partitions.
            A failed directory takes its logs out of service without affecting the others; it stays offline until the
            next start. A directory whose logs were all flushed and closed carries the clean shutdown marker.
Source      LogManager.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import gevent

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log import log_metrics
from kafka_zk.log.checkpoints import Checkpoints, for_each_dir
from kafka_zk.log.cleaner.log_cleaner import LogCleaner
from kafka_zk.log.closing import close_all
from kafka_zk.log.directory.data_dir import DataDir, DirectoryInUse
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.down_converter import DownConverter
from kafka_zk.log.files import clean_shutdown, meta_properties
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.meta_properties import MetaProperties
from kafka_zk.log.files.names import DirKind
from kafka_zk.log.future_logs import FutureLogs
from kafka_zk.log.helper.process import Helper, HelperProcess
from kafka_zk.log.loading.directory_load import DirectoryLoad, LoadStopped
from kafka_zk.log.loading.opening import NO_EPOCH, LogOpener
from kafka_zk.log.loading.refusals import InvalidLogDirectory, second_directory
from kafka_zk.log.loading.settling import choose, put_back
from kafka_zk.log.periodic import Periodic
from kafka_zk.log.placed_logs import PlacedLogs
from kafka_zk.log.pools import LogPools
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.retired import RetiredLogs
from kafka_zk.log.segments.open_segments import OpenSegments, raise_descriptor_limit, segments_for
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.conversions import ConversionCosts, ProduceConversions
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.errors import InvalidConfig, KafkaStorageError
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.supervision import caught

log = logging.getLogger("kafka.log.LogManager")

T = TypeVar("T")


class LogManager:
    """One for a broker. `startup` first, `shutdown` last."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        topic_config: Callable[[str], LogConfig],
        clock: Clock,
        metrics: MetricsRegistry,
        on_log_dir_failure: Callable[[str], None],
        disk: Disk = DISK,
        chance: random.Random | None = None,
        pools: LogPools | None = None,
        helper_named: Callable[[str], Helper] = HelperProcess,
    ) -> None:
        self._config = config
        self._helper_named = helper_named
        self._clock = clock
        self._on_log_dir_failure = on_log_dir_failure
        self._pools = pools or LogPools()
        self.down_converter = DownConverter()
        self.fetch_conversions = ConversionCosts(metrics, "Fetch")
        self._produce_conversions = ProduceConversions(metrics)
        self._open_segments = OpenSegments(limit=1)
        self._note_flush_ms = log_metrics.flush_timer(metrics)
        self._dirs = [DataDir(self._directory(Path(path), disk)) for path in config.log_dirs]
        self._placed = placed = PlacedLogs(self._dirs)
        self._logs, self._future_logs = placed.current, placed.future
        self.checkpoints = Checkpoints(clock, placed.in_dir)
        for data_dir in self._dirs:
            data_dir.directory.write_recovery_points = partial(self.checkpoints.write_recovery_points, data_dir)
            data_dir.directory.lower_checkpoints = partial(self.checkpoints.lower, data_dir)
        self._opener = LogOpener(config, topic_config, clock, self._pools, chance or random.Random())
        self._topic_config = topic_config
        self._config_changes = 0
        self._put_back: set[TopicPartition] = set()
        self._retired = RetiredLogs(clock, config.log_segment_delete_delay_ms)
        self.future = FutureLogs(
            placed,
            self._retired,
            make=partial(self._make, is_future=True),
            add=self._add,
            checkpoint_now=self._checkpoint_now,
            cleaner=lambda: self._cleaner,
        )
        self._tasks = Periodic(clock)
        self._is_locked = False
        self._metrics = metrics
        self._cleaner: LogCleaner | None = None
        log_metrics.register_directories(metrics, self._dirs)
        log_metrics.register_logs(metrics, self._logs, self._future_logs)

    # Start and stop

    def lock_and_read_identities(self) -> dict[Path, MetaProperties | None]:
        """Make and lock the directories; what their meta.properties files say, by the path of the file.

        One with an unreadable file goes offline. Raises DirectoryInUse, KafkaStorageError if none is usable.
        """
        if len({data_dir.path.resolve() for data_dir in self._dirs}) < len(self._dirs):
            raise DirectoryInUse(f"Duplicate log directory found: {self._dir_list()}")
        found: dict[Path, MetaProperties | None] = {}
        for data_dir in self._dirs:
            try:
                data_dir.create()
                data_dir.lock()
                found[data_dir.meta_path] = meta_properties.read(data_dir.meta_path)
            except OSError as error:
                data_dir.directory.fail(
                    f"Failed to create or validate data directory {data_dir.path}", error, trace=False
                )
        if not found:
            raise KafkaStorageError(
                f"Shutdown broker because none of the specified log dirs from {self._dir_list()} "
                "can be created or validated"
            )
        self._is_locked = True
        return found

    def write_identities(self, *, broker_id: int, cluster_id: str) -> None:
        """Put meta.properties into every live directory that does not say the same. One where that fails is offline.

        Raises KafkaStorageError when no directory is left.
        """
        for data_dir in self._placed.live_dirs():
            with (
                suppress(KafkaStorageError),  # The others are used.
                data_dir.directory.guard(f"Error while writing {data_dir.meta_path}"),
            ):
                data_dir.write_identity(broker_id=broker_id, cluster_id=cluster_id, now_ms=self._clock.wall_ms())
        self._check_any_is_live()

    def startup(self) -> None:
        """Blocks. Lock the directories, open every log (recover it after an unclean stop), start the tasks.

        Raises DirectoryInUse, InvalidLogDirectory, KafkaStorageError when no directory is usable, OSError.
        """
        if not self._is_locked:
            self.lock_and_read_identities()
        if self._config.log_cleaner_enable:
            self._cleaner = LogCleaner(
                self._config,
                dirs=self._dirs,
                logs=self._logs,
                clock=self._clock,
                metrics=self._metrics,
                helper_named=self._helper_named,
            )
        self._open_segments.limit = segments_for(raise_descriptor_limit())
        self._pools.start()
        started_ms = self._clock.monotonic_ms()
        log.info("Loading logs from log dirs ArrayBuffer(%s)", ", ".join(self.live_log_dirs()))
        self._load_all()
        self._check_any_is_live()
        self.future.drop_those_of_earlier_topics()
        self.future.resume_at_start()
        self._say_what_was_loaded(self._clock.monotonic_ms() - started_ms)
        self._start_tasks()
        if self._cleaner is not None:
            self._cleaner.start()

    def shutdown(self) -> None:
        """Blocks. Flush and close every log, write the checkpoints and the clean shutdown markers."""
        log.info("Shutting down.")
        self._tasks.stop()
        if self._cleaner is not None:
            self._cleaner.stop()
        self.down_converter.stop()
        workers = [gevent.spawn(self._close_directory, data_dir) for data_dir in self._placed.live_dirs()]
        gevent.joinall(workers, raise_error=True)
        self._pools.drain()
        self.release()
        log.info("Shutdown complete.")

    def release(self) -> None:
        """Release the locks of the directories; idempotent."""
        for data_dir in self._dirs:
            data_dir.unlock()
        self._is_locked = False

    def _check_any_is_live(self) -> None:
        """Raises KafkaStorageError."""
        if not self._placed.live_dirs():
            raise KafkaStorageError(f"Shutdown broker because all log dirs in {self._dir_list()} have failed")

    def _say_what_was_loaded(self, took_ms: int) -> None:
        unclean = [
            data_dir for data_dir in self._placed.live_dirs() if data_dir.had_logs and not data_dir.had_clean_stop
        ]
        dirs = ", ".join(str(data_dir.path) for data_dir in unclean)
        count = len(self._logs) + len(self._future_logs)
        log.info(
            "Loaded %d logs in %dms%s", count, took_ms, f" (unclean log dirs = ArrayBuffer({dirs}))" if dirs else ""
        )

    def _load_all(self) -> None:
        """Blocks. Load every live directory in parallel; one that fails does not affect the others."""
        loads = [load for data_dir in self._placed.live_dirs() if (load := self._look(data_dir)) is not None]
        if len(loads) == len(self._dirs):
            put_back(loads, self._topic_config)
        shown = list(loads)
        log_metrics.register_loads(self._metrics, shown, self._config.num_recovery_threads_per_data_dir)
        loading = [gevent.spawn(self._load, load) for load in loads]
        try:
            gevent.joinall(loading, raise_error=True)
        except InvalidLogDirectory as error:
            log.error("There was an error in one of the threads during logs loading: %s", error)
            raise
        finally:
            # Killed while waiting: the threads use the files until they notice.
            for load in loads:
                load.stop()
            gevent.joinall(loading)
            shown.clear()

    def _look(self, data_dir: DataDir) -> DirectoryLoad | None:
        """Blocks. Prepare the load of a directory; None if that fails. Removes the marker."""
        load = DirectoryLoad(data_dir, self._opener, self._pools, self._clock)
        try:
            with data_dir.directory.guard(f"Error while loading log dir {data_dir.path}"):
                data_dir.had_clean_stop = clean_shutdown.delete(data_dir.path, data_dir.directory.disk)
                data_dir.read_checkpoints()
                load.look(self._topic_config)
                data_dir.had_logs = bool(load.found)
        except KafkaStorageError:
            return None
        return load

    def _load(self, load: DirectoryLoad) -> None:
        """Blocks. One that cannot be loaded is offline."""
        data_dir = load.data_dir
        try:
            with data_dir.directory.guard(f"Error while loading log dir {data_dir.path}"):
                load.run(self._config.num_recovery_threads_per_data_dir)
        except (KafkaStorageError, LoadStopped):
            return
        self._take_in(load)
        for path in load.deleted:
            self._retired.remove_later(path, data_dir.directory)
        if not data_dir.knows_recovery_points:
            # The next start knows some, and takes a gap behind them for a loss, also one that a cleaning left.
            self._pools.for_each(self._placed.in_dir(data_dir, with_future=True), _flush_if_it_works)
        known = data_dir.recovery_points
        has_lost = any(each.recovery_point < known.get(each.topic_partition, 0) for each in (*load.live, *load.future))
        if has_lost or not data_dir.knows_recovery_points:
            # From now on there is one that promises no more than there is: the next start trusts it.
            for_each_dir([data_dir], self.checkpoints.write_recovery_points)
        data_dir.is_loaded = True

    def _take_in(self, load: DirectoryLoad) -> None:
        """Blocks where a move was cut off that left two logs, or two copies. Raises InvalidLogDirectory."""
        load.data_dir.log_count = len(load.live) + len(load.future)
        self._put_back |= load.put_back
        for kind, logs in ((load.live, self._logs), (load.future, self._future_logs)):
            for each in kind:
                other = logs.get(each.topic_partition)
                if other is None:
                    logs[each.topic_partition] = each
                    continue
                chosen = choose(other, each)
                if chosen is None:
                    # Told in the order of log.dirs, whichever was loaded first.
                    first, second = sorted((other, each), key=lambda log: self._dirs.index(self._placed.dir_of(log)))
                    raise second_directory(each.topic_partition, first.directory, second.directory)
                logs[each.topic_partition], gone = chosen.kept, chosen.other
                log.warning("%s was moved between log directories; retiring the old log in %s", each, gone.directory)
                self._placed.dir_of(gone).log_count -= 1
                self._placed.dir_of(gone).recovery_points.pop(each.topic_partition, None)
                with suppress(KafkaStorageError):  # Its directory has failed: that is said.
                    self._retired.retire(gone, DirKind.DELETED if chosen.is_covered else DirKind.STRAY)
        for each in load.live:
            if self._logs.get(each.topic_partition) is each:
                self._add(each)

    def _close_directory(self, data_dir: DataDir) -> None:
        """Blocks. The directory's part of the shutdown. It gets no marker if it fails meanwhile, or one of its logs
        cannot be completed: then the next start recovers what was not flushed.

        One that was not loaded stays unchanged: its correct checkpoints are unknown.
        """
        if not data_dir.is_loaded:
            return
        try:
            are_complete = close_all(self._placed.in_dir(data_dir, with_future=True), data_dir, self._pools)
            self.checkpoints.write_recovery_points(data_dir)
            self.checkpoints.write_log_start_offsets(data_dir)
            self.checkpoints.write_high_watermarks(data_dir)
            if are_complete:
                with data_dir.directory.guard(f"Error while writing the clean shutdown marker of {data_dir.path}"):
                    clean_shutdown.write(data_dir.path, data_dir.directory.disk)
                return
        except KafkaStorageError:
            pass  # Said when it failed.
        except Exception:
            caught("LogManager", f"while closing {data_dir}")
        log.warning("Log directory %s is not marked as cleanly shut down", data_dir.path)

    def _start_tasks(self) -> None:
        config, first = self._config, self._config.log_initial_task_delay_ms
        every = self._tasks.every
        log.info("Starting log cleanup with a period of %d ms.", config.log_retention_check_interval_ms)
        every("kafka-log-retention", config.log_retention_check_interval_ms, self.clean_up_logs, first_after_ms=first)
        log.info("Starting log flusher with a default period of %d ms.", config.log_flush_scheduler_interval_ms)
        every("kafka-log-flusher", config.log_flush_scheduler_interval_ms, self.flush_due_logs, first_after_ms=first)
        every(
            "kafka-recovery-point-checkpoint",
            config.log_flush_offset_checkpoint_interval_ms,
            lambda: for_each_dir(self._placed.live_dirs(), self.checkpoints.write_recovery_points),
            first_after_ms=first,
        )
        every(
            "kafka-log-start-offset-checkpoint",
            config.log_flush_start_offset_checkpoint_interval_ms,
            lambda: for_each_dir(self._placed.live_dirs(), self.checkpoints.write_log_start_offsets),
            first_after_ms=first,
        )
        interval_ms = config.producer_id_expiration_check_interval_ms
        every("producer-id-expiration", interval_ms, self.remove_expired_producers, first_after_ms=interval_ms)

    # Logs

    def get_log(self, topic_partition: TopicPartition) -> UnifiedLog | None:
        return self._logs.get(topic_partition)

    def all_logs(self) -> Iterable[UnifiedLog]:
        """Every log in service, not those being moved."""
        return list(self._logs.values())

    def get_or_create_log(
        self, topic_partition: TopicPartition, *, topic_id: UUID, is_new: bool, leader_epoch: int = NO_EPOCH
    ) -> UnifiedLog:
        """Blocks. The log, made if need be; it knows its epochs and `topic_id` then (NULL_UUID: nothing to know).

        `leader_epoch`: this broker leads the partition, so where the log is made the epoch begins with it.
        Several may be made at the same time, each partition once.
        While a directory is offline only partitions new to the cluster are created: it may hold the others.
        Raises InconsistentTopicId, KafkaStorageError.
        """
        found = self._logs.get(topic_partition)
        if found is None:
            offline = [str(data_dir.path) for data_dir in self._dirs if data_dir.directory.is_offline]
            if offline and not is_new:
                raise KafkaStorageError(
                    f"Can not create log for {topic_partition} because log directories {', '.join(offline)} are offline"
                )
            found = self._create(topic_partition, topic_id, leader_epoch)
        found.learn_epochs()
        if topic_id != NULL_UUID:
            found.assign_topic_id(topic_id)
        return found

    def set_aside(self, topic_partition: TopicPartition) -> bool:
        """Blocks. Set aside a log that would block a new topic of its name (-stray); returns whether it did.

        A start made it of a copy, whose topic was deleted while its directory was offline; or see `has_no_topic`.
        Raises KafkaStorageError.
        """
        if topic_partition not in self._put_back or topic_partition not in self._logs:
            return False
        self._take_out(topic_partition, DirKind.STRAY)
        return True

    def has_no_topic(self, topic_partition: TopicPartition) -> None:
        """Its topic was deleted without a StopReplica: keep the log until a new topic of that name is created."""
        if topic_partition in self._logs:
            self._put_back.add(topic_partition)

    def delete_log(self, topic_partition: TopicPartition) -> None:
        """Blocks. Take the log out of service now, and delete its files later. Raises KafkaStorageError."""
        if topic_partition in self._logs:
            self._take_out(topic_partition, DirKind.DELETED)

    def _take_out(self, topic_partition: TopicPartition, kind: DirKind) -> None:
        """Blocks. The log's directory gets the name of `kind`. Raises KafkaStorageError."""
        found = self._logs.pop(topic_partition)
        self._put_back.discard(topic_partition)
        data_dir = self._placed.dir_of(found)
        data_dir.log_count -= 1
        data_dir.recovery_points.pop(topic_partition, None)
        if self._cleaner is not None:
            self._cleaner.deleted(found)
        if topic_partition in self._future_logs:
            # If its directory fails, which is logged, the log is deleted all the same.
            with suppress(KafkaStorageError):
                self.future.drop(topic_partition)
            # Before the log is removed: the next start would take a copy without a log for the log.
            self._pools.drain()
        self._retired.retire(found, kind)
        self.checkpoints.soon(data_dir, partial(self._checkpoint_now, data_dir))

    def do_at_once(self, items: Iterable[T], work: Callable[[T], None]) -> None:
        """Blocks. Do `work`, which waits for the disk, for many items at the same time; see LogPools.for_each."""
        self._pools.for_each(items, work)

    def wait_for_syncs(self) -> None:
        """Blocks until what was noted so far (new partitions, leader epochs, topic ids) is durable."""
        for_each_dir(self._placed.live_dirs(), DataDir.sync_names)
        self._pools.drain()

    def update_topic_config(self, topic: str, config: LogConfig) -> None:
        """From now on the logs of `topic` follow `config`."""
        self._config_changes += 1
        for logs in (self._logs, self._future_logs):
            for topic_partition, each in logs.items():
                if topic_partition.topic == topic:
                    each.apply_config(config)

    def broker_config_changed(self, before: BrokerConfig) -> None:
        """Blocks. Apply a changed broker configuration to logs, producer expiration and the cleaner."""
        self._config_changes += 1
        now = self._config
        for topic_partition in {**self._logs, **self._future_logs}:
            # One that was deleted meanwhile is not asked for: nothing may be known of its topic any more.
            if topic_partition in self._logs or topic_partition in self._future_logs:
                self._apply_broker_config(topic_partition, now)
            gevent.sleep(0)
        self._retired.delay_ms = now.log_segment_delete_delay_ms
        if self._cleaner is not None:
            self._cleaner.reconfigure(now)

    def _apply_broker_config(self, topic_partition: TopicPartition, config: BrokerConfig) -> None:
        """Blocks. Apply broker defaults and topic overrides to the log and future log."""
        topic_config = None
        try:
            topic_config = self._topic_config(topic_partition.topic)
        except InvalidConfig as error:
            log.error("%s", error)
        # Looked up behind that: a copy that was begun meanwhile has what the log had until now, or took its place.
        for logs in (self._logs, self._future_logs):
            if topic_partition in logs:
                each = logs[topic_partition]
                if topic_config is not None:
                    each.apply_config(topic_config)
                each.producers.expiration_ms = config.producer_id_expiration_ms
                verifications = each.producers.state.verifications
                verifications.is_required = config.transaction_partition_verification_enable

    def live_log_dirs(self) -> list[str]:
        return [str(data_dir.path) for data_dir in self._placed.live_dirs()]

    def logs_by_directory(self) -> list[tuple[LogDirectory, list[UnifiedLog]]]:
        """Every directory, the offline ones too, with its logs, those being moved among them."""
        return [(data_dir.directory, self._placed.in_dir(data_dir, with_future=True)) for data_dir in self._dirs]

    def offline_log_dirs(self) -> list[str]:
        return [str(data_dir.path) for data_dir in self._dirs if data_dir.directory.is_offline]

    def _create(self, topic_partition: TopicPartition, topic_id: UUID, leader_epoch: int) -> UnifiedLog:
        """Blocks. In the live directory with the fewest partitions; the next one when it fails."""
        preferred = self._placed.preferred.pop(topic_partition, None)
        for data_dir in sorted(self._placed.live_dirs(), key=lambda each: (each is not preferred, each.log_count)):
            config_changes = self._config_changes
            data_dir.log_count += 1
            try:
                created = self._make(data_dir, topic_partition, topic_id, leader_epoch=leader_epoch)
            except BaseException as error:
                data_dir.log_count -= 1
                if isinstance(error, KafkaStorageError):
                    continue
                raise
            self._add(created)
            if self._config_changes != config_changes:
                # It was not among the logs yet when a change was announced.
                created.apply_config(self._topic_config(topic_partition.topic))
            log.info(
                "Created log for partition %s in %s with properties %s",
                topic_partition,
                created.directory,
                created.config,
            )
            return created
        raise KafkaStorageError(f"No log directories available for creating log for {topic_partition}")

    def _make(
        self,
        data_dir: DataDir,
        topic_partition: TopicPartition,
        topic_id: UUID,
        *,
        leader_epoch: int = NO_EPOCH,
        is_future: bool = False,
    ) -> UnifiedLog:
        """Blocks. A log of which nothing is known in `data_dir`, whatever had its name before. KafkaStorageError."""
        if self._cleaner is not None:
            self._cleaner.forget(topic_partition, data_dir.directory)
        data_dir.forget(topic_partition, lambda each: self._placed.is_in(data_dir, each))
        return self._opener.create(data_dir, topic_partition, topic_id, leader_epoch=leader_epoch, is_future=is_future)

    def _add(self, added: UnifiedLog) -> None:
        self._logs[added.topic_partition] = added
        if self._cleaner is not None:
            added.on_truncated = self._cleaner.truncated

    # Tasks

    def clean_up_logs(self) -> None:
        """Blocks. Retention of all logs but the compacted ones, which are the cleaner's."""
        for each in self.all_logs():
            if each.config.compact or each.is_closed or each.log_dir.is_offline:
                continue
            retain = delete_old_segments if self._cleaner is None else self._cleaner.retain
            _on_its_own("Retention", each, partial(retain, each, self._clock.wall_ms()))
            gevent.sleep(0)

    def flush_due_logs(self) -> None:
        """Blocks. Flush the logs whose flush.ms has passed."""
        for each in self.all_logs():
            now_ms = self._clock.monotonic_ms()
            if each.log_end_offset > each.recovery_point and now_ms - each.last_flush_ms >= each.config.flush_ms:
                _on_its_own("Flush", each, each.flush)

    def remove_expired_producers(self) -> None:
        for each in self.all_logs():
            each.remove_expired_producers(self._clock.wall_ms())

    def write_high_watermarks(self) -> None:
        """Blocks. Replace every directory's checkpoint."""
        for_each_dir(self._placed.live_dirs(), self.checkpoints.write_high_watermarks)

    def _checkpoint_now(self, data_dir: DataDir) -> None:
        """Blocks. Partitions came or went."""
        if not data_dir.directory.is_offline and self._is_locked:
            for_each_dir([data_dir], self.checkpoints.write_recovery_points)
            for_each_dir([data_dir], self.checkpoints.write_log_start_offsets)
            for_each_dir([data_dir], self.checkpoints.write_high_watermarks)
            if self._cleaner is not None:
                for_each_dir([data_dir], self._cleaner.write_checkpoint)

    # Directories

    def _directory(self, path: Path, disk: Disk) -> LogDirectory:
        return LogDirectory(
            path.absolute(),
            clock=self._clock,
            pools=self._pools,
            on_failure=self._directory_failed,
            open_segments=self._open_segments,
            disk=disk,
            note_flush_ms=self._note_flush_ms,
            conversion_begins=self._produce_conversions.begin,
        )

    def _directory_failed(self, path: str) -> None:
        """Take a failed directory's logs out of service. Does not switch, nor may its listeners."""
        data_dir = next(each for each in self._dirs if str(each.path) == path)
        log.warning("Stopping serving logs in dir %s", path)
        lost: list[str] = []
        for logs in (self._logs, self._future_logs):
            of_dir = [each for each in logs.values() if each.log_dir is data_dir.directory]
            lost.append(",".join(str(each.topic_partition) for each in of_dir))
            for each in of_dir:
                each.close_files()
                del logs[each.topic_partition]
                if logs is self._future_logs and each.topic_partition in self._logs:
                    self._logs[each.topic_partition].is_copied = False
        log.warning(
            "Logs for partitions %s are offline and logs for future partitions %s are offline due to failure on log "
            "directory %s",
            *lost,
            path,
        )
        data_dir.unlock()
        self._on_log_dir_failure(path)

    def _dir_list(self) -> str:
        return ", ".join(self._config.log_dirs)


def _on_its_own(what: str, each: UnifiedLog, work: Callable[[], object]) -> None:
    """Blocks if `work` does. An error for one log, such as a damaged batch, does not stop the others."""
    try:
        work()
    except KafkaStorageError as error:
        log.warning("%s of %s stopped: %s", what, each.topic_partition, error)
    except Exception:
        caught(what, each.topic_partition)


def _flush_if_it_works(found: UnifiedLog) -> None:
    """Blocks. A log whose directory fails is out of service by then."""
    with suppress(KafkaStorageError):
        found.flush()
