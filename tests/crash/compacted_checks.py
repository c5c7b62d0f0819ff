"""What must hold of a compacted log after a crash: a record is there, or a later one of its key that is there for good.

A power cut may take unsynced segments and leave later ones: a compacted log has gaps anyway, and nobody can tell
(Kafka cannot either). So behind the required end whatever is there must be true, but it need not be a prefix.
"""

from __future__ import annotations

import random
from collections import defaultdict

from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.record import decode_records
from tests.crash import checks
from tests.crash.compacted_history import CompactedHistory, Content, verdicts
from tests.crash.history import Told


class SegmentLost(Exception):
    """Something behind the required end is gone and something behind that is not. What a snapshot or an epoch says of
    it is anybody's guess."""


def check_recovered(
    log: UnifiedLog, history: CompactedHistory, required_end: int, chance: random.Random, *, keeps_tombstones: bool
) -> list[Told]:
    """The timeline that the log follows, as it was told. Raises SegmentLost when it has a gap."""
    found = checks.batches_in(log)
    records = _records_in(log)
    timelines = [history.batches, *history.others]
    timeline = next((each for each in timelines if _follows(found, records, each, history)), None)
    assert timeline is not None, f"not a part of any timeline:\n{found}\nthe last one:\n{history.batches}"
    assert log.log_end_offset >= required_end, f"{log!r} would give out offsets below {required_end} again"
    markers = {each.base_offset for each in found if each.marker}
    _check_nothing_lost(history, records, markers, required_end, keeps_tombstones=keeps_tombstones)
    checks.check_offsets(log, history, found)
    left = records.keys() | {each.last_offset for each in found}
    timeline = [each for each in timeline if each.last_offset < log.log_end_offset]
    if any(each.last_offset >= required_end and left.isdisjoint(each.offsets) for each in timeline):
        raise SegmentLost
    checks.check_state(log, history, timeline, found)
    check_reads(log, chance)
    return timeline


def check_reads(log: UnifiedLog, chance: random.Random) -> None:
    """What is found by offset and by time is what is in the files."""
    checks.check_reads(log, checks.batches_in(log), chance)
    records = _records_in(log)
    readable = [each for each in checks.batches_in(log) if each.marker or not records.keys().isdisjoint(each.offsets)]
    checks.check_times(log, readable, chance)


def _records_in(log: UnifiedLog) -> dict[int, Content]:
    return {
        record.offset: Content(record.key, record.value)
        for segment in log.segments
        for batch in segment.file.batches()
        if not batch.header.is_control
        for record in decode_records(batch)
    }


def _follows(found: list[Told], records: dict[int, Content], timeline: list[Told], history: CompactedHistory) -> bool:
    known = history.records(timeline)
    owners = {offset: each for each in timeline for offset in each.offsets}
    return all(known.get(offset) == content for offset, content in records.items()) and all(
        (owner := owners.get(each.last_offset)) is not None
        and (owner.marker, owner.leader_epoch, owner.producer_id) == (each.marker, each.leader_epoch, each.producer_id)
        for each in found
    )


def _check_nothing_lost(
    history: CompactedHistory,
    records: dict[int, Content],
    markers: set[int],
    required_end: int,
    *,
    keeps_tombstones: bool,
) -> None:
    must = [each for each in history.batches if each.last_offset >= history.start and each.last_offset < required_end]
    told, ends = history.records(history.batches), verdicts(history.batches)

    def counts(offset: int, kind: str) -> bool:
        """Whether the record's transaction has ended so, for good."""
        end = ends.get(offset)
        if end is None or end.kind != kind:
            return False
        return end.marker_offset in markers or end.marker_offset < required_end

    transactional = {
        offset for each in history.batches if each.is_transactional and not each.marker for offset in each.offsets
    }
    later: dict[bytes | None, list[int]] = defaultdict(list)
    for offset, content in told.items():
        if offset not in transactional or counts(offset, "commit"):
            may_have_gone = content.value is None and not keeps_tombstones and offset < required_end
            if offset in records or may_have_gone:
                later[content.key].append(offset)
    for batch in must:
        if batch.marker:
            data = [offset for offset, end in ends.items() if end.marker_offset == batch.base_offset]
            left = [offset for offset in data if offset in records]
            assert batch.base_offset in markers or not left, f"{batch} is gone, and {left} of its transaction are not"
            continue
        for offset in batch.offsets:
            if offset in records or counts(offset, "abort"):
                continue
            key = told[offset].key
            # The offset itself is among them when it is a tombstone whose time may be over.
            assert any(other >= offset for other in later[key]), (
                f"{offset} of key {key!r} is gone ({batch}), and nothing later of its key is there"
            )
