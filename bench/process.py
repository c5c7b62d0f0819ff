"""What a running process has used: CPU seconds of all its threads and resident memory, from /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Fields of /proc/<pid>/stat after the command's name in parentheses: the parent is field 4, utime 14, stime 15, from 1.
PARENT, UTIME, STIME = 1, 11, 12


def cpu_seconds(pid: int) -> float:
    """User and system time, all threads; the kernel counts in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[UTIME]) + int(fields[STIME])) / TICKS_PER_SECOND


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


def tree(pid: int) -> list[int]:
    """A process and its children, theirs included: a broker has helpers."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[PARENT])
        except (FileNotFoundError, ProcessLookupError):
            continue  # It ended meanwhile.
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def cpu_seconds_of_tree(pid: int) -> float:
    return sum(cpu_seconds(each) for each in tree(pid))


def resident_mb_of_tree(pid: int) -> float:
    return sum(resident_mb(each) for each in tree(pid))


def set_priority(pid: int, nice: int) -> None:
    """Of a session leader: of what it starts from now on, and of its session, by which kernels share out cores."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(FileNotFoundError):
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))
