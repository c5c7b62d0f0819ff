"""A log directory fails while a fetcher waits for who met the error: orders go on, and the controller hears of it."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from kafka_zk.log.files.disk import Disk
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import ErrorCode, KafkaStorageError
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.control_requests import ReplicaStop
from kafka_zk.replication.leadership import EPOCH_DURING_DELETE

from .broker import Broker, topic_id
from .test_following import FOLLOWER, LEADER, Pair, end_of, eventually
from .test_leadership import stop

T = TopicPartition("t", 0)
SEGMENT_BYTES = 1024


class FailingDisk(Disk):
    """One call, by name and a word of its path, meets a broken disk once the test lets it, or one that is only slow."""

    def __init__(self) -> None:
        self.call, self.word = "", ""
        self.is_met = self.may_fail = False
        self.is_broken = True
        self._loop_thread = threading.get_ident()

    def fail(self, call: str, word: str) -> None:
        self.call, self.word = call, word

    def open(self, path: Any, *how: Any) -> int:  # type: ignore[override]
        self._meet("open", str(path))
        return os.open(path, *how)

    def rename(self, before: Any, after: Any) -> None:  # type: ignore[override]
        self._meet("rename", str(after))
        os.rename(before, after)

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        self._meet("pwrite", os.readlink(f"/proc/self/fd/{descriptor}"))
        return os.pwrite(descriptor, data, position)

    def fsync(self, descriptor: int) -> None:  # type: ignore[override]
        self._meet("fsync", os.readlink(f"/proc/self/fd/{descriptor}"))
        os.fsync(descriptor)

    def _meet(self, call: str, path: str) -> None:
        if call == self.call and self.word in path:
            self.is_met = True
            # As if everybody else came at just this moment.
            while not self.may_fail:
                (gevent.sleep if threading.get_ident() == self._loop_thread else time.sleep)(0.001)
            if not self.is_broken:
                return
            raise OSError(errno.EIO, "Input/output error")


class Failing(Pair):
    """The follower has t in the directory a, which fails, and u in b."""

    def __init__(self, path: Path) -> None:
        self.disk = FailingDisk()
        self.first, self.second = path / "2" / "a", path / "2" / "b"
        super().__init__(path)
        self.follower.close()
        self.follower = Broker(
            path / "2",
            {"replica.fetch.backoff.ms": "1", "log.dirs": f"{self.first},{self.second}"},
            {"segment.bytes": str(SEGMENT_BYTES), "retention.ms": "1"},
            broker_id=FOLLOWER,
            connect=self._connect,
            disk=self.disk,
        )
        for broker in (self.leader, self.follower):
            broker.update_metadata({"t": {0: LEADER}, "u": {0: LEADER}}, alive=(1, 2))
            for topic in ("t", "u"):
                assert broker.order(topic, replicas=(1, 2), leader=LEADER) == ErrorCode.NONE
        assert self.log.log_dir.path == self.first
        for _ in range(3):
            self.leader.produce(1, size_bytes=SEGMENT_BYTES // 2)
            eventually(self, lambda: self.followed.high_watermark == end_of(self.led))

    @property
    def log(self) -> UnifiedLog:
        log = self.follower.log_manager.get_log(T)
        assert log is not None
        return log

    def produce(self) -> None:
        """More for the fetcher, which takes its turn and then waits for the log's, where that is taken."""
        end = self.log.log_end_offset
        fetcher = self.follower.manager.fetchers._fetchers[LEADER, 0]
        self.leader.produce(1)
        eventually(
            self, lambda: bool(self.log.turn._waiting) or self.log.log_end_offset > end or T not in fetcher._followed
        )

    def checkpoint(self) -> None:
        self.follower.manager.checkpoint_high_watermarks()

    def read(self) -> None:
        # A flush of it, in a thread, may be under way.
        eventually(self, lambda: self.log.segments.first.close_if_idle())
        self.log.read(0, max_bytes=100, up_to=3, min_one=True)

    def move(self) -> None:
        def unite(before: UnifiedLog, now: UnifiedLog) -> bool:
            now.truncate_fully_and_start_at(before.log_end_offset)
            return True

        self.follower.log_manager.future.create(T, str(self.second))
        self.follower.manager.leadership.put_in_place(T, unite)


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Failing]:
    made = Failing(tmp_path)
    yield made
    made.disk.may_fail = True
    made.close()


def far_future(failing: Failing) -> int:
    return failing.follower.clock.wall_ms() + 10**9


CASES: dict[str, tuple[str, str, Callable[[Failing], object]]] = {
    "retention": ("rename", ".deleted", lambda failing: delete_old_segments(failing.log, far_future(failing))),
    "flush": ("fsync", ".log", lambda failing: failing.log.flush()),
    "truncation": ("fsync", "a/t-0", lambda failing: failing.log.truncate_to(1)),
    "append": ("pwrite", "/t-0/", lambda failing: failing.leader.produce(1)),
    "roll": ("open", "/t-0/", lambda failing: failing.leader.produce(1, size_bytes=SEGMENT_BYTES // 2)),
    "fetch": ("open", "0.log", Failing.read),
    "checkpoint": (
        "rename",
        "a/replication-offset",
        lambda failing: failing.follower.manager.checkpoint_high_watermarks(),
    ),
    "move": ("rename", "-delete", Failing.move),
}


@pytest.mark.parametrize("case", CASES)
def test_orders_go_on_and_the_controller_is_told(case: str, failing: Failing, monkeypatch: pytest.MonkeyPatch) -> None:
    call, word, work = CASES[case]
    follower, disk = failing.follower, failing.disk
    log = failing.log
    disk.fail(call, word)
    worker = gevent.spawn(work, failing)
    eventually(failing, lambda: disk.is_met)
    if case not in ("append", "roll"):  # There it is the fetcher itself that meets the error.
        failing.produce()
    disk.may_fail = True
    with gevent.Timeout(30):
        gevent.joinall([worker])
        eventually(failing, lambda: follower.failed_dirs == [str(failing.first)])
        assert log.log_dir.is_offline
        follower.update_metadata({"v": {0: FOLLOWER}}, alive=(1, 2))
        assert (
            follower.order("t", replicas=(1, 2), leader=LEADER, epoch=1, partition_epoch=1)
            == ErrorCode.KAFKA_STORAGE_ERROR
        )
        assert follower.order("u", replicas=(1, 2), leader=FOLLOWER, epoch=1, partition_epoch=1) == ErrorCode.NONE
        assert stop(follower, epoch=1, delete=False) == ErrorCode.KAFKA_STORAGE_ERROR
    assert worker.successful() or isinstance(worker.exception, KafkaStorageError)
    assert T not in [
        partition.topic_partition
        for each in follower.manager.fetchers._fetchers.values()
        for partition in each.followed
    ]


def test_two_directories_fail_at_once(failing: Failing) -> None:
    follower = failing.follower
    fetcher = follower.manager.fetchers._fetchers[LEADER, 0]
    logs = [follower.partition(topic).log for topic in ("t", "u")]

    def fail(log: UnifiedLog) -> None:
        with log.turn:
            failing.leader.produce(1, topic=log.topic_partition.topic)
            eventually(failing, lambda: bool(log.turn._waiting) or not fetcher.followed)
            log.log_dir.fail("A disk failed", OSError(errno.EIO, "Input/output error"))

    assert logs[0] is not None and logs[1] is not None
    with gevent.Timeout(30):
        gevent.joinall([gevent.spawn(fail, logs[0]), gevent.spawn(fail, logs[1])], raise_error=True)
        eventually(failing, lambda: fetcher.is_idle)
    assert sorted(follower.failed_dirs) == [str(failing.first), str(failing.second)]


def order_both(broker: Broker, *, leader: int) -> dict[str, int]:
    """One LeaderAndIsr for t, whose directory fails, and u; their codes."""
    states = [
        LeaderAndIsrTopicState(
            topic_name=name,
            topic_id=topic_id(name),
            partition_states=[
                LeaderAndIsrPartitionState(
                    controller_epoch=1, leader=leader, leader_epoch=1, isr=[1, 2], partition_epoch=1, replicas=[1, 2]
                )
            ],
        )
        for name in ("t", "u")
    ]
    request = LeaderAndIsrRequest(controller_id=1, controller_epoch=1, broker_epoch=77, topic_states=states)
    names = {topic_id(name): name for name in ("t", "u")}
    answer = broker.call(request, 7)
    return {names[topic.topic_id]: topic.partition_errors[0].error_code for topic in answer.topics}


def listening(broker: Broker) -> list[tuple[list[str], list[str]]]:
    """What listeners hear from now on, behind one that fails."""
    heard: list[tuple[list[str], list[str]]] = []

    def fail(*_: object) -> None:
        raise RuntimeError("a listener failed")

    broker.manager.on_leadership_change(fail)
    broker.manager.on_leadership_change(
        lambda led, followed: heard.append(
            ([each.topic_partition.topic for each in led], [each.topic_partition.topic for each in followed])
        )
    )
    return heard


CODES = {"t": ErrorCode.KAFKA_STORAGE_ERROR, "u": ErrorCode.NONE}


def test_where_one_cannot_be_led_the_others_are_and_their_coordinators_hear_of_it(failing: Failing) -> None:
    heard = listening(failing.follower)
    failing.disk.may_fail = True
    failing.disk.fail("open", "a/t-0/leader-epoch")
    assert order_both(failing.follower, leader=FOLLOWER) == CODES
    assert failing.follower.partition("u").is_leader
    assert heard == [(["u"], [])]
    assert failing.follower.failed_dirs == [str(failing.first)]


def test_where_one_cannot_be_followed_the_others_are(failing: Failing) -> None:
    heard = listening(failing.follower)
    # Nobody has looked into the file since the broker started, and now it cannot be read.
    journal = failing.log.epochs
    failing.follower.manager.fetchers.forget([T])
    journal._cache = None
    journal.path.unlink()
    journal.path.mkdir()
    assert order_both(failing.follower, leader=LEADER) == CODES
    assert len(heard) == 1
    assert "u" in heard[0][1]
    failing.leader.order("u", replicas=(1, 2), epoch=1, partition_epoch=1)
    failing.leader.produce(1, topic="u")
    eventually(failing, lambda: end_of(failing.follower.partition("u")) == 1)


@pytest.mark.parametrize("topic", ["x" * 254, "\N{LATIN SMALL LETTER E WITH ACUTE}" * 127, "a/b"])
def test_a_topic_whose_name_no_directory_can_have_takes_none_offline(broker: Broker, topic: str) -> None:
    """Somebody wrote it into ZooKeeper: it would take all directories of all brokers, one after another."""
    broker.lead("t")
    broker.update_metadata({topic: {0: 1}})
    assert broker.order(topic) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert broker.failed_dirs == []
    broker.lead("x" * 253)


@pytest.mark.parametrize("topic", ["x" * 253, "\N{LATIN SMALL LETTER E WITH ACUTE}" * 126])
def test_the_deletion_of_a_topic_with_the_longest_name_takes_no_directory_offline(broker: Broker, topic: str) -> None:
    """The name of a deleted log's directory is longer: the topic in it is cut, by bytes."""
    broker.lead(topic)
    (hosted,) = broker.manager.hosted
    asked = [ReplicaStop(hosted.topic_partition, EPOCH_DURING_DELETE, delete=True)]
    codes = broker.manager.stop_replicas(asked, controller_epoch=1, controller_id=0)
    assert codes == [(hosted.topic_partition, ErrorCode.NONE)]
    assert broker.failed_dirs == []
