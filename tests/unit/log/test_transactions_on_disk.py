"""Open, committed and aborted transactions through starts, retention, truncation and compaction: what readers of
committed records get, and how far they come.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import (
    T0,
    Place,
    all_records,
    expected_records,
    manager_on,
    produced,
    read_committed,
    topic_config,
    unpack,
)

CONFIG = topic_config(segment_bytes=250, index_interval_bytes=100, retention_ms=1000, file_delete_delay_ms=0)
DELETE_RETENTION_MS = 1_000
COMPACTED = topic_config(
    cleanup_policy="compact",
    segment_bytes=250,
    index_interval_bytes=100,
    delete_retention_ms=DELETE_RETENTION_MS,
    min_cleanable_dirty_ratio="0",
    file_delete_delay_ms=0,
)
COMMITTED, ABORTED, OPEN = 1, 2, 3
"""Producers, by what becomes of their transactions."""

STABLE, END = 5, 12


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def write(log: UnifiedLog, value: str, producer_id: int = -1, *, sequence: int = 0, timestamp: int = T0) -> int:
    batch = produced(
        value,
        timestamp=timestamp,
        producer_id=producer_id,
        epoch=0 if producer_id >= 0 else -1,
        sequence=sequence if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )
    return log.append_as_leader(batch, leader_epoch=0).first_offset


def end(log: UnifiedLog, producer_id: int, control_type: ControlType, *, leader_epoch: int = 0) -> None:
    marker = build_marker(
        EndTransactionMarker(control_type, 0), producer_id=producer_id, producer_epoch=0, timestamp_ms=T0
    )
    log.append_as_leader(memoryview(marker), leader_epoch=leader_epoch, origin=Origin.COORDINATOR)


def fill(log: UnifiedLog) -> None:
    """STABLE and END are its last stable offset and its end; several segments."""
    write(log, "c0", COMMITTED)
    write(log, "a0", ABORTED)
    write(log, "plain 2")
    end(log, COMMITTED, ControlType.COMMIT)
    end(log, ABORTED, ControlType.ABORT)
    write(log, "o5", OPEN)
    write(log, "c6", COMMITTED, sequence=1)
    write(log, "a7", ABORTED, sequence=1)
    end(log, ABORTED, ControlType.ABORT)
    end(log, COMMITTED, ControlType.COMMIT)
    write(log, "o10", OPEN, sequence=1)
    write(log, "plain 11")
    assert len(log.segments) > 3
    log.update_high_watermark(END)


def committed_values(log: UnifiedLog, offset: int | None = None) -> list[str]:
    """Of a consumer that comes to the end of what it may read."""
    records, position = read_committed(log, offset)
    assert position == max(log.last_stable_offset, offset or 0)
    return [(record.value or b"").decode() for record in records]


# --- starts ----------------------------------------------------------------------------------------------------------


def stopped(place: Place, log: UnifiedLog) -> UnifiedLog:
    log.close()
    return place.open(CONFIG, clean=True, recovery_point=END, high_watermark=END)


def killed(place: Place, log: UnifiedLog) -> UnifiedLog:
    place.crash(log)
    return place.open(CONFIG, high_watermark=END)


def killed_after_a_flush(place: Place, log: UnifiedLog) -> UnifiedLog:
    log.flush()
    place.crash(log)
    return place.open(CONFIG, recovery_point=END, high_watermark=END)


def restored_from_segments_alone(place: Place, log: UnifiedLog) -> UnifiedLog:
    log.close()
    for path in place.partition.iterdir():
        if path.suffix != names.LOG:
            path.unlink()
    return place.open(CONFIG, high_watermark=END)


def restored_with_an_older_snapshot(place: Place, log: UnifiedLog) -> UnifiedLog:
    log.close()
    _, *younger = sorted(place.partition.glob(f"*{names.PRODUCER_SNAPSHOT}"))
    for path in younger:
        path.unlink()
    return place.open(CONFIG, clean=True, recovery_point=END, high_watermark=END)


STARTS = (stopped, killed, killed_after_a_flush, restored_from_segments_alone, restored_with_an_older_snapshot)


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.__name__)
def test_after_any_start_readers_get_what_they_got_before(
    place: Place, start: Callable[[Place, UnifiedLog], UnifiedLog]
) -> None:
    log = place.open(CONFIG)
    fill(log)
    assert (log.last_stable_offset, committed_values(log)) == (STABLE, ["c0", "plain 2"])
    log = start(place, log)
    assert (log.last_stable_offset, committed_values(log)) == (STABLE, ["c0", "plain 2"])
    # What was open is still open, and ends as any other.
    end(log, OPEN, ControlType.ABORT)
    log.update_high_watermark(END + 1)
    assert committed_values(log) == ["c0", "plain 2", "c6", "plain 11"]
    assert committed_values(log, 6) == ["c6", "plain 11"]


@pytest.mark.parametrize("known", range(END + 1))
@pytest.mark.parametrize("start", [killed, restored_from_segments_alone], ids=lambda start: start.__name__)
def test_after_a_start_the_last_stable_offset_only_goes_forward_with_the_high_watermark(
    place: Place, start: Callable[[Place, UnifiedLog], UnifiedLog], known: int
) -> None:
    """`known`: the high watermark that the checkpoint has."""
    log = place.open(CONFIG)
    fill(log)
    log = start(place, log)
    seen = []
    for high_watermark in range(known, END + 1):
        log.update_high_watermark(high_watermark)
        seen.append(log.last_stable_offset)
    assert seen == [min(high_watermark, STABLE) for high_watermark in range(known, END + 1)]


# --- retention -------------------------------------------------------------------------------------------------------


def test_what_retention_takes_of_an_open_transaction_holds_nobody_back_further_than_the_log_start(
    place: Place,
) -> None:
    log = place.open(CONFIG)
    fill(log)
    late = T0 + 5000
    write(log, "o12", OPEN, sequence=2, timestamp=late)
    write(log, "plain 13", timestamp=late)
    log.update_high_watermark(14)
    delete_old_segments(log, late + 1)
    assert STABLE < log.log_start_offset < 14
    assert log.last_stable_offset == log.log_start_offset
    for again in (False, True):
        if again:
            start = log.log_start_offset
            place.crash(log)
            log = place.open(CONFIG, log_start_offset=start, high_watermark=14)
        assert log.last_stable_offset == log.log_start_offset
    end(log, OPEN, ControlType.ABORT)
    log.update_high_watermark(15)
    assert committed_values(log)[-1] == "plain 13"
    assert not any(value.startswith("o") for value in committed_values(log))


# --- another leader decides otherwise --------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [ControlType.COMMIT, ControlType.ABORT])
@pytest.mark.parametrize("then", [ControlType.COMMIT, ControlType.ABORT])
def test_of_two_leaders_the_marker_of_the_one_that_stays_counts(
    place: Place, first: ControlType, then: ControlType
) -> None:
    log = place.open(CONFIG)
    fill(log)
    end(log, OPEN, first)
    log.truncate_to(END)
    assert log.last_stable_offset == STABLE
    end(log, OPEN, then, leader_epoch=1)
    log.update_high_watermark(END + 1)
    opened = ["o5", "o10"] if then is ControlType.COMMIT else []
    assert sorted(committed_values(log)) == sorted(["c0", "plain 2", "c6", "plain 11", *opened])
    place.crash(log)
    assert sorted(committed_values(place.open(CONFIG, high_watermark=END + 1))) == sorted(
        ["c0", "plain 2", "c6", "plain 11", *opened]
    )


# --- compaction ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["before", "after1", "after2", "after3"])
def test_a_reader_of_a_log_that_apache_compacted_gets_its_committed_records_and_comes_to_the_end(
    tmp_path: Path, stage: str
) -> None:
    """From each offset, also where there is nothing any more: whoever seeks the end must reach it."""
    unpack("12-compacted/texts.tar.xz", tmp_path)
    place = unpack("12-compacted/log-dirs.tar.gz", tmp_path) / stage
    expected = expected_records(str(tmp_path / f"expected-{stage}.json"), "read_committed")["golden-compact-tx-0"]
    compacted = dict.fromkeys(("golden-compact", "golden-compact-tx"), topic_config(cleanup_policy="compact"))
    for is_clean in (True, False):
        if not is_clean:
            (place / names.CLEAN_SHUTDOWN).unlink()
            for snapshot in place.glob(f"*/*{names.PRODUCER_SNAPSHOT}"):
                snapshot.unlink()
        manager = manager_on(place, configs=compacted)
        manager.startup()
        log = next(each for each in manager.all_logs() if each.topic_partition.topic == "golden-compact-tx")
        end_offset = log.update_high_watermark(log.log_end_offset)
        assert log.last_stable_offset == end_offset
        assert read_committed(log)[0] == expected
        for offset in range(log.log_start_offset, end_offset + 1):
            records, position = read_committed(log, offset)
            assert position == end_offset, f"from {offset}"
            assert records == [record for record in expected if record.offset >= offset]
        manager.shutdown()


@pytest.mark.parametrize("is_clean", [None, True, False], ids=["cleaned", "stopped", "killed"])
@pytest.mark.parametrize("last", [ControlType.COMMIT, ControlType.ABORT], ids=lambda last: last.name.lower())
def test_whoever_seeks_the_end_of_a_log_that_we_compacted_reaches_it(
    place: Place, last: ControlType, is_clean: bool | None
) -> None:
    """Where most offsets are those of markers, and of records and markers that are gone."""
    log = place.open(COMPACTED)
    fill(log)
    end(log, OPEN, last)
    log.update_high_watermark(END + 1)
    log.roll()
    checkpoint = clean(log)
    for _ in range(2):
        place.clock.advance(DELETE_RETENTION_MS + 1)
        checkpoint = clean(log, checkpoint)
    if is_clean is not None:
        place.crash(log)
        log = place.open(COMPACTED, clean=is_clean, recovery_point=END + 1 if is_clean else 0, high_watermark=END + 1)
    end_offset = log.last_stable_offset
    assert end_offset == log.log_end_offset == END + 1
    assert [record.offset for record in all_records(log)] == [END - 1], "all have one key"
    for offset in range(log.log_start_offset, end_offset + 1):
        records, position = read_committed(log, offset)
        assert position == end_offset, f"from {offset}"
        assert [record.value for record in records] == ([b"plain 11"] if offset < END else [])
