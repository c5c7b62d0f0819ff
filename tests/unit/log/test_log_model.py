"""UnifiedLog against a list: whatever is done in whatever order, both hold the same records."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.batch import batches
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.record.record import decode_records
from tests.unit.log.cleaner.test_model import committed_view
from tests.unit.log.given import T0, Place, produced, read_slices, topic_config

CODECS = st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4])


class ModelRecord(NamedTuple):
    offset: int
    timestamp: int
    value: bytes
    epoch: int


class ModelBatch(NamedTuple):
    """`producer` writes in a transaction, which a batch with a `marker` ends."""

    records: tuple[ModelRecord, ...]
    producer: int = -1
    marker: ControlType | None = None

    @property
    def first(self) -> int:
        return self.records[0].offset

    @property
    def last(self) -> int:
        return self.records[-1].offset


class Transactions(NamedTuple):
    """Of a row of batches: where the open ones begin, and which records were aborted."""

    open_from: dict[int, int]
    aborted_offsets: set[int]

    @classmethod
    def of(cls, model: list[ModelBatch]) -> Transactions:
        under_way: dict[int, list[ModelBatch]] = {}
        aborted: set[int] = set()
        for batch in model:
            if batch.marker is not None:
                ended = under_way.pop(batch.producer, [])
                if batch.marker is ControlType.ABORT:
                    aborted.update(record.offset for each in ended for record in each.records)
            elif batch.producer >= 0:
                under_way.setdefault(batch.producer, []).append(batch)
        return cls({producer: batches[0].first for producer, batches in under_way.items()}, aborted)


class LogMachine(RuleBasedStateMachine):
    """The model: the batches that are there, and the offsets."""

    @initialize(segment_bytes=st.integers(150, 900), interval=st.sampled_from([0, 50, 200, 4096]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.place = Place(self.folder)
        self.config = topic_config(
            segment_bytes=segment_bytes, index_interval_bytes=interval, segment_index_bytes=200, retention_bytes=1000
        )
        self.log: UnifiedLog = self.place.open(self.config)
        self.model: list[ModelBatch] = []
        self.start = self.end = self.epoch = self.number = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.place.crash(self.log)
            shutil.rmtree(self.folder)

    @rule(count=st.integers(1, 4), step=st.integers(-30, 60), codec=CODECS, producer=st.sampled_from([-1, -1, 1, 2]))
    def append(self, count: int, step: int, codec: Codec, producer: int) -> None:
        first, batch = self.end, self.next_batch(count, step, codec, producer)
        info = self.log.append_as_leader(batch, leader_epoch=self.epoch)
        assert (info.first_offset, info.last_offset) == (first, self.end - 1)

    @rule(counts=st.lists(st.integers(1, 2), min_size=1, max_size=2), codec=CODECS, ahead=st.integers(0, 1))
    def replicate(self, counts: list[int], codec: Codec, ahead: int) -> None:
        data = bytearray()
        for count in counts:
            self.epoch += ahead
            first, batch = self.end, self.next_batch(count, 0, codec, -1)
            # As the leader sent it: neither is under the crc.
            batch[:8], batch[12:16] = first.to_bytes(8), self.epoch.to_bytes(4)
            if len(batch) > self.config.segment_bytes:
                self.end = self.model.pop().first
                break
            data += batch
        if data:
            info = self.log.append_as_follower(memoryview(data))
            assert info.last_offset == self.end - 1

    @rule(producer=st.sampled_from([1, 2]), kind=st.sampled_from([ControlType.COMMIT, ControlType.ABORT]))
    def end_transaction(self, producer: int, kind: ControlType) -> None:
        if producer not in Transactions.of(self.model).open_from:
            return
        timestamp = T0 + self.number * 10
        marker = build_marker(
            EndTransactionMarker(kind, 0), producer_id=producer, producer_epoch=0, timestamp_ms=timestamp
        )
        self.log.append_as_leader(memoryview(marker), leader_epoch=self.epoch, origin=Origin.COORDINATOR)
        (record,) = decode_records(next(iter(batches(marker))))
        told = ModelRecord(self.end, timestamp, record.value or b"", self.epoch)
        self.model.append(ModelBatch((told,), producer, kind))
        self.end += 1
        self.number += 1

    def next_batch(self, count: int, step: int, codec: Codec, producer: int) -> memoryview:
        """What a client sends next; the model has it by then."""
        texts = [f"{self.number + index}" for index in range(count)]
        timestamp = T0 + self.number * 10 + step
        known = self.log.producers.state.producers.get(producer)
        sequence = -1 if producer < 0 else known.last_sequence + 1 if known is not None else 0
        is_transactional = producer >= 0
        batch = produced(
            *texts,
            timestamp=timestamp,
            codec=codec,
            producer_id=producer,
            epoch=0 if is_transactional else -1,
            sequence=sequence,
            transactional=is_transactional,
        )
        records = tuple(
            ModelRecord(self.end + index, timestamp + index, text.encode(), self.epoch)
            for index, text in enumerate(texts)
        )
        self.model.append(ModelBatch(records, producer))
        self.end += count
        self.number += count
        return batch

    @rule()
    def roll(self) -> None:
        if self.log.active.size_bytes:
            self.log.roll()

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1
        self.log.assign_epoch_start(self.epoch, self.end)

    @rule(back=st.integers(0, 12))
    def truncate(self, back: int) -> None:
        offset = max(0, self.end - back)
        self.log.truncate_to(offset)
        if offset >= self.end:
            return
        if offset < self.log.segments.first.base_offset:
            self.model = []
        self.model = [batch for batch in self.model if batch.last < offset]
        self.end, self.start = offset, min(self.start, offset)

    @rule(forward=st.integers(0, 5))
    def move_start(self, forward: int) -> None:
        offset = min(self.start + forward, self.end)
        self.log.update_high_watermark(self.end)
        self.log.increment_log_start_offset(offset)
        self.start = offset

    @rule()
    def clean_up(self) -> None:
        self.log.update_high_watermark(self.end)
        delete_old_segments(self.log, T0)
        assert self.log.log_start_offset >= self.start
        self.start = self.log.log_start_offset

    @rule(ahead=st.integers(0, 5))
    def start_elsewhere(self, ahead: int) -> None:
        offset = self.end + ahead
        self.log.truncate_fully_and_start_at(offset)
        self.model, self.start, self.end = [], offset, offset

    @rule()
    def stop_cleanly(self) -> None:
        active = self.log.segments.active
        known_end = max(active.base_offset, self.start) if active.size_bytes == 0 else self.end
        self.log.flush()
        self.log.close()
        self.log = self.place.open(
            self.config, clean=True, recovery_point=self.end, log_start_offset=self.start, high_watermark=self.end
        )
        # A truncation into the first batch of a segment empties it: nothing on disk tells of the gap before the end.
        self.end = known_end

    @rule()
    def crash(self) -> None:
        recovery_point = self.log.recovery_point
        self.place.crash(self.log)
        self.log = self.place.open(self.config, recovery_point=recovery_point, log_start_offset=self.start)
        # A truncation into a gap leaves an end that only a clean stop remembers.
        known_end = self.model[-1].last + 1 if self.model else self.log.log_end_offset
        assert self.log.log_end_offset in (self.end, known_end, max(known_end, self.start))
        self.end = self.log.log_end_offset

    @precondition(lambda self: self.start < self.end)
    @rule(data=st.data())
    def read_anywhere(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end - 1))
        up_to = data.draw(st.integers(offset, self.end))
        max_bytes = data.draw(st.sampled_from([1, 100, 300, 10_000]))
        note(f"read {offset} up to {up_to}, {max_bytes} bytes")
        found = read_slices(self.log, offset, max_bytes=max_bytes, up_to=up_to)
        got = [record for batch in batches(found) for record in decode_records(batch)]
        wanted = [batch for batch in self.model if batch.last >= offset and batch.last < up_to]
        expected = [(record.offset, record.value) for batch in wanted for record in batch.records]
        assert [(record.offset, record.value) for record in got] == expected[: len(got)]
        assert bool(got) == bool(expected)

    @precondition(lambda self: self.start < self.end)
    @rule(data=st.data())
    def look_up_a_time(self, data: st.DataObject) -> None:
        timestamp = data.draw(st.integers(T0 - 50, T0 + self.number * 10 + 100))
        records = [record for batch in self.model for record in batch.records if record.offset >= self.start]
        expected = next((record for record in records if record.timestamp >= timestamp), None)
        found = self.log.offset_for_timestamp(timestamp)
        assert (found and found.offset) == (expected and expected.offset)
        assert (found and found.leader_epoch) == (expected and expected.epoch)

    @rule()
    def read_committed(self) -> None:
        self.log.update_high_watermark(self.end)
        everything = Transactions.of(self.model)
        # Of a transaction whose beginning was deleted, a snapshot may know where it was, the batches do not.
        there = Transactions.of([batch for batch in self.model if batch.last >= self.start])
        stable = self.log.last_stable_offset
        assert stable in {
            max(self.start, min(each.open_from.values(), default=self.end)) for each in (everything, there)
        }
        expected = [
            (record.offset, record.value)
            for batch in self.model
            if batch.marker is None
            for record in batch.records
            if self.start <= record.offset < stable and record.offset not in everything.aborted_offsets
        ]
        assert [(record.offset, record.value) for record in committed_view(self.log)] == expected

    @invariant()
    def offsets_agree(self) -> None:
        if hasattr(self, "log"):
            assert self.log.log_start_offset == self.start
            assert self.log.log_end_offset == self.end
            assert self.start <= self.log.high_watermark <= self.end

    @invariant()
    def every_record_is_there(self) -> None:
        if not hasattr(self, "log"):
            return
        got: list[tuple[int, bytes]] = []
        offset = self.start
        while offset < self.end and (data := read_slices(self.log, offset)):
            for batch in batches(data):
                got += [
                    (record.offset, record.value or b"")
                    for record in decode_records(batch)
                    if record.offset >= self.start
                ]
                offset = batch.header.next_offset
        records = [record for batch in self.model for record in batch.records if record.offset >= self.start]
        assert got == [(record.offset, record.value) for record in records]

    @invariant()
    def segments_are_in_order_and_not_too_large(self) -> None:
        if hasattr(self, "log"):
            bases = [segment.base_offset for segment in self.log.segments]
            assert bases == sorted(set(bases))
            assert all(segment.size_bytes <= self.config.segment_bytes for segment in self.log.segments)


TestLogModel = LogMachine.TestCase
TestLogModel.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.data_too_large],
    print_blob=True,
)
