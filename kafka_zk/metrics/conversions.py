"""The cost of message format conversions, per API.

Role        Two histograms with a value for every request, as in Kafka: 0 for those that converted nothing.
Invariants  The hot path is not involved: only a request that converts appends a value; the zeros of the others are
            added from the count of all requests.
Source      RequestMetrics.messageConversionsTimeHist, tempMemoryBytesHist; RequestChannel.updateRequestMetrics.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from kafka_zk.metrics.histogram import Histogram
from kafka_zk.metrics.registry import MetricsRegistry

_TYPE = "kafka.network:type=RequestMetrics,name="
_PRODUCED = "kafka.server:type=BrokerTopicMetrics,name=ProduceMessageConversionsPerSec"
_NS_PER_MS = 1_000_000

NOTES_PER_FOLD = 1000
"""Folding this many takes about a millisecond, which is how long a request may have to wait."""


class ConversionCosts:
    """MessageConversionsTimeMs and TemporaryMemoryBytes of the API called `request`."""

    __slots__ = ("_bytes", "_metrics", "_pending", "_request", "_times")

    def __init__(self, metrics: MetricsRegistry, request: str) -> None:
        self._metrics = metrics
        self._request = request
        self._times = metrics.histogram(_TYPE + "MessageConversionsTimeMs", request=request)
        self._bytes = metrics.histogram(_TYPE + "TemporaryMemoryBytes", request=request)
        self._pending: list[tuple[int, int]] = []
        metrics.on_fold(self._fold)

    def note(self, duration_ns: int, temporary_bytes: int) -> None:
        """One request converted something."""
        self._pending.append(((duration_ns + _NS_PER_MS // 2) // _NS_PER_MS, temporary_bytes))

    def _fold(self, now_ms: int) -> bool:
        # A thread may append meanwhile.
        some = [self._pending.pop() for _ in range(min(len(self._pending), NOTES_PER_FOLD))]
        if some:
            self._times.add(Counter(time_ms for time_ms, _ in some).items(), now_ms)
            self._bytes.add(Counter(size_bytes for _, size_bytes in some).items(), now_ms)
        if self._pending:
            return True
        requests = self._metrics.find(_TYPE + "RequestBytes", request=self._request)
        # A request is counted when its answer has left: what it converted was noted before.
        others = requests.count - self._times.count if isinstance(requests, Histogram) else 0
        if others > 0:
            self._times.add([(0, others)], now_ms)
            self._bytes.add([(0, others)], now_ms)
        return False


class ProduceConversions:
    """What conversion and recompression cost produce requests, and how many records of each topic went through it.

    `begin` and the function it returns may be called in a thread. Kafka keeps one value per request, that of one of
    its partitions; here each batch has one.
    """

    __slots__ = ("_costs", "_metrics", "_pending")

    def __init__(self, metrics: MetricsRegistry) -> None:
        self._costs = ConversionCosts(metrics, "Produce")
        self._metrics = metrics
        self._pending: list[tuple[str, int]] = []
        metrics.on_fold(self._fold)

    def begin(self, topic: str) -> Callable[[int, int], None]:
        """Start timing a conversion; call the result with its record count and its bytes when it ends.

        Without records nothing was converted: the batch was only unpacked to be checked.
        """
        started_ns = time.monotonic_ns()

        def end(record_count: int, temporary_bytes: int) -> None:
            self._costs.note(time.monotonic_ns() - started_ns if record_count else 0, temporary_bytes)
            if record_count:
                self._pending.append((topic, record_count))

        return end

    def _fold(self, now_ms: int) -> bool:
        some = [self._pending.pop() for _ in range(min(len(self._pending), NOTES_PER_FOLD))]
        for topic, count in some:
            self._metrics.meter(_PRODUCED).add(count)
            self._metrics.meter(_PRODUCED, topic=topic).add(count)
        return bool(self._pending)
