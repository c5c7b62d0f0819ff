"""LogCleaner: a broker's cleaner threads and their metrics.

Role        Acts. One for a broker unless log.cleaner.enable is false; the log manager starts and stops it, and
            notifies it of truncated and deleted logs.
Source      Kafka 3.9 LogCleaner, LogCleanerManager's metrics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import gevent

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.log.cleaner.cleaner_thread import CleanerThread
from kafka_zk.log.cleaner.settings import CleanerSettings
from kafka_zk.log.cleaner.states import CleanerStates
from kafka_zk.log.cleaner.throttle import Throttle
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.helper.process import Helper, HelperProcess
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import TopicPartition

log_lines = logging.getLogger("kafka.log.LogCleaner")

_CLEANER = "kafka.log:type=LogCleaner"
_MANAGER = "kafka.log:type=LogCleanerManager"


class LogCleaner:
    def __init__(
        self,
        config: BrokerConfig,
        *,
        dirs: Sequence[DataDir],
        logs: Mapping[TopicPartition, UnifiedLog],
        clock: Clock,
        metrics: MetricsRegistry,
        helper_named: Callable[[str], Helper] = HelperProcess,
    ) -> None:
        """`logs`: a live view of those in service. Each thread gets its own helper."""
        self._settings = CleanerSettings.of(config)
        meter = metrics.meter("kafka.utils:type=Throttler,name=cleaner-io", event_type="bytes")
        rate = self._settings.bytes_per_second
        self._throttle = Throttle(rate, now_ms=clock.monotonic_ms(), note_bytes=meter.mark)
        self._clock = clock
        self._helper_named = helper_named
        self._states = CleanerStates(dirs, logs, clock)
        self._threads = self._new_threads()
        self._register(metrics, dirs)

    def start(self) -> None:
        """Blocks briefly. Call it once the directories are locked and their logs open."""
        log_lines.info("Starting the log cleaner")
        self._states.checkpoints.read()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Blocks. Stop, aborting cleanings in progress; the logs may be closed afterwards."""
        log_lines.info("Shutting down the log cleaner.")
        gevent.joinall([gevent.spawn(thread.stop) for thread in self._threads])

    def reconfigure(self, config: BrokerConfig) -> None:
        """Blocks. Apply the settings of `config`; if they changed, cleanings in progress are aborted."""
        settings = CleanerSettings.of(config)
        if settings == self._settings:
            return
        self._settings = settings
        self._throttle.allow(settings.bytes_per_second, self._clock.monotonic_ms())
        self.stop()
        self._threads = self._new_threads()
        log_lines.info("Starting the log cleaner")
        for thread in self._threads:
            thread.start()

    def retain(self, log: UnifiedLog, now_ms: int) -> None:
        """Blocks. Retention of a log that is not compacted, unless it was until now and is still being cleaned: then
        the next round handles it. Raises KafkaStorageError."""
        if self._states.take(log):
            try:
                delete_old_segments(log, now_ms)
            finally:
                self._states.done([log])

    def deleted(self, log: UnifiedLog) -> None:
        """`write_checkpoint` follows."""
        self._states.forget(log)

    def forget(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        """The partition is about to be created in `directory`: drop its old checkpoint entry."""
        self._states.checkpoints.forget(topic_partition, directory)

    def pause(self, log: UnifiedLog) -> None:
        """Blocks. Stop cleaning `log`, because it is being copied to another directory.

        Otherwise the copy could miss the later record, or the tombstone, that a cleaning removed. A
        running cleaning is aborted; a running swap ends first. `log.is_copied` is False once cleaning may continue.
        """
        self._states.pause(log)

    def moved(self, before: UnifiedLog, now: UnifiedLog) -> None:
        """`now` took the place of `before`; `write_checkpoint` of both directories follows."""
        self._states.moved(before, now)

    def write_checkpoint(self, data_dir: DataDir) -> None:
        """Blocks. Raises KafkaStorageError."""
        self._states.checkpoints.write(data_dir.directory)

    def truncated(self, log: UnifiedLog) -> None:
        """Blocks. `log` was truncated. Raises KafkaStorageError."""
        self._states.truncated(log)

    def _new_threads(self) -> list[CleanerThread]:
        return [
            CleanerThread(
                number,
                states=self._states,
                settings=self._settings,
                throttle=self._throttle,
                clock=self._clock,
                helper=self._helper_named(f"log-cleaner-{number}"),
            )
            for number in range(self._settings.thread_count)
        ]

    def _register(self, metrics: MetricsRegistry, dirs: Sequence[DataDir]) -> None:
        gauge, states = metrics.gauge, self._states
        gauge(f"{_CLEANER},name=max-buffer-utilization-percent", self._max_buffer_utilization)
        gauge(f"{_CLEANER},name=cleaner-recopy-percent", self._recopy_percent)
        gauge(f"{_CLEANER},name=max-clean-time-secs", self._max_clean_time_s)
        gauge(f"{_CLEANER},name=max-compaction-delay-secs", lambda: states.max_compaction_delay_ms // 1000)
        gauge(f"{_CLEANER},name=DeadThreadCount", lambda: sum(thread.is_dead for thread in self._threads))
        gauge(f"{_MANAGER},name=max-dirty-percent", lambda: int(100 * states.max_dirty_ratio))
        gauge(f"{_MANAGER},name=time-since-last-run-ms", lambda: self._clock.wall_ms() - states.last_run_ms)
        for data_dir in dirs:
            path, directory = str(data_dir.path), data_dir.directory
            count = partial(_count, states, directory)
            gauge(f"{_MANAGER},name=uncleanable-partitions-count", count, logDirectory=path)
            size = partial(states.uncleanable_bytes_in, directory)
            gauge(f"{_MANAGER},name=uncleanable-bytes", size, logDirectory=path)

    def _max_buffer_utilization(self) -> int:
        return int(max((100 * thread.last_stats.buffer_utilization for thread in self._threads), default=0))

    def _recopy_percent(self) -> int:
        stats = [thread.last_stats for thread in self._threads]
        return 100 * sum(each.written_bytes for each in stats) // max(sum(each.read_bytes for each in stats), 1)

    def _max_clean_time_s(self) -> int:
        return max((thread.last_stats.elapsed_ms for thread in self._threads), default=0) // 1000


def _count(states: CleanerStates, directory: LogDirectory) -> int:
    return len(states.uncleanable_in(directory))
