"""Lets one greenlet wait for its socket, its responses or a timer at the cost of one switch.

Role        Each connection has one. The readable watcher stays armed from one wait to the next, because arming it again
            costs a system call; if the socket becomes readable while no greenlet waits, the watcher disarms itself.
Invariants  Only the owning greenlet waits. Every wait may end early, so callers check their condition in a loop.
            A wake-up is scheduled at most once per wait: the flag `_parked` is cleared before the switch is queued.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from gevent import get_hub, getcurrent

from kafka_zk.network.errors import PeerClosed

READ = 1
WRITE = 2

LOGIN_TURN_NS: Final = 500_000
"""How long clients that log in, all of them together, work before everybody else has a turn."""


class Parking:
    """The waits of one greenlet over one socket. Must be made inside that greenlet."""

    __slots__ = (
        "_hub",
        "_parked",
        "_read_watcher",
        "_reading",
        "_switch",
        "_wants_read",
        "_write_watcher",
        "ended",
        "has_buffered",
        "has_unread",
        "writable_ns",
    )

    def __init__(self, fileno: int) -> None:
        self._hub: Any = get_hub()
        self._switch: Callable[[], object] = getcurrent().switch
        self._read_watcher: Any = self._hub.loop.io(fileno, READ)
        self._write_watcher: Any = self._hub.loop.io(fileno, WRITE)
        self._parked = False
        self._reading = False
        self._wants_read = False
        self.ended = False
        # Bytes, or the end of the stream, arrived while no greenlet waited.
        self.has_unread = False
        # Bytes that a transport has taken from the socket, and not handed out: the next wait for bytes ends at once.
        self.has_buffered = False
        # When a full socket became writable again, monotonic: the client has read some.
        self.writable_ns = 0

    @property
    def is_sending(self) -> bool:
        """Whether the greenlet waits for the socket to become writable."""
        return bool(self._write_watcher.active)

    def wait_readable_or_woken(self) -> bool:
        """Blocks until the socket has bytes or its end (True), or until `wake` (False)."""
        if self.has_buffered and not self.ended:
            self.has_buffered = False
            return True
        if not self._reading:
            self._reading = True
            self.has_unread = False
            self._read_watcher.start(self._on_readable)
        self._wants_read = True
        self._park()
        readable = not self._wants_read
        self._wants_read = False
        return readable

    def wait_woken(self) -> None:
        """Blocks until `wake`."""
        self._park()

    def wait_woken_for(self, delay_s: float) -> None:
        """Blocks until `wake`, at most `delay_s` seconds."""
        timer: Any = self._hub.loop.timer(max(0.0, delay_s))
        timer.start(self.wake_from_hub)
        try:
            self._park()
        finally:
            timer.stop()
            timer.close()

    def wait_writable(self) -> None:
        """Blocks until the socket is writable, or until `wake`."""
        self._write_watcher.start(self._on_writable)
        try:
            self._park()
        finally:
            self._write_watcher.stop()

    def wake(self) -> None:
        """End the current wait, if any. Callable from every greenlet and from the hub."""
        if self._parked:
            self._parked = False
            self._hub.loop.run_callback(self._switch)

    def end(self) -> None:
        """Make the current and every later wait raise PeerClosed: closes a connection from outside."""
        self.ended = True
        self.wake()

    def wake_from_hub(self) -> None:
        """`wake` without queueing, for callbacks that run in the hub."""
        if self._parked:
            self._parked = False
            self._switch()

    def close(self) -> None:
        """Forget the socket. Must be called before it is closed: its descriptor is reused at once."""
        self._read_watcher.stop()
        self._read_watcher.close()
        self._write_watcher.stop()
        self._write_watcher.close()

    def _park(self) -> None:
        if not self.ended:
            self._parked = True
            try:
                self._hub.switch()
            finally:
                self._parked = False
        if self.ended:
            raise PeerClosed("closed by this broker")

    def _on_readable(self) -> None:
        if self._parked and self._wants_read:
            self._parked = self._wants_read = False
            self._switch()
        else:
            self._reading = False
            self.has_unread = True
            self._read_watcher.stop()

    def _on_writable(self) -> None:
        self.writable_ns = time.monotonic_ns()
        if self._parked:
            self._parked = False
            self._switch()


class TurnTable:
    """Connections that have more requests but must yield to the others first.

    A callback queued on the loop would run again before the loop polls any socket, so a connection with a full
    buffer could keep everyone else out for milliseconds. A timer due at once runs after the next poll.
    """

    __slots__ = ("_armed", "_timer", "_waiting")

    def __init__(self) -> None:
        self._timer: Any = get_hub().loop.timer(0.0)
        self._armed = False
        self._waiting: deque[Parking] = deque()

    def take_turn(self, parking: Parking) -> None:
        """Blocks until the loop has served every socket that is ready now."""
        self._waiting.append(parking)
        if not self._armed:
            self._armed = True
            self._timer.start(self._next_turn)
        parking.wait_woken()

    def close(self) -> None:
        self._timer.stop()
        self._timer.close()

    def _next_turn(self) -> None:
        self._armed = False
        self._timer.stop()
        for _ in range(len(self._waiting)):
            self._waiting.popleft().wake_from_hub()


class LoginTurns:
    """Clients that log in take turns: what all of them do between two polls of the loop ends after LOGIN_TURN_NS.

    Thousands of wrong passwords come in bursts, and all of a burst are readable at once: each costs as much as ten
    produces, and whoever has logged in would wait for all of them.
    """

    __slots__ = ("_armed", "_ends_ns", "_timer", "_waiting")

    def __init__(self) -> None:
        self._timer: Any = get_hub().loop.timer(0.0)
        self._armed = False
        self._ends_ns = 0
        self._waiting: deque[Parking] = deque()

    def take_turn(self, parking: Parking) -> None:
        """Blocks while it is the turn of others. They are served in the order in which they came."""
        if not self._armed:
            self._begin()
        elif self._waiting or time.monotonic_ns() >= self._ends_ns:
            self._waiting.append(parking)
            parking.wait_woken()

    def close(self) -> None:
        self._timer.stop()
        self._timer.close()

    def _begin(self) -> None:
        """The turn lasts until the loop has polled the sockets, and the timer, which is due at once, runs."""
        self._armed = True
        self._ends_ns = time.monotonic_ns() + LOGIN_TURN_NS
        self._timer.start(self._next_turn)

    def _next_turn(self) -> None:
        self._armed = False
        self._timer.stop()
        if self._waiting:
            self._begin()
        while self._waiting and time.monotonic_ns() < self._ends_ns:
            self._waiting.popleft().wake_from_hub()
