"""ProducerJournal: the producer state of one log and its snapshot files.

Role        Plain and synchronous. Decisions are in producer_state.py; this module does the file I/O.
Invariants  A snapshot at an offset holds the state up to it (exclusive). There is never a second one for an offset that
            has one. A snapshot that cannot be read is deleted and the next older one taken: the log itself holds
            everything, a snapshot only saves reading it.
Source      ProducerStateManager: takeSnapshot, truncateAndReload, loadFromSnapshot, removeStraySnapshots.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.files.disk import DISK, Disk, read_small
from kafka_zk.log.files.producer_snapshot import CorruptSnapshot
from kafka_zk.log.state.producer_state import ProducerState
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.control import EndTransactionMarker

log = logging.getLogger("org.apache.kafka.storage.internals.log.ProducerStateManager")


class ProducerJournal:
    """`last_snapshot_offset` is the offset of the newest snapshot, or where the state began without one.

    `sync_later`, while it is set, is called with snapshots to be made durable instead of waiting for the disk.
    Between `begin_load` and `end_load` the directory is not looked into again, and a snapshot that would come out the
    same is left as it is. One that does not fit on the disk is left out.
    """

    def __init__(self, directory: Path, topic_partition: str, expiration_ms: int, disk: Disk = DISK) -> None:
        self.directory = directory
        self.state = ProducerState(topic_partition)
        self.expiration_ms = expiration_ms
        self.last_snapshot_offset = 0
        self.sync_later: Callable[[Path], None] | None = None
        self._disk = disk
        self._known: set[int] | None = None
        self._prefix = f"[ProducerStateManager partition={topic_partition}]"

    def begin_load(self, offsets: Iterable[int]) -> None:
        """Snapshots exist at `offsets`, and only this changes them until `end_load`."""
        self._known = set(offsets)

    def end_load(self) -> None:
        self._known = None

    def snapshot_offsets(self) -> list[int]:
        """The offsets of snapshots, oldest first. Raises OSError."""
        if self._known is not None:
            return sorted(self._known)
        snapshots = (name for name in os.listdir(self.directory) if name.endswith(names.PRODUCER_SNAPSHOT))
        return sorted(file.offset for name in snapshots if (file := names.parse_offset_file(name)))

    def path(self, offset: int) -> Path:
        return self.directory / names.offset_file_name(offset, names.PRODUCER_SNAPSHOT)

    def take_snapshot(self, *, durable: bool = True) -> Path | None:
        """Write a snapshot of now unless nothing moved since the last one; its path. Raises OSError."""
        offset = self.state.map_end_offset
        if offset <= self.last_snapshot_offset:
            return None
        path, now = self.path(offset), durable and self.sync_later is None
        if not self._is_as_it_would_be(offset, path):
            try:
                producer_snapshot.write(path, self.state.snapshot(), self._disk, durable=now)
            except OSError as error:
                if self._known is None or error.errno != errno.ENOSPC:
                    raise
                self._go_without(offset, path, error)
                return None
        if durable and self.sync_later is not None:
            self.sync_later(path)
        if self._known is not None:
            self._known.add(offset)
        log.info(
            "%s Wrote producer snapshot at offset %d with %d producer ids.",
            self._prefix,
            offset,
            len(self.state.producers),
        )
        self.last_snapshot_offset = offset
        return path

    @contextmanager
    def synced_later(self) -> Iterator[list[Path]]:
        """Snapshots taken meanwhile are added to the list, and its holder syncs them."""
        taken: list[Path] = []
        before, self.sync_later = self.sync_later, taken.append
        try:
            yield taken
        finally:
            self.sync_later = before

    def reload(self, log_start_offset: int, end_offset: int, now_ms: int) -> None:
        """Go back to the newest snapshot at or before `end_offset`; batches from `map_end_offset` on must follow.

        Removes snapshots above the end and at or below the log start; a load leaves those above to `remove_above`. A
        state that is at the end already is kept. Raises OSError.
        """
        for offset in self.snapshot_offsets():
            if offset <= log_start_offset or (offset > end_offset and self._known is None):
                self.delete(offset)
        if self.state.map_end_offset != end_offset:
            self._load_newest(log_start_offset, end_offset, now_ms)
        else:
            self.on_log_start(log_start_offset)

    def restart_at(self, offset: int) -> None:
        """Forget all producers and all snapshots. Raises OSError."""
        for snapshot in self.snapshot_offsets():
            self.delete(snapshot)
        self.state.clear(offset)
        self.last_snapshot_offset = offset

    def on_log_start(self, log_start_offset: int) -> None:
        """The log now begins at `log_start_offset`. Raises OSError."""
        state = self.state
        state.on_high_watermark(log_start_offset)
        if state.map_end_offset < log_start_offset:
            state.map_end_offset = log_start_offset
        self.last_snapshot_offset = max(self.snapshot_offsets(), default=log_start_offset)

    def remove_stray(self, segment_bases: Iterable[int]) -> None:
        """Delete snapshots that belong to no segment, but the newest when it is behind all of them. Raises OSError."""
        bases = set(segment_bases)
        offsets = self.snapshot_offsets()
        newest = max(offsets, default=-1)
        for offset in offsets:
            if offset not in bases and not (offset == newest and offset > max(bases, default=-1)):
                self.delete(offset)

    def remove_above(self, end_offset: int) -> bool:
        """Delete the snapshots behind the end of the log; whether there were any. Raises OSError."""
        behind = [offset for offset in self.snapshot_offsets() if offset > end_offset]
        for offset in behind:
            self.delete(offset)
        return bool(behind)

    def delete(self, offset: int) -> None:
        if self._known is not None:
            self._known.discard(offset)
        if self._disk.remove_if_exists(self.path(offset)):
            log.info("Deleted producer state snapshot %s", self.path(offset))

    def follow(self, header: BatchHeader, marker: EndTransactionMarker | None) -> None:
        """Take in a batch read from the log itself, without touching any index."""
        state = self.state
        if header.has_producer_id:
            if marker is not None:
                completed = state.update_marker(header, marker, header.last_offset)
                if completed is not None:
                    state.complete(completed)
            elif not header.is_control:
                state.update(header, header.base_offset)
        state.map_end_offset = header.next_offset

    def _go_without(self, offset: int, path: Path, error: OSError) -> None:
        """A load has no space for a snapshot, which would only save reading the log: an earlier one must not stay."""
        log.warning("%s No space for producer snapshot %s, continuing without it: %s", self._prefix, path, error)
        self._disk.remove_if_exists(f"{path}.tmp")
        self.delete(offset)

    def _is_as_it_would_be(self, offset: int, path: Path) -> bool:
        """Whether the file from before the load needs no other content."""
        if self._known is None or offset not in self._known:
            return False
        return read_small(path) == producer_snapshot.encode(self.state.snapshot())

    def _load_newest(self, log_start_offset: int, end_offset: int, now_ms: int) -> None:
        for offset in reversed(self.snapshot_offsets()):
            if offset > end_offset:
                continue
            path = self.path(offset)
            try:
                entries = producer_snapshot.read(path)
            except CorruptSnapshot as error:
                log.warning("%s Failed to load producer snapshot from '%s': %s", self._prefix, path, error)
                self.delete(offset)
                continue
            log.info("%s Loading producer state from snapshot file '%s'", self._prefix, path)
            self.state.load(entries, offset, now_ms, self.expiration_ms)
            self.last_snapshot_offset = offset
            return
        self.state.clear(log_start_offset)
        self.last_snapshot_offset = log_start_offset
