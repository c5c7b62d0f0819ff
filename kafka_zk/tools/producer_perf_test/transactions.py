"""Transactions of kafka-producer-perf-test.sh: each lasts as long as it was told to, and a record more.

Role        Acts through the producer.
Source      ProducerPerformance.start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_zk.client.producer.kafka_producer import KafkaProducer


class TimedTransactions:
    """Call `before` and `after` around each send, `end` after the last."""

    def __init__(self, producer: KafkaProducer, duration_ms: int) -> None:
        """Blocks."""
        self._producer = producer
        self._duration_ms = duration_ms
        self._began_ms: int | None = None
        producer.init_transactions()

    def before(self, now_ms: int) -> None:
        if self._began_ms is None:
            self._producer.begin_transaction()
            self._began_ms = now_ms

    def after(self, sent_ms: int) -> None:
        """Blocks when it is time to commit."""
        if self._began_ms is not None and sent_ms - self._began_ms >= self._duration_ms:
            self.end()

    def end(self) -> None:
        """Blocks. Commit what is open."""
        if self._began_ms is not None:
            self._producer.commit_transaction()
            self._began_ms = None
