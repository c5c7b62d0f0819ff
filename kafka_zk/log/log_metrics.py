"""The log's metrics under Kafka's names.

Source      UnifiedLog.newMetrics, LogManager's gauges, LogFlushStats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.loading.directory_load import DirectoryLoad
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry, Row, Tags
from kafka_zk.protocol.types import TopicPartition

_LOG = "kafka.log:type=Log"
_MANAGER = "kafka.log:type=LogManager"
_PER_LOG = ("NumLogSegments", "LogStartOffset", "LogEndOffset", "Size")
_IN_SERVICE: Tags = ()
_IS_FUTURE: Tags = (("is-future", "true"),)


def flush_timer(metrics: MetricsRegistry) -> Callable[[int], None]:
    """What takes the milliseconds of each sync of a segment."""
    return metrics.timer("kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs").update


def register_logs(
    metrics: MetricsRegistry,
    logs: Mapping[TopicPartition, UnifiedLog],
    future_logs: Mapping[TopicPartition, UnifiedLog],
) -> None:
    """Show a live view of the logs in service and those being moved."""

    def rows() -> Iterator[Row]:
        for future, shown in ((_IN_SERVICE, logs), (_IS_FUTURE, future_logs)):
            for log in list(shown.values()):
                topic, partition = log.topic_partition
                values = (len(log.segments), log.log_start_offset, log.log_end_offset, log.size_bytes)
                yield (("topic", topic), ("partition", str(partition)), *future), values

    metrics.gauge_table(_LOG, _PER_LOG, rows, row_count=lambda: len(logs) + len(future_logs))


def register_loads(metrics: MetricsRegistry, loads: Sequence[DirectoryLoad], thread_count: int) -> None:
    """Show how far a start is, for as long as `loads` holds the directories that are loaded."""

    def logs() -> Iterator[Row]:
        for load in list(loads):
            yield (("dir", str(load.data_dir.path)),), (load.remaining_logs,)

    def segments() -> Iterator[Row]:
        for load in list(loads):
            for number in range(thread_count):
                tags = ("dir", str(load.data_dir.path)), ("threadNum", str(number))
                yield tags, (load.remaining_segments.get(number, 0),)

    metrics.gauge_table(_MANAGER, ("remainingLogsToRecover",), logs, row_count=lambda: len(loads))
    metrics.gauge_table(
        _MANAGER, ("remainingSegmentsToRecover",), segments, row_count=lambda: thread_count * len(loads)
    )


def register_directories(metrics: MetricsRegistry, dirs: Sequence[DataDir]) -> None:
    metrics.gauge(
        f"{_MANAGER},name=OfflineLogDirectoryCount",
        lambda: sum(data_dir.directory.is_offline for data_dir in dirs),
    )
    for data_dir in dirs:
        metrics.gauge(
            f"{_MANAGER},name=LogDirectoryOffline",
            partial(_is_offline, data_dir),
            logDirectory=str(data_dir.path),
        )


def _is_offline(data_dir: DataDir) -> int:
    return int(data_dir.directory.is_offline)
