"""Runs of --drain and --balance against a made-up cluster: waves, throttles, Ctrl-C, a broker that dies."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from kafka_zk.client.admin.admin_results import ConfigChange, ConfigOperation, ConfigResource, ResourceType
from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.reassign_partitions import moves, spreading
from kafka_zk.tools.reassign_partitions.spread_options import Wanted
from kafka_zk.tools.reassign_partitions.spreading import Spreading
from tests.unit.tools.reassign_partitions.fake_cluster import FakeCluster

AGAIN = "kafka-reassign-partitions.sh --drain 1"
BROKERS = {each: ConfigResource(ResourceType.BROKER, str(each)) for each in (1, 2, 3)}
TOPIC = ConfigResource(ResourceType.TOPIC, "t")


def partition(number: int) -> TopicPartition:
    return TopicPartition("t", number)


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster({partition(number): (1, 2) for number in range(6)}, (1, 2, 3))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading.time, "sleep", lambda _: None)


def run(
    cluster: FakeCluster,
    *drained: int,
    throttle: int | None = None,
    at_a_time: int = 2,
    answer: bool = True,
    grace_s: float = 0,
) -> int:
    wanted = Wanted(drained, throttle, at_a_time, is_confirmed=False)
    return Spreading(cast(Any, cluster), wanted, AGAIN, grace_s=grace_s).run(lambda _: answer)


def on(cluster: FakeCluster, broker: int) -> int:
    return sum(broker in replicas for replicas in cluster.assignment.values())


def test_a_drained_broker_is_empty_in_the_end(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cluster, 1) == 0
    assert on(cluster, 1) == 0
    assert on(cluster, 3) == 6
    assert [len(each) for each in cluster.begun] == [2, 2, 2]
    assert sorted(cluster.elected) == [partition(number) for number in range(6)]
    out = capsys.readouterr().out
    assert "6 replicas of 6 partitions move, 6.0 kB together: about 1 s at 50.0 MB/s a broker, an assumption." in out
    assert out.endswith("[##############################] 6 of 6 partitions, 6.0 kB of 6.0 kB\nDone.\n")


def test_new_replicas_are_spread_over_directories(cluster: FakeCluster) -> None:
    run(cluster, 1)
    assert sorted(cluster.asked_directories.values()) == ["/a"] * 3 + ["/b"] * 3


def test_the_table_shows_each_broker_before_and_after(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    run(cluster, 1, answer=False)
    assert capsys.readouterr().out.splitlines()[:4] == [
        "BROKER  RACK  REPLICAS        LEADERS        BYTES              RECEIVES",
        "1       -     6         -> 0  6        -> 0  6.0 kB  -> 0 B     0 B",
        "2       -     6               0              6.0 kB             0 B",
        "3       -     0         -> 6  0        -> 6  0 B     -> 6.0 kB  6.0 kB",
    ]


def test_who_says_no_changes_nothing(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cluster, 1, answer=False) == 0
    assert not cluster.begun
    assert "Nothing was changed." in capsys.readouterr().out


def test_nothing_is_asked_where_nothing_has_to_move(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cluster, 3) == 0
    assert capsys.readouterr().out.endswith("Nothing has to move.\n")


def test_a_broker_that_nobody_knows_is_refused(cluster: FakeCluster) -> None:
    with pytest.raises(Refused, match=r"Unknown broker: 7\. There are 1, 2, 3\."):
        run(cluster, 7)


def test_replicas_without_a_place_are_refused_before_anything_moves(cluster: FakeCluster) -> None:
    with pytest.raises(Refused, match="No broker can take the replica of t-0"):
        run(cluster, 1, 3)
    assert not cluster.begun


def test_a_throttle_is_there_while_replicas_move_and_gone_afterwards(cluster: FakeCluster) -> None:
    assert run(cluster, 1, throttle=5000) == 0
    first = cluster.throttled_while_moving[0]
    assert first[BROKERS[1]] == first[BROKERS[3]] == {moves.LEADER_RATE: "5000", moves.FOLLOWER_RATE: "5000"}
    assert first[TOPIC] == {moves.LEADER_REPLICAS: "0:1,0:2,1:1,1:2", moves.FOLLOWER_REPLICAS: "0:3,1:3"}
    assert cluster.set_configs() == {}


def test_what_somebody_else_throttles_stays(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = {
        BROKERS[2]: {moves.LEADER_RATE: "77"},
        TOPIC: {moves.LEADER_REPLICAS: "0:1,9:9", "retention.ms": "1"},
    }
    cluster.configs = {each: dict(values) for each, values in theirs.items()}
    assert run(cluster, 1, throttle=5000) == 0
    assert cluster.set_configs() == theirs
    told = "Broker 2 is throttled already (leader.replication.throttled.rate=77): that stays as it is."
    assert told in capsys.readouterr().out


def test_a_rate_that_was_changed_meanwhile_stays(cluster: FakeCluster) -> None:
    cluster.events[4] = lambda: cluster.configs[BROKERS[3]].update({moves.FOLLOWER_RATE: "99"})
    assert run(cluster, 1, throttle=5000) == 0
    assert cluster.set_configs() == {BROKERS[3]: {moves.FOLLOWER_RATE: "99"}}


def fail_after(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, fails: Callable[[ConfigChange], BaseException | None]
) -> None:
    """Each change of a config is made, and then fails if `fails` says so: its answer is lost, or Ctrl-C comes."""
    alter = cluster.incremental_alter_configs

    def altered(changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> None:
        alter(changes)
        for error in (fails(change) for wanted in changes.values() for change in wanted):
            if error is not None:
                raise error

    monkeypatch.setattr(cluster, "incremental_alter_configs", altered)


@pytest.mark.parametrize("operation", [ConfigOperation.SET, ConfigOperation.APPEND])
def test_a_throttle_whose_answer_is_lost_is_removed(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, operation: ConfigOperation
) -> None:
    lost = TimeoutException("lost")
    fail_after(cluster, monkeypatch, lambda change: lost if change.operation == operation else None)
    with pytest.raises(TimeoutException, match="lost"):
        run(cluster, 1, throttle=5000)
    assert not cluster.begun
    assert cluster.set_configs() == {}


def test_a_topic_that_cannot_be_freed_of_its_throttle_is_told_and_the_rest_is_freed(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = TimeoutException("nobody answers")
    fail_after(cluster, monkeypatch, lambda change: gone if change.operation == ConfigOperation.SUBTRACT else None)
    assert run(cluster, 1, throttle=5000) == 0
    assert [each for each in BROKERS.values() if each in cluster.set_configs()] == []
    assert (
        "The list of throttled replicas of topic t could not be removed (nobody answers): kafka-configs.sh "
        "--bootstrap-server HOST:PORT --entity-type topics --entity-name t --alter --delete-config "
        "leader.replication.throttled.replicas,follower.replication.throttled.replicas\n"
    ) in capsys.readouterr().out


def test_who_interrupts_the_removal_of_a_throttle_is_told_what_stays(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    removed: list[ConfigChange] = []

    def interrupts(change: ConfigChange) -> BaseException | None:
        if change.operation == ConfigOperation.DELETE and change.name == moves.LEADER_RATE:
            removed.append(change)
        return KeyboardInterrupt() if len(removed) == 2 else None

    fail_after(cluster, monkeypatch, interrupts)
    with pytest.raises(KeyboardInterrupt):
        run(cluster, 1, throttle=5000)
    out = capsys.readouterr().out
    assert [f"The throttle of broker {each} is still there" in out for each in (1, 2, 3)] == [False, True, True]


def test_a_dead_broker_is_drained_under_a_throttle_of_the_living(cluster: FakeCluster) -> None:
    cluster.living = {2, 3}
    assert run(cluster, 1, throttle=5000) == 0
    assert on(cluster, 1) == 0
    assert cluster.throttled_while_moving[0].keys() == {BROKERS[2], BROKERS[3], TOPIC}
    assert cluster.set_configs() == {}


def test_ctrl_c_waits_for_the_wave_and_tells_how_to_go_on(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.events[3] = lambda: os.kill(os.getpid(), signal.SIGINT)
    assert run(cluster, 1, throttle=5000) == 1
    assert (on(cluster, 1), len(cluster.begun)) == (4, 1)
    assert cluster.set_configs() == {}
    assert capsys.readouterr().out.endswith(f"Not done. What is left is done by the same command:\n  {AGAIN}\n")
    assert run(cluster, 1) == 0
    assert on(cluster, 1) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_twice_at_once_is_one(cluster: FakeCluster, number: signal.Signals) -> None:
    """`timeout` sends it to its child, and then to the child's group."""

    def end() -> None:
        signal.raise_signal(number)
        signal.raise_signal(number)

    cluster.events[3] = end
    assert run(cluster, 1, throttle=5000) == 1
    assert (on(cluster, 1), cluster.moving) == (4, {})


def test_ctrl_c_while_a_wave_is_prepared_begins_none(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_after(cluster, monkeypatch, lambda change: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(spreading, "ONE_SIGNAL_S", 60)
    assert run(cluster, 1, throttle=5000) == 1
    assert (cluster.begun, cluster.set_configs()) == ([], {})


def test_moves_whose_answer_is_lost_keep_their_throttle_until_they_have_arrived(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter = cluster.alter_partition_reassignments

    def lost(wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        alter(wanted)
        raise TimeoutException("lost")

    monkeypatch.setattr(cluster, "alter_partition_reassignments", lost)
    with pytest.raises(TimeoutException, match="lost"):
        run(cluster, 1, throttle=5000)
    assert (cluster.moving, on(cluster, 1)) == ({}, 4)
    assert all(BROKERS[3] in configs for configs in cluster.throttled_while_moving)
    assert cluster.set_configs() == {}


def test_a_second_ctrl_c_ends_at_once_without_the_throttle(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "ONE_SIGNAL_S", 0)
    cluster.stuck = {3}
    for look in (3, 4):
        cluster.events[look] = lambda: os.kill(os.getpid(), signal.SIGINT)
    assert run(cluster, 1, throttle=5000) == 1
    assert len(cluster.moving) == 2
    assert cluster.set_configs() == {}


def test_a_terminal_that_closes_is_a_ctrl_c_however_often_that_is_said(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close_terminal() -> None:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        assert sys.stdout is sys.stderr, "a closed terminal would refuse what is printed"

    monkeypatch.setattr(spreading, "ONE_SIGNAL_S", 0)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    before = signal.signal(signal.SIGHUP, lambda *_: pytest.fail("it would have ended the process"))
    cluster.events[3] = close_terminal
    try:
        assert run(cluster, 1, throttle=5000) == 1
        assert signal.getsignal(signal.SIGHUP) is not before
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (on(cluster, 1), len(cluster.begun), cluster.moving) == (4, 1, {})
    assert cluster.set_configs() == {}


def test_a_broker_that_dies_is_told_and_its_moves_are_cancelled(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.events[3] = lambda: cluster.living.discard(3)
    assert run(cluster, 1, throttle=5000) == 1
    out = capsys.readouterr().out
    assert "Broker 3 died while replicas moved to it: t-0, t-1." in out
    assert "The throttle of broker 3 could not be removed" in out
    assert not cluster.moving
    assert on(cluster, 1) == 6
    assert [each for each in cluster.set_configs() if each != BROKERS[3]] == []


def test_a_broker_that_dies_leaves_the_throttle_to_the_others_of_its_wave(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The cluster takes t-0 to broker 3 and t-1 to broker 4, which is slow."""
    cluster = FakeCluster({partition(0): (1, 4), partition(1): (1, 3)}, (1, 3, 4))
    cluster.stuck = {4}
    cluster.events = {3: lambda: cluster.living.discard(3), 9: cluster.stuck.clear}
    assert run(cluster, 1, throttle=5000, grace_s=0) == 1
    assert "Broker 3 died while replicas moved to it: t-0." in capsys.readouterr().out
    assert cluster.assignment == {partition(0): (1, 4), partition(1): (4, 3)}
    assert cluster.throttled_while_moving[-1][BROKERS[1]] == {moves.LEADER_RATE: "5000", moves.FOLLOWER_RATE: "5000"}
    assert [each for each in cluster.set_configs() if each != BROKERS[3]] == []


def test_a_broker_that_comes_back_in_time_costs_nothing(cluster: FakeCluster) -> None:
    cluster.events = {3: lambda: cluster.living.discard(3), 5: lambda: cluster.living.add(3)}
    assert run(cluster, 1, grace_s=60) == 0
    assert on(cluster, 1) == 0


def test_moves_of_an_ended_run_are_waited_for(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.alter_partition_reassignments({partition(0): (3, 2)})
    assert run(cluster, 1) == 0
    assert on(cluster, 1) == 0
    assert capsys.readouterr().out.startswith("1 partitions move already. Waiting for them.\n")


def test_ctrl_c_ends_the_wait_for_moves_of_others_though_nobody_answers(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.alter_partition_reassignments({partition(0): (3, 2)})
    look, looks = cluster.list_partition_reassignments, iter(range(9))

    def answered_once(partitions: Sequence[TopicPartition] | None = None) -> Any:
        number = next(looks)
        if number == 0:
            return look(partitions)
        if number == 1:
            os.kill(os.getpid(), signal.SIGINT)
        raise TimeoutException("nobody answers")

    monkeypatch.setattr(cluster, "list_partition_reassignments", answered_once)
    assert run(cluster, 1) == 1
    assert next(looks) == 2


def test_moves_of_others_to_a_dead_broker_are_not_cancelled(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.alter_partition_reassignments({partition(0): (3, 2)})
    cluster.living.discard(3)
    assert run(cluster, 1) == 1
    assert partition(0) in cluster.moving
    assert "This run did not begin that." in capsys.readouterr().out


def test_a_topic_that_is_deleted_meanwhile_is_told(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    def delete() -> None:
        del cluster.assignment[partition(5)]

    cluster.events[4] = delete
    assert run(cluster, 1, throttle=5000) == 0
    assert "t-5: its topic was deleted meanwhile" in capsys.readouterr().out


def test_a_partition_without_a_living_replica_is_left_out(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.assignment[partition(6)] = (9,)
    assert run(cluster, 1) == 0
    assert "t-6: none of its replicas lives, so it is left where it is" in capsys.readouterr().out


def test_balance_levels_and_then_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = FakeCluster({partition(number): (1,) for number in range(9)}, (1, 2, 3))
    assert run(cluster) == 0
    assert [on(cluster, broker) for broker in (1, 2, 3)] == [3, 3, 3]
    assert sum(map(len, cluster.begun)) == 6
    assert run(cluster) == 0
    assert capsys.readouterr().out.endswith("Nothing has to move.\n")
