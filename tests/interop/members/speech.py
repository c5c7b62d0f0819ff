"""What the members have in common: their arguments, what they say, and when they end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


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


def settings_of(member: Member) -> dict[str, Any]:
    """A consumer's settings in the words of kafka-python, which are aiokafka's too; how it commits is not in them."""
    return {
        "bootstrap_servers": member.bootstrap,
        "group_id": member.group,
        "client_id": member.name,
        "group_instance_id": member.instance,
        "auto_offset_reset": "earliest",
        "session_timeout_ms": member.session_timeout_ms,
        "heartbeat_interval_ms": 200,
        "fetch_max_wait_ms": 100,
    }


def told_to_end() -> threading.Event:
    """Set by SIGTERM."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    return told


def live_in_threads(live: Callable[[Member, threading.Event], None]) -> None:
    """Blocks until every member of the arguments has lived, a thread each; SIGTERM sets what they are given."""
    told = told_to_end()
    threads = [threading.Thread(target=live, args=(member, told)) for member in members_of(sys.argv[1:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
