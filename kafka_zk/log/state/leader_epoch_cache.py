"""The start offset of each leader epoch of one log.

Role        Pure: holds the entries; the log writes the file when a method reports a change.
Invariants  Epochs and start offsets strictly increase.
Source      LeaderEpochFileCache; KIP-101, KIP-279.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from kafka_zk.log.files.leader_epoch_file import EpochEntry

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEnd(NamedTuple):
    """Where an epoch ends, the end exclusive. (-1, -1) when that cannot be known."""

    leader_epoch: int
    end_offset: int


class LeaderEpochCache:
    """`latest_epoch` is -1 while there are no entries."""

    __slots__ = ("entries", "latest_epoch")

    def __init__(self, entries: list[EpochEntry] | None = None) -> None:
        self.entries = list(entries or ())
        self.latest_epoch = self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Let `epoch` begin at `start_offset`; whether the entries changed.

        An entry equal to the last one changes nothing. Otherwise entries with an epoch or a start at or above the new
        ones are removed first: a superseded leader wrote them. Source: LeaderEpochFileCache.assign.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"Received invalid partition leader epoch entry ({epoch}, {start_offset})")
        if self.entries and epoch == self.latest_epoch and start_offset >= self.entries[-1].start_offset:
            return False
        while self.entries and (self.entries[-1].epoch >= epoch or self.entries[-1].start_offset >= start_offset):
            self.entries.pop()
        self._replace([*self.entries, EpochEntry(epoch, start_offset)])
        return True

    def end_offset_for(self, leader_epoch: int, log_end_offset: int) -> EpochEnd:
        """Where `leader_epoch` ends in this log.

        Returns the largest known epoch <= the wanted one. Older than every known epoch: (wanted, first known
        start offset). Newer than every known epoch, or -1: (-1, -1). Source: LeaderEpochFileCache.endOffsetFor.
        """
        if leader_epoch == UNDEFINED_EPOCH or not self.entries:
            return EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if leader_epoch == self.latest_epoch:
            return EpochEnd(leader_epoch, log_end_offset)
        higher = bisect_right(self.entries, leader_epoch, key=lambda entry: entry.epoch)
        if higher == len(self.entries):
            return EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        end_offset = self.entries[higher].start_offset
        return EpochEnd(self.entries[higher - 1].epoch if higher else leader_epoch, end_offset)

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch that the record at `offset` belongs to; None when it lies before every entry."""
        higher = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[higher - 1].epoch if higher else None

    def earliest_entry(self) -> EpochEntry | None:
        return self.entries[0] if self.entries else None

    def truncate_from_end(self, end_offset: int) -> bool:
        """Drop the entries that start at `end_offset` or behind; whether any did."""
        kept = bisect_left(self.entries, end_offset, key=lambda entry: entry.start_offset)
        changed = kept < len(self.entries)
        self._replace(self.entries[:kept])
        return changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """Let the log begin at `start_offset`: the epoch at that offset starts there, earlier ones are removed."""
        higher = bisect_right(self.entries, start_offset, key=lambda entry: entry.start_offset)
        if not higher or (higher == 1 and self.entries[0].start_offset == start_offset):
            return False
        self._replace([EpochEntry(self.entries[higher - 1].epoch, start_offset), *self.entries[higher:]])
        return True

    def clear(self) -> bool:
        """Forget everything; whether there was something."""
        changed = bool(self.entries)
        self._replace([])
        return changed

    def _replace(self, entries: list[EpochEntry]) -> None:
        self.entries = entries
        self.latest_epoch = entries[-1].epoch if entries else UNDEFINED_EPOCH

    def __repr__(self) -> str:
        return "epochs " + " ".join(f"{entry.epoch}:{entry.start_offset}" for entry in self.entries)
