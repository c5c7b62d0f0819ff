"""Producer ids for idempotent producers, from blocks that the controller allocates.

Role        Acts: requests blocks from the controller in advance. Only the first callers after a start wait, briefly.
Invariants  No id is used twice in the cluster: a block belongs to this broker alone, and is used once.
            At most one request to the controller is under way. Callers that wait are served in order.
Differs from Kafka, which refuses the first caller at once, so that its client logs a warning and retries.
Source      RPCProducerIdManager; KIP-730.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafka_zk.clock import Clock
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import CoordinatorLoadInProgress, ErrorCode
from kafka_zk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

PREFETCH_AT = 0.9
"""The share of a block after which the next one is requested."""

WAIT_MS = 1000
"""How long a caller waits for the controller's block, at most."""

RETRY_BACKOFF_MS = 50
REQUEST_TIMEOUT_MS = 30_000

log = logging.getLogger("kafka.coordinator.transaction.RPCProducerIdManager")


class Controller(Protocol):
    """The part used of metadata.controller_channel.ControllerChannel."""

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
        self._waiting: deque[Pending[int]] = deque()

    def next_producer_id(self) -> Pending[int]:
        """A unique producer id. Fails with CoordinatorLoadInProgress if the controller sends no block in WAIT_MS."""
        answer: Pending[int] = Pending()
        producer_id = None if self._waiting else self._take_id()
        if producer_id is not None:
            answer.complete(producer_id)
        elif self._asking:
            self._waiting.append(answer)
            timer = self._clock.call_at(self._clock.monotonic_ms() + WAIT_MS, lambda: self._give_up(answer))
            answer.on_complete(lambda _: timer.cancel())
        else:
            answer.fail(_no_block())
        return answer

    def _take_id(self) -> int | None:
        """The next id of a block; None while there is no block."""
        if self._used_count == self._block.length:
            if self._next_block is None:
                self._ask()
            if self._next_block is None:
                return None
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
            self._serve_waiting()
            return
        self._not_before_ms = self._clock.monotonic_ms() + RETRY_BACKOFF_MS
        while self._waiting:
            self._waiting.popleft().fail(_no_block())

    def _serve_waiting(self) -> None:
        while self._waiting:
            producer_id = self._take_id()
            if producer_id is None or not self._waiting:
                return  # A request that fails at once refuses all who wait.
            self._waiting.popleft().complete(producer_id)

    def _give_up(self, waiting: Pending[int]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
            waiting.fail(_no_block())


def _no_block() -> CoordinatorLoadInProgress:
    return CoordinatorLoadInProgress("Producer ID block is full. Waiting for next block")
