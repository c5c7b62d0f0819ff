"""Random histories, cleaned: what a reader of committed records knew about each key, it knows afterwards."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import gevent
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.log.cleaner.choosing import dirt_of
from kafka_zk.log.cleaner.segment_facts import facts_of
from kafka_zk.log.cleaner.settings import CleanerSettings
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.record.types import Record
from tests.unit.log.cleaner.given import SETTINGS, clean
from tests.unit.log.given import Place, read_committed, topic_config

KEYS = [b"a", b"b", b"c", b"d", b"e"]
PRODUCERS = range(3)
DELETE_RETENTION_MS = 1_000

write = st.tuples(
    st.just("write"),
    st.sampled_from([-1, *PRODUCERS]),
    st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=4),
    st.sampled_from(list(Codec)),
    st.booleans(),
)
end = st.tuples(st.just("end"), st.sampled_from(PRODUCERS), st.booleans())
roll = st.tuples(st.just("roll"))
tidy = st.tuples(st.just("clean"), st.integers(0, 3 * DELETE_RETENTION_MS))
histories = st.lists(st.one_of(write, write, write, end, roll, tidy), min_size=5, max_size=40)


class World:
    """A log with its producers, cleaned now and then; and what was committed to it."""

    def __init__(self, path: Path, cleaner: CleanerSettings) -> None:
        self.place = Place(path)
        self.config = topic_config(
            cleanup_policy="compact",
            segment_bytes=600,
            delete_retention_ms=DELETE_RETENTION_MS,
            index_interval_bytes=100,
            min_cleanable_dirty_ratio="0",
        )
        self.log = self.place.open(self.config)
        self.cleaner = cleaner
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.open: dict[int, list[Record]] = {}
        self.committed: list[Record] = []
        self.checkpoint: int | None = None
        self.counter = 0

    def write(self, producer: int, rows: list[tuple[bytes, bool]], codec: Codec, is_transactional: bool) -> None:
        is_transactional = producer in self.open or (is_transactional and producer >= 0)
        now_ms = self.place.clock.wall_ms()
        records = []
        for index, (key, is_tombstone) in enumerate(rows):
            self.counter += 1
            records.append(Record(index, now_ms + index, key, None if is_tombstone else b"v%d" % self.counter))
        batch = build_batch(
            records,
            codec=codec,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=self.sequences.get(producer, -1),
            transactional=is_transactional,
        )
        info = self.log.append_as_leader(memoryview(batch), leader_epoch=0)
        if producer >= 0:
            self.sequences[producer] += len(rows)
        placed = [record._replace(offset=info.first_offset + record.offset) for record in records]
        (self.open.setdefault(producer, []) if is_transactional else self.committed).extend(placed)
        self.settle()

    def end(self, producer: int, is_commit: bool) -> None:
        if producer not in self.open:
            return
        marker = EndTransactionMarker(ControlType.COMMIT if is_commit else ControlType.ABORT, 0)
        data = build_marker(marker, producer_id=producer, producer_epoch=0, timestamp_ms=self.place.clock.wall_ms())
        self.log.append_as_leader(memoryview(data), leader_epoch=0, origin=Origin.COORDINATOR)
        records = self.open.pop(producer)
        if is_commit:
            self.committed += records
        self.settle()

    def roll(self) -> None:
        if self.log.active.size_bytes:
            self.log.roll()

    def tidy(self, later_ms: int) -> None:
        self.place.clock.advance(later_ms)
        before = committed_view(self.log)
        if not dirt_of(facts_of(self.log), self.checkpoint, self.place.clock.wall_ms()).cleanable_bytes:
            return
        self.checkpoint = clean(self.log, self.checkpoint, settings=self.cleaner, chunk_bytes=300)
        after = committed_view(self.log)
        # Nobody sees a record that was not there, or the same offset with something else in it.
        assert set(after) <= set(before)
        assert latest(after) == latest(before)

    def settle(self) -> None:
        self.log.update_high_watermark(self.log.log_end_offset)


def committed_view(log: UnifiedLog) -> list[Record]:
    """What a consumer of committed records gets, and that it gets to the end of them."""
    records, position = read_committed(log)
    assert position == log.last_stable_offset
    return records


def latest(records: list[Record]) -> dict[bytes | None, Record]:
    """The last record of each key, deleted keys left out."""
    last = {record.key: record for record in records}
    return {key: record for key, record in last.items() if record.value is not None}


@given(histories, st.sampled_from([2, 5, 1000]), st.sampled_from([64, 1 << 18]))
@settings(max_examples=120)
def test_the_latest_committed_value_of_each_key_survives(
    history: list[tuple[object, ...]], table_keys: int, buffer_bytes: int
) -> None:
    """However small the key table and the reads are; also when the log is loaded again, cleanly and after a crash."""
    path = Path(tempfile.mkdtemp())
    try:
        world = World(path, SETTINGS._replace(table_keys=table_keys, buffer_bytes=buffer_bytes))
        for kind, *arguments in history:
            {"write": world.write, "end": world.end, "roll": world.roll, "clean": world.tidy}[str(kind)](*arguments)  # type: ignore[operator]
            gevent.sleep(0)
        world.roll()
        world.tidy(0)
        world.tidy(2 * DELETE_RETENTION_MS)
        assert latest(committed_view(world.log)) == latest(
            [record for record in sorted(world.committed) if record.offset < world.log.last_stable_offset]
        )
        check_again_after_a_crash(world)
    finally:
        shutil.rmtree(path)


def check_again_after_a_crash(world: World) -> None:
    log = world.log
    before, end, sequences = committed_view(log), log.log_end_offset, dict(world.sequences)
    known = {each: log.producers.state.producers[each].last_sequence for each in log.producers.state.producers}
    world.place.crash(log)
    again = world.place.open(world.config, high_watermark=end)
    assert again.log_end_offset == end
    assert committed_view(again) == before
    # Sequences go on where they were, though the records are gone.
    for producer, entry in again.producers.state.producers.items():
        assert entry.last_sequence == known[producer]
        assert entry.last_sequence in (sequences[producer] - 1, -1)
    assert set(again.producers.state.producers) == set(known)
    world.place.crash(again)
