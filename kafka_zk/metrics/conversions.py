"""What conversions between message formats cost the requests of one API.

Role        Pure. Two histograms with a value for every request, as in Kafka: 0 for those that converted nothing.
Invariants  The hot path knows nothing of this: whoever converts appends, and the zeros of the others are filled up from
            the count of all requests.
Source      RequestMetrics.messageConversionsTimeHist, tempMemoryBytesHist; RequestChannel.updateRequestMetrics.
"""

from __future__ import annotations

from kafka_zk.metrics.histogram import Histogram
from kafka_zk.metrics.registry import MetricsRegistry

_TYPE = "kafka.network:type=RequestMetrics,name="
_NS_A_MS = 1_000_000


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
        self._pending.append(((duration_ns + _NS_A_MS // 2) // _NS_A_MS, temporary_bytes))

    def _fold(self, now_ms: int) -> bool:
        pending, self._pending = self._pending, []
        if pending:
            self._times.add([(time_ms, 1) for time_ms, _ in pending], now_ms)
            self._bytes.add([(size_bytes, 1) for _, size_bytes in pending], now_ms)
        requests = self._metrics.find(_TYPE + "RequestBytes", request=self._request)
        # A request is counted when its answer has left: those that converted may be here first.
        others = requests.count - self._times.count if isinstance(requests, Histogram) else 0
        if others > 0:
            self._times.add([(0, others)], now_ms)
            self._bytes.add([(0, others)], now_ms)
        return False
