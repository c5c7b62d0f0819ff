"""Checks that leader-epoch-checkpoint and the batches agree."""

from __future__ import annotations

from itertools import pairwise

from kafka_zk.log.doctor.findings import (
    EPOCH_BEYOND_END,
    EPOCH_MISMATCH,
    EPOCHS_DISORDERED,
    EPOCHS_MALFORMED,
    Notes,
)
from kafka_zk.log.doctor.partition_files import PartitionFiles
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint
from kafka_zk.log.files.leader_epoch_file import read_epochs
from kafka_zk.log.state.leader_epoch_cache import LeaderEpochCache
from kafka_zk.record.batch import BatchHeader

NOWHERE = 1 << 63


class Epochs:
    """`epoch` holds for batches that begin below `until`: `meet` needs the others. `latest` of the batches."""

    def __init__(self, notes: Notes, files: PartitionFiles, log_start_offset: int) -> None:
        """Raises OSError."""
        self._notes = notes
        self._log_start_offset = log_start_offset
        self._cache: LeaderEpochCache | None = None
        self.latest = -1
        self.epoch, self.until = -2, -1
        try:
            entries = read_epochs(files.directory / names.LEADER_EPOCHS)
        except MalformedCheckpoint as error:
            notes.add(EPOCHS_MALFORMED, names.LEADER_EPOCHS, str(error))
            return
        for before, after in pairwise(entries):
            if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
                notes.add(
                    EPOCHS_DISORDERED,
                    names.LEADER_EPOCHS,
                    f"epoch {after.epoch} from offset {after.start_offset} follows epoch {before.epoch} "
                    f"from offset {before.start_offset}",
                )
                return
        self._cache = LeaderEpochCache(entries)

    def meet(self, file: str, position: int, header: BatchHeader) -> None:
        """A batch of magic 2 with another epoch than the one before, or behind `until`."""
        epoch, base_offset = header.partition_leader_epoch, header.base_offset
        self.latest = max(self.latest, epoch)
        if self._cache is None or epoch < 0 or base_offset < self._log_start_offset:
            return
        known = self._cache.epoch_for_offset(base_offset)
        self.epoch = epoch
        self.until = next((e.start_offset for e in self._cache.entries if e.start_offset > base_offset), NOWHERE)
        if known != epoch:
            said = "no epoch" if known is None else f"epoch {known}"
            self._notes.add(
                EPOCH_MISMATCH,
                names.LEADER_EPOCHS,
                f"has {said} for offset {base_offset}, but the batch at byte {position} of {file} carries {epoch}",
            )

    def end(self, end_offset: int) -> None:
        # An epoch without a record yet starts at the end of the log.
        for entry in self._cache.entries if self._cache is not None else ():
            if entry.start_offset > end_offset:
                self._notes.add(
                    EPOCH_BEYOND_END,
                    names.LEADER_EPOCHS,
                    f"epoch {entry.epoch} starts at {entry.start_offset}, but the log ends at {end_offset}",
                )
