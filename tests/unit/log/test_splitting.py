"""Segments whose offsets are out of reach of their base, as old brokers left them: a start splits them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from tests.unit.log.given import T0, TP, Place, WatchedDisk, produced, read_slices, topic_config

CONFIG = topic_config(index_interval_bytes=100)
FAR = 2**31 + 5
OFFSETS = (0, 10, 20, FAR, FAR + 1, 2 * FAR + 7)
END = OFFSETS[-1] + 1
BASES = [0, FAR, OFFSETS[-1]]


def placed(batch: memoryview, offset: int) -> bytes:
    """As a leader of epoch 0 wrote it."""
    batch[:8], batch[12:16] = offset.to_bytes(8), bytes(4)
    return bytes(batch)


def batches_at(offsets: Sequence[int]) -> list[bytes]:
    return [placed(produced(f"value {n}", timestamp=T0 + n), offset) for n, offset in enumerate(offsets)]


def given_segment(place: Place, content: bytes) -> None:
    """One segment with an empty offset index, as far as a start looks."""
    (place.partition / names.offset_file_name(0, names.LOG)).write_bytes(content)
    (place.partition / names.offset_file_name(0, names.OFFSET_INDEX)).write_bytes(b"")


def base_offsets(log: UnifiedLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def content(log: UnifiedLog) -> bytes:
    return b"".join(read_slices(log, base) for base in base_offsets(log))


def leftovers(place: Place) -> list[str]:
    return [
        path.name for path in place.partition.iterdir() if path.suffix in (names.CLEANED, names.SWAP, names.DELETED)
    ]


@pytest.mark.parametrize("recovery_point", [0, 15, FAR, END])
def test_a_start_after_a_crash_splits_what_it_checks(place: Place, recovery_point: int) -> None:
    whole = b"".join(batches_at(OFFSETS))
    given_segment(place, whole)
    log = place.open(CONFIG, recovery_point=recovery_point)
    assert content(log) == whole
    assert log.log_end_offset == END
    assert base_offsets(log) == BASES
    for number, offset in enumerate(OFFSETS):
        found = log.offset_for_timestamp(T0 + number)
        assert found is not None and found.offset == offset
    assert leftovers(place) == []


def test_a_missing_index_after_a_clean_stop_is_reason_enough(place: Place) -> None:
    whole = b"".join(batches_at(OFFSETS))
    given_segment(place, whole)
    (place.partition / names.offset_file_name(0, names.OFFSET_INDEX)).unlink()
    log = place.open(CONFIG, clean=True, recovery_point=END)
    assert (base_offsets(log), content(log), log.log_end_offset) == (BASES, whole, END)


def test_a_gap_below_the_recovery_point_is_no_loss_where_a_split_has_it_looked_at(place: Place) -> None:
    behind = OFFSETS[-1] + 40
    whole = batches_at([*OFFSETS, behind])
    for base, batches in ((0, whole[:-1]), (behind, whole[-1:])):
        (place.partition / names.offset_file_name(base, names.LOG)).write_bytes(b"".join(batches))
    log = place.open(CONFIG, recovery_point=behind + 1)
    assert content(log) == b"".join(whole)
    assert base_offsets(log) == [*BASES, behind]


def test_what_is_torn_off_behind_the_parts_goes_as_ever(place: Place) -> None:
    parts = batches_at(OFFSETS)
    given_segment(place, b"".join(parts)[:-3])
    log = place.open(CONFIG)
    assert content(log) == b"".join(parts[:-1])
    assert log.log_end_offset == FAR + 2
    assert base_offsets(log) == BASES[:2]


def test_an_offset_that_stands_alone_among_lower_ones_is_damaged_and_splits_nothing(place: Place) -> None:
    given_segment(place, b"".join(batches_at((0, 1, FAR, 3, 4))))
    log = place.open(CONFIG)
    assert base_offsets(log) == [0]
    assert log.log_end_offset == 2


def test_aborted_transactions_are_known_in_the_part_that_holds_their_marker(place: Place) -> None:
    def aborted(offset: int, sequence: int) -> bytes:
        data = produced("x", producer_id=7, epoch=0, sequence=sequence, transactional=True)
        end = EndTransactionMarker(ControlType.ABORT, 0)
        marker = memoryview(build_marker(end, producer_id=7, producer_epoch=0, timestamp_ms=T0))
        return placed(data, offset) + placed(marker, offset + 1)

    given_segment(place, aborted(0, 0) + aborted(FAR, 1))
    log = place.open(CONFIG, recovery_point=FAR + 2)
    assert [segment.aborted_transactions() for segment in log.segments] == [
        [AbortedTransaction(7, 0, 1, 2)],
        [AbortedTransaction(7, FAR, FAR + 1, FAR + 2)],
    ]


def test_a_kill_at_any_step_of_a_split_loses_nothing(tmp_path: Path) -> None:
    disk = WatchedDisk()
    (tmp_path / "data").mkdir()
    place = Place(tmp_path / "data", disk=disk)
    whole = b"".join(batches_at(OFFSETS))
    given_segment(place, whole)
    copies = disk.copy_before_each_change(place.directory.path, tmp_path)
    place.crash(place.open(CONFIG))
    disk.before = lambda change: None
    seen = set()
    for change, path in copies:
        seen.add(tuple(sorted({file.suffix for file in (path / str(TP)).iterdir()})))
        again = Place(path)
        log = again.open(CONFIG)
        assert content(log) == whole, f"killed before {change}: {path}"
        assert log.log_end_offset == END
        assert leftovers(again) == []
        again.crash(log)
        shutil.rmtree(path)
    assert any(names.SWAP in suffixes and names.CLEANED in suffixes for suffixes in seen)
    assert any(names.SWAP in suffixes and names.LOG in suffixes for suffixes in seen)
