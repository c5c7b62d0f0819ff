"""What a start after a clean stop changes, and what it draws anew: as Apache Kafka 3.9.1 was seen to do."""

from __future__ import annotations

import random
from pathlib import Path

from kafka_zk.log.files import names
from kafka_zk.protocol.types import NULL_UUID
from tests.unit.log.given import T0, TP, Place, manager_on, produced, topic_config, values

SMALL = topic_config(segment_bytes=200)


def snapshots(place: Place) -> list[int]:
    return sorted(int(path.stem) for path in place.partition.glob(f"*{names.PRODUCER_SNAPSHOT}"))


def given_clean_log(place: Place) -> list[int]:
    """Six records of one producer, closed; where its snapshots stand: at each base but the first, and at the end."""
    log = place.open(SMALL)
    for number in range(6):
        batch = produced(str(number), producer_id=1, epoch=0, sequence=number)
        log.append_as_leader(batch, leader_epoch=0)
    bases = [segment.base_offset for segment in log.segments]
    log.close()
    assert snapshots(place) == [*bases[1:], 6]
    return bases


def add_snapshots(place: Place, *offsets: int) -> None:
    content = (place.partition / names.offset_file_name(6, names.PRODUCER_SNAPSHOT)).read_bytes()
    for offset in offsets:
        (place.partition / names.offset_file_name(offset, names.PRODUCER_SNAPSHOT)).write_bytes(content)


def test_snapshots_at_no_segment_go_but_the_one_at_the_end(place: Place) -> None:
    bases = given_clean_log(place)
    before = snapshots(place)
    stray = [offset for offset in range(1, bases[-1]) if offset not in bases]
    assert stray
    add_snapshots(place, *stray)
    log = place.open(SMALL, clean=True, recovery_point=6)
    assert snapshots(place) == before
    assert log.producers.state.producers[1].last_sequence == 5


def test_a_snapshot_beyond_the_end_is_not_believed(place: Place) -> None:
    given_clean_log(place)
    before = snapshots(place)
    add_snapshots(place, 9)
    log = place.open(SMALL, clean=True, recovery_point=6)
    assert snapshots(place) == before
    assert log.producers.state.producers[1].last_sequence == 5
    assert log.append_as_leader(produced("6", producer_id=1, epoch=0, sequence=6), leader_epoch=0).first_offset == 6


def test_producers_come_from_the_batches_when_no_snapshot_can_be_read(place: Place) -> None:
    given_clean_log(place)
    before = snapshots(place)
    for path in place.partition.glob(f"*{names.PRODUCER_SNAPSHOT}"):
        path.write_bytes(b"noise")
    log = place.open(SMALL, clean=True, recovery_point=6)
    assert log.producers.state.producers[1].last_sequence == 5
    assert snapshots(place) == before


def test_every_segment_rolls_early_by_a_jitter_of_its_own_new_or_found(tmp_path: Path) -> None:
    config = topic_config(segment_ms=1000, segment_jitter_ms=400)

    def start(seed: int) -> object:
        manager = manager_on(tmp_path, configs={TP.topic: config}, chance=random.Random(seed))
        manager.startup()
        return manager

    first, drawn = random.Random(1), random.Random(2)
    manager = start(1)
    log = manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True)  # type: ignore[attr-defined]
    assert log.active.jitter_ms == first.randrange(400)
    log.append_as_leader(produced("a", timestamp=T0), leader_epoch=0)
    manager.shutdown()  # type: ignore[attr-defined]
    log = start(2).get_log(TP)  # type: ignore[attr-defined]
    jitter_ms = drawn.randrange(400)
    assert log.active.jitter_ms == jitter_ms
    # Counted from the first record's time, as before the restart.
    log.append_as_leader(produced("b", timestamp=T0 + 1000 - jitter_ms), leader_epoch=0)
    assert len(log.segments) == 1
    log.append_as_leader(produced("c", timestamp=T0 + 1001 - jitter_ms), leader_epoch=0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert values(log) == ["a", "b", "c"]
    log.close()


def test_each_batch_of_a_replicated_append_may_get_an_index_entry(place: Place) -> None:
    """As in 3.9.1; a recovery makes the same indexes."""
    log = place.open(topic_config(index_interval_bytes=200))
    data = b""
    for offset in range(100):
        batch = produced(f"{offset:03}", timestamp=T0 + offset)
        batch[:8], batch[12:16] = offset.to_bytes(8), bytes(4)
        data += bytes(batch)
    size = len(data) // 100
    log.append_as_follower(memoryview(bytearray(data)))
    entries = log.active.indexes.offset.entries()
    assert [entry.position for entry in entries] == [entry.offset * size for entry in entries]
    every = 200 // size + 1
    assert [entry.offset for entry in entries] == list(range(every, 100, every))
    assert [entry.offset for entry in log.active.indexes.time.entries()] == list(range(every, 100, every))
    indexes = [path for kind in ("*.index", "*.timeindex") for path in place.partition.glob(kind)]
    log.close()
    before = {path.name: path.read_bytes() for path in indexes}
    log = place.open(topic_config(index_interval_bytes=200))
    assert log.active.indexes.bytes_since_last_entry == 0  # Counted anew, on all replicas alike.
    place.crash(log)
    assert {path.name: path.read_bytes() for path in indexes} == before
