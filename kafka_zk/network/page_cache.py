"""Brings file ranges into the page cache in a thread, so that sendfile does not block the loop.

Role        sendfile of bytes in the page cache costs no more than a send, so the loop may
            do it; for other bytes it blocks on the disk. Here a thread reads them first, before the loop sends.
Invariants  All calls only read the file; a descriptor closed and reused meanwhile does no harm.
Source      preadv2(2): RWF_NOWAIT; cachestat(2).
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import errno
import os
from typing import Final

from kafka_zk.network.cachestat import all_cached
from kafka_zk.network.cachestat import is_known as cachestat_is_known

SAMPLE_BYTES: Final = 64 * 1024
"""Without cachestat(2): the distance of probed bytes in ranges not written recently."""

_counts_pages: bool = cachestat_is_known()


def is_in_memory(fileno: int, position: int, size_bytes: int, is_history: bool = False) -> bool:
    """Whether these bytes can be read without the disk.

    The kernel counts the pages. A page being read in counts, too, but reads complete in order, so the
    last byte is probed as well. Without cachestat(2) bytes are only probed: the first and the last of what
    this process wrote recently, which is evicted in order, and at samples of `is_history`.
    A failed probe may start readahead, and does not wait for it. If a file system cannot tell
    (EOPNOTSUPP) history counts as on disk, and recently written bytes as in memory.
    """
    last = position + size_bytes - 1
    if _counts_pages:
        cached = all_cached(fileno, position, size_bytes)
        if cached is not None:
            return cached and _can_read(fileno, last, not is_history)
    step = SAMPLE_BYTES if is_history else size_bytes
    while position < last:
        if not _can_read(fileno, position, not is_history):
            return False
        position += step
    return _can_read(fileno, last, not is_history)


def read_from_memory(fileno: int, position: int, room: bytearray | memoryview) -> bool:
    """Fill `room` if all its bytes are in memory; returns whether they were. Never waits for the disk."""
    try:
        return os.preadv(fileno, (room,), position, os.RWF_NOWAIT) == len(room)
    except OSError:
        # Any error: the read from disk hits it again, and reports it.
        return False


def _can_read(fileno: int, position: int, in_doubt: bool) -> bool:
    byte = bytearray(1)
    try:
        os.preadv(fileno, (byte,), position, os.RWF_NOWAIT)
    except OSError as error:
        return in_doubt and error.errno != errno.EAGAIN
    return True


def read_in(fileno: int, position: int, size_bytes: int) -> OSError | None:
    """Read bytes of a file into the page cache, as far as they exist. Runs in a thread.

    Copies nothing: the pages are sent to the null device. Returns what went wrong instead of raising it, because
    gevent prints the traceback of every exception that leaves a thread.
    """
    end = position + size_bytes
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            while position < end and (count := os.sendfile(nowhere, fileno, position, end - position)):
                position += count
        finally:
            os.close(nowhere)
    except OSError as error:
        return error
    return None
