"""Metrics of the transaction coordinator.

Source      The sensors of Kafka 3.9 TransactionStateManager, the gauges of TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.metrics import MetricsRegistry

_LOADS = "kafka.server:type=transaction-coordinator-metrics"
_MARKERS = "kafka.coordinator.transaction:type=TransactionMarkerChannelManager,name="


def loading_times(metrics: MetricsRegistry) -> Callable[[int], None]:
    """Register them; returns what is told how many milliseconds the load of a partition took."""
    return metrics.spread_of(_LOADS, average="partition-load-time-avg", maximum="partition-load-time-max")


def register_queues(
    metrics: MetricsRegistry, *, unknown_destination: Callable[[], int], append_retries: Callable[[], int]
) -> None:
    """Show how many transactions wait for a leader to send markers to, and how many for their last record."""
    metrics.gauge(f"{_MARKERS}UnknownDestinationQueueSize", unknown_destination)
    metrics.gauge(f"{_MARKERS}LogAppendRetryQueueSize", append_retries)
