"""Producer metrics: records, bytes, batches, retries, errors, waits.

Role        Pure: the sender thread passes the time.
Source      Kafka 3.9 SenderMetricsRegistry, Sender.SenderMetrics, BufferPool, KafkaProducerMetrics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kafka_zk.client.client_metrics import ClientMetrics, Meter, MetricName
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.client.producer.record_accumulator import RecordAccumulator
from kafka_zk.metrics.windows import SampledStat

GROUP = "producer-metrics"
TOPIC_GROUP = "producer-topic-metrics"
NODE_GROUP = "producer-node-metrics"
TRANSACTION_CALLS = ("init", "begin", "send-offsets", "commit", "abort")


@dataclass(frozen=True, slots=True)
class _TopicMeters:
    records: Meter
    bytes: Meter
    compression: SampledStat
    retries: Meter
    errors: Meter


class ProducerMetrics:
    """Rates over metrics.num.samples windows of metrics.sample.window.ms."""

    def __init__(self, metrics: ClientMetrics) -> None:
        self._metrics = metrics
        self._records = metrics.meter(GROUP, "record-send")
        self._bytes = metrics.meter(GROUP, "byte")
        self._retries = metrics.meter(GROUP, "record-retry")
        self._errors = metrics.meter(GROUP, "record-error")
        self._splits = metrics.meter(GROUP, "batch-split")
        self._requests = metrics.meter(GROUP, "request")
        self._responses = metrics.meter(GROUP, "response")
        self._batch_size = metrics.average(GROUP, "batch-size", maximum=True)
        self._compression = metrics.average(GROUP, "compression-rate", maximum=False)
        self._queue_time = metrics.average(GROUP, "record-queue-time", maximum=True)
        self._latency = metrics.average(GROUP, "request-latency", maximum=True)
        self._throttle = metrics.average(GROUP, "produce-throttle-time", maximum=True)
        self._record_size = metrics.average(GROUP, "record-size", maximum=True)
        self._per_request = metrics.average(GROUP, "records-per-request", maximum=False)
        self._topics: dict[str, _TopicMeters] = {}
        self._nodes: dict[int, SampledStat] = {}
        self.flush_ns = 0
        self.metadata_wait_ns = 0
        self.transaction_ns = dict.fromkeys(TRANSACTION_CALLS, 0)
        for call in TRANSACTION_CALLS:
            metrics.gauge(GROUP, f"txn-{call}-time-ns-total", partial(self._transaction_ns, call))
        metrics.gauge(GROUP, "flush-time-ns-total", lambda _: self.flush_ns)
        metrics.gauge(GROUP, "metadata-wait-time-ns-total", lambda _: self.metadata_wait_ns)

    def _transaction_ns(self, call: str, _: int) -> float:
        return self.transaction_ns[call]

    def watch(self, accumulator: RecordAccumulator, client: NetworkClient) -> None:
        """Add gauges of other objects' values."""
        pool, gauge = accumulator.pool, self._metrics.gauge
        gauge(GROUP, "buffer-total-bytes", lambda _: pool.total_bytes)
        gauge(GROUP, "buffer-available-bytes", lambda _: pool.available_bytes)
        gauge(GROUP, "buffer-exhausted-total", lambda _: pool.exhausted_count)
        gauge(GROUP, "bufferpool-wait-time-ns-total", lambda _: pool.wait_time_ns)
        gauge(GROUP, "waiting-threads", lambda _: pool.waiting_count)
        gauge(GROUP, "requests-in-flight", lambda _: client.in_flight_count())
        gauge(GROUP, "connection-count", lambda _: client.connection_count())
        gauge(GROUP, "outgoing-byte-total", lambda _: client.bytes_sent)
        gauge(GROUP, "incoming-byte-total", lambda _: client.bytes_received)
        gauge(GROUP, "metadata-age", lambda now_ms: client.metadata.age_ms(now_ms) / 1000)

    def snapshot(self, now_ms: int) -> dict[MetricName, float]:
        return self._metrics.snapshot(now_ms)

    def request_sent(self, batches: Sequence[ProducerBatch], now_ms: int) -> None:
        """A request with these batches is sent."""
        totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for batch in batches:
            topic = batch.topic_partition.topic
            totals[topic][0] += batch.record_count
            totals[topic][1] += batch.size_bytes
            self._batch_size.record(batch.size_bytes, now_ms)
            self._queue_time.record(batch.drained_ms - batch.created_ms, now_ms)
            self._record_size.record(batch.max_record_bytes, now_ms)
            self._compression.record(batch.compression_ratio, now_ms)
            self._topic(topic).compression.record(batch.compression_ratio, now_ms)
        for topic, (records, size) in totals.items():
            self._topic(topic).records.mark(records, now_ms)
            self._topic(topic).bytes.mark(size, now_ms)
            self._bytes.mark(size, now_ms)
        count = sum(records for records, _ in totals.values())
        self._records.mark(count, now_ms)
        self._per_request.record(count, now_ms)
        self._requests.mark(1, now_ms)

    def answered(self, node_id: int, latency_ms: int, throttle_ms: int, now_ms: int) -> None:
        self._responses.mark(1, now_ms)
        self._latency.record(latency_ms, now_ms)
        self._throttle.record(throttle_ms, now_ms)
        node = self._nodes.get(node_id)
        if node is None:
            tags = {"node-id": f"node-{node_id}"}
            node = self._nodes[node_id] = self._metrics.average(NODE_GROUP, "request-latency", tags, maximum=True)
        node.record(latency_ms, now_ms)

    def retried(self, batch: ProducerBatch, now_ms: int) -> None:
        self._retries.mark(batch.record_count, now_ms)
        self._topic(batch.topic_partition.topic).retries.mark(batch.record_count, now_ms)

    def failed(self, batch: ProducerBatch, now_ms: int) -> None:
        self._errors.mark(batch.record_count, now_ms)
        self._topic(batch.topic_partition.topic).errors.mark(batch.record_count, now_ms)

    def record_refused(self, topic: str, now_ms: int) -> None:
        """A record was never added to a batch."""
        self._errors.mark(1, now_ms)
        self._topic(topic).errors.mark(1, now_ms)

    def was_split(self, now_ms: int) -> None:
        self._splits.mark(1, now_ms)

    def _topic(self, topic: str) -> _TopicMeters:
        meters = self._topics.get(topic)
        if meters is None:
            tags = {"topic": topic}
            meters = self._topics[topic] = _TopicMeters(
                self._metrics.meter(TOPIC_GROUP, "record-send", tags),
                self._metrics.meter(TOPIC_GROUP, "byte", tags),
                self._metrics.average(TOPIC_GROUP, "compression-rate", tags, maximum=False),
                self._metrics.meter(TOPIC_GROUP, "record-retry", tags),
                self._metrics.meter(TOPIC_GROUP, "record-error", tags),
            )
        return meters
