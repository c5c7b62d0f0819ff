"""SharedTransaction: one transaction whose records several SequencedWriters send, maybe on several machines.

Role        Acts: a transactional producer that sends no records itself.
Rule        Sequences are counted by partition, so writers of different partitions may be one producer. Who begins with
            a transactional.id ends what an earlier one left open, and fences its writers. Who adds all partitions
            before a writer sends to them has them all committed, or none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.transaction_results import TransactionDescription, TransactionState
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.client.range_writing.arrivals import ProducerIdentity
from kafka_zk.client.range_writing.sequenced_writer import BYTES
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition

CLOSE_S = 5
"""For an abort. Without one the coordinator aborts at the next `begin`, or when the transaction's time is over."""
BEGINS_S = 5.0
"""A later producer's begin first aborts what is open: by then, as a rule, it has got its epoch."""
ASK_AGAIN_S = 0.2
NEVER_FROM_AN_ABORT = (TransactionState.EMPTY, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
"""States of an id that no abort of what was open leads to."""


def has_begun_later(found: TransactionDescription, identity: ProducerIdentity, *, was_open: bool) -> bool:
    """Whether another producer has begun since this one, whose transaction `was_open`. False where an abort by the
    coordinator itself explains `found`, too: that raises the epoch once."""
    if found.producer_id != identity.producer_id:
        return True
    raised = found.producer_epoch - identity.epoch
    if raised == 1 and found.state is TransactionState.ONGOING:
        # That of another, or this one, where its abort could not be stored yet.
        return not was_open
    return raised > 1 or (raised == 1 and found.state in NEVER_FROM_AN_ABORT)


class SharedTransaction:
    """Use it in a `with`: what is not committed at its end is aborted."""

    def __init__(self, properties: Mapping[str, str], transactional_id: str) -> None:
        """A producer's properties. Blocks (resolves names). Raises ConfigException, UnsupportedSecurity."""
        given = {name: value for name, value in properties.items() if name in PRODUCER_KEYS}
        serializers = {"key.serializer": BYTES, "value.serializer": BYTES}
        self.transactional_id = transactional_id
        self._properties = dict(properties)
        self._identity = ProducerIdentity(-1, -1)
        self._was_open = False
        """Whether it has partitions, as far as is known."""
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
        self._producer.share_transaction(partitions)
        self._was_open = True

    def is_ended_by_others(self) -> bool:
        """Blocks. Whether the coordinator gives this id's transactions to a later producer, since one has begun or it
        has aborted this one. False where it does not answer, and before `begin`."""
        found = self._described()
        return found is not None and self._identity != (found.producer_id, found.producer_epoch)

    def is_taken_over(self) -> bool:
        """Blocks. As `is_ended_by_others`, but False, too, where the coordinator has aborted it by itself, after
        transaction.timeout.ms. No clock of this machine tells: it may have been suspended."""
        until_s = time.monotonic() + BEGINS_S
        while True:
            found = self._described()
            if found is not None and has_begun_later(found, self._identity, was_open=self._was_open):
                return True
            if time.monotonic() >= until_s:
                return False
            time.sleep(ASK_AGAIN_S)

    def _described(self) -> TransactionDescription | None:
        """Blocks. What the coordinator says; None where it does not answer, and before `begin`."""
        if self._identity.producer_id < 0:
            return None
        given = {name: value for name, value in self._properties.items() if name in ADMIN_KEYS}
        try:
            with AdminClient(given) as admin:
                found = admin.describe_transactions([self.transactional_id])[self.transactional_id]
        except (BrokerError, KafkaException):
            return None
        return found if isinstance(found, TransactionDescription) else None

    def commit(self) -> None:
        """Blocks. Raises BrokerError, KafkaException: a later `begin` of this id decides what is undecided."""
        self._producer.commit_transaction()
