"""What the tests have a helper process do."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.protocol.errors import InvalidRecord


def add(left: int, right: int) -> int:
    return left + right


def repeat(data: bytes, times: int) -> bytes:
    return data * times


def process_id() -> int:
    return os.getpid()


def niceness() -> int:
    return os.nice(0)


def loaded_modules() -> list[str]:
    return list(sys.modules)


def refuse() -> None:
    raise InvalidRecord("no such record", record_errors=[(3, "this one")])


class TwoPartError(Exception):
    """Pickling takes it apart into one argument too few."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__(left + right)


def raise_what_cannot_be_sent() -> None:
    raise TwoPartError("a", "b")


def answer_what_cannot_be_sent() -> object:
    return lambda: None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(marker: Path) -> str:
    if not marker.exists():
        marker.touch()
        die()
    return "alive"


def wait_for_ever(started: Path) -> None:
    started.write_text(str(os.getpid()))
    while True:
        time.sleep(60)


def busy_for_ever(started: Path) -> None:
    started.write_text(str(os.getpid()))
    while True:
        pass


def upper(file: Descriptor) -> tuple[Descriptor, int]:
    """A new file with what `file` holds, in capitals, and how many files are open here."""
    out = os.memfd_create("upper")
    os.write(out, os.pread(file.fileno, 100, 0).upper())
    return Descriptor(out), len(os.listdir("/proc/self/fd"))
