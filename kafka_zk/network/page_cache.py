"""Whether bytes of a file are in memory, and how they get there while nobody waits.

Role        sendfile of bytes that are in the page cache costs no more than handing them to the socket, so the loop may
            do it; of others it waits for the disk. Here a thread waits instead, before the loop sends.
Invariants  Both calls only read the file; a descriptor that was closed and given away meanwhile does no harm.
Source      preadv2(2): RWF_NOWAIT.
"""

from __future__ import annotations

import errno
import os


def is_in_memory(fileno: int, position: int, size_bytes: int) -> bool:
    """Whether the first and the last of these bytes can be read without the disk.

    Those between are not looked at: a segment is written, read and evicted in order. A look that fails may start a
    read of the kernel's own, and does not wait for it. Where a file system cannot tell (EOPNOTSUPP) the answer is yes.
    """
    byte = bytearray(1)
    try:
        os.preadv(fileno, (byte,), position, os.RWF_NOWAIT)
        os.preadv(fileno, (byte,), position + size_bytes - 1, os.RWF_NOWAIT)
    except OSError as error:
        return error.errno != errno.EAGAIN
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
