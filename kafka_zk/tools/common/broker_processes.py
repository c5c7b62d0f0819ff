"""Which brokers this user runs on this machine, by /proc.

Role        Only looks. No file of process ids: one that a crash leaves behind would name somebody else's process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MODULE = "kafka_zk.tools.server_start"
PROGRAM = "kafka-server-start"
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class BrokerProcess:
    """`arguments` are those of kafka-server-start; `properties` the file among them, as this process can open it."""

    pid: int
    arguments: Sequence[str]
    properties: Path | None


def broker_processes(proc: Path = PROC) -> Iterator[BrokerProcess]:
    """The processes of this user that run kafka-server-start, out of a checkout or a package."""
    for pid, words in processes(proc):
        arguments = _broker_arguments(words)
        if arguments is not None:
            file = next((word for word in arguments if not word.startswith("-")), None)
            yield BrokerProcess(pid, arguments, None if file is None else proc / str(pid) / "cwd" / file)


def processes(proc: Path = PROC) -> Iterator[tuple[int, list[str]]]:
    """The processes of this user, and the words of their command lines."""
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="surrogateescape").rstrip("\0").split("\0")
            owner = folder.stat().st_uid
        except OSError:
            continue  # It ended while we looked.
        if owner == os.getuid():
            yield int(folder.name), words


def started_at(pid: int, proc: Path = PROC) -> str | None:
    """When a process started, in clock ticks since the machine came up; None if it has ended.

    Another process with its pid started at another time.
    """
    try:
        # The second field is the program's name in parentheses, and may hold any of them.
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def _broker_arguments(words: Sequence[str]) -> Sequence[str] | None:
    """What a broker was started with; None if this is another program's command line."""
    if MODULE in words and "-m" in words[: words.index(MODULE)]:
        return words[words.index(MODULE) + 1 :]
    if len(words) > 1 and Path(words[1]).name == PROGRAM:
        return words[2:]
    return None
