"""What must hold of a log that was opened after a crash, whatever happened before."""

from __future__ import annotations

import random
from itertools import pairwise

from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.batch import BatchHeader, batches, computed_crc
from kafka_zk.record.control import ControlType, marker_of
from tests.crash.history import Aborted, History, Producers, Told
from tests.unit.log.given import read_slices


def told(header: BatchHeader) -> Told:
    return Told(
        header.base_offset,
        header.last_offset,
        header.partition_leader_epoch,
        header.crc,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.last_sequence if header.has_producer_id else -1,
        header.is_transactional,
    )


def batches_in(log: UnifiedLog) -> list[Told]:
    """Every batch on the disk, oldest first; each is intact, in its segment, and behind the one before."""
    found: list[Told] = []
    for segment in log.segments:
        size = 0
        for batch in segment.file.batches():
            header = batch.header
            assert computed_crc(batch.buffer, batch.position, header) == header.crc, f"corrupt batch {header}"
            assert header.base_offset >= segment.base_offset
            assert not found or header.base_offset > found[-1].last_offset, f"{header} after {found[-1]}"
            marker = marker_of(batch) if header.is_control else None
            each = told(header)
            if marker is not None:
                each = each._replace(marker="abort" if marker.control_type is ControlType.ABORT else "commit")
            found.append(each)
            size += batch.size_bytes
        assert size == segment.size_bytes, f"{segment} holds {segment.size_bytes - size} bytes that are no batch"
    return found


def check_recovered(log: UnifiedLog, history: History, required_end: int, chance: random.Random) -> None:
    """`required_end`: everything of the timeline below it must be there, unless its deletion was asked for."""
    found = batches_in(log)
    end = log.log_end_offset
    timelines = [history.batches, *history.others]
    timeline = next((each for each in timelines if _is_part(found, each)), None)
    assert timeline is not None, f"not a part of any timeline:\n{_list(found)}\nthe last one:\n{_list(history.batches)}"
    must = [each for each in history.batches if each.last_offset >= history.start and each.last_offset < required_end]
    lost = [each for each in must if each not in found]
    assert not lost, f"lost below {required_end}:\n{_list(lost)}\nfound:\n{_list(found)}"
    check_offsets(log, history, found)
    check_state(log, history, [each for each in timeline if each.last_offset < end], found)
    timeline = [each for each in timeline if each.last_offset < end]
    check_reads(log, timeline, chance)
    check_times(log, timeline, chance)


def check_offsets(log: UnifiedLog, history: History, found: list[Told]) -> None:
    """Log start, log end, high watermark and recovery point are where they may be."""
    start, end = log.log_start_offset, log.log_end_offset
    assert log.segments.first.base_offset <= start <= max(history.start, log.segments.first.base_offset)
    assert start <= history.start, f"log start {start} beyond {history.start}"
    last = found[-1].last_offset + 1 if found else 0
    assert last <= end and (end <= max(last, start, log.active.base_offset) or end == history.end)
    assert start <= log.high_watermark <= min(max(history.high_watermark_ceiling, start), end)
    assert log.recovery_point <= end


def check_state(log: UnifiedLog, history: History, timeline: list[Told], found: list[Told]) -> None:
    """Epochs, producers and indexes say what `found` holds; of what is gone they may say what `timeline` knows."""
    _check_epochs(log, [each for each in found if each.base_offset >= history.start])
    _check_producers(log, timeline, found)
    for segment in log.segments:
        _check_indexes(segment)


def check_reads(log: UnifiedLog, timeline: list[Told], chance: random.Random) -> None:
    """Reads at any offset find what the timeline holds."""
    start, end = log.log_start_offset, log.log_end_offset
    if start >= end:
        return
    for offset in (start, chance.randrange(start, end)):
        data = read_slices(log, offset, max_bytes=1)
        expected = next((each for each in timeline if each.last_offset >= offset), None)
        got = next((each.header for each in batches(data)), None)
        assert (got and got.base_offset) == (expected and expected.base_offset), f"at {offset}: {got}, not {expected}"


def check_times(log: UnifiedLog, timeline: list[Told], chance: random.Random) -> None:
    """So do look-ups at any time."""
    start, end = log.log_start_offset, log.log_end_offset
    if start >= end:
        return
    timestamp = chance.choice(timeline).max_timestamp - chance.randrange(3) if timeline else 0
    answer = log.offset_for_timestamp(timestamp)
    holder = next((each for each in timeline if each.last_offset >= start and each.max_timestamp >= timestamp), None)
    if holder is not None and holder.base_offset >= start:
        assert answer is not None, f"nothing at {timestamp}, although {holder}"
        assert holder.base_offset <= answer.offset <= holder.last_offset, f"{answer} at {timestamp}, not in {holder}"
        assert answer.timestamp >= timestamp
    elif holder is None:
        assert answer is None, f"{answer} at {timestamp}"


def _is_part(found: list[Told], timeline: list[Told]) -> bool:
    if not found:
        return True
    first = next((slot for slot, each in enumerate(timeline) if each == found[0]), None)
    return first is not None and timeline[first : first + len(found)] == found


def _check_epochs(log: UnifiedLog, found: list[Told]) -> None:
    cache = log.leader_epochs
    entries = cache.entries
    assert all(one.epoch < two.epoch and one.start_offset < two.start_offset for one, two in pairwise(entries))
    assert not entries or entries[-1].start_offset <= log.log_end_offset, f"{cache!r} beyond {log!r}"
    for each in found:
        known = cache.epoch_for_offset(each.base_offset)
        assert known == each.leader_epoch, f"{cache!r} says {known} for {each}"


def _check_producers(log: UnifiedLog, timeline: list[Told], found: list[Told]) -> None:
    everything = Producers.of(timeline)
    there = Producers.of([each for each in found if each.last_offset >= log.log_start_offset])
    bases = [segment.base_offset for segment in log.segments if segment.base_offset <= log.log_start_offset]
    from_bases = [Producers.of([each for each in found if each.base_offset >= base]) for base in bases]
    state = log.producers.state
    for producer_id, entry in state.producers.items():
        producer = everything.known.get(producer_id)
        assert producer is not None, f"{entry} is nowhere in the log"
        # Of a transaction whose beginning was deleted, a snapshot may know it or not; a start that has none reads
        # whole the first segment that it recovers, also what lies before the log start.
        replays = (there, *from_bases)
        seen = (each.known[producer_id].open_from if producer_id in each.known else -1 for each in replays)
        open_from = {producer.open_from, *seen}
        assert entry.producer_epoch == producer.epoch and entry.current_txn_first_offset in open_from, entry
        if entry.batches:
            assert entry.last_sequence == producer.last_sequence, f"{entry}, not {producer}"
    missing = there.known.keys() - state.producers.keys()
    assert not missing, f"producers {missing} are not known"
    log_end, high_watermark = log.log_end_offset, log.high_watermark
    log.update_high_watermark(log_end)
    stable = {
        log_end if replay.first_open is None else max(replay.first_open, log.log_start_offset)
        for replay in (everything, there)
    }
    assert log.last_stable_offset in stable, f"last stable offset {log.last_stable_offset}, not {stable}"
    log.update_high_watermark(high_watermark)
    start = log.log_start_offset
    aborted = [Aborted(*entry[:3]) for segment in log.segments for entry in segment.aborted_transactions()]
    # The first offset is that of the first record that is still there, or the true one.
    must = {(each.producer_id, each.last_offset) for each in there.aborted}
    may = {(each.producer_id, each.last_offset) for each in everything.aborted}
    told_of = {(each.producer_id, each.last_offset) for each in aborted if each.last_offset >= start}
    assert must <= told_of <= may, f"aborted {told_of}, not {must}"


def _check_indexes(segment: LogSegment) -> None:
    # An index that was found is looked into before its first use, and made anew where it disagrees with its segment.
    segment.load_times()
    headers = dict(segment.file.headers(0))
    last = max((header.last_offset for header in headers.values()), default=-1)
    entries = segment.indexes.offset.entries()
    assert all(one.offset < two.offset and one.position < two.position for one, two in pairwise(entries))
    for entry in entries:
        header = headers.get(entry.position)
        assert header is not None, f"{entry} of {segment} points into a batch"
        assert header.base_offset <= entry.offset <= last, f"{entry} points at {header}"
    times = segment.indexes.time.entries()
    assert all(one.timestamp < two.timestamp and one.offset <= two.offset for one, two in pairwise(times))
    for time in times:
        below = [header for header in headers.values() if header.last_offset <= time.offset]
        assert below and max(header.max_timestamp for header in below) == time.timestamp, f"{time} of {segment}"
    largest = max((header.max_timestamp for header in headers.values()), default=-1)
    if segment.size_bytes:
        assert segment.max_timestamp == largest, f"{segment} has {largest}"


def _list(found: list[Told]) -> str:
    return "\n".join(map(str, found))
