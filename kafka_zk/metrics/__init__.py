"""The broker's metrics, under the names that Kafka's monitoring expects."""

from kafka_zk.metrics.registry import MetricsRegistry

__all__ = ["MetricsRegistry"]
