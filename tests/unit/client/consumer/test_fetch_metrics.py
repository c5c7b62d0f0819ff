"""What a consumer shows of its fetches."""

from __future__ import annotations

from kafka_zk.client.consumer.fetch_metrics import FetchMetrics
from kafka_zk.clock import SimClock


def test_waits_that_brokers_tell_are_shown() -> None:
    metrics = FetchMetrics("c", SimClock())
    metrics.note_fetch(5.0, 0)
    metrics.note_fetch(5.0, 300)
    shown = {name.name: value for name, value in metrics.values().items()}
    assert (shown["fetch-throttle-time-avg"], shown["fetch-throttle-time-max"]) == (150.0, 300.0)
