"""What librdkafka writes to standard error, kept in memory: the last lines of it, however long the test runs.

librdkafka can hand its log to Python too, but only while the client is polled: a client that hangs says nothing then.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from types import TracebackType

STDERR = 2
KEPT_LINES = 50_000


class ClientLog:
    """While entered, standard error of this process goes here."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._before = -1
        self._pump = threading.Thread(target=self._read, name="client-log", daemon=True)
        self._source = -1

    def __enter__(self) -> ClientLog:
        self._source, sink = os.pipe()
        self._before = os.dup(STDERR)
        os.dup2(sink, STDERR)
        os.close(sink)
        self._pump.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        os.dup2(self._before, STDERR)
        os.close(self._before)
        self._pump.join()

    def lines(self, *words: str) -> list[str]:
        """Those kept that hold one of `words`, oldest first; all without `words`."""
        return [line for line in list(self._lines) if not words or any(word in line for word in words)]

    def _read(self) -> None:
        """Until nobody holds the other end any more."""
        with os.fdopen(self._source, errors="replace") as source:
            for line in source:
                self._lines.append(line.rstrip("\n"))
