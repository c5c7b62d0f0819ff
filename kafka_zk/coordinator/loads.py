"""Loads partitions into a coordinator's memory, one after another, in the background.

Role        Acts. What is read and kept is the owner's business (`fill`).
Invariants  A load ends in ownership only if its leadership still is the current one. One that failed is tried again
            where the error may pass; else the partition stays without a coordinator, and its memory is empty.
            One that waits until what it read is committed keeps no other load waiting, and says so now and then.
Source      Kafka 3.9 GroupMetadataManager.loadGroupsAndOffsets,
            TransactionStateManager.loadTransactionsForTxnTopicPartition.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kafka_zk.clock import Clock
from kafka_zk.coordinator.ownership import Load, Ownership
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, KafkaStorageError, OffsetOutOfRange


class LeadershipEnded(Exception):
    """The replica is not led here any more, and the coordinator has not heard of it yet."""


LOAD_AGAIN_MS = 1_000
REMIND_MS = 10_000
"""Between two log lines about a load that waits until what it read is committed."""
MAY_PASS = (KafkaStorageError, OffsetOutOfRange, MemoryError, LeadershipEnded)
"""What the next attempt of a load may not meet: no memory for the moment, a log that was moved or cut meanwhile. Bad
bytes stay, and so do our bugs. A failed directory and a lost leadership overtake the load."""


class Uncommitted(NamedTuple):
    """What a load has read, and must not serve before it is committed: the next leader might not have it.

    `committed(timeout_ms)` completes with NONE once it is, with REQUEST_TIMED_OUT if that takes longer, or with the
    error that ended the leadership. `take` then fills memory, without a switch, and says what was loaded.
    """

    committed: Callable[[int], Pending[ErrorCode]]
    take: Callable[[], str]


Fill = Callable[[], str | Uncommitted | None]
"""Blocks. Reads a partition and fills memory, without a switch between its last look at the ownership and its end.
Returns what was loaded, in words; None if the load was overtaken. May raise anything."""


class _Attempt(NamedTuple):
    """At one load, since `began_ms`. `ended` is called once, whatever becomes of the load."""

    load: Load
    fill: Fill
    ended: Callable[[], None]
    began_ms: int


class Loads:
    """`unload(partition)` empties memory of what a failed load left; `took(ms)` is told how long one took."""

    def __init__(
        self,
        *,
        clock: Clock,
        ownership: Ownership,
        tasks: Tasks,
        unload: Callable[[int], object],
        took: Callable[[int], object],
        name: str,
        log: logging.Logger,
    ) -> None:
        self._clock = clock
        self._ownership = ownership
        self._tasks = tasks
        self._unload = unload
        self._took = took
        self._name = name
        self._log = log

    def begin(self, load: Load, fill: Fill, ended: Callable[[], None] = lambda: None) -> None:
        """Run it in the background; `ended` is called once, whatever became of it. Does not switch."""
        self._tasks.later(partial(self._try, load, fill, ended))

    def _try(self, load: Load, fill: Fill, ended: Callable[[], None]) -> None:
        """Blocks. Load the partition, now or after a pause."""
        self._go_on(_Attempt(load, fill, ended, self._clock.monotonic_ms()), fill)

    def _go_on(self, attempt: _Attempt, fill: Fill) -> None:
        """Blocks. With `fill`, the next step of the attempt: memory is filled, or that waits, or is tried again."""
        goes_on = False
        try:
            goes_on = self._goes_on_after(attempt, fill)
        finally:
            if not goes_on:
                attempt.ended()

    def _goes_on_after(self, attempt: _Attempt, fill: Fill) -> bool:
        """Blocks. Whether it is still the current load, and goes on later."""
        load = attempt.load
        try:
            filled = fill()
            if isinstance(filled, Uncommitted):
                committed = filled.committed(REMIND_MS)
                if not committed.is_done:
                    committed.on_complete(partial(self._waited, attempt, filled))
                    return True
                filled = self._take(attempt, filled, committed.value)
                assert not isinstance(filled, Uncommitted), f"{load} timed out at once"
            if filled is None:
                self._log.info("[%s] Discarding the %s: the leadership has changed", self._name, load)
                return False
        except Exception as error:
            if self._ownership.is_current(load):
                # Otherwise it is that of a later load, or was unloaded with the leadership.
                self._unload(load.partition)
                if isinstance(error, MAY_PASS):
                    self._log.warning("[%s] Trying the %s again after an error: %r", self._name, load, error)
                    again_ms = self._clock.monotonic_ms() + LOAD_AGAIN_MS
                    self._clock.call_at(again_ms, lambda: self.begin(load, attempt.fill, attempt.ended))
                    return True
            # Our own bugs, too: what never ends loading has its clients wait for ever.
            self._log.error("[%s] Error in the %s: %s", self._name, load, error, exc_info=error)
            self._ownership.failed(load)
            return False
        self._ownership.loaded(load)
        took_ms = self._clock.monotonic_ms() - attempt.began_ms
        self._took(took_ms)
        self._log.info(
            "[%s] Finished loading %s from %s-%d at epoch %d in %d milliseconds",
            self._name,
            filled,
            load.topic,
            load.partition,
            load.leader_epoch,
            took_ms,
        )
        return False

    def _waited(self, attempt: _Attempt, read: Uncommitted, committed: Pending[ErrorCode]) -> None:
        """Does not switch."""
        self._tasks.later(partial(self._go_on, attempt, partial(self._take, attempt, read, committed.value)))

    def _take(self, attempt: _Attempt, read: Uncommitted, code: ErrorCode) -> str | Uncommitted | None:
        """A step after the wait that ended with `code`. Raises LeadershipEnded. Does not switch."""
        if not self._ownership.is_current(attempt.load):
            return None
        if code is ErrorCode.REQUEST_TIMED_OUT:
            self._log.warning(
                "[%s] The %s has taken %d milliseconds: its replicas do not have all that was read, and until they do, "
                "the next leader could lack what would be answered",
                self._name,
                attempt.load,
                self._clock.monotonic_ms() - attempt.began_ms,
            )
            return read
        if code is not ErrorCode.NONE:
            raise LeadershipEnded(code.name)
        return read.take()
