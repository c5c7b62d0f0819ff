"""The controller's queue of events: one reader, many writers.

Role        Plain data plus one gevent event. Owned by the controller greenlet, which alone takes from it.
Invariants  First in, first out. A watch that fires again while its event still waits adds nothing: the event is handled
            by reading ZooKeeper again anyway. So what watches can queue is bounded by the number of watched znodes;
            requests of others wait at `capacity`.
            A caller that waits for an event which is dropped, or comes behind the last one, gets an error
            (KAFKA-10193), never silence.
Source      ControllerEventManager.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from gevent.event import Event as Signal

from kafka_zk.clock import Clock
from kafka_zk.controller.events import ControlledShutdown, Event
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, NotController, StaleControllerEpoch

CAPACITY = 10_000


@dataclass(slots=True)
class Queued:
    """An event in the queue; `reply` is there if a caller waits for the outcome."""

    event: Event
    enqueued_ms: int
    reply: Pending[Any] | None = None
    is_change: bool = False
    """Whether it is one of the changes that wait at most once."""


def dropped_error(event: Event) -> BrokerError:
    """The error for a caller whose event is dropped."""
    return StaleControllerEpoch() if isinstance(event, ControlledShutdown) else NotController()


class Mailbox:
    """The queue."""

    def __init__(self, clock: Clock, capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        self._queue: deque[Queued] = deque()
        self._waiting: set[Event] = set()
        self._filled = Signal()
        self._emptied = Signal()
        self._has_last = False

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, event: Event) -> None:
        """Queue a change event, unless an equal one is queued already. Never blocks."""
        if event not in self._waiting:
            self._waiting.add(event)
            self._append(Queued(event, self._clock.monotonic_ms(), is_change=True))

    def put_answer(self, event: Event) -> None:
        """Queue a broker's response, without deduplication. Never blocks: a channel has one request in flight."""
        self._append(Queued(event, self._clock.monotonic_ms()))

    def put_request(self, event: Event) -> Pending[Any]:
        """Blocks while the queue is full. Queue an event whose outcome is waited for; behind the last one it fails."""
        while len(self._queue) >= self._capacity and not self._has_last:
            self._emptied.clear()
            self._emptied.wait()
        reply: Pending[Any] = Pending()
        if self._has_last:
            reply.fail(dropped_error(event))
        else:
            self._append(Queued(event, self._clock.monotonic_ms(), reply))
        return reply

    def clear_and_put(self, event: Event) -> None:
        """Drop all queued events, failing their waiters, and queue `event` alone."""
        dropped = list(self._queue)
        self._queue.clear()
        self._waiting.clear()
        self._emptied.set()
        self.put(event)
        for queued in dropped:
            if queued.reply is not None:
                queued.reply.fail(dropped_error(queued.event))

    def end_with(self, event: Event) -> None:
        """As `clear_and_put`; nobody takes what comes behind `event`."""
        self._has_last = True
        self.clear_and_put(event)

    def take(self) -> Queued:
        """Blocks until there is an event."""
        while not self._queue:
            self._filled.clear()
            self._filled.wait()
        queued = self._queue.popleft()
        if queued.is_change:
            # Taken out before it is handled: a change during the handling has to be looked at again.
            self._waiting.discard(queued.event)
        self._emptied.set()
        return queued

    def _append(self, queued: Queued) -> None:
        self._queue.append(queued)
        self._filled.set()
