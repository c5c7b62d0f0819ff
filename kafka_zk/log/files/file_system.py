"""Syncs a whole file system at once, where that is as good as an fsync of each file.

Role        Acts; blocks, without the GIL.
Source      syncfs(2): it waits until everything is written, and from Linux 5.8 on tells of errors. Some kinds of file
            systems (FUSE, for one) do nothing and report success, so only those known to keep the promise are used.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

KEEP_THE_PROMISE = frozenset(("btrfs", "ext4", "f2fs", "tmpfs", "xfs"))
ERRORS_TOLD_FROM = (5, 8)

_libc = ctypes.CDLL(None, use_errno=True)


def can_sync_at_once(path: Path) -> bool:
    """Whether `sync_at_once` may be relied upon for what lies at `path`."""
    return _kernel() >= ERRORS_TOLD_FROM and _kind_of(path) in KEEP_THE_PROMISE


def sync_at_once(descriptor: int) -> None:
    """Blocks. Write everything that the file system of an open file still holds in memory. Raises OSError.

    Errors since `descriptor` was opened count, whichever process's data they hit.
    """
    if _libc.syncfs(descriptor) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split(".")[:2]
    return tuple(int("".join(digit for digit in number if digit.isdigit()) or 0) for number in numbers)


def _kind_of(path: Path) -> str:
    """The kind of file system that `path` is on; empty if unknown."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == wanted:
            return after.split()[0]
    return ""
