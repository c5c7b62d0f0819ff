"""Repairs the leader epochs of a log after a crash, from its batches.

Role        Acts on files, plain and synchronous.
Source      LogLoader.load's truncations of LeaderEpochFileCache; the repair is ours.
"""

from __future__ import annotations

import logging
from pathlib import Path

from kafka_zk.log.files.checkpoint import MalformedCheckpoint
from kafka_zk.log.loading.rebuild import epochs_of
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.leader_epoch_cache import LeaderEpochCache
from kafka_zk.protocol.errors import CorruptMessage

log = logging.getLogger("kafka.log.LogLoader")


def forget_torn_epochs(epochs: EpochJournal, prefix: str) -> None:
    """Raises OSError."""
    try:
        _ = epochs.cache
    except MalformedCheckpoint as error:
        log.warning("%s %s; rebuilding it from the log", prefix, error)
        epochs.replace(LeaderEpochCache())


def make_again(epochs: EpochJournal, trusted: list[LogSegment], directory: Path) -> None:
    """A power cut may have left the epoch file empty: make it again from the batches that are trusted.

    Raises OSError.
    """
    try:
        if trusted:
            epochs.replace(epochs_of(trusted))
    except CorruptMessage as error:
        raise OSError(f"{directory}: {error}") from error


def bring_back_first_epochs(epochs: EpochJournal, segments: list[LogSegment], start_offset: int) -> None:
    """The log start had moved on, which no checkpoint remembers: records before the first epoch are back.

    Raises CorruptMessage, OSError.
    """
    cache = epochs.cache
    first = cache.earliest_entry()
    if first is None or first.start_offset <= start_offset:
        return
    before = [segment for segment in segments if segment.base_offset < first.start_offset]
    found = [entry for entry in epochs_of(before).entries if entry.start_offset < first.start_offset]
    if found:
        newest = found[-1].epoch
        known = [entry for entry in cache.entries if entry.epoch > newest]
        epochs.replace(LeaderEpochCache([*found, *known]))
        epochs.truncate_from_start(start_offset)
