"""All calls that change a disk, so that tests can inject faults.

Role        Every file module takes a `Disk`; `DISK` is the machine's own. Reading goes to `os` directly.
Invariants  A write is whole or raises: a short write is reported as ENOSPC after the file was cut back by the caller.
            A replaced file is complete: temporary file, fsync, rename, fsync of the directory.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kafka_zk.log.files import file_system
from kafka_zk.protocol.types import Buffer

SMALL_BYTES = 64 * 1024


class Disk:
    """Linux system calls under their own names; replace one in a subclass to plant a fault."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    pwrite = staticmethod(os.pwrite)
    ftruncate = staticmethod(os.ftruncate)
    truncate = staticmethod(os.truncate)
    fsync = staticmethod(os.fsync)
    rename = staticmethod(os.rename)
    unlink = staticmethod(os.unlink)
    statvfs = staticmethod(os.statvfs)

    def sync_path(self, path: str | Path) -> None:
        """fsync a file or a directory by its path."""
        descriptor = self.open(path, os.O_RDONLY)
        try:
            self.fsync(descriptor)
        finally:
            self.close(descriptor)

    def sync_replaced(self, path: Path) -> None:
        """fsync a file that `replace_file` put in its place without, then its name."""
        self.sync_path(path)
        self.sync_path(path.parent)

    def can_sync_at_once(self, path: Path) -> bool:
        """Whether `sync_at_once` is as good as an fsync of each file below `path`. A replacement must define it."""
        return False

    def sync_at_once(self, descriptor: int) -> None:
        """Sync the whole file system of an open file. Raises OSError."""
        file_system.sync_at_once(descriptor)

    def write_whole(self, descriptor: int, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`. Raises OSError; a short write counts as a full disk."""
        written = self.pwrite(descriptor, data, position)
        if written != len(data):
            raise short_write(written, len(data))

    def replace_file(self, path: Path, content: bytes, *, durable: bool = True) -> None:
        """Put `content` in the place of `path` at once: readers see the old or the new file, never a part.

        Without `durable` the content and the name may be lost in a power cut (the file is then old, empty or torn).
        Source: CheckpointFile.write, Utils.atomicMoveWithFallback.
        """
        temporary = f"{path}.tmp"
        descriptor = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            if content:
                self.write_whole(descriptor, content, 0)
            if durable:
                self.fsync(descriptor)
        finally:
            self.close(descriptor)
        self.rename(temporary, path)
        if durable:
            self.sync_path(path.parent)

    def remove_if_exists(self, path: str | Path) -> bool:
        """Unlink `path`; whether it was there."""
        try:
            self.unlink(path)
        except FileNotFoundError:
            return False
        return True


def read_small(path: str | Path) -> bytes:
    """The content of a file of few bytes, at most 64 KiB of it, in as few calls as can be. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, SMALL_BYTES)
    finally:
        os.close(descriptor)


def short_write(written: int, wanted: int) -> OSError:
    """The error for a write of which the disk took only a part."""
    return OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}, only {written} of {wanted} bytes were written")


class MachineDisk(Disk):
    """The machine's own: nothing is between it and the kernel."""

    def can_sync_at_once(self, path: Path) -> bool:
        return file_system.can_sync_at_once(path)


DISK: Disk = MachineDisk()
