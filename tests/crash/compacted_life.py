"""Lives of a compacted log: the cleaner swaps segments while the log is written to, and breaks off at any call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.record.batch import Batch, read_header
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from tests.crash import compacted_checks
from tests.crash.brokers import compacting_broker_on
from tests.crash.compacted_checks import SegmentLost
from tests.crash.compacted_history import CompactedHistory
from tests.crash.history import Told
from tests.crash.plain_life import CODECS, Run
from tests.unit.log.given import topic_config

KEYS = [b"a", b"b", b"c", b"d"]
SHORT_MS, LONG_MS = 2000, 86_400_000


class CompactedRun(Run):
    """The base life with keys, tombstones, and the real cleaner whose helper is played by the loop."""

    history: CompactedHistory

    def __init__(self, seed: int, folder: Path, *, syncs_at_once: bool = False) -> None:
        super().__init__(seed, folder, syncs_at_once=syncs_at_once)
        self.history = CompactedHistory()
        self.committed = 0
        """Cleaned is only what was replicated, and that a replica never truncates."""

    def go(self) -> None:
        try:
            super().go()
        except SegmentLost:
            self._leave()

    def _broker(self) -> BrokerConfig:
        return compacting_broker_on(self.folder)

    def _config(self) -> LogConfig:
        chance = self.chance
        return topic_config(
            cleanup_policy="compact",
            segment_bytes=chance.choice([260, 400, 600]),
            index_interval_bytes=chance.choice([0, 60, 150]),
            min_cleanable_dirty_ratio=chance.choice(["0", "0.3"]),
            delete_retention_ms=chance.choice([SHORT_MS, LONG_MS]),
            flush_messages=chance.choice([1, 4, 1 << 40, 1 << 40]),
            preallocate=chance.random() < 0.2,
            file_delete_delay_ms=1000,
        )

    def _actions(self) -> dict[Callable[[], None], int]:
        return {
            self.produce: 30,
            self.replicate: 8,
            self.begin_epoch: 3,
            self.end_transaction: 6,
            self.truncate: 1,
            self.move_high_watermark: 12,
            self.checkpoint_high_watermark: 3,
            self.flush: 2,
            self.pass_time: 12,
            self.let_others: 16,
            self.read: 4,
            self.stop_and_start: 1,
        }

    def _check_recovered(self) -> None:
        timeline = compacted_checks.check_recovered(
            self._log,
            self.history,
            self.required_end,
            self.chance,
            keeps_tombstones=self.config.delete_retention_ms == LONG_MS,
        )
        self.history.adopt_told(timeline, self._log, is_decided=not self.disk.has_past)
        self.committed = min(self.committed, self.history.end)
        self._check_nothing_given_up()

    def _work(self, steps: int) -> None:
        super()._work(steps)
        self._check_nothing_given_up()

    def _check_nothing_given_up(self) -> None:
        """The cleaner gives a log up over bad bytes and over faults of its own: here are none."""
        gauges = (each for bean, each in self.metrics.metrics() if bean.name == "uncleanable-partitions-count")
        assert [each.attributes()["Value"] for each in gauges] == [0]

    def read(self) -> None:
        compacted_checks.check_reads(self._log, self.chance)

    def truncate(self) -> None:
        log = self._log
        ends = [each.last_offset + 1 for each in self.history.batches[-8:] if each.last_offset >= self.committed]
        offset = self.chance.choice([log.log_end_offset, *ends])
        self._say(f"truncate to {offset}")
        if offset < log.log_end_offset:
            self.history.truncate_to(offset)
        log.truncate_to(offset)
        self.epoch += 1

    def move_high_watermark(self) -> None:
        super().move_high_watermark()
        self.committed = max(self.committed, self._log.high_watermark)

    def _batch(self, count: int, **options: object) -> memoryview:
        chance, timestamp = self.chance, self._timestamp()
        records = [
            Record(
                index,
                timestamp + index,
                chance.choice(KEYS),
                None if chance.random() < 0.15 else f"{self.number}.{index}".encode() * chance.choice([1, 1, 6]),
            )
            for index in range(count)
        ]
        return memoryview(
            build_batch(
                records,
                codec=chance.choice(CODECS),
                producer_id=options.get("producer_id", -1),
                producer_epoch=options.get("epoch", -1),
                base_sequence=options.get("sequence", -1),
                transactional=options.get("transactional", False),
            )
        )

    def _told(self, batch: memoryview, base_offset: int) -> Told:
        told = super()._told(batch, base_offset)
        self.history.note(Batch(batch, 0, read_header(batch, 0)), told)
        return told
