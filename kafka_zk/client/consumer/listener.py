"""Calls the program's rebalance listener and interceptors.

Role        Calls what the program gave; of interceptors, whatever they raise is logged and changes nothing.
Source      ConsumerRebalanceListener, ConsumerInterceptor, ConsumerInterceptors.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("org.apache.kafka.clients.consumer.internals.ConsumerInterceptors")


class ConsumerRebalanceListener:
    """Called in `poll`, `unsubscribe` and `close`, in the thread that calls them. Override what is of interest."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These are about to be given up: the last moment to commit."""

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """These are new here. Called after every rebalance, with none where nothing came."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These belong to others already: commits would fail. As a revocation, unless overridden."""
        self.on_partitions_revoked(partitions)


class ConsumerInterceptor:
    """Sees every poll's records before the program, and every commit that was taken."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...

    def close(self) -> None: ...


class ConsumerInterceptors:
    """Those of interceptor.classes, in their order."""

    def __init__(self, interceptors: Sequence[ConsumerInterceptor]) -> None:
        self._interceptors = list(interceptors)

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """The records as the last of them wants them handed out."""
        for each in self._interceptors:
            try:
                records = each.on_consume(records)
            except Exception:
                # The program's own; as in Java, what it raises stops nobody.
                log.warning("Error executing interceptor onConsume callback", exc_info=True)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for each in self._interceptors:
            try:
                each.on_commit(offsets)
            except Exception:
                # The program's own; as in Java, what it raises stops nobody.
                log.warning("Error executing interceptor onCommit callback", exc_info=True)

    def close(self) -> None:
        for each in self._interceptors:
            try:
                each.close()
            except Exception:
                # The program's own; as in Java, what it raises stops nobody.
                log.exception("Failed to close consumer interceptor ")
