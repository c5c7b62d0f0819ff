"""What the members have in common: their arguments, what they say, and when they end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Member:
    """Who a member is, and what it has read and owns."""

    bootstrap: str
    topic: str
    group: str
    assignor: str
    name: str
    session_timeout_ms: int
    instance: str | None
    owned: set[int] = field(default_factory=set)
    positions: dict[int, int] = field(default_factory=dict)
    """Partition -> the offset after the last that it was handed."""

    def say(self, *words: object) -> None:
        # One write a line, also when threads share the file: a reader never sees two mixed.
        sys.stdout.write(" ".join(map(str, (self.group, self.name, *words))) + "\n")
        sys.stdout.flush()

    def was_handed(self, partition: int, first: int, last: int) -> None:
        self.say("read", partition, first, last)
        self.positions[partition] = last + 1

    def gains(self, partitions: set[int]) -> None:
        self.owned |= partitions
        self._say_owned()

    def loses(self, partitions: set[int]) -> None:
        self.owned -= partitions
        for partition in partitions:
            self.positions.pop(partition, None)
        self._say_owned()

    def _say_owned(self) -> None:
        self.say("owns", ",".join(map(str, sorted(self.owned))))


def members_of(arguments: list[str]) -> Iterator[Member]:
    bootstrap, topic, name, session_timeout_ms, *specs = arguments
    for spec in specs:
        group, assignor, count, instance = spec.split(":")
        for number in range(int(count)):
            named = f"{instance}{number}" if instance else None
            yield Member(bootstrap, topic, group, assignor, f"{name}-{number}", int(session_timeout_ms), named)


def told_to_end() -> threading.Event:
    """Set by SIGTERM."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    return told
