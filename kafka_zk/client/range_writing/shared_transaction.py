"""SharedTransaction: one transaction whose records several SequencedWriters send, maybe on several machines.

Role        Acts: a transactional producer that sends no records itself.
Rule        Sequences are counted by partition, so writers of different partitions may be one producer. Who begins with
            a transactional.id ends what an earlier one left open, and fences its writers. Who adds all partitions
            before a writer sends to them has them all committed, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.client.range_writing.arrivals import ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import BYTES
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.types import TopicPartition

CLOSE_S = 5
"""For an abort. Without one the coordinator aborts at the next `begin`, or when the transaction's time is over."""


class SharedTransaction:
    """Use it in a `with`: what is not committed at its end is aborted."""

    def __init__(self, properties: Mapping[str, str], transactional_id: str) -> None:
        """A producer's properties. Blocks (resolves names). Raises ConfigException, UnsupportedSecurity."""
        given = {name: value for name, value in properties.items() if name in PRODUCER_KEYS}
        serializers = {"key.serializer": BYTES, "value.serializer": BYTES}
        self.transactional_id = transactional_id
        self._producer = KafkaProducer({**given, **serializers, "transactional.id": transactional_id})

    def __enter__(self) -> SharedTransaction:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(CLOSE_S)

    def begin(self) -> ProducerIdentity:
        """Blocks until earlier transactions of this id are over. Once. Raises BrokerError, KafkaException."""
        self._producer.init_transactions()
        self._producer.begin_transaction()
        return ProducerIdentity(*self._producer.producer_state)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Blocks. Raises BrokerError, KafkaException."""
        self._producer.share_transaction(partitions)

    def commit(self) -> None:
        """Blocks. Raises BrokerError, KafkaException: a later `begin` of this id decides what is undecided."""
        self._producer.commit_transaction()
