"""cachestat(2): how many pages of a file range are in the page cache.

Role        Acts: one system call, which reads nothing and waits for nothing. Linux has it from 6.5 on.
Source      cachestat(2); include/uapi/linux/mman.h of Linux 6.5 (struct cachestat_range, struct cachestat).
"""

from __future__ import annotations

import ctypes
import errno
import mmap
from typing import Any, Final

SYSCALL: Final = 451
"""The same number on every architecture that CPython runs on, alpha apart."""


class _Range(ctypes.Structure):
    _fields_ = (("position", ctypes.c_uint64), ("size_bytes", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    """In pages. Pages being read in count as cached, too."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently"))


# Created once: the loop checks one range at a time. PyDLL keeps the GIL: releasing it costs more than the call.
_range = _Range()
_counts = _Counts()
_arguments = (ctypes.c_long(SYSCALL), ctypes.byref(_range), ctypes.byref(_counts), ctypes.c_uint(0))
_syscall: Any = ctypes.PyDLL(None, use_errno=True).syscall


def is_known() -> bool:
    """Whether this kernel has the call and lets us use it. A bad descriptor tells: other errors come before EBADF."""
    number, where, counts, flags = _arguments
    return bool(_syscall(number, ctypes.c_int(-1), where, counts, flags) < 0 and ctypes.get_errno() == errno.EBADF)


def all_cached(fileno: int, position: int, size_bytes: int) -> bool | None:
    """Whether every page of these bytes is in the page cache; None if the kernel does not say.

    `size_bytes` is not 0. Only for the loop's thread.
    """
    _range.position, _range.size_bytes = position, size_bytes
    number, where, counts, flags = _arguments
    if _syscall(number, fileno, where, counts, flags) < 0:
        return None
    pages = (position + size_bytes - 1) // mmap.PAGESIZE - position // mmap.PAGESIZE + 1
    return bool(_counts.cached >= pages)
