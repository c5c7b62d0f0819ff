"""Deletes files asynchronously: renames them at once, unlinks them later.

Role        Acts: renames on the loop, unlinks in a thread of its own after file.delete.delay.ms.
Invariants  A file is renamed as deleted before the deletion is reported; leftovers of a crash are unlinked at the next
            start. Slices in flight keep their bytes: the descriptor lives until the last one is released.
Source      LocalLog.deleteSegmentFiles, LogSegment.changeFileSuffixes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.files import names
from kafka_zk.supervision import caught

RETRY_MS = 60_000


def mark_deleted(paths: Iterable[Path], log_dir: LogDirectory) -> list[Path]:
    """Rename those of `paths` that exist; their new names. Raises OSError."""
    renamed = []
    for path in paths:
        target = path.with_name(path.name + names.DELETED)
        try:
            log_dir.disk.rename(path, target)
        except FileNotFoundError:
            continue
        renamed.append(target)
    return renamed


def unlink_later(paths: list[Path], log_dir: LogDirectory, delay_ms: int, directory: Callable[[], Path]) -> None:
    """Unlink `paths` in a thread, in what their `directory` is called by then; missing files are ignored."""
    if not paths:
        return

    def unlink_all() -> None:
        for path in paths:
            log_dir.disk.remove_if_exists(directory() / path.name)

    delete_later(log_dir, delay_ms, unlink_all, f"Error while deleting segments in {paths[0].parent}")


def delete_later(
    log_dir: LogDirectory,
    delay_ms: int,
    delete: Callable[[], None],
    failure: str,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Run `delete` in a thread after the delay, unless the directory is offline by then; then `done`, on the loop.

    `failure`: why an OSError takes the directory offline. After any other error `delete` runs again a minute later.
    """

    def task() -> None:
        if log_dir.is_offline:
            return
        try:
            log_dir.pools.run_to_end(log_dir.pools.deletion, delete)
        except OSError as error:
            log_dir.fail(failure, error)
        except Exception:
            caught("kafka-delete-logs")
            delete_later(log_dir, RETRY_MS, delete, failure, done)
        else:
            done()

    log_dir.clock.call_at(log_dir.clock.monotonic_ms() + delay_ms, task)


def delete_tree(directory: Path, log_dir: LogDirectory) -> None:
    """Remove a partition's directory with everything in it. Raises OSError; a missing one is fine."""
    for root, directories, files in os.walk(directory, topdown=False):
        for name in files:
            log_dir.disk.remove_if_exists(os.path.join(root, name))
        for name in directories:
            log_dir.disk.rmdir(os.path.join(root, name))
    if directory.exists():
        log_dir.disk.rmdir(directory)
