"""What the links of a chain have in common, whatever their client."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

FENCED = 3
"""The exit code of one that has to begin anew."""
ABORTED = 7
"""One of so many transactions is aborted on purpose."""
MOST_RECORDS = 20
SESSION_MS = 3_000
TRANSACTION_MS = 10_000


class Link(NamedTuple):
    bootstrap: str
    source: str
    sink: str
    group: str
    transactional_id: str
    gate: str


def transformed(value: bytes) -> bytes:
    return b"copy of " + value


def wait_at_the_gate(link: Link, flush: Callable[[], object]) -> None:
    """Before the end of a transaction, when all of it is answered."""
    gate = Path(link.gate)
    if gate.exists():
        flush()
        held_file(gate, link.transactional_id).touch()
        while gate.exists():
            time.sleep(0.02)


def held_file(gate: Path, transactional_id: str) -> Path:
    """What a link makes when it waits."""
    return gate.with_name(f"{gate.name}-{transactional_id}")


def told_to_end() -> threading.Event:
    """Set by SIGTERM."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    return told


def from_arguments() -> Link:
    return Link(*sys.argv[1:])


class Whims:
    """Which transactions are aborted on purpose."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def aborts(self) -> bool:
        return next(self._numbers) % ABORTED == 0
