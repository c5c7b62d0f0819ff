"""The cleaner in a log manager, with its helper process: what it takes up, what it leaves, what it survives."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import gevent
import pytest

from kafka_zk.clock import SystemClock
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.append import rolling
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, encode_offsets, read_offsets
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from tests.unit.log.cleaner.given import HereAndNow
from tests.unit.log.given import all_records, manager_on, produced, topic_config

TP = TopicPartition("compacted", 0)
OTHER = TopicPartition("other", 0)
COMPACT = topic_config(cleanup_policy="compact", segment_bytes=500, min_cleanable_dirty_ratio="0.1")
SOON = {"log.cleaner.backoff.ms": "20", "log.cleaner.dedupe.buffer.size": str(4 << 20)}
PATIENCE_S = 20


def eventually(holds: Callable[[], object], what: str) -> None:
    with gevent.Timeout(PATIENCE_S, AssertionError(f"never: {what}")):
        while not holds():
            gevent.sleep(0.01)


class House:
    """A log manager with a cleaner that does not wait long."""

    def __init__(self, path: Path) -> None:
        self.path = path / "data"
        self.configs = {TP.topic: COMPACT, OTHER.topic: COMPACT}
        self.start()

    def start(self, **properties: str) -> None:
        self.clock = SystemClock()
        self.metrics = MetricsRegistry(self.clock)
        more = {key.replace("_", "."): value for key, value in properties.items()}
        self.manager: LogManager = manager_on(
            self.path, configs=self.configs, clock=self.clock, properties={**SOON, **more}, metrics=self.metrics
        )
        self.manager.startup()

    def log(self, tp: TopicPartition = TP) -> UnifiedLog:
        return self.manager.get_or_create_log(tp, topic_id=NULL_UUID, is_new=True)

    def checkpoint(self, tp: TopicPartition = TP) -> int | None:
        """None also while the file cannot be read."""
        with suppress(MalformedCheckpoint):
            return read_offsets(self.path / names.CLEANER_OFFSETS).get(tp)
        return None

    def gauge(self, name: str) -> object:
        return [metric.attributes()["Value"] for bean, metric in self.metrics.metrics() if bean.name == name]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path)
    yield built
    built.manager.shutdown()


def given_updates(log: UnifiedLog, count: int = 60, *, key_count: int = 3) -> None:
    """So many records over so few keys, in several segments, all of them below the high watermark."""
    for number in range(count):
        log.append_as_leader(produced(f"v{number}", keys=[b"k%d" % (number % key_count)]), leader_epoch=0)
    rolling.roll(log)
    log.update_high_watermark(log.log_end_offset)


def values(log: UnifiedLog) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in all_records(log)}


def test_a_log_under_updates_shrinks_to_one_record_a_key(house: House) -> None:
    log = house.log()
    given_updates(log)
    wanted = values(log)
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    assert values(log) == wanted
    assert len(all_records(log)) == 3
    assert log.log_end_offset == 60
    assert house.gauge("DeadThreadCount") == [0]
    eventually(lambda: house.gauge("max-dirty-percent") == [0], "and is seen to be clean")
    assert house.gauge("uncleanable-partitions-count") == [0]


def test_what_was_cleaned_stays_so_over_a_restart(house: House) -> None:
    given_updates(house.log())
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    house.manager.shutdown()
    house.start()
    assert len(all_records(house.log())) == 3
    assert house.checkpoint() == 60


def test_bad_bytes_make_one_partition_uncleanable_until_the_next_start(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    bad = house.log()
    for number in range(60):
        bad.append_as_leader(produced(f"v{number}", keys=[b"k"]), leader_epoch=0)
    path = bad.segments.first.file.path
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x55
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING, "kafka.log.LogCleaner"):
        rolling.roll(bad)
        bad.update_high_watermark(bad.log_end_offset)
        eventually(lambda: house.gauge("uncleanable-partitions-count") == [1], "it gave up on the bad one")
    assert f"Marking its partition ({TP}) as uncleanable" in caplog.text
    assert house.gauge("uncleanable-bytes") != [0]
    assert path.read_bytes() == data
    assert not list(path.parent.glob("*.cleaned"))
    other = house.log(OTHER)
    given_updates(other)
    eventually(lambda: house.checkpoint(OTHER) == 60, "the other one is clean")
    assert house.gauge("DeadThreadCount") == [0]
    house.manager.delete_log(TP)
    eventually(lambda: house.gauge("uncleanable-partitions-count") == [0], "a deleted log is nobody's trouble")


def test_the_policy_decides_and_may_change(house: House) -> None:
    house.configs[TP.topic] = topic_config(segment_bytes=500)
    log, other = house.log(), house.log(OTHER)
    given_updates(log)
    given_updates(other)
    eventually(lambda: house.checkpoint(OTHER) == 60, "the other one is clean")
    assert len(all_records(log)) == 60
    house.manager.update_topic_config(TP.topic, COMPACT)
    eventually(lambda: house.checkpoint() == 60, "compacted from now on")


def test_compact_and_delete_also_lets_old_segments_go(house: House) -> None:
    both = topic_config(
        cleanup_policy="compact,delete", segment_bytes=500, min_cleanable_dirty_ratio="1", retention_bytes=600
    )
    house.configs[TP.topic] = both
    log = house.log()
    given_updates(log)
    eventually(lambda: log.log_start_offset > 0, "the oldest segments go")
    assert log.segments.size_bytes <= 600 + 500
    assert house.checkpoint() is None


def test_what_lies_below_the_log_start_goes_without_the_policy_delete(house: House) -> None:
    house.manager.update_topic_config(TP.topic, COMPACT)
    log = house.log()
    house.manager.update_topic_config(
        TP.topic, topic_config(cleanup_policy="compact", segment_bytes=500, min_cleanable_dirty_ratio="1")
    )
    given_updates(log)
    second = list(log.segments)[1].base_offset
    log.increment_log_start_offset(second)
    eventually(lambda: log.segments.first.base_offset == second, "the first segment goes")


def test_a_truncation_takes_the_checkpoint_back(house: House) -> None:
    log = house.log()
    given_updates(log)
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    log.truncate_to(58)
    checkpoint = house.checkpoint()
    # The log start, if a cleaner looked while the log was shorter than the checkpoint.
    assert checkpoint in (0, log.segments.active.base_offset)
    assert log.segments.active.base_offset < 58
    log.truncate_fully_and_start_at(7)
    # From the log start that a cleaner put there it takes its next look to come up to the new one.
    eventually(lambda: house.checkpoint() == 7, "the checkpoint is where the log begins")


class Interrupted:
    """A helper that does something to the log in the middle of its cleaning, once."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self.interrupt: Callable[[], None] | None = interrupt

    def call(self, task: Callable[..., Any], *arguments: Any) -> Any:
        if task.__name__ == "filter_stretch" and self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            interrupt()
        return HereAndNow().call(task, *arguments)

    def stop(self) -> None:
        """There is no process."""


def interrupted(house: House, interrupt: Callable[[], None]) -> None:
    cleaner = house.manager._cleaner
    assert cleaner is not None
    cleaner._threads[0]._helper = Interrupted(interrupt)  # type: ignore[assignment]


def test_a_truncation_in_the_middle_of_a_cleaning_ends_it_and_takes_the_checkpoint_back(house: House) -> None:
    log = house.log()
    given_updates(log)
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    seen: list[int | None] = []

    def interrupt() -> None:
        log.truncate_to(58)
        seen.append(house.checkpoint())
        assert not log.segments.active.base_offset > 58

    interrupted(house, interrupt)
    given_updates(log)
    eventually(lambda: seen and house.checkpoint() == log.segments.active.base_offset, "clean again, up to its end")
    assert seen[0] is not None
    assert seen[0] < 60
    assert not list(log.directory.glob("*.cleaned"))
    assert house.gauge("uncleanable-partitions-count") == [0]


def test_a_deletion_in_the_middle_of_a_cleaning_waits_for_nothing(house: House) -> None:
    log = house.log()
    gone: list[Path] = []

    def interrupt() -> None:
        house.manager.delete_log(TP)
        gone.append(log.directory)

    interrupted(house, interrupt)
    given_updates(log)
    eventually(lambda: gone, "deleted")
    again = house.log()
    given_updates(again)
    eventually(lambda: house.checkpoint() == 60, "the new one is clean")
    assert not list(gone[0].glob("*.cleaned"))
    assert house.gauge("uncleanable-partitions-count") == [0]
    assert not house.manager.offline_log_dirs()


def test_a_deleted_log_leaves_the_checkpoint(house: House) -> None:
    given_updates(house.log())
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    house.manager.delete_log(TP)
    eventually(lambda: house.checkpoint() is None, "it is forgotten")
    again = house.log()
    given_updates(again, 30)
    eventually(lambda: house.checkpoint() == 30, "the new log of the same name is cleaned from its start")


@pytest.mark.parametrize("written", [b"0\n1\ncompacted 0 1000\n", b"0\n1\nwhat is this\n", b""])
def test_a_checkpoint_that_cannot_be_right_begins_at_the_log_start(house: House, written: bytes) -> None:
    given_updates(house.log())
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    house.manager.shutdown()
    (house.path / names.CLEANER_OFFSETS).write_bytes(written)
    house.start()
    log = house.log()
    given_updates(log)
    eventually(lambda: house.checkpoint() == 120, "cleaned to its end")
    assert len(all_records(log)) == 3


def test_without_a_cleaner_nothing_is_cleaned_and_nothing_shown(house: House) -> None:
    house.manager.shutdown()
    (house.path / names.CLEANER_OFFSETS).write_bytes(encode_offsets({TP: 7}))
    house.start(log_cleaner_enable="false")
    given_updates(house.log())
    house.manager.clean_up_logs()
    assert len(all_records(house.log())) == 60
    assert house.checkpoint() == 7
    assert house.gauge("DeadThreadCount") == []


def test_a_helper_that_dies_costs_a_retry_and_nothing_else(house: House) -> None:
    """Killed again and again while logs are cleaned: a call is made once more, a cleaning is begun once more."""
    cleaner = house.manager._cleaner
    assert cleaner is not None
    stopped = False

    def kill_helpers() -> None:
        while not stopped:
            for thread in cleaner._threads:
                running = thread._helper._running
                if running is not None:
                    running.process.kill()
            gevent.sleep(0.5)

    killer = gevent.spawn(kill_helpers)
    log = house.log()
    given_updates(log, 300, key_count=10)
    wanted = values(log)
    eventually(lambda: house.checkpoint() == 300 or house.gauge("uncleanable-partitions-count") == [1], "an outcome")
    stopped = True
    killer.join()
    assert values(log) == wanted


def test_readers_go_on_while_their_segment_is_replaced(house: House) -> None:
    log: UnifiedLog = house.log()
    config: LogConfig = log.config
    assert config.compact
    given_updates(log)
    result = log.read(0, max_bytes=1 << 20, up_to=60, min_one=True)
    before = b"".join(piece.read() for piece in result.slices)
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    assert b"".join(piece.read() for piece in result.slices) == before
    assert all(piece.is_intact for piece in result.slices)
    for piece in result.slices:
        piece.release()
