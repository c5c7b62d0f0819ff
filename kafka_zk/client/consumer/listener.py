"""Calls the program's rebalance listener and interceptors.

Role        Calls the program's code; whatever interceptors raise is logged and ignored.
Source      ConsumerRebalanceListener, ConsumerInterceptor, ConsumerInterceptors.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.ConsumerInterceptors")


class ConsumerRebalanceListener:
    """Called in `poll`, `unsubscribe` and `close`, in the calling thread. Override the methods you need."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions are about to be revoked: the last chance to commit."""

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions were added. Called after every rebalance, with an empty list if there are none."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions already belong to other members, so commits would fail. Calls the revocation by default."""
        self.on_partitions_revoked(partitions)


class ConsumerInterceptor:
    """Sees each poll's records before the program does, and each successful commit."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...

    def close(self) -> None: ...


class ConsumerInterceptors:
    """The interceptors of interceptor.classes, in order."""

    def __init__(self, interceptors: Sequence[ConsumerInterceptor]) -> None:
        self._interceptors = list(interceptors)

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """The records as returned by the last interceptor."""
        for each in self._interceptors:
            try:
                records = each.on_consume(records)
            except Exception:
                # Code of the program; as in Java, its errors do not stop the others.
                log.warning("Error executing interceptor onConsume callback", exc_info=True)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for each in self._interceptors:
            try:
                each.on_commit(offsets)
            except Exception:
                # Code of the program; as in Java, its errors do not stop the others.
                log.warning("Error executing interceptor onCommit callback", exc_info=True)

    def close(self) -> None:
        for each in self._interceptors:
            try:
                each.close()
            except Exception:
                # Code of the program; as in Java, its errors do not stop the others.
                log.exception("Failed to close consumer interceptor ")
