"""SharedTransaction: one transaction whose records several SequencedWriters send, maybe on several machines.

Role        Acts: a transactional producer that sends no records itself.
Rule        Sequences are counted by partition, so writers of different partitions may be one producer. Who begins with
            a transactional.id ends what an earlier one left open, and fences its writers. Who adds all partitions
            before a writer sends to them has them all committed, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.transaction_results import TransactionDescription
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.client.range_writing.arrivals import ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import BYTES
from kafka_zk.clock import Clock, SystemClock
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition

TIMEOUT = "transaction.timeout.ms"
DEFAULT_TIMEOUT_MS = 60_000
"""As the producer has it."""
CLOSE_S = 5
"""For an abort. Without one the coordinator aborts at the next `begin`, or when the transaction's time is over."""


class SharedTransaction:
    """Use it in a `with`: what is not committed at its end is aborted."""

    def __init__(self, properties: Mapping[str, str], transactional_id: str, *, clock: Clock | None = None) -> None:
        """A producer's properties. Blocks (resolves names). Raises ConfigException, UnsupportedSecurity."""
        given = {name: value for name, value in properties.items() if name in PRODUCER_KEYS}
        serializers = {"key.serializer": BYTES, "value.serializer": BYTES}
        self.transactional_id = transactional_id
        self._properties = dict(properties)
        self._clock = clock or SystemClock()
        self._timeout_ms = int(given.get(TIMEOUT, DEFAULT_TIMEOUT_MS))
        self._identity = ProducerIdentity(-1, -1)
        self._added_ms: int | None = None
        """When the coordinator may have begun to count."""
        self._producer = KafkaProducer({**given, **serializers, "transactional.id": transactional_id})

    def __enter__(self) -> SharedTransaction:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(CLOSE_S)

    def begin(self) -> ProducerIdentity:
        """Blocks until earlier transactions of this id are over. Once. Raises BrokerError, KafkaException."""
        self._producer.init_transactions()
        self._producer.begin_transaction()
        self._identity = ProducerIdentity(*self._producer.producer_state)
        return self._identity

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Blocks. Raises BrokerError, KafkaException."""
        if self._added_ms is None:
            self._added_ms = self._clock.monotonic_ms()
        self._producer.share_transaction(partitions)

    @property
    def may_be_out_of_time(self) -> bool:
        """Whether the coordinator may have aborted it by itself, after transaction.timeout.ms."""
        return self._added_ms is not None and self._clock.monotonic_ms() - self._added_ms >= self._timeout_ms

    def is_ended_by_others(self) -> bool:
        """Blocks. Whether the coordinator gives this id's transactions to a later producer, since one has begun or it
        has aborted this one. False where it does not answer, and before `begin`."""
        if self._identity.producer_id < 0:
            return False
        given = {name: value for name, value in self._properties.items() if name in ADMIN_KEYS}
        try:
            with AdminClient(given) as admin:
                found = admin.describe_transactions([self.transactional_id])[self.transactional_id]
        except (BrokerError, KafkaException):
            return False
        return isinstance(found, TransactionDescription) and self._identity != (
            found.producer_id,
            found.producer_epoch,
        )

    def commit(self) -> None:
        """Blocks. Raises BrokerError, KafkaException: a later `begin` of this id decides what is undecided."""
        self._producer.commit_transaction()
