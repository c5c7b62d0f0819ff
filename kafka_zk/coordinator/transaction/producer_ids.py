"""Producer ids for idempotent producers, from blocks that the controller allocates.

Role        Acts: asks the controller, ahead of need. Handing out an id itself never waits.
Invariants  No id is given twice, in the whole cluster: a block belongs to this broker alone, and is used once.
            At most one request to the controller is under way.
Source      RPCProducerIdManager; KIP-730.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafka_zk.clock import Clock
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import CoordinatorLoadInProgress, ErrorCode
from kafka_zk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

PREFETCH_AT = 0.9
"""The share of a block after which the next one is asked for."""

RETRY_BACKOFF_MS = 50
REQUEST_TIMEOUT_MS = 30_000

log = logging.getLogger("kafka.coordinator.transaction.RPCProducerIdManager")


class Controller(Protocol):
    """What is used of metadata.controller_channel.ControllerChannel."""

    def send(
        self, request: AllocateProducerIdsRequest, *, timeout_ms: int | None = None
    ) -> Pending[AllocateProducerIdsResponse]: ...


class Block(NamedTuple):
    """`length` consecutive ids from `first` on."""

    first: int
    length: int


class ProducerIdManager:
    """Generates producer ids."""

    def __init__(
        self, *, broker_id: int, broker_epoch: Callable[[], int], controller: Controller, clock: Clock
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._controller = controller
        self._clock = clock
        self._block = Block(0, 0)
        self._used_count = 0
        self._next_block: Block | None = None
        self._asking = False
        self._not_before_ms = 0

    def next_producer_id(self) -> int:
        """A unique producer id. Raises CoordinatorLoadInProgress while waiting for the controller's next block."""
        if self._used_count == self._block.length:
            if self._next_block is None:
                self._ask()
            if self._next_block is None:
                raise CoordinatorLoadInProgress("Producer ID block is full. Waiting for next block")
            self._block, self._next_block, self._used_count = self._next_block, None, 0
        producer_id = self._block.first + self._used_count
        self._used_count += 1
        if self._used_count >= self._block.length * PREFETCH_AT and self._next_block is None:
            self._ask()
        return producer_id

    def _ask(self) -> None:
        if self._asking or self._clock.monotonic_ms() < self._not_before_ms:
            return
        self._asking = True
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        self._controller.send(request, timeout_ms=REQUEST_TIMEOUT_MS).on_complete(self._take)

    def _take(self, answer: Pending[AllocateProducerIdsResponse]) -> None:
        self._asking = False
        if answer.error is not None:
            log.warning("Could not get producer ids from the controller: %s", answer.error)
        elif answer.value.error_code != ErrorCode.NONE:
            log.warning("Could not get producer ids from the controller: %s", ErrorCode(answer.value.error_code).name)
        else:
            self._next_block = Block(answer.value.producer_id_start, answer.value.producer_id_len)
            return
        self._not_before_ms = self._clock.monotonic_ms() + RETRY_BACKOFF_MS
