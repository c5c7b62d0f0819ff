"""Turn: a fair lock on one log, for steps that switch greenlets in the middle.

Invariants  Steps that do not switch need only look at `is_taken`: between two switches a greenlet is alone.
            `leave` passes the turn to the next in line before a later greenlet can take it.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections import deque

from gevent.event import AsyncResult


class Turn:
    __slots__ = ("_waiting", "is_taken")

    def __init__(self) -> None:
        self.is_taken = False
        self._waiting: deque[AsyncResult[None]] = deque()

    def take(self) -> None:
        """Blocks. Wait for earlier callers, then hold the turn until `leave`."""
        if not self.is_taken:
            self.is_taken = True
            return
        mine: AsyncResult[None] = AsyncResult()
        self._waiting.append(mine)
        try:
            mine.get()
        except BaseException:
            # Killed while waiting: the turn may have been handed over already.
            if mine.ready():
                self.leave()
            else:
                self._waiting.remove(mine)
            raise

    def leave(self) -> None:
        if self._waiting:
            self._waiting.popleft().set(None)
        else:
            self.is_taken = False

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *_: object) -> None:
        self.leave()
