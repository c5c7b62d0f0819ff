"""Lives of a log without compaction: what is done to it, as a leader and as a follower, drawn from the seed."""

from __future__ import annotations

from collections.abc import Callable

import gevent

from kafka_zk.log.retention import delete_old_segments
from kafka_zk.record.batch import read_header
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.crash import checks
from tests.crash.forgetful_disk import PowerCut
from tests.crash.history import Producers, Told
from tests.crash.life import Life
from tests.unit.log.given import T0, produced

CODECS = (Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)


class Run(Life):
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
                producer_epoch, is_open = producer.epoch, producer.open_from >= 0
                sequence = 0 if self._is_forgotten(producer_id) else producer.last_sequence + 1
            transactional = is_open or (producer_id == 3 and chance.random() < 0.6)
            options = {"producer_id": producer_id, "epoch": producer_epoch, "sequence": sequence}
            options["transactional"] = transactional
        batch = self._batch(chance.randrange(1, 4), **options)
        told = self._told(batch, self.history.end)
        self._say(f"produce {told}")
        self.history.append(told)
        info = self._log.append_as_leader(batch, leader_epoch=self.epoch)
        assert (info.first_offset, info.last_offset) == (told.base_offset, told.last_offset)

    def _is_forgotten(self, producer_id: int) -> bool:
        """Whether all the producer sent was deleted before a start, and a marker is all that is known since.

        As in Kafka, it is refused then unless it begins anew.
        """
        known = self._log.producers.state.producers.get(producer_id)
        start = self._log.log_start_offset
        sent = (each for each in self.history.batches if each.producer_id == producer_id and not each.marker)
        return known is not None and not known.batches and all(each.last_offset < start for each in sent)

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
        self._manager.write_high_watermarks()
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
        delete_old_segments(self._log, self.clock.wall_ms())
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
