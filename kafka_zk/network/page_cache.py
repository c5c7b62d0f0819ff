"""Brings file ranges into the page cache in a thread, so that sendfile does not block the loop.

Role        sendfile of bytes that are in the page cache costs no more than handing them to the socket, so the loop may
            do it; of others it waits for the disk. Here a thread waits instead, before the loop sends.
Invariants  All calls only read the file; a descriptor that was closed and given away meanwhile does no harm.
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
"""Without cachestat(2): how far apart bytes are looked for where nobody wrote them lately."""

_counts_pages: bool = cachestat_is_known()


def is_in_memory(fileno: int, position: int, size_bytes: int, is_history: bool = False) -> bool:
    """Whether these bytes can be read without the disk.

    The kernel counts the pages. One that is being read in at that moment counts, too, but reads end in order, so the
    last byte is looked at as well. Without cachestat(2) there are only looks: at the first and the last byte of what
    this process wrote not long ago, which is evicted in order, and at samples of `is_history`.
    A look that fails may start a read of the kernel's own, and does not wait for it. Where a file system cannot tell
    (EOPNOTSUPP) history is on disk, and what was just written is not.
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


def read_from_memory(fileno: int, position: int, size_bytes: int) -> bytearray | None:
    """These bytes if all of them are in memory, else None. Never waits for the disk."""
    data = bytearray(size_bytes)
    try:
        count = os.preadv(fileno, (data,), position, os.RWF_NOWAIT)
    except OSError:
        # Whatever it is: the way over the disk meets it again, and tells.
        return None
    return data if count == size_bytes else None


def _can_read(fileno: int, position: int, in_doubt: bool) -> bool:
    byte = bytearray(1)
    try:
        os.preadv(fileno, (byte,), position, os.RWF_NOWAIT)
    except OSError as error:
        return in_doubt and error.errno != errno.EAGAIN
    return True


def read_in(fileno: int, position: int, size_bytes: int) -> OSError | None:
    """In a thread: bring bytes of a file into the page cache, as far as there are any.

    Copies nothing: the null device lets the pages pass by. Returns what went wrong instead of raising it, because
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
