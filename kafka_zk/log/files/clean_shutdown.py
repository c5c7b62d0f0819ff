""".kafka_cleanshutdown: the marker that every log of a directory was flushed and closed.

Layout      JSON with the broker epoch, -1 in ZooKeeper mode. Older brokers left it empty; only its presence counts.
Invariants  Gone as soon as loading begins, so that a crash while loading is seen as a crash.
Source      CleanShutdownFileHandler.
"""

from __future__ import annotations

from pathlib import Path

from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.names import CLEAN_SHUTDOWN

_CONTENT = b'{"version":0,"brokerEpoch":-1}'


def exists(log_dir: Path) -> bool:
    return (log_dir / CLEAN_SHUTDOWN).exists()


def write(log_dir: Path, disk: Disk = DISK) -> None:
    """Raises OSError."""
    disk.replace_file(log_dir / CLEAN_SHUTDOWN, _CONTENT)


def delete(log_dir: Path, disk: Disk = DISK) -> bool:
    """Remove the marker durably; returns whether it existed. Raises OSError.

    Synced also when it was not: the last start may have been cut off between the two steps.
    """
    removed = disk.remove_if_exists(log_dir / CLEAN_SHUTDOWN)
    disk.sync_path(log_dir)
    return removed
