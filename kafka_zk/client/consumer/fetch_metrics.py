"""Fetch metrics, under Java's names.

Role        Pure but for the clock. Computed when read: the hot path only makes a few additions per batch.
Source      FetchMetricsRegistry, FetchMetricsManager.
"""

from __future__ import annotations

from kafka_zk.client.client_metrics import MetricName
from kafka_zk.client.consumer.fetched_partition import FetchedPartition
from kafka_zk.client.consumer.sensors import MetricNames, Sensor
from kafka_zk.client.consumer.subscription_state import PartitionState
from kafka_zk.clock import Clock
from kafka_zk.protocol.types import TopicPartition

GROUP = "consumer-fetch-manager-metrics"


class FetchMetrics:
    """Of one consumer."""

    def __init__(self, client_id: str, clock: Clock) -> None:
        self._tags = {"client-id": client_id}
        self._fetches = Sensor(clock)
        self._throttles = Sensor(clock)
        self._sizes = Sensor(clock)
        self._records = Sensor(clock)
        self._bytes = Sensor(clock)
        self._topics: dict[str, tuple[Sensor, Sensor]] = {}
        self._lags: dict[TopicPartition, Sensor] = {}
        self._leads: dict[TopicPartition, Sensor] = {}
        self._clock = clock
        self._max_lag = Sensor(clock)
        self._min_lead = Sensor(clock)

    def note_fetch(self, latency_ms: float, throttle_ms: int) -> None:
        """Note a response after `latency_ms`, with its throttle time."""
        self._fetches.record(latency_ms)
        self._throttles.record(throttle_ms)

    def note_size(self, size_bytes: int) -> None:
        """Bytes of records in one answer."""
        self._sizes.record(size_bytes)

    def note_records(self, fetched: FetchedPartition, count: int) -> None:
        """Note records returned from a response; its bytes count with the first of them."""
        size_bytes = fetched.size_bytes if fetched.record_count == count else 0
        topic = fetched.partition.topic
        if topic not in self._topics:
            self._topics[topic] = Sensor(self._clock), Sensor(self._clock)
        for records, sizes in ((self._records, self._bytes), self._topics[topic]):
            records.record(count)
            if size_bytes:
                sizes.record(size_bytes)

    def note_lag(self, partition: TopicPartition, state: PartitionState, *, read_committed: bool) -> None:
        """How far the position is from both ends of the log."""
        if state.position is None:
            return
        end = state.last_stable_offset if read_committed else state.high_watermark
        for start, stop, each, overall in (
            (state.position.offset, end, self._lags, self._max_lag),
            (state.log_start_offset, state.position.offset, self._leads, self._min_lead),
        ):
            if start is not None and stop is not None:
                distance = max(0, stop - start)
                overall.record(distance)
                if partition not in each:
                    each[partition] = Sensor(self._clock)
                each[partition].record(distance)

    def forget_all_but(self, partitions: list[TopicPartition]) -> None:
        """Drop the lag of all other partitions: they are no longer assigned."""
        kept = set(partitions)
        for each in (self._lags, self._leads):
            for partition in [known for known in each if known not in kept]:
                del each[partition]

    def values(self) -> dict[MetricName, float]:
        name = MetricNames(GROUP, self._tags)
        found = {
            **name.latency("fetch-latency", self._fetches),
            **name.rate("fetch", self._fetches),
            name("fetch-throttle-time-avg"): self._throttles.average,
            name("fetch-throttle-time-max"): self._throttles.maximum,
            name("fetch-size-avg"): self._sizes.average,
            name("fetch-size-max"): self._sizes.maximum,
            name("records-per-request-avg"): self._records.average,
            name("records-lag-max"): self._max_lag.maximum,
            name("records-lead-min"): self._min_lead.minimum,
            **name.totals("records-consumed", self._records),
            **name.totals("bytes-consumed", self._bytes),
        }
        for topic, (records, sizes) in self._topics.items():
            by_topic = MetricNames(GROUP, {**self._tags, "topic": topic.replace(".", "_")})
            found.update(by_topic.totals("records-consumed", records))
            found.update(by_topic.totals("bytes-consumed", sizes))
            found[by_topic("fetch-size-avg")] = sizes.average
            found[by_topic("fetch-size-max")] = sizes.maximum
            found[by_topic("records-per-request-avg")] = records.average
        for kind, sensors in (("lag", self._lags), ("lead", self._leads)):
            extreme = "max" if kind == "lag" else "min"
            for partition, sensor in sensors.items():
                tags = {"topic": partition.topic.replace(".", "_"), "partition": str(partition.partition)}
                by_partition = MetricNames(GROUP, {**self._tags, **tags})
                found[by_partition(f"records-{kind}")] = sensor.last
                found[by_partition(f"records-{kind}-{extreme}")] = sensor.maximum if kind == "lag" else sensor.minimum
                found[by_partition(f"records-{kind}-avg")] = sensor.average
        return found
