"""What the processes of one run, side by side, have in common on disk: the first makes it, the others wait."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CACHE = PROJECT / ".cache"


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Blocks. Nobody else of this checkout is inside for the same `what`; a process that dies lets go."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
