"""What a running process has used: CPU seconds of all its threads and resident memory, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Fields of /proc/<pid>/stat after the command's name in parentheses: utime is field 14, stime 15, from 1.
UTIME, STIME = 11, 12


def cpu_seconds(pid: int) -> float:
    """User and system time, all threads; the kernel counts in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[UTIME]) + int(fields[STIME])) / TICKS_A_SECOND


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)
