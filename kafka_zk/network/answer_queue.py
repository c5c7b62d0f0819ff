"""The responses of one connection in request order, and whether the next request may start.

Role        Pure: no socket, no clock, no greenlet. The connection adds each response (`take`), gets those that may
            be sent (`collect`, `hand_out`) and reports them (`sent`). `state` tells whether another request may start,
            and if not, why.
Invariants  Answers are handed out in the order in which they were taken, each once, and each is released once.
            At most MAX_UNANSWERED requests wait for their answers. Behind a pending answer only a
            handler that allows it (see `Deferred`) lets the next request start: Kafka itself takes one at a time.
            Behind `unsent_limit` bytes of answers, which wait for another or for the client, no request starts, so at
            most one answer more is in memory. Slices of segments do not count.
            A failed answer is the end: nothing may be sent in its place, and answers behind it are dropped.
Source      KafkaChannel (mute states) and Processor.inflightResponses in Kafka 3.9; KIP-219.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from kafka_zk.network.parts import Parts, bytes_in_memory, release
from kafka_zk.network.pending import Pending

MAX_UNANSWERED: Final = 32


class Deferred(Pending[Parts]):
    """A pending response, as the connection sees it."""

    __slots__ = ("lets_next_start",)

    def __init__(self, *, lets_next_start: bool) -> None:
        super().__init__()
        self.lets_next_start = lets_next_start


class State(Enum):
    """Whether the next request may start. All but the first say what it waits for."""

    OPEN = "the next request may start"
    MUTED = "the client is throttled until muted_until_ns"
    HELD = "an answer that lets nothing start is still to come"
    FULL = "as many requests as may be have no answer yet"
    UNSENT = "as many bytes of answers as may be are not sent yet"


class AnswerQueue:
    """`on_ready` is called when an answer taken as a Deferred is ready. It must not switch."""

    __slots__ = (
        "_held",
        "_is_closed",
        "_on_ready",
        "_out",
        "_unsent_limit",
        "_waiting",
        "muted_until_ns",
        "unsent_bytes",
    )

    def __init__(self, unsent_limit: int, on_ready: Callable[[], object]) -> None:
        self._unsent_limit = unsent_limit
        self._on_ready = on_ready
        self._out: Parts = []
        self._waiting: deque[Parts | Deferred] = deque()
        self._held = False
        self._is_closed = False
        self.muted_until_ns = 0
        """Monotonic; 0: not muted."""
        self.unsent_bytes = 0
        """Bytes in memory of ready answers that are not sent yet."""

    # --- requests ----------------------------------------------------------------------------------------------------

    def state(self, now_ns: Callable[[], int]) -> State:
        """Whether the next request may start; `now_ns` is called only if a mute may have ended."""
        if self.muted_until_ns:
            if now_ns() < self.muted_until_ns:
                return State.MUTED
            self.muted_until_ns = 0
        if self._held:
            return State.HELD
        if len(self._waiting) >= MAX_UNANSWERED:
            return State.FULL
        return State.UNSENT if self.unsent_bytes >= self._unsent_limit else State.OPEN

    def mute(self, until_ns: int) -> None:
        """Let no request start before `until_ns` (KIP-219)."""
        self.muted_until_ns = max(self.muted_until_ns, until_ns)

    def take(self, answer: Parts | Deferred) -> bool:
        """Add the answer of the last request; returns whether it may have changed `state`.

        False for nearly every answer: the next request may start without another check.
        """
        if type(answer) is list:
            self.unsent_bytes += bytes_in_memory(answer)
            if self._waiting:
                self._waiting.append(answer)
                return True
            self._out += answer
            return self.muted_until_ns != 0 or self.unsent_bytes >= self._unsent_limit
        assert isinstance(answer, Deferred)
        self._waiting.append(answer)
        self._held = not answer.lets_next_start
        answer.on_complete(self._answer_ready)
        return True

    # --- answers -----------------------------------------------------------------------------------------------------

    @property
    def waiting_count(self) -> int:
        """Pending answers, and those behind them."""
        return len(self._waiting)

    @property
    def is_empty(self) -> bool:
        """Whether every request is answered, and each answer handed out."""
        return not self._waiting and not self._out

    @property
    def next_is_ready(self) -> bool:
        """Whether `collect` would find a ready answer."""
        return bool(self._waiting) and _is_ready(self._waiting[0])

    def collect(self) -> bool:
        """Move the answers that are next in order to the outgoing ones; returns whether there are any.

        Raises the error of a failed answer that is next, and drops those behind it.
        """
        waiting = self._waiting
        while waiting and _is_ready(waiting[0]):
            answer = waiting.popleft()
            if isinstance(answer, Deferred):
                if answer.error is not None:
                    self.drop()
                self._out += answer.value
            else:
                self._out += answer
        if not waiting:
            self._held = False
        return bool(self._out)

    def hand_out(self) -> Parts:
        """All outgoing parts; call `sent` with them afterwards in any case."""
        parts, self._out = self._out, []
        return parts

    def sent(self, parts: Parts) -> None:
        """Sent or failed parts: they no longer count, and their slices are released."""
        self.unsent_bytes -= bytes_in_memory(parts)
        release(parts)

    # --- ends --------------------------------------------------------------------------------------------------------

    def leave(self, gone: bool) -> None:
        """May block. Tell pending answers that the client sends no more, or (`gone`) reads no more."""
        for answer in list(self._waiting):
            if isinstance(answer, Deferred):
                answer.leave(gone)

    def drop(self) -> None:
        """May block. Drop the waiting answers. Those completed later are released then."""
        self._is_closed = True
        self.leave(True)
        for answer in self._waiting:
            if not isinstance(answer, Deferred):
                release(answer)
            elif answer.is_done and answer.error is None:
                release(answer.value)
        self._waiting.clear()

    def close(self) -> None:
        """May block. Drop everything."""
        out, self._out = self._out, []
        release(out)
        self.drop()
        self.unsent_bytes = 0
        # It belongs to who has this queue: a cycle, which would wait for Python's collector.
        self._on_ready = _nothing

    def _answer_ready(self, answer: Pending[Parts]) -> None:
        if self._is_closed:
            release(answer.value if answer.error is None else [])
            return
        if answer.error is None:
            self.unsent_bytes += bytes_in_memory(answer.value)
        self._on_ready()


def _nothing() -> None:
    """For a queue that is closed."""


def _is_ready(answer: Parts | Deferred) -> bool:
    return type(answer) is list or answer.is_done  # type: ignore[union-attr]
