"""Random lives of one partition on a disk that fails, each from a seed: what is done, when it breaks, what is left.

A run is a few lives, one after another, on what the last one left: the broker starts, works, and is killed, loses
power, or finds its disk broken, at a moment drawn from the seed (while it starts, too). After each,
`checks.check_recovered` compares what the next start finds with the `History`.
"""

from __future__ import annotations

import errno
import random
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.record.batch import read_header
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.crash import checks
from tests.crash.brokers import broker_on
from tests.crash.forgetful_disk import Fate, ForgetfulDisk, PowerCut
from tests.crash.forgetful_helper import ForgetfulHelper
from tests.crash.greenlets import Greenlets
from tests.crash.history import History, Producers, Told
from tests.crash.inline_pools import InlinePools
from tests.unit.log.given import T0, TP, produced, topic_config

LIVES = 3
"""A start after a broken start after a broken start has shown all that was ever found."""

TOPIC_ID = UUID(int=7)
CODECS = (Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
FATES = (Fate.KEPT, Fate.LOST, Fate.MIXED, Fate.MIXED, Fate.MIXED)


class Run:
    """One seed. `trace` says what was done, for whoever has to understand a failure."""

    def __init__(self, seed: int, folder: Path, *, syncs_at_once: bool = False) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.trace: list[str] = []
        self.history = History()
        self.config = self._config()
        self.epoch = 0
        self.number = 0
        self.required_end = self.answered_end = self.synced_end = 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.disk = ForgetfulDisk(folder, syncs_at_once=syncs_at_once)
        self._steps, self._weights = zip(*self._actions().items(), strict=True)

    def go(self) -> None:
        """Raises AssertionError with the trace."""
        try:
            for _ in range(LIVES):
                self._end_life(self._live())
            self.disk.arm(self.chance)
            self._start()
            self.manager.shutdown()
            self._leave()
        except BaseException as error:
            error.add_note("\n".join(self.trace[-60:]))
            raise
        finally:
            self.disk.end()

    def _broker(self) -> BrokerConfig:
        return broker_on(self.folder)

    def _config(self) -> LogConfig:
        chance = self.chance
        return topic_config(
            segment_bytes=chance.choice([260, 400, 400, 900]),
            index_interval_bytes=chance.choice([0, 60, 150]),
            segment_index_bytes=chance.choice([60, 200]),
            retention_bytes=chance.choice([-1, 1500]),
            flush_messages=chance.choice([1, 4, 1 << 40, 1 << 40]),
            preallocate=chance.random() < 0.2,
            file_delete_delay_ms=1000,
        )

    # One life

    def _live(self) -> Fate:
        """Start, work, break; what becomes of what was not synced."""
        chance = self.chance
        self.manager: LogManager | None = None
        self.log: UnifiedLog | None = None
        fate = chance.choice(FATES)
        self._arm(while_starting=True)
        try:
            self._start()
            self._arm(while_starting=False)
            self._work(chance.randrange(5, 45))
        except PowerCut:
            self._say(f"power cut: {fate.value}")
        except KafkaStorageError as error:
            assert self.disk.has_failed, error
            fate = chance.choice([fate, Fate.KEPT])
            self._say(f"disk failed: {error}; {fate.value}")
        else:
            self._say(f"the end: {fate.value}")
        return fate

    def _arm(self, *, while_starting: bool) -> None:
        chance, calls = self.chance, self.chance.randrange(1, 30 if while_starting else 120)
        kind = chance.random()
        if while_starting and kind < 0.6:
            self.disk.arm(chance)
        elif kind < 0.8:
            self.disk.arm(chance, cut_at=calls)
        else:
            self.disk.arm(chance, fail_at=calls, error=chance.choice([errno.EIO, errno.ENOSPC]))

    def _start(self) -> None:
        self.greenlets = Greenlets()
        self.clock = SimClock(wall_ms=T0 + self.number * 10)
        self.metrics = MetricsRegistry(self.clock)
        self.manager = LogManager(
            config=self._broker(),
            topic_config=lambda topic: self.config,
            clock=self.clock,
            metrics=self.metrics,
            on_log_dir_failure=self._log_dir_failed,
            disk=self.disk,
            pools=InlinePools(self.chance),
            chance=self.chance,
            helper_named=lambda name: ForgetfulHelper(self.disk),
        )
        self.manager.startup()
        self.log = self.manager.get_log(TP)
        if self.log is None:
            self.log = self.manager.get_or_create_log(TP, topic_id=TOPIC_ID, is_new=True)
            self.manager.wait_for_syncs()
        self._say(f"started: {self.log!r} recovery point {self.log.recovery_point}")
        self._check_recovered()
        self.answered_end = self.history.end
        self.epoch = max(self.epoch, self.log.latest_epoch, 0)

    def _check_recovered(self) -> None:
        """What must hold does; from here on that is the history."""
        log = self._log
        checks.check_recovered(log, self.history, self.required_end, self.chance)
        self.history.adopt(
            checks.batches_in(log),
            start=log.log_start_offset,
            end=log.log_end_offset,
            high_watermark=log.high_watermark,
            is_decided=not self.disk.has_past,
        )

    def _work(self, steps: int) -> None:
        for _ in range(steps):
            step: Callable[[], None] = self.chance.choices(self._steps, self._weights)[0]
            step()
            if self.disk.is_off:
                raise PowerCut
            self.answered_end = self.history.end
            assert self.log is not None
            if self.log.log_dir.is_offline:
                raise KafkaStorageError("offline in the background")

    def _end_life(self, fate: Fate) -> None:
        """The broker is gone; what the disk keeps is decided."""
        log, before = self.log, self.disk
        before.end()
        if log is not None:
            self.synced_end = log.recovery_point
        if fate is not Fate.KEPT:
            self.answered_end = min(self.answered_end, self.synced_end)
        self.required_end = min(self.answered_end if fate is Fate.KEPT else self.synced_end, self.history.end)
        if log is not None:
            self._say(f"left: {log!r} recovery point {log.recovery_point}, required up to {self.required_end}")
        self._leave()
        if fate is Fate.KEPT:
            self.disk = before.in_next_process()
        else:
            self.disk = before.after_power_cut(fate, self.chance)

    def _leave(self) -> None:
        assert self.manager is not None
        self.greenlets.end()
        for each in self.manager.all_logs():
            each.is_closed = True
            for segment in each.segments:
                segment.close_files()
        self.manager.release()

    def _log_dir_failed(self, path: str) -> None:
        """Called where the error is handled: the trace says which one it was and where it came from."""
        self._say(traceback.format_exc())

    def _say(self, text: str) -> None:
        self.trace.append(text)

    # What is done

    def _actions(self) -> dict[Callable[[], None], int]:
        return {
            self.produce: 30,
            self.replicate: 12,
            self.begin_epoch: 4,
            self.end_transaction: 4,
            self.truncate: 3,
            self.restart_elsewhere: 1,
            self.move_high_watermark: 8,
            self.checkpoint_high_watermark: 3,
            self.delete_records: 3,
            self.retain: 3,
            self.flush: 4,
            self.pass_time: 8,
            self.let_others: 12,
            self.read: 5,
            self.stop_and_start: 1,
        }

    def produce(self) -> None:
        chance = self.chance
        options: dict[str, object] = {}
        if chance.random() < 0.6:
            producer_id = chance.randrange(1, 4)
            producer = Producers.of(self.history.batches).known.get(producer_id)
            producer_epoch, sequence, is_open = 0, 0, False
            if producer is not None:
                producer_epoch, sequence, is_open = producer.epoch, producer.last_sequence + 1, producer.open_from >= 0
            transactional = is_open or (producer_id == 3 and chance.random() < 0.6)
            options = {"producer_id": producer_id, "epoch": producer_epoch, "sequence": sequence}
            options["transactional"] = transactional
        batch = self._batch(chance.randrange(1, 4), **options)
        told = self._told(batch, self.history.end)
        self._say(f"produce {told}")
        self.history.append(told)
        info = self._log.append_as_leader(batch, leader_epoch=self.epoch)
        assert (info.first_offset, info.last_offset) == (told.base_offset, told.last_offset)

    def end_transaction(self) -> None:
        open_ones = [
            (pid, each) for pid, each in Producers.of(self.history.batches).known.items() if each.open_from >= 0
        ]
        if not open_ones:
            return
        producer_id, producer = self.chance.choice(sorted(open_ones, key=lambda pair: pair[0]))
        kind = self.chance.choice([ControlType.ABORT, ControlType.COMMIT])
        marker = build_marker(
            EndTransactionMarker(kind, 0),
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            timestamp_ms=self._timestamp(),
        )
        told = self._told(memoryview(marker), self.history.end)._replace(
            marker="abort" if kind is ControlType.ABORT else "commit"
        )
        self._say(f"end transaction {told}")
        self.history.append(told)
        self._log.append_as_leader(memoryview(marker), leader_epoch=self.epoch, origin=Origin.COORDINATOR)

    def replicate(self) -> None:
        data, offset = b"", self.history.end
        for _ in range(self.chance.randrange(1, 4)):
            if self.chance.random() < 0.2:
                self.epoch += 1
            count = self.chance.randrange(1, 3)
            batch = self._batch(count)
            # As its leader sent it: neither is under the crc.
            batch[:8], batch[12:16] = offset.to_bytes(8), self.epoch.to_bytes(4)
            if len(data) + len(batch) > self.config.segment_bytes:
                break
            told = self._told(batch, offset)
            self._say(f"replicate {told}")
            self.history.append(told)
            data += bytes(batch)
            offset += count
        if data:
            self._log.append_as_follower(memoryview(bytearray(data)))

    def begin_epoch(self) -> None:
        self.epoch += 1
        self._say(f"epoch {self.epoch}")
        self._log.assign_epoch_start(self.epoch, self._log.log_end_offset)

    def truncate(self) -> None:
        log = self._log
        lowest = log.log_start_offset if self.chance.random() < 0.3 else log.high_watermark
        # Replicas agree on where batches end: a truncation never cuts one in two.
        ends = [each.last_offset + 1 for each in self.history.batches[-8:] if each.last_offset >= lowest]
        offset = self.chance.choice([log.log_end_offset, *ends])
        self._say(f"truncate to {offset}")
        if offset < log.log_end_offset:
            self.history.truncate_to(offset)
        log.truncate_to(offset)
        self.epoch += 1

    def restart_elsewhere(self) -> None:
        offset = self.history.end + self.chance.randrange(5)
        self._say(f"truncate fully, start at {offset}")
        self.history.restart_at(offset)
        self._log.truncate_fully_and_start_at(offset)
        self.history.high_watermark_ceiling = max(self.history.high_watermark_ceiling, offset)

    def move_high_watermark(self) -> None:
        offset = self.chance.randint(self._log.high_watermark, self._log.log_end_offset)
        self._log.update_high_watermark(offset)
        self.history.high_watermark_ceiling = max(self.history.high_watermark_ceiling, offset)

    def checkpoint_high_watermark(self) -> None:
        offset, history = self._log.high_watermark, self.history
        self._say(f"checkpoint high watermark {offset}")
        history.checkpointed_high_watermark = max(history.checkpointed_high_watermark, offset)
        self._manager.write_high_watermarks({TP: offset})
        if not self.disk.is_off and not self.disk.has_failed:
            history.checkpointed_high_watermark = history.high_watermark_ceiling = offset

    def delete_records(self) -> None:
        log = self._log
        offset = self.chance.randint(log.log_start_offset, log.high_watermark)
        self._say(f"log start {offset}")
        self.history.start = max(self.history.start, offset)
        log.increment_log_start_offset(offset)

    def retain(self) -> None:
        self._say("retention")
        before = self.history.start
        self.history.start = 1 << 62
        self._log.delete_old_segments(self.clock.wall_ms())
        self.history.start = max(before, self._log.log_start_offset)

    def flush(self) -> None:
        self._say(f"flush up to {self._log.log_end_offset}")
        self._log.flush()

    def pass_time(self) -> None:
        passed_ms = self.chance.choice([100, 1000, 5000, 61_000])
        self._say(f"{passed_ms} ms pass")
        before = self.history.start
        self.history.start = 1 << 62
        self.clock.advance(passed_ms)
        if not self._log.log_dir.is_offline:  # Else retention was broken off, and nobody knows how far it came.
            self.history.start = max(before, self._log.log_start_offset)

    def let_others(self) -> None:
        gevent.sleep(0)

    def read(self) -> None:
        checks.check_reads(self._log, self.history.batches, self.chance)
        checks.check_times(self._log, self.history.batches, self.chance)
        checks.check_times(self._log, self.history.batches, self.chance)

    def stop_and_start(self) -> None:
        self._say("clean stop")
        self.required_end = self.history.end
        self.history.checkpointed_high_watermark = max(
            self.history.checkpointed_high_watermark, self._log.high_watermark
        )
        self._manager.shutdown()
        if self.disk.is_off:
            raise PowerCut
        if not self.disk.has_failed:
            self.history.checkpointed_high_watermark = self._log.high_watermark
            assert not self.disk.open_descriptors, "a clean stop leaves no file open"
        self._leave()
        self._start()

    # Words

    @property
    def _log(self) -> UnifiedLog:
        assert self.log is not None
        return self.log

    @property
    def _manager(self) -> LogManager:
        assert self.manager is not None
        return self.manager

    def _timestamp(self) -> int:
        self.number += 1
        return T0 + self.number * 10 + self.chance.randint(-30, 30)

    def _batch(self, count: int, **options: object) -> memoryview:
        texts = [f"{self.number}.{index}" * self.chance.choice([1, 1, 6]) for index in range(count)]
        return produced(*texts, timestamp=self._timestamp(), codec=self.chance.choice(CODECS), **options)

    def _told(self, batch: memoryview, base_offset: int) -> Told:
        return checks.told(read_header(batch, 0))._replace(
            base_offset=base_offset,
            last_offset=base_offset + read_header(batch, 0).last_offset_delta,
            leader_epoch=self.epoch,
        )
