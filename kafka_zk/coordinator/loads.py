"""Loads partitions into a coordinator's memory, one after another, in the background.

Role        Acts. What is read and kept is the owner's business (`fill`).
Invariants  A load ends in ownership only if its leadership still is the current one. One that failed is tried again
            where the error may pass; else the partition stays without a coordinator, and its memory is empty.
Source      Kafka 3.9 GroupMetadataManager.loadGroupsAndOffsets,
            TransactionStateManager.loadTransactionsForTxnTopicPartition.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from kafka_zk.clock import Clock
from kafka_zk.coordinator.ownership import Load, Ownership
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.protocol.errors import KafkaStorageError, OffsetOutOfRange

LOAD_AGAIN_MS = 1_000
MAY_PASS = (KafkaStorageError, OffsetOutOfRange, MemoryError)
"""What the next attempt of a load may not meet: no memory for the moment, a log that was moved or cut meanwhile. Bad
bytes stay, and so do our bugs. A failed directory and a lost leadership overtake the load."""

Fill = Callable[[], str | None]
"""Blocks. Reads a partition and fills memory, without a switch between its last look at the ownership and its end.
Returns what was loaded, in words; None if the load was overtaken. May raise anything."""


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
        has_ended = True
        try:
            has_ended = self._has_loaded(load, fill)
        finally:
            if has_ended:
                ended()
            else:
                again_ms = self._clock.monotonic_ms() + LOAD_AGAIN_MS
                self._clock.call_at(again_ms, lambda: self.begin(load, fill, ended))

    def _has_loaded(self, load: Load, fill: Fill) -> bool:
        """Blocks. False if it is still the current load and must be retried."""
        started_ms = self._clock.monotonic_ms()
        try:
            loaded = fill()
            if loaded is None:
                self._log.info("[%s] Discarding the %s: the leadership has changed", self._name, load)
                return True
        except Exception as error:
            if self._ownership.is_current(load):
                # Otherwise it is that of a later load, or was unloaded with the leadership.
                self._unload(load.partition)
                if isinstance(error, MAY_PASS):
                    self._log.warning("[%s] Trying the %s again after an error: %r", self._name, load, error)
                    return False
            # Our own bugs, too: what never ends loading has its clients wait for ever.
            self._log.error("[%s] Error in the %s: %s", self._name, load, error, exc_info=error)
            self._ownership.failed(load)
            return True
        self._ownership.loaded(load)
        took_ms = self._clock.monotonic_ms() - started_ms
        self._took(took_ms)
        self._log.info(
            "[%s] Finished loading %s from %s-%d at epoch %d in %d milliseconds",
            self._name,
            loaded,
            load.topic,
            load.partition,
            load.leader_epoch,
            took_ms,
        )
        return True
