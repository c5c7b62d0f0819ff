"""What librdkafka writes to standard error: the last lines of it, however long the test runs and however it ends.

librdkafka can hand its log to Python too, but only while the client is polled: a client that hangs says nothing then,
and what an assertion of librdkafka says before it ends the process comes this way only.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType

STDERR = 2
KEPT_LINES = 1_000_000
"""Five minutes of chaos need 150,000."""
SPINNING = "Handle is terminating"
"""A client says so a thousand times a second while something still holds on to a broker it has parted from."""


class ClientLog:
    """While entered, standard error of this process goes to `path`: `tail` writes it when we stop, or die."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = -1
        self._tail: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ClientLog:
        keep = f"grep --text --invert-match --fixed-strings '{SPINNING}' | tail -n {KEPT_LINES}"
        with self.path.open("wb") as kept:
            self._tail = subprocess.Popen(
                ["sh", "-c", keep], stdin=subprocess.PIPE, stdout=kept, start_new_session=True
            )
        assert self._tail.stdin is not None
        self._before = os.dup(STDERR)
        os.dup2(self._tail.stdin.fileno(), STDERR)
        self._tail.stdin.close()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Hear no more."""
        if self._tail is not None:
            os.dup2(self._before, STDERR)
            os.close(self._before)
            self._tail.wait()
            self._tail = None

    def lines(self, *words: str) -> list[str]:
        """Those kept that hold one of `words`, oldest first; all without `words`. Stops."""
        self.stop()
        lines = self.path.read_text(errors="replace").splitlines()
        return [line for line in lines if not words or any(word in line for word in words)]
