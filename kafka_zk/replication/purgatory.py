"""Purgatory: delayed operations that wait for a key: a partition, a group, a topic.

Role        Pure. Keeps delayed operations, checks them again when a key changed, and expires them at their deadline.
Invariants  Each operation completes exactly once, by an event or by its deadline, and is then in no list any more.
            Nothing here switches by itself. `try_complete` and `on_complete` may where they read a log (an index is
            rebuilt meanwhile): what happens then still completes the operation once and is never missed.
Source      Kafka 3.9 DelayedOperation, DelayedOperationPurgatory. Kafka leaves finished operations in the lists for a
            reaper; one thread lets us take them out at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable

from kafka_zk.clock import Clock, Timer
from kafka_zk.supervision import caught


class DelayedOperation(ABC):
    """An operation that completes later. `timeout_ms` counts from the moment it is watched."""

    __slots__ = ("_keys", "_timer", "is_completed", "timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self.is_completed = False
        self._keys: tuple[Hashable, ...] = ()
        self._timer: Timer | None = None

    @abstractmethod
    def try_complete(self) -> bool:
        """Whether what it waits for has happened. Must not call `on_complete` itself.

        If it switches, others may ask it, or complete it, meanwhile: then it gives back what it took and returns False.
        """

    def try_complete_for(self, key: Hashable) -> bool:
        """`try_complete` where only `key` has changed since it was asked last."""
        return self.try_complete()

    @abstractmethod
    def on_complete(self) -> None:
        """Answer. Called once, after an event or after `on_expiration`."""

    def on_expiration(self) -> None:
        """The deadline passed first. Called before `on_complete`."""
        return


class Purgatory:
    """The delayed operations of one kind."""

    __slots__ = ("_clock", "_watched", "expired_count", "name")

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self._clock = clock
        self._watched: dict[Hashable, dict[DelayedOperation, None]] = {}
        self.expired_count = 0

    @property
    def watched(self) -> dict[Hashable, dict[DelayedOperation, None]]:
        """The waiting operations by key. Only to look whether a key is there: a cheap way past a call on hot paths."""
        return self._watched

    def complete_or_watch(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> bool:
        """Complete `operation` at once if it can be, else let it wait on `keys`; returns whether it completed."""
        # Watched before it is asked: where it switches, an event on its keys would be missed.
        operation._keys = tuple(dict.fromkeys(keys))
        for key in operation._keys:
            self._watched.setdefault(key, {})[operation] = None
        try:
            is_ready = operation.try_complete()
        except BaseException:
            self._forget(operation)
            raise
        if is_ready:
            self._finish(operation)
        elif not operation.is_completed:
            operation._timer = self._clock.call_at(
                self._clock.monotonic_ms() + operation.timeout_ms, lambda: self._expire(operation)
            )
        return operation.is_completed

    def check_and_complete(self, key: Hashable) -> int:
        """Something changed on `key`: complete what can be; returns how many completed."""
        waiting = self._watched.get(key)
        if waiting is None:
            return 0
        count = 0
        for operation in list(waiting):
            if operation.is_completed:
                continue
            try:
                if operation.try_complete_for(key):
                    count += self._finish(operation)
            except Exception:
                # A bug of ours in one operation: it must affect neither those behind it nor the caller.
                caught(f"{self.name} purgatory", key)
        return count

    def complete(self, operation: DelayedOperation) -> bool:
        """Complete `operation` whatever it waits for; False when it was completed before."""
        return self._finish(operation)

    def cancel(self, operation: DelayedOperation) -> None:
        """Forget `operation` without an answer: its client no longer waits."""
        operation.is_completed = True
        self._forget(operation)

    @property
    def waiting_count(self) -> int:
        """How many operations wait."""
        return len({operation for waiting in self._watched.values() for operation in waiting})

    @property
    def watch_count(self) -> int:
        """How many pairs of a key and an operation are watched: Kafka's PurgatorySize."""
        return sum(map(len, self._watched.values()))

    def shutdown(self) -> None:
        """Cancel the deadlines and forget the operations: their connections are going away."""
        for waiting in list(self._watched.values()):
            for operation in list(waiting):
                self.cancel(operation)

    def _expire(self, operation: DelayedOperation) -> None:
        if not operation.is_completed:
            self.expired_count += 1
            operation.on_expiration()
            self._finish(operation)

    def _finish(self, operation: DelayedOperation) -> bool:
        if operation.is_completed:
            return False
        operation.is_completed = True
        self._forget(operation)
        operation.on_complete()
        return True

    def _forget(self, operation: DelayedOperation) -> None:
        if operation._timer is not None:
            operation._timer.cancel()
            operation._timer = None
        for key in operation._keys:
            waiting = self._watched.get(key)
            if waiting is not None:
                waiting.pop(operation, None)
                if not waiting:
                    del self._watched[key]
        operation._keys = ()

    def __repr__(self) -> str:
        return f"{self.name} waiting={self.waiting_count} keys={len(self._watched)}"
