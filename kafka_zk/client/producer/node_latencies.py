"""Which brokers have been unavailable for so long that records without a key avoid them.

Role        Pure.
Source      Kafka 3.9 RecordAccumulator.NodeLatencyStats, partitionReady; KIP-794.
"""

from __future__ import annotations


class NodeLatencies:
    """`timeout_ms` is partitioner.availability.timeout.ms; 0: no node is ever avoided."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._ready_ms: dict[int, int] = {}
        self._drainable_ms: dict[int, int] = {}

    def ready(self, node_id: int, now_ms: int) -> None:
        """The node was ready for a batch."""
        self._ready_ms[node_id] = self._drainable_ms[node_id] = now_ms

    def not_ready(self, node_id: int, now_ms: int) -> None:
        """The node was not ready for a batch."""
        self._ready_ms[node_id] = now_ms
        self._drainable_ms.setdefault(node_id, now_ms)

    def is_slow(self, node_id: int) -> bool:
        """Whether the node has not been ready for the timeout."""
        if self._timeout_ms <= 0 or node_id not in self._ready_ms:
            return False
        return self._ready_ms[node_id] - self._drainable_ms[node_id] > self._timeout_ms
