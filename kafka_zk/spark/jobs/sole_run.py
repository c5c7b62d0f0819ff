"""Locks a checkpoint or an output directory, so that one run at a time uses it.

Role        Acts, on the driver, before a job reads the folder.
Why         Each of two runs would find what the other has noted and not sent yet, and send it, too.
Rule        A lock of the operating system on a file in the folder: it ends with its process, however that
            ends, so a dead run leaves no lock. The file stays: deleting it could allow a second run.
            Only what is a path of this machine can be locked, a shared one if its file system carries such locks. Where
            nothing can be locked, no run is refused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka_zk.spark.jobs.outcome import JobError

LOCK = "_run.lock"
"""File readers skip names with an underscore."""
WITHOUT_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
"""Errors of file systems without locks: some are mounted that way."""


@contextmanager
def sole_run(*folders: Path | None) -> Iterator[None]:
    """Lock the folders, creating missing ones; None is one that cannot be locked.

    Raises JobError where another run holds one of them, or one cannot be written.
    """
    with ExitStack() as held:
        # One folder may be named twice: a run must not wait for itself.
        for folder in sorted({each.resolve() for each in folders if each is not None}):
            held.callback(os.close, _locked(folder))
        yield


def _locked(folder: Path) -> int:
    """A descriptor that holds the folder until it is closed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise JobError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        _lock(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    except BlockingIOError:
        holder = os.pread(descriptor, 1000, 0).decode(errors="replace")
        os.close(descriptor)
        raise JobError(
            f"another run is using {folder}{f' ({holder})' if holder else ''}; wait for it to end, or stop it"
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise JobError(f"cannot lock {folder}: {error.strerror}") from error
    return descriptor


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
