"""The cleaner in a log manager, with its helper process: what it takes up, what it leaves, what it survives."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import gevent
import pytest

from kafka_zk.clock import SimClock, SystemClock
from kafka_zk.config.topic import LogConfig
from kafka_zk.log.cleaner import states
from kafka_zk.log.cleaner.cleaner_thread import CleanerThread
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, encode_offsets, read_offsets
from kafka_zk.log.helper import process
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from tests.unit.log.cleaner.given import HereAndNow, interrupted
from tests.unit.log.given import all_records, manager_on, produced, topic_config

TP = TopicPartition("compacted", 0)
OTHER = TopicPartition("other", 0)
COMPACT = topic_config(cleanup_policy="compact", segment_bytes=500, min_cleanable_dirty_ratio="0.1")
SOON = {"log.cleaner.backoff.ms": "20", "log.cleaner.dedupe.buffer.size": str(4 << 20)}
PATIENCE_S = 20
STOP_S = 5
"""How long a stop may take that waits for nothing, on a machine that has much to do."""


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

    def log(self, topic_partition: TopicPartition = TP) -> UnifiedLog:
        return self.manager.get_or_create_log(topic_partition, topic_id=NULL_UUID, is_new=True)

    def checkpoint(self, topic_partition: TopicPartition = TP) -> int | None:
        """None also while the file cannot be read."""
        with suppress(MalformedCheckpoint):
            return read_offsets(self.path / names.CLEANER_OFFSETS).get(topic_partition)
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
    log.roll()
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
        bad.roll()
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


def test_the_bytes_of_a_log_that_cannot_be_looked_at_are_shown(house: House) -> None:
    """Its times cannot be read, of which min.compaction.lag.ms makes segments wait."""
    house.configs[TP.topic] = topic_config(cleanup_policy="compact", segment_bytes=500, min_compaction_lag_ms=1)
    log = house.log()
    given_updates(log)
    path, size_bytes = log.segments.first.file.path, log.size_bytes - log.active.size_bytes
    house.manager.shutdown()
    data = bytearray(path.read_bytes())
    data[8:12] = b"\xff" * 4
    path.write_bytes(data)
    for index in path.with_suffix(names.TIME_INDEX), path.with_suffix(names.OFFSET_INDEX):
        index.write_bytes(b"")
    house.start()
    eventually(lambda: house.gauge("uncleanable-partitions-count") == [1], "it gave up on it")
    assert house.gauge("uncleanable-bytes") == [size_bytes]


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


def test_a_truncation_in_the_middle_of_a_cleaning_ends_it_and_takes_the_checkpoint_back(house: House) -> None:
    log = house.log()
    given_updates(log)
    eventually(lambda: house.checkpoint() == 60, "the log is clean")
    seen: list[int | None] = []

    def interrupt() -> None:
        log.truncate_to(58)
        seen.append(house.checkpoint())
        assert not log.segments.active.base_offset > 58

    interrupted(house.manager, interrupt)
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

    interrupted(house.manager, interrupt)
    given_updates(log)
    eventually(lambda: gone, "deleted")
    again = house.log()
    given_updates(again)
    eventually(lambda: house.checkpoint() == 60, "the new one is clean")
    assert not list(gone[0].glob("*.cleaned"))
    assert house.gauge("uncleanable-partitions-count") == [0]
    assert not house.manager.offline_log_dirs()


class Resting:
    """A manager whose cleaner rests for its limit's sake, in the middle of rewriting a log; by its clock for ever."""

    def __init__(self, path: Path) -> None:
        self.clock = SimClock()
        limit = {"log.cleaner.io.max.bytes.per.second": "1"}
        self.manager = manager_on(path, configs={TP.topic: COMPACT}, clock=self.clock, properties=limit)
        self.manager.startup()
        cleaner = self.manager._cleaner
        assert cleaner is not None
        self._throttle, self._states = cleaner._throttle, cleaner._states
        self.log = self.manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True)
        given_updates(self.log)
        self.clock.advance(15_000)
        eventually(self._is_in_the_middle, "it rests")

    @property
    def has_log(self) -> bool:
        return self.log in self._states._in_hand

    def unfinished(self) -> list[Path]:
        return [path for path in self.log.directory.glob("*.*") if path.suffix in (".cleaned", ".swap")]

    def to_the_end(self) -> None:
        """No rest lasts any longer."""

        def is_over() -> bool:
            if self._left_ms > 0:
                self.clock.advance(self._left_ms)
            return not self.has_log

        eventually(is_over, "the cleaning is over")

    @property
    def _left_ms(self) -> int:
        return self._throttle._began_ms - self.clock.monotonic_ms()

    def _is_in_the_middle(self) -> bool:
        if self._left_ms > 0 and not self.unfinished():
            self.clock.advance(self._left_ms + 1000)
            return False
        return self._left_ms > 0


@pytest.fixture
def resting(tmp_path: Path) -> Iterator[Resting]:
    made = Resting(tmp_path / "data")
    yield made
    made.manager.shutdown()


def test_a_stop_waits_for_no_throttle_and_leaves_nothing_of_the_cleaning(resting: Resting, tmp_path: Path) -> None:
    wanted = values(resting.log)
    gevent.spawn(resting.manager.shutdown).get(timeout=STOP_S)
    assert not resting.unfinished()
    again = manager_on(tmp_path / "data", configs={TP.topic: COMPACT})
    again.startup()
    (loaded,) = again.all_logs()
    assert values(loaded) == wanted
    again.shutdown()


def is_well(resting: Resting) -> bool:
    """The cleaning has ended, and nothing is wrong with the log or its directory."""
    resting.to_the_end()
    states = resting._states
    return not (resting.manager.offline_log_dirs() or states._uncleanable or resting.unfinished())


def test_a_deletion_while_the_cleaner_rests_is_no_error_of_the_disk(resting: Resting) -> None:
    resting.manager.delete_log(TP)
    assert is_well(resting)


def test_a_log_that_is_made_anew_while_the_cleaner_rests_keeps_what_it_has(resting: Resting) -> None:
    resting.manager.delete_log(TP)
    again = resting.manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True)
    given_updates(again, 30, key_count=30)
    assert is_well(resting)
    assert len(all_records(again)) == 30


def test_a_truncation_while_the_cleaner_rests_is_no_error_of_the_disk(resting: Resting) -> None:
    resting.log.truncate_to(0)
    assert is_well(resting)


LET_GO = topic_config(segment_bytes=500, retention_bytes=600)


def test_retention_waits_for_the_end_of_a_cleaning_when_the_policy_becomes_another(resting: Resting) -> None:
    manager, log = resting.manager, resting.log
    manager.update_topic_config(TP.topic, LET_GO)
    manager.clean_up_logs()
    assert log.log_start_offset == 0
    assert is_well(resting)
    manager.clean_up_logs()
    assert log.log_start_offset > 0
    assert not resting.manager.offline_log_dirs()


def test_a_policy_that_is_another_for_a_moment_takes_no_segment_from_the_cleaner(resting: Resting) -> None:
    manager, log = resting.manager, resting.log
    wanted = values(log)
    manager.update_topic_config(TP.topic, LET_GO)
    manager.clean_up_logs()
    manager.update_topic_config(TP.topic, COMPACT)
    assert is_well(resting)
    assert values(log) == wanted
    assert len(all_records(log)) == 3


def test_the_cleaner_takes_no_log_that_retention_is_at(tmp_path: Path) -> None:
    """Which chose what shall go, and waits for a flush, while the policy becomes compact."""
    clock, configs = SimClock(), {TP.topic: LET_GO}
    manager = manager_on(tmp_path / "data", configs=configs, clock=clock)
    manager.startup()
    assert manager._cleaner is not None
    cleaner_states = manager._cleaner._states
    log = manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True)
    given_updates(log)
    with log.turn:
        retaining = gevent.spawn(manager.clean_up_logs)
        eventually(lambda: log.turn._waiting, "retention is about to choose")
        manager.update_topic_config(TP.topic, COMPACT)
        assert cleaner_states.take_filthiest() is None
    retaining.join()
    taken = cleaner_states.take_filthiest()
    assert taken is not None and taken.log is log
    manager.shutdown()


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[LogManager]:
    """With a dirty log, and a cleaner that does nothing by itself: by its clock no time passes."""
    manager = manager_on(tmp_path / "data", configs={TP.topic: COMPACT}, clock=SimClock())
    manager.startup()
    given_updates(manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True))
    yield manager
    manager.shutdown()


def thread_of(manager: LogManager) -> CleanerThread:
    assert manager._cleaner is not None
    return manager._cleaner._threads[0]


def truncate_and_grow(log: UnifiedLog) -> None:
    """As a follower of a leader that was elected uncleanly: what comes behind offset 20 is not committed."""
    log.truncate_to(20)
    for number in range(20, 80):
        log.append_as_leader(produced(f"new{number}", keys=[b"k%d" % (number % 3)]), leader_epoch=1)


def test_a_log_that_is_truncated_while_others_are_looked_at_is_not_chosen(
    idle: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    (log,) = idle.all_logs()

    def in_rounds(logs: list[UnifiedLog], count: int) -> Iterator[UnifiedLog]:
        yield from logs
        if count == states.LOGS_PER_ROUND:
            truncate_and_grow(log)

    monkeypatch.setattr(states, "in_rounds", in_rounds)
    assert thread_of(idle)._states.take_filthiest() is None


def test_a_log_that_is_truncated_before_its_cleaning_begins_keeps_what_is_committed(
    idle: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    (log,), thread = idle.all_logs(), thread_of(idle)
    monkeypatch.setattr(thread, "_helper", HereAndNow())
    chosen = thread._states.take_filthiest()
    assert chosen is not None
    truncate_and_grow(log)
    thread._clean(chosen)
    log.truncate_to(20)
    assert values(log) == {b"k0": b"v18", b"k1": b"v19", b"k2": b"v17"}


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
    house.log()
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


def test_while_no_process_can_be_started_logs_are_tried_again_and_none_is_given_up(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object, **more: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(process.subprocess, "Popen", refused)
        logs = [house.log(), house.log(OTHER)]
        for log in logs:
            given_updates(log)
        eventually(lambda: caplog.text.count("cannot be started") > 3, "it tries again and again")
        assert house.gauge("uncleanable-partitions-count") == [0]
    eventually(lambda: all(len(all_records(log)) < 10 for log in logs), "both are cleaned")
