"""What a running process has used: CPU seconds of all its threads and resident memory, from /proc; and the end of all
that a bench started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Fields of /proc/<pid>/stat after the command's name in parentheses: the parent is field 4, utime 14, stime 15, from 1.
PARENT, UTIME, STIME = 1, 11, 12
ENDS = (signal.SIGTERM, signal.SIGINT)


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


def run_bench(main: Callable[[], int | None]) -> NoReturn:
    """A bench as a program. A time limit (SIGTERM) or Ctrl-C ends it like an error: `main` tidies up, and no process
    that it started is left in any case."""
    for number in ENDS:
        signal.signal(number, _end)
    try:
        code = main()
    finally:
        for pid in tree(os.getpid())[1:]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    sys.exit(code)


def _end(number: int, _: object) -> NoReturn:
    """Once: a second signal would end the tidying up."""
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def exit_code_of(command: Sequence[str]) -> int:
    """Blocks. Run a bench; subprocess.run would kill it, and it could not end what it started."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def set_priority(pid: int, nice: int) -> None:
    """Of a session leader: of what it starts from now on, and of its session, by which kernels share out cores."""
    os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(FileNotFoundError):
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))
