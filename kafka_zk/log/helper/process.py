"""A helper process as seen by the broker: call a function there without blocking the loop.

Role        Acts. Starts the process on first use, starts another when it dies, ends it after a while without work.
Invariants  One call at a time, in the order in which they came. A call whose process dies is made once more on a fresh
            one: tasks must bear being started twice. A greenlet that is killed while it waits takes the process along,
            because the answer would be taken for that of the next call.
            The process ends with the broker, also when that is killed (see `main`).
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import gevent
from gevent import get_hub
from gevent.socket import wait_read, wait_write

from kafka_zk.log.helper.wire import Packed, receive
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.errors import UnknownServerError

log = logging.getLogger("kafka.log.LogManager")

T = TypeVar("T")

IDLE_S = 60.0
"""Starting one takes 0.15 s, keeping it 20 MB."""

NICENESS = 5
"""The broker's loop has priority if processors are scarce."""


class HelperFailed(UnknownServerError):
    """The process died twice over one call, or the broker stops."""


class HelperUnavailable(HelperFailed):
    """The process cannot be started just now. It says nothing about what it was to do."""


class Helper(Protocol):
    """Does such work: a helper process, or in tests this one."""

    def call(self, task: Callable[..., T], *arguments: Any) -> T:
        """Blocks. What `task(*arguments)` returns or raises over there."""
        ...

    def stop(self) -> None:
        """No call is answered any more."""
        ...


class HelperProcess:
    """`name` is for the log lines only."""

    def __init__(self, name: str, *, niceness: int = NICENESS, idle_s: float = IDLE_S) -> None:
        self._name = name
        self._niceness = niceness
        self._idle_s = idle_s
        self._turn = Turn()
        self._running: _Running | None = None
        self._idle: gevent.Greenlet[..., None] | None = None
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """None while there is no process."""
        return None if self._running is None else self._running.process.pid

    def call(self, task: Callable[..., T], *arguments: Any) -> T:
        """Blocks. What `task(*arguments)` returns or raises over there.

        `task` is a function at the top of a module that imports no gevent. Arguments and results travel pickled; a
        `Descriptor` among them (in a result: the result itself, or one of a tuple) is an open file, of which each end
        owns its own. The task's own errors carry its traceback as a note. Raises HelperFailed.
        """
        message = Packed((task, arguments))
        with self._turn:
            self._stay()
            try:
                answer = self._ask(message)
            finally:
                self._leave_soon()
        result, error = answer
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]  # it is what the task returned

    def stop(self) -> None:
        """Blocks. End the process; running and later calls fail."""
        self._stopped = True
        if self._running is not None:
            self._running.process.kill()
        with self._turn:
            self._stay()
            running, self._running = self._running, None
            if running is not None:
                running.end().get()

    def _ask(self, message: Packed) -> Any:
        for attempt in (1, 2):
            if self._stopped:
                raise HelperFailed(f"The helper process for {self._name} is stopped")
            running = self._ready()
            try:
                message.send(running.channel, running.wait_writable)
                return receive(running.channel, running.wait_readable)
            except (EOFError, OSError) as error:
                self._discard()
                if not self._stopped:
                    log.warning("The helper process for %s died (attempt %d): %s", self._name, attempt, error)
            except BaseException:
                # The caller was killed or the helper died: half a call is on the wire.
                self._discard()
                raise
        raise HelperFailed(f"The helper process for {self._name} died twice on the same task")

    def _ready(self) -> _Running:
        """The process, started if need be. Raises HelperUnavailable."""
        if self._running is not None and self._running.process.poll() is not None:
            self._discard()
        if self._running is None:
            try:
                self._running = _Running(self._niceness)
            except (OSError, RuntimeError) as error:
                raise HelperUnavailable(f"The helper process for {self._name} cannot be started: {error}") from error
        return self._running

    def _discard(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def _stay(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.kill(block=False)

    def _leave_soon(self) -> None:
        if self._running is not None:
            self._idle = gevent.spawn_later(self._idle_s, self._discard)

    def __repr__(self) -> str:
        return f"HelperProcess({self._name}, pid={self.pid})"


class _Running:
    """One process and the channel to it."""

    def __init__(self, niceness: int) -> None:
        """Raises OSError."""
        self.channel, theirs = socket.socketpair()
        self.channel.setblocking(False)
        command = [sys.executable, "-P", "-m", "kafka_zk.log.helper.main", str(niceness)]
        try:
            # Its own session: a Ctrl-C in the broker's terminal must not reach it. It shares our stderr.
            self.process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True, bufsize=0
            )
        except OSError:
            self.channel.close()
            raise
        finally:
            theirs.close()

    def wait_readable(self) -> None:
        wait_read(self.channel.fileno())

    def wait_writable(self) -> None:
        wait_write(self.channel.fileno())

    def end(self) -> Any:
        """Kill it; the returned AsyncResult is ready once it has exited. Nothing may wait for the channel."""
        self.channel.close()
        self.process.kill()
        return get_hub().threadpool.spawn(self.process.wait)
