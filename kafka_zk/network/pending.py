"""Pending: a response that comes later.

Role        Returned by a handler that must wait (acks=all, a long poll, a rebalance, the controller's queue). The event
            that ends the wait calls `complete` or `fail`, from any greenlet; nothing here switches except `result`.
Invariants  Settled at most once; each callback runs exactly once, in the greenlet that settles (or, if it is settled
            already, in the calling one).
Source      The role of RequestChannel.sendResponse and KafkaFuture in Kafka 3.9.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Pending(Generic[T]):
    """One value of type T, or one exception, not available yet."""

    __slots__ = ("_callbacks", "_error", "_leave", "_settled", "_value")

    _value: T
    """Set once it is settled without an error."""

    def __init__(self) -> None:
        self._settled = False
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Pending[T]], None]] | None = None
        self._leave: Callable[[bool], object] | None = None

    @property
    def is_done(self) -> bool:
        return self._settled

    @property
    def error(self) -> Exception | None:
        """The error; None while pending or after success."""
        return self._error

    @property
    def value(self) -> T:
        """The value of a settled Pending; raises its error."""
        assert self._settled, "not settled yet"
        if self._error is not None:
            raise self._error
        return self._value

    def complete(self, value: T) -> bool:
        """Settle with `value`; False if it was settled before (in a race, the first one wins)."""
        if self._settled:
            return False
        self._value = value
        self._settle()
        return True

    def fail(self, error: Exception) -> bool:
        """Settle with `error`; False if it was settled before."""
        if self._settled:
            return False
        self._error = error
        self._settle()
        return True

    def on_complete(self, callback: Callable[[Pending[T]], None]) -> None:
        """Call `callback(self)` once settled; at once if it is settled already. Callbacks must not switch."""
        if self._settled:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def when_left(self, callback: Callable[[bool], object]) -> None:
        """Have `leave` call `callback(gone)`. For work that is done for one client only. It may block.

        Not passed on by `then`: what follows an append must happen even if the client has disconnected.
        """
        self._leave = callback

    def leave(self, gone: bool) -> None:
        """May block. The waiting client sends no more; `gone`: it reads no answer either."""
        if not self._settled and self._leave is not None:
            self._leave(gone)

    def then(self, change: Callable[[T], R]) -> Pending[R]:
        """The result of `change(value)`, once available; fails as this one does, or with what `change` raises.

        `change` must not switch.
        """
        changed: Pending[R] = Pending()

        def settle(settled: Pending[T]) -> None:
            try:
                value = change(settled.value)
            except Exception as error:
                # Any error must go to the waiter, not to the greenlet that settles.
                changed.fail(error)
            else:
                changed.complete(value)

        self.on_complete(settle)
        return changed

    def result(self, timeout_ms: int | None = None) -> T:
        """Blocks. Returns the value, or raises its error; TimeoutError after `timeout_ms`."""
        if not self._settled:
            self._wait(timeout_ms)
        return self.value

    def _wait(self, timeout_ms: int | None) -> None:
        from gevent.event import Event

        settled = Event()
        self.on_complete(lambda _: settled.set())
        if not settled.wait(None if timeout_ms is None else timeout_ms / 1000):
            raise TimeoutError(f"no answer within {timeout_ms} ms")

    def _settle(self) -> None:
        self._settled = True
        callbacks, self._callbacks = self._callbacks, None
        self._leave = None
        for callback in callbacks or ():
            callback(self)

    def __repr__(self) -> str:
        if not self._settled:
            return "Pending(waiting)"
        return f"Pending(failed: {self._error!r})" if self._error is not None else f"Pending(done: {self._value!r})"


def completed(value: T) -> Pending[T]:
    """A Pending that is settled from the start."""
    pending: Pending[Any] = Pending()
    pending.complete(value)
    return pending
