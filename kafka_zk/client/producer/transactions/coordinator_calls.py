"""Makes the steps of a transactional producer: finds coordinators, asks them one step at a time, asks again.

Role        Acts through `NetworkClient` only, in the sender's thread.
Invariants  At most one request is in flight, look-ups included: the steps of a transaction stay in order.
Source      Kafka 3.9 Sender.maybeSendAndPollTransactionalRequest, TransactionManager.lookupCoordinator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.coordinator_lookup import (
    CoordinatorType,
    find_coordinator,
    found_coordinator,
    own_connection_of,
)
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.producer.idempotence import ProducerState
from kafka_zk.client.producer.producer_id_call import LONGEST_WAIT_MS, NO_NODE_WAIT_MS
from kafka_zk.client.producer.transactions.requests import request_of
from kafka_zk.client.producer.transactions.steps import AddPartitions, CommitOffsets, InitProducerId, Step
from kafka_zk.client.producer.transactions.transaction_manager import TransactionManager
from kafka_zk.client.producer.transactions.verdicts import Verdict, error_of_lookup, verdict_of
from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import code_of
from kafka_zk.protocol.messages.find_coordinator import (
    FIND_COORDINATOR_REQUEST,
    FIND_COORDINATOR_RESPONSE,
    FindCoordinatorResponse,
)

FIRST_PARTITIONS_WAIT_MS: Final = 20
"""The end of the last transaction takes no longer as a rule: the first partitions of the next one ask early."""

log = logging.getLogger("org.apache.kafka.clients.producer.internals.TransactionManager")

Coordinator = tuple[CoordinatorType, str]


class CoordinatorCalls:
    """Of one producer. `on_producer` is told of each new producer id or epoch."""

    def __init__(
        self,
        manager: TransactionManager,
        client: NetworkClient,
        clock: Clock,
        backoff: ExponentialBackoff,
        *,
        transaction_timeout_ms: int,
        on_producer: Callable[[ProducerState], None],
    ) -> None:
        self._manager = manager
        self._client = client
        self._clock = clock
        self._backoff = backoff
        self._transaction_timeout_ms = transaction_timeout_ms
        self._on_producer = on_producer
        self._coordinators: dict[Coordinator, int] = {}
        self._is_asking = False
        self._not_before_ms = 0

    def advance(self, now_ms: int, *, has_batches: bool) -> None:
        """Make the next step, if there is one and its time has come."""
        if self._is_asking or now_ms < self._not_before_ms:
            return
        step = self._manager.next_step(has_batches=has_batches)
        if step is None:
            return
        coordinator = self._coordinator_of(step)
        node_id = self._coordinators.get(coordinator)
        if node_id is None:
            self._look_up(step, now_ms)
        else:
            self._ask(step, node_id)

    def wait_ms(self, now_ms: int) -> int:
        """How long the client may sleep before `advance` has to be called."""
        return LONGEST_WAIT_MS if self._is_asking or now_ms >= self._not_before_ms else self._not_before_ms - now_ms

    # --- steps -------------------------------------------------------------------------------------------------------

    def _ask(self, step: Step, node_id: int) -> None:
        asked = request_of(step, self._manager, self._transaction_timeout_ms)

        def take(answer: object) -> None:
            self._is_asking = False
            verdict = asked.take(answer)
            if verdict is Verdict.LOOK_UP:
                self._coordinators.pop(self._coordinator_of(step), None)
            if verdict in (Verdict.RETRY, Verdict.LOOK_UP):
                self._pause(step)
            if verdict is Verdict.DONE and isinstance(step, InitProducerId):
                self._on_producer(self._manager.producer)

        self._is_asking = True
        self._client.send(
            node_id,
            asked.request,
            asked.response,
            asked.build,
            take,
            lambda error: self._failed(step, error),
            max_version=asked.max_version,
        )

    def _failed(self, step: Step, error: Exception) -> None:
        self._is_asking = False
        if isinstance(error, DisconnectException | TimeoutException):
            log.debug("%s failed, the coordinator will be looked up: %s", step.api, error)
            self._coordinators.pop(self._coordinator_of(step), None)
            self._manager.put_back(step)
            self._pause(step)
        else:
            # A refused login, or a broker that is too old for the request.
            self._manager.failed(step, Verdict.FATAL, error)

    def _pause(self, step: Step) -> None:
        wait_ms = self._backoff.wait_ms(1)
        if isinstance(step, AddPartitions) and self._manager.has_no_partition:
            wait_ms = min(wait_ms, FIRST_PARTITIONS_WAIT_MS)
        self._not_before_ms = self._clock.monotonic_ms() + wait_ms

    # --- coordinators ------------------------------------------------------------------------------------------------

    def _coordinator_of(self, step: Step) -> Coordinator:
        if isinstance(step, CommitOffsets):
            return step.coordinator, step.group.group_id
        return step.coordinator, self._manager.transactional_id

    def _look_up(self, step: Step, now_ms: int) -> None:
        """Find its coordinator; the step waits."""
        node_id = self._client.least_loaded_node()
        if node_id is None:
            self._manager.put_back(step)
            self._not_before_ms = now_ms + NO_NODE_WAIT_MS
            return
        kind, key = self._coordinator_of(step)
        self._is_asking = True
        self._client.send(
            node_id,
            FIND_COORDINATOR_REQUEST,
            FIND_COORDINATOR_RESPONSE,
            lambda version: find_coordinator(kind, key, version),
            lambda answer: self._found(step, answer),
            lambda error: self._lookup_failed(step, error),
        )

    def _found(self, step: Step, answer: FindCoordinatorResponse) -> None:
        self._is_asking = False
        kind, key = self._coordinator_of(step)
        number, message, node = found_coordinator(answer)
        code = code_of(number)
        verdict = verdict_of("FindCoordinator", code)
        if node is None and verdict is not Verdict.RETRY:
            self._manager.failed(step, verdict, error_of_lookup(kind.name, key, code, message))
            return
        self._manager.put_back(step)
        if node is None:
            self._pause(step)
        else:
            log.info("Discovered %s coordinator %s", kind.name.lower(), node)
            own = own_connection_of(node)
            self._client.add_node(own)
            self._coordinators[kind, key] = own.id

    def _lookup_failed(self, step: Step, error: Exception) -> None:
        self._is_asking = False
        if isinstance(error, DisconnectException | TimeoutException):
            self._manager.put_back(step)
            self._pause(step)
        else:
            self._manager.failed(step, Verdict.FATAL, error)
