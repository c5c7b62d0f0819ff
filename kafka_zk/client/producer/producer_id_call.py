"""Requests a producer id, and retries until it gets one.

Role        Acts through `NetworkClient` only.
Source      Kafka 3.9 TransactionManager.InitProducerIdHandler.
"""

from __future__ import annotations

import logging

from kafka_zk.client.errors import AuthenticationException
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.producer.idempotence import Idempotence
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for, is_retriable

log = logging.getLogger("org.apache.kafka.clients.producer.internals.TransactionManager")


LONGEST_WAIT_MS = 60_000
NO_NODE_WAIT_MS = 20
"""How long to wait before looking for a broker again."""


class ProducerIdCall:
    """At most one request is in flight."""

    def __init__(
        self, client: NetworkClient, clock: Clock, backoff: ExponentialBackoff, idempotence: Idempotence
    ) -> None:
        self._idempotence = idempotence
        self._client = client
        self._clock = clock
        self._backoff = backoff
        self._is_asking = False
        self._not_before_ms = 0
        self._failure_count = 0

    def advance(self, now_ms: int, *, has_batches: bool) -> None:
        """Send InitProducerId to any broker if an id is missing, whether or not there is anything to send."""
        from kafka_zk.protocol.messages import init_producer_id as messages

        idempotence = self._idempotence
        if not idempotence.needs_id or self._is_asking or now_ms < self._not_before_ms:
            return
        node_id = self._client.least_loaded_node()
        if node_id is None:
            return
        self._is_asking = True

        def take(answer: messages.InitProducerIdResponse) -> None:
            self._is_asking = False
            if answer.error_code == ErrorCode.NONE:
                self._failure_count = 0
                idempotence.take_id(answer.producer_id, answer.producer_epoch)
            elif is_retriable(answer.error_code):
                self._try_later()
            else:
                idempotence.fatal_error = error_class_for(answer.error_code)()

        def fail(error: Exception) -> None:
            self._is_asking = False
            if isinstance(error, BrokerError | AuthenticationException):
                idempotence.fatal_error = error
            else:
                log.debug("InitProducerId failed: %s", error)
                self._try_later()

        self._client.send(
            node_id,
            messages.INIT_PRODUCER_ID_REQUEST,
            messages.INIT_PRODUCER_ID_RESPONSE,
            lambda _: messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1),
            take,
            fail,
        )

    def wait_ms(self, now_ms: int) -> int:
        """How long the client may sleep before `advance` has to be called."""
        if self._is_asking or not self._idempotence.needs_id:
            return LONGEST_WAIT_MS
        return max(NO_NODE_WAIT_MS, self._not_before_ms - now_ms)

    def _try_later(self) -> None:
        self._failure_count += 1
        self._not_before_ms = self._clock.monotonic_ms() + self._backoff.wait_ms(self._failure_count)
