"""Requests that came while the transaction before was about to end, and wait for that.

Role        Acts: holds answers, for HELD_MS at most. It looks at nothing by itself: the coordinator says what has ended
            and what it resigned from. Nobody else waits, but for what came later on the same connection.
Invariants  Each request goes on once, in the greenlet of `tasks`, or has its answer: when its time is over, when this
            broker no longer coordinates the transaction, or when it stops. One whose client is gone does nothing.
Differs from Kafka, which always answers CONCURRENT_TRANSACTIONS. Its clients then ask again after 20 ms or more, many
            times longer than the end of most transactions takes.
Source      The role of the retries in Kafka 3.9's TransactionManager (ADD_PARTITIONS_RETRY_BACKOFF_MS).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafka_zk.clock import Clock, Timer
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode

HELD_MS = 20
"""As long as Java's producer pauses before it asks again: who waits here is never later than it would be there."""


class _Wait:
    __slots__ = ("again", "answer", "timer")

    def __init__(self, answer: Pending[ErrorCode], again: Callable[[], None]) -> None:
        self.answer = answer
        self.again = again
        self.timer: Timer | None = None


class AwaitedEnds:
    """By transaction: what waits for its end."""

    def __init__(self, clock: Clock, tasks: Tasks) -> None:
        self._clock = clock
        self._tasks = tasks
        self._waits: dict[Transaction, list[_Wait]] = {}

    def __len__(self) -> int:
        """Of how many transactions the end is awaited."""
        return len(self._waits)

    def wait(self, transaction: Transaction, answer: Pending[ErrorCode], again: Callable[[], None]) -> None:
        """Have `again()` called once the transaction has ended; it may block, and settles `answer`. Does not switch.

        Otherwise `answer` gets an error. Who is to get it tells `answer` when it leaves.
        """
        wait = _Wait(answer, again)
        self._waits.setdefault(transaction, []).append(wait)
        wait.timer = self._clock.call_at(
            self._clock.monotonic_ms() + HELD_MS,
            lambda: self._refuse(transaction, wait, ErrorCode.CONCURRENT_TRANSACTIONS),
        )
        answer.when_left(lambda gone: self._take_out(transaction, wait) if gone else None)

    def ended(self, transaction: Transaction) -> None:
        """It is complete, and the next one may begin. Does not switch."""
        if self._waits:
            # They wait for the greenlet, too: until then time, a client that leaves and a stop count as before.
            for wait in self._waits.get(transaction, ()):
                self._tasks.later(partial(self._go_on, transaction, wait))

    def give_up(self) -> None:
        """Refuse what waits for transactions that are no longer in memory. Does not switch."""
        for transaction in [each for each in self._waits if each.load is None]:
            self._refuse_all(transaction, ErrorCode.NOT_COORDINATOR)

    def stop(self) -> None:
        """Refuse everything. Does not switch."""
        for transaction in list(self._waits):
            self._refuse_all(transaction, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _go_on(self, transaction: Transaction, wait: _Wait) -> None:
        """Blocks, in a background task. Nobody waits for ever, whatever goes wrong."""
        if not self._take_out(transaction, wait):
            return
        try:
            wait.again()
        except Exception as error:
            wait.answer.fail(error)
            raise

    def _refuse_all(self, transaction: Transaction, code: ErrorCode) -> None:
        for wait in list(self._waits[transaction]):
            self._refuse(transaction, wait, code)

    def _refuse(self, transaction: Transaction, wait: _Wait, code: ErrorCode) -> None:
        if self._take_out(transaction, wait):
            wait.answer.complete(code)

    def _take_out(self, transaction: Transaction, wait: _Wait) -> bool:
        """Whether it still waited."""
        waits = self._waits.get(transaction, [])
        if wait not in waits:
            return False
        waits.remove(wait)
        if not waits:
            del self._waits[transaction]
        assert wait.timer is not None
        wait.timer.cancel()
        return True
