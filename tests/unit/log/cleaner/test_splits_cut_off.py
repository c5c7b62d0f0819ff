"""A segment that is split by the cleaner, or joined with others, and a kill at any step of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from kafka_zk.log.cleaner.splitting import split_segment
from kafka_zk.log.files import names
from tests.unit.log.cleaner.test_crash import given_watched_place
from tests.unit.log.given import Place, topic_config
from tests.unit.log.test_splitting import FAR, base_offsets, batches_at, content, leftovers

CONFIG = topic_config(cleanup_policy="compact", index_interval_bytes=100)
OFFSETS = (10, 20, FAR, FAR + 1, 2 * FAR + 7)
ACTIVE = 3 * FAR


def test_a_kill_at_any_step_of_a_split_in_service_leaves_each_record_once(tmp_path: Path) -> None:
    """What stood before the first record was cleaned away: the first part does not begin where the segment did."""
    place, disk = given_watched_place(tmp_path / "data")
    whole = batches_at([*OFFSETS, ACTIVE])
    for base, batches in ((0, whole[:-1]), (ACTIVE, whole[-1:])):
        (place.partition / names.offset_file_name(base, names.LOG)).write_bytes(b"".join(batches))
        (place.partition / names.offset_file_name(base, names.OFFSET_INDEX)).write_bytes(b"")
    log = place.open(CONFIG, recovery_point=ACTIVE + 1)
    assert base_offsets(log) == [0, ACTIVE]
    copies = disk.copy_before_each_change(place.directory.path, tmp_path)
    split_segment(log)
    disk.before = lambda change: None
    assert base_offsets(log) == [10, OFFSETS[-1], ACTIVE]
    place.crash(log)
    for change, path in copies:
        again = Place(path)
        log = again.open(CONFIG, recovery_point=ACTIVE + 1)
        assert content(log) == b"".join(whole), f"killed before {change}: {base_offsets(log)}"
        assert leftovers(again) == []
        again.crash(log)
        shutil.rmtree(path)


def test_a_damaged_offset_before_a_swap_that_a_kill_cut_off_takes_no_segment_away(tmp_path: Path) -> None:
    """Offsets are not under the crc: one that reaches into what was swapped makes no parts of that."""
    place = Place(tmp_path)
    whole = batches_at([0, 1, 10, 20])
    whole[1] = FAR.to_bytes(8) + whole[1][8:]
    for base, batches, state in ((0, whole[:2], ""), (10, whole[2:3], names.SWAP), (20, whole[3:], "")):
        for kind, data in ((names.LOG, b"".join(batches)), (names.OFFSET_INDEX, b""), (names.TIME_INDEX, b"")):
            (place.partition / names.offset_file_name(base, kind, state)).write_bytes(data)
    log = place.open(CONFIG, recovery_point=21)
    assert base_offsets(log) == [0, 10, 20]
    assert leftovers(place) == []
