"""The log's metrics under Kafka's names.

Source      UnifiedLog.newMetrics, LogManager's gauges, LogFlushStats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kafka_zk.log.data_dir import DataDir
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import TopicPartition

_LOG = "kafka.log:type=Log"
_MANAGER = "kafka.log:type=LogManager"
_PER_LOG = ("NumLogSegments", "LogStartOffset", "LogEndOffset", "Size")


def flush_timer(metrics: MetricsRegistry) -> Callable[[int], None]:
    """What takes the milliseconds of each sync of a segment."""
    return metrics.timer("kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs").update


def register_log(metrics: MetricsRegistry, log: UnifiedLog) -> None:
    tags = log.topic_partition._asdict()
    values = (
        lambda: len(log.segments),
        lambda: log.log_start_offset,
        lambda: log.log_end_offset,
        lambda: log.size_bytes,
    )
    for name, value in zip(_PER_LOG, values, strict=True):
        metrics.gauge(f"{_LOG},name={name}", value, **tags)


def forget_log(metrics: MetricsRegistry, topic_partition: TopicPartition) -> None:
    for name in _PER_LOG:
        metrics.remove(f"{_LOG},name={name}", **topic_partition._asdict())


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
