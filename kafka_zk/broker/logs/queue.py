"""Log output: a bounded queue, drained by its own thread.

Role        Acts. The loop formats and puts; only the thread writes. A destination that blocks (a terminal on hold, a
            full pipe, a hung disk) loses lines, but never blocks the loop.
Invariants  At most `capacity` lines of `capacity_bytes` wait. A line that does not fit is counted, and the count is
            logged as soon as lines are written again. Lines are written in order.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

# Lines come in bursts: a short pause lets one wake-up write many.
_REST_S = 0.005
# While there are many it is longer: at each wake-up the loop may have to wait for this thread.
_LONG_REST_S = 0.05
_MANY_LINES = 8
_CLOSE_TIMEOUT_S = 2.0


class Destination(Protocol):
    """Where lines go: a log file or a stream."""

    def write(self, line: bytes, now_s: float) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class ConsoleDestination:
    """Standard output or error. Lines leave in one write: after each the loop may have to wait for this thread."""

    def __init__(self, file_descriptor: int, write: Callable[[int, bytes], int]) -> None:
        self._file_descriptor = file_descriptor
        self._write = write
        self._lines: list[bytes] = []

    def write(self, line: bytes, now_s: float) -> None:
        """Nothing leaves before `flush`."""
        self._lines.append(line)

    def flush(self) -> None:
        """Blocks. Write all lines to the file descriptor."""
        lines, self._lines = b"".join(self._lines), []
        while lines:
            lines = lines[self._write(self._file_descriptor, lines) :]

    def close(self) -> None:
        """The stream is not ours to close."""


class LogQueue:
    """One queue and one thread for a group of destinations (all files, or the console)."""

    def __init__(self, name: str, *, capacity: int = 10_000, capacity_bytes: int = 64 << 20) -> None:
        self._queue: queue.SimpleQueue[tuple[Destination, bytes] | None] = queue.SimpleQueue()
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._waiting_bytes = 0
        self._counting = threading.Lock()
        self._unreported = 0
        self.dropped_count = 0
        self._last: Destination | None = None
        self._failing: set[int] = set()
        self._thread = threading.Thread(target=self._drain, name=f"log-{name}", daemon=True)
        self._started = False

    def put(self, destination: Destination, line: bytes) -> None:
        """Hand over a line, or count it when the queue is full. Never blocks."""
        # Also when it is full: without a thread it stays so.
        self._start()
        if self._queue.qsize() >= self._capacity or self._waiting_bytes + len(line) > self._capacity_bytes:
            self.dropped_count += 1
            self._unreported += 1
            return
        if self._unreported:
            lost, self._unreported = self._unreported, 0
            notice = b"[%d log lines were lost: the log could not keep up]\n" % lost
            self._count(len(notice))
            self._queue.put((destination, notice))
        self._count(len(line))
        self._queue.put((destination, line))

    def close(self) -> None:
        """Blocks, for two seconds at most: write what is waiting and end the thread."""
        if not self._queue.empty():
            self._start()
        if self._started:
            self._queue.put(None)
            self._thread.join(_CLOSE_TIMEOUT_S)
            self._started = False

    def _start(self) -> None:
        """Start the thread unless it runs. Without a further one, lines wait until it can be: logging fails nobody."""
        if not self._started:
            # Before the start, which waits for the thread: another one that logs meanwhile must not start it, too.
            self._started = True
            try:
                self._thread.start()
            except RuntimeError:
                self._started = False

    def _drain(self) -> None:
        going_on, rest_s = True, _REST_S
        while going_on:
            batch = [self._queue.get()]
            time.sleep(rest_s)
            while not self._queue.empty():
                batch.append(self._queue.get())
            going_on = self._write(batch)
            rest_s = _LONG_REST_S if len(batch) >= _MANY_LINES else _REST_S
            self._count(-sum(len(entry[1]) for entry in batch if entry is not None))

    def _count(self, more_bytes: int) -> None:
        with self._counting:
            self._waiting_bytes += more_bytes

    def _write(self, batch: list[tuple[Destination, bytes] | None]) -> bool:
        now_s = time.time()
        written: dict[Destination, bool] = {}
        for destination, line in filter(None, batch):
            well = self._attempt(destination, partial(destination.write, line, now_s))
            written[destination] = well and written.get(destination, True)
        for destination, well in written.items():
            if self._attempt(destination, destination.flush) and well:
                self._failing.discard(id(destination))
        return None not in batch

    def _attempt(self, destination: Destination, action: Callable[[], None]) -> bool:
        """A log that cannot be written must not stop the broker: say so once, on standard error, and go on.

        Whatever the error is: without this thread no other log would be written either. Standard error may be gone.
        """
        try:
            action()
        except Exception as error:
            if id(destination) not in self._failing:
                self._failing.add(id(destination))
                with contextlib.suppress(OSError, ValueError):
                    print(f"Cannot write a log: {error}", file=sys.__stderr__)
            return False
        return True


class QueueHandler(logging.Handler):
    """logging's end of a queue: formats in the caller, because arguments may change afterwards."""

    def __init__(self, log_queue: LogQueue, destination: Destination) -> None:
        super().__init__()
        self._log_queue = log_queue
        self.destination = destination

    def emit(self, record: logging.LogRecord) -> None:
        self._log_queue.put(self.destination, self.format(record).encode("utf-8", "backslashreplace"))
