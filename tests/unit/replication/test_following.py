"""A follower and its leader in one process: every byte goes through the codecs, none through a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.config.topic import LogConfig
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.walking import assign_offsets
from kafka_zk.replication.following.follower_session import SessionRequest
from kafka_zk.replication.partition import Partition

from .broker import Broker, answered, fetch_request, offsets_in, records

LEADER, FOLLOWER = 1, 2
APIS = {f"{api.name}Request": api for api in API_TABLE.values()}


class Wire:
    """A connection to a broker in the same process.

    `close` makes every further request fail; after `hold` the next answer stays on its way until `let_go`.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._answer: Pending[Any] = Pending()
        self._passable = Event()
        self._passable.set()
        self.is_cut = False
        self.is_waiting = False
        self.is_held = False

    def hold(self) -> None:
        self._passable.clear()

    def let_go(self) -> None:
        self._passable.set()

    def send(self, request: Any, api_version: int) -> Any:
        if self.is_cut:
            raise NetworkError("the wire is cut")
        api = APIS[type(request).__name__]
        received = api.request.decode(memoryview(api.request.encode(request, api_version)), api_version)
        response = self._broker.call(received, api_version)
        if isinstance(response, Pending):
            self._answer = Pending()
            response.on_complete(lambda done: self._answer.complete(done.value))
            self.is_waiting = True
            response = self._answer.result(10_000)
            self.is_waiting = False
        self.is_held = not self._passable.is_set()
        self._passable.wait()
        self.is_held = False
        if self.is_cut:
            raise NetworkError("the wire is cut")
        parts = api.response.encode_parts(response, api_version)
        data = b"".join(part if isinstance(part, bytes) else part.read() for part in parts)
        return api.response.decode(memoryview(data), api_version)

    def close(self) -> None:
        self.is_cut = True
        self._answer.fail(NetworkError("closed"))


class Pair:
    """Broker 1 leads, broker 2 follows, until a test decides otherwise."""

    FOLLOWER_BACK_OFF_MS = 1

    def __init__(
        self, path: Path, properties: Mapping[str, str] | None = None, overrides: dict[str, str] | None = None
    ) -> None:
        self.wires: list[Wire] = []
        self.client_ids: list[str] = []
        self.ports: list[int] = []
        self.leader = Broker(path / "1", dict(properties or {}), overrides, broker_id=LEADER, connect=self._connect)
        self.follower = Broker(
            path / "2",
            {**(properties or {}), "replica.fetch.backoff.ms": str(self.FOLLOWER_BACK_OFF_MS)},
            overrides,
            broker_id=FOLLOWER,
            connect=self._connect,
        )

    def _connect(self, node: Node, client_id: str) -> Wire:
        assert client_id.startswith("broker-")
        self.client_ids.append(client_id)
        self.ports.append(node.port)
        wire = Wire(self.leader if node.id == LEADER else self.follower)
        self.wires.append(wire)
        return wire

    def order(self, *, leader: int = LEADER, epoch: int = 0, isr: tuple[int, ...] = (1, 2)) -> None:
        for broker in (self.leader, self.follower):
            broker.update_metadata({"t": {0: leader}}, alive=(1, 2))
            broker.order(replicas=(1, 2), isr=isr, leader=leader, epoch=epoch, partition_epoch=epoch)

    @property
    def led(self) -> Partition:
        return self.leader.partition()

    @property
    def followed(self) -> Partition:
        return self.follower.partition()

    def close(self) -> None:
        self.follower.close()
        self.leader.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


def eventually(pair: Pair, claim: Callable[[], bool]) -> None:
    """Let the greenlets run until `claim` holds. Time goes on meanwhile: a leader holds an empty fetch for 500 ms."""
    with gevent.Timeout(30):
        while not claim():
            gevent.sleep(0.001)
            pair.leader.clock.advance(10)
            pair.follower.clock.advance(10)


def end_of(partition: Partition) -> int:
    assert partition.log is not None
    return partition.log.log_end_offset


def bytes_of(broker: Broker) -> bytes:
    log = broker.partition().log
    assert log is not None
    return b"".join(segment.file.read_at(0, segment.size_bytes) for segment in log.segments)


def test_a_follower_copies_what_its_leader_has_byte_for_byte(pair: Pair) -> None:
    pair.order()
    for _ in range(5):
        pair.leader.produce(3)
    eventually(pair, lambda: end_of(pair.followed) == 15)
    assert bytes_of(pair.follower) == bytes_of(pair.leader)


def test_acks_all_is_answered_once_the_follower_has_the_records(pair: Pair) -> None:
    pair.order()
    pending = pair.leader.produce(3, acks=-1)
    assert not pending.is_done
    eventually(pair, lambda: bool(pending.is_done))
    assert answered(pending).error_code == 0
    assert end_of(pair.followed) == 3


def test_the_followers_high_watermark_follows_the_leaders(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(3, acks=-1)
    eventually(pair, lambda: pair.followed.high_watermark == 3)
    assert offsets_in(answered(pair.follower.fetch(0))) == [0, 1, 2]


def test_a_consumer_that_waits_at_a_follower_is_woken(pair: Pair) -> None:
    pair.order()
    eventually(pair, lambda: bool(pair.wires))
    pending = pair.follower.fetch(0, max_wait_ms=5_000)
    pair.leader.produce(2)
    eventually(pair, lambda: bool(pending.is_done))
    assert offsets_in(answered(pending)) == [0, 1]


def test_rule_32_after_a_failover_the_old_leader_drops_what_was_never_committed(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(4, acks=-1)
    eventually(pair, lambda: pair.followed.high_watermark == 4)
    # The follower becomes the leader while the old one still takes records that nobody copied.
    pair.follower.order(replicas=(1, 2), isr=(2,), leader=FOLLOWER, epoch=1, partition_epoch=1)
    pair.leader.produce(7)
    pair.follower.produce(2)
    pair.order(leader=FOLLOWER, epoch=2, isr=(2,))
    eventually(pair, lambda: end_of(pair.led) == 6)
    assert bytes_of(pair.leader) == bytes_of(pair.follower)
    assert not pair.led.is_leader


def test_rule_33_after_several_failovers_the_logs_step_down_to_a_common_history(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(3, acks=-1)
    eventually(pair, lambda: pair.followed.high_watermark == 3)
    pair.follower.order(replicas=(1, 2), isr=(2,), leader=FOLLOWER, epoch=1, partition_epoch=1)
    pair.follower.produce(2)
    for epoch in (2, 4):
        pair.leader.order(replicas=(1, 2), isr=(1,), leader=LEADER, epoch=epoch, partition_epoch=epoch)
        pair.leader.produce(5)
    pair.order(leader=FOLLOWER, epoch=5, isr=(2,))
    eventually(pair, lambda: end_of(pair.led) == 5)
    assert bytes_of(pair.leader) == bytes_of(pair.follower)


def test_rule_35_an_answer_that_comes_after_the_next_epoch_is_dropped(pair: Pair) -> None:
    pair.order(isr=(1,))
    eventually(pair, lambda: bool(pair.wires) and pair.wires[-1].is_waiting)
    asked = pair.wires[-1]
    asked.hold()
    pair.leader.produce(3)
    eventually(pair, lambda: asked.is_held)
    pair.follower.order(replicas=(1, 2), isr=(1,), leader=LEADER, epoch=4, partition_epoch=4)
    asked.let_go()
    eventually(pair, lambda: not asked.is_held)
    assert end_of(pair.followed) == 0, "the records answer a question of epoch 0"
    pair.order(isr=(1,), epoch=5)
    eventually(pair, lambda: end_of(pair.followed) == 3)


def test_a_follower_takes_no_records_of_a_later_epoch_than_it_asked_in(pair: Pair) -> None:
    """A broker that leads no more cuts its log, and writes what the next leader has, while its answer is on its way."""
    pair.order(isr=(1,))
    eventually(pair, lambda: bool(pair.wires) and pair.wires[-1].is_waiting)
    asked = pair.wires[-1]
    asked.hold()
    pair.leader.produce(3)
    eventually(pair, lambda: asked.is_held)
    pair.leader.update_metadata({"t": {0: FOLLOWER}}, alive=(1, 2), leader_epoch=1)
    log = pair.led.log
    assert log is not None and not pair.led.is_leader
    log.truncate_to(0)
    written_by_the_next = records(3)
    assign_offsets(written_by_the_next, 0, 1)
    log.append_as_follower(written_by_the_next)
    asked.let_go()
    eventually(pair, lambda: not asked.is_held)
    assert end_of(pair.followed) == 0
    pair.order(isr=(1,), epoch=2)
    eventually(pair, lambda: end_of(pair.followed) == 3)
    assert bytes_of(pair.follower) == bytes_of(pair.leader)


def asked_by(pair: Pair, monkeypatch: pytest.MonkeyPatch, overtake: Callable[[Any], None]) -> list[SessionRequest]:
    """What the follower asks from now on; `overtake` comes between each answer and its being worked in."""
    (fetcher,) = pair.follower.manager.fetchers._fetchers.values()
    fetch = fetcher._endpoint.fetch
    asked: list[SessionRequest] = []

    def overtaken(request: SessionRequest) -> Any:
        asked.append(request)
        response = fetch(request)
        for topic in response.responses:
            overtake(topic.partitions[0])
        return response

    monkeypatch.setattr(fetcher._endpoint, "fetch", overtaken)
    return asked


def test_a_high_watermark_that_was_dropped_with_its_answer_is_told_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.order()
    pair.leader.produce(3)
    eventually(pair, lambda: pair.followed.high_watermark == 3)

    dropped: list[int] = []

    def overtake(data: Any) -> None:
        if data.high_watermark == 4 and not dropped:
            dropped.append(len(asked))
            pair.order(epoch=1)

    asked = asked_by(pair, monkeypatch, overtake)
    pair.leader.produce(1)
    eventually(pair, lambda: bool(dropped) and len(asked) > dropped[0] + 1)
    assert pair.followed.high_watermark == 4
    assert [request.session_epoch for request in asked[dropped[0] : dropped[0] + 2]] == [0, 1]


def test_a_follower_that_truncates_has_everything_told_again(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader counts what stood in the diverging answer as told."""
    pair.order(isr=(1,))
    pair.leader.produce(3)
    eventually(pair, lambda: end_of(pair.followed) == 3)
    diverged: list[int] = []

    def overtake(data: Any) -> None:
        if data.diverging_epoch.epoch >= 0:
            diverged.append(len(asked))

    asked = asked_by(pair, monkeypatch, overtake)
    log = pair.followed.log
    assert log is not None
    log.assign_epoch_start(7, 3)  # It led an epoch that nobody heard of.
    pair.order(isr=(1,), epoch=8)
    eventually(pair, lambda: bool(diverged) and len(asked) > diverged[0] + 1)
    assert asked[diverged[0]].session_epoch == 0
    assert asked[diverged[0] + 1].session_epoch == 1


def test_rule_39_below_the_leaders_start_a_follower_begins_anew_there(pair: Pair) -> None:
    pair.order(isr=(1,))
    pair.leader.produce(5)
    eventually(pair, lambda: end_of(pair.followed) == 5)
    pair.follower.manager.fetchers.forget([pair.followed.topic_partition])
    log = pair.led.leader_log()
    for _ in range(4):
        pair.leader.produce(5)
    log.update_high_watermark(25)
    log.truncate_fully_and_start_at(25)
    pair.leader.produce(2)
    pair.order(epoch=1, isr=(1,))
    eventually(pair, lambda: end_of(pair.followed) == 27)
    assert pair.followed.log is not None
    assert pair.followed.log.log_start_offset == 25


def test_an_empty_follower_joins_though_its_leader_does_not_know_what_is_committed(pair: Pair) -> None:
    """Under min.insync.replicas the high watermark stands still: it waits for the follower itself."""
    pair.leader.update_metadata({"t": {0: LEADER}}, alive=(1, 2))
    pair.leader.order(replicas=(1, 2), isr=(1,))
    log = pair.led.leader_log()
    pair.leader.produce(3)
    log.increment_log_start_offset(3)
    log.apply_config(LogConfig.from_overrides(pair.leader.config, {"min.insync.replicas": "2"}))
    pair.leader.produce(2)
    pair.order(epoch=1, isr=(1,))
    eventually(pair, lambda: end_of(pair.followed) == 5)
    assert pair.leader.controller.proposed == [[1, 2]]


def test_a_lost_connection_is_made_again(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    pair.wires[-1].is_cut = True
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 2)
    assert len(pair.wires) >= 2


def test_a_follower_that_is_stopped_takes_nothing_more(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    pair.follower.manager.fetchers.forget([pair.followed.topic_partition])
    pair.follower.manager.fetchers.stop_idle()
    pair.leader.produce(1)
    gevent.sleep(0.01)
    assert end_of(pair.followed) == 1


def test_a_partition_goes_to_another_fetcher_when_their_number_changes(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    config = pair.follower.config
    config.become(config.with_dynamic(default={}, broker={"num.replica.fetchers": "3"}))
    pair.follower.manager.broker_config_changed()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 2)
    assert pair.client_ids == ["broker-2-fetcher-0", "broker-2-fetcher-2"]
    assert pair.wires[0].is_cut


def test_a_partition_that_goes_offline_meanwhile_keeps_no_other_from_its_new_fetcher(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    for broker in (pair.leader, pair.follower):
        broker.update_metadata({"failing": {0: LEADER}, "t": {0: LEADER}}, alive=(1, 2))
        for topic in ("failing", "t"):
            broker.order(topic=topic, replicas=(1, 2), isr=(1, 2), leader=LEADER, epoch=0, partition_epoch=0)
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    failing = pair.follower.partition("failing")
    fetchers = pair.follower.manager.fetchers
    assert [partition.topic_partition.topic for partition in fetchers._fetchers[LEADER, 0].followed] == ["failing", "t"]
    forget = fetchers.forget

    def forget_while_a_directory_fails(gone: Iterable[TopicPartition]) -> None:
        forget(gone)
        failing.go_offline()

    monkeypatch.setattr(fetchers, "forget", forget_while_a_directory_fails)
    config = pair.follower.config
    config.become(config.with_dynamic(default={}, broker={"num.replica.fetchers": "3"}))
    pair.follower.manager.broker_config_changed()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 2)


def test_the_log_start_follows_the_leaders(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(4, acks=-1)
    eventually(pair, lambda: pair.followed.high_watermark == 4)
    pair.led.leader_log().increment_log_start_offset(3)
    pair.leader.produce(1)
    eventually(pair, lambda: pair.followed.log is not None and pair.followed.log.log_start_offset == 3)


def test_fetches_of_followers_are_sessions(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    (session,) = pair.leader.manager.fetch_sessions
    assert session.privileged and session.uses_topic_ids
    assert answered(pair.leader.call(fetch_request(0), 12)).error_code == 0
