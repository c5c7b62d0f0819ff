"""What a program may hear of: rebalances, and records and commits as they pass.

Role        Pure.
Source      ConsumerRebalanceListener, ConsumerInterceptor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.protocol.types import TopicPartition


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
