"""Records, bytes and requests per topic and for the whole broker.

Role        Pure. A partition keeps the handles of its topic; one append counts for the topic and for the broker.
Invariants  The broker's meters hold at least the sum of its topics' meters. A topic's meter exists once it counted.
Source      BrokerTopicStats.java, BrokerTopicMetrics.java.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable

from kafka_zk.metrics.meters import drain_sum
from kafka_zk.metrics.registry import MetricsRegistry

_MBEAN = "kafka.server:type=BrokerTopicMetrics,name="
# Attribute of TopicMetrics, Kafka's name, what is counted.
_OF_TOPICS = (
    ("messages_in", "MessagesInPerSec", "messages"),
    ("bytes_in", "BytesInPerSec", "bytes"),
    ("bytes_out", "BytesOutPerSec", "bytes"),
    ("bytes_rejected", "BytesRejectedPerSec", "bytes"),
    ("failed_produce_requests", "FailedProduceRequestsPerSec", "requests"),
    ("failed_fetch_requests", "FailedFetchRequestsPerSec", "requests"),
    ("total_produce_requests", "TotalProduceRequestsPerSec", "requests"),
    ("total_fetch_requests", "TotalFetchRequestsPerSec", "requests"),
    ("produce_message_conversions", "ProduceMessageConversionsPerSec", "requests"),
    ("fetch_message_conversions", "FetchMessageConversionsPerSec", "requests"),
)
_OF_BROKER = (
    ("replication_bytes_in", "ReplicationBytesInPerSec", "bytes"),
    ("replication_bytes_out", "ReplicationBytesOutPerSec", "bytes"),
    ("reassignment_bytes_in", "ReassignmentBytesInPerSec", "bytes"),
    ("reassignment_bytes_out", "ReassignmentBytesOutPerSec", "bytes"),
    ("no_key_compacted_topic_records", "NoKeyCompactedTopicRecordsPerSec", "requests"),
    ("invalid_magic_number_records", "InvalidMagicNumberRecordsPerSec", "requests"),
    ("invalid_message_crc_records", "InvalidMessageCrcRecordsPerSec", "requests"),
    ("invalid_offset_or_sequence_records", "InvalidOffsetOrSequenceRecordsPerSec", "requests"),
)

TOPICS_PER_FOLD = 100
"""Folded in one go, in a millisecond or two."""


class TopicMetrics:
    """One topic's handles, each a bare list.append that takes an amount."""

    __slots__ = ("_pending", *(attribute for attribute, _, _ in _OF_TOPICS))

    messages_in: Callable[[int], None]
    bytes_in: Callable[[int], None]
    bytes_out: Callable[[int], None]
    bytes_rejected: Callable[[int], None]
    failed_produce_requests: Callable[[int], None]
    failed_fetch_requests: Callable[[int], None]
    total_produce_requests: Callable[[int], None]
    total_fetch_requests: Callable[[int], None]
    produce_message_conversions: Callable[[int], None]
    fetch_message_conversions: Callable[[int], None]

    def __init__(self) -> None:
        self._pending: dict[str, list[int]] = {}
        for attribute, name, _ in _OF_TOPICS:
            self._pending[name] = []
            setattr(self, attribute, self._pending[name].append)

    def drain(self) -> dict[str, int]:
        """Amounts since the last call, by Kafka's name, without zeros."""
        return {name: drain_sum(pending) for name, pending in self._pending.items() if pending}


class BrokerTopicStats:
    """The handles of every topic, and those that exist only for the whole broker."""

    replication_bytes_in: Callable[[int], None]
    replication_bytes_out: Callable[[int], None]
    reassignment_bytes_in: Callable[[int], None]
    reassignment_bytes_out: Callable[[int], None]
    no_key_compacted_topic_records: Callable[[int], None]
    invalid_magic_number_records: Callable[[int], None]
    invalid_message_crc_records: Callable[[int], None]
    invalid_offset_or_sequence_records: Callable[[int], None]

    def __init__(self, registry: MetricsRegistry) -> None:
        self._registry = registry
        self._topics: dict[str, TopicMetrics] = {}
        self._unfolded: list[tuple[str, TopicMetrics]] = []
        self._event_types = {name: event_type for _, name, event_type in _OF_TOPICS}
        for _, name, event_type in _OF_TOPICS:
            registry.meter(_MBEAN + name, event_type=event_type)
        for attribute, name, event_type in _OF_BROKER:
            setattr(self, attribute, registry.meter(_MBEAN + name, event_type=event_type).mark)
        registry.on_fold(self._fold)

    def topic(self, topic: str) -> TopicMetrics:
        """The handles of `topic`, the same object until the topic is removed."""
        metrics = self._topics.get(topic)
        if metrics is None:
            metrics = self._topics[topic] = TopicMetrics()
        return metrics

    def remove_topic(self, topic: str) -> None:
        """Forget a topic that no longer has a partition here; the broker's totals keep what it counted."""
        metrics = self._topics.pop(topic, None)
        if metrics is not None:
            self._add(metrics.drain(), None)
        # By their names: a look at the metrics of all other topics takes as long as there are many.
        for _, name, _ in _OF_TOPICS:
            self._registry.remove(_MBEAN + name, topic=topic)

    def _fold(self, now_ms: int) -> bool:
        """Fold some topics; returns whether there are more."""
        unfolded = self._unfolded
        if not unfolded:
            unfolded += self._topics.items()
        for topic, metrics in unfolded[-TOPICS_PER_FOLD:]:
            if self._topics.get(topic) is metrics:
                self._add(metrics.drain(), topic)
        del unfolded[-TOPICS_PER_FOLD:]
        return bool(unfolded)

    def _add(self, amounts: dict[str, int], topic: str | None) -> None:
        for name, amount in amounts.items():
            event_type = self._event_types[name]
            self._registry.meter(_MBEAN + name, event_type=event_type).add(amount)
            if topic is not None:
                self._registry.meter(_MBEAN + name, event_type=event_type, topic=topic).add(amount)
