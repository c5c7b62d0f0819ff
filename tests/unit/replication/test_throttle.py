"""The throttle of replicas: its accounting is that of Kafka's ReplicationQuotaManager, and who has to wait for it.

tests/golden/quotas/replication.txt was printed by tests/interop/java/ReplicationThrottles.java, which drives Kafka
3.9.1's own class with a clock of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.throttled_replicas import ThrottledReplicas
from kafka_zk.config.topic import LogConfig
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.replication.throttle import (
    FORGET_AFTER_MS,
    RATE_KEYS,
    UNLIMITED,
    Direction,
    ReplicationQuota,
    dynamic_rate,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "quotas" / "replication.txt"
LEADER_RATE, FOLLOWER_RATE = RATE_KEYS[Direction.LEADER], RATE_KEYS[Direction.FOLLOWER]


def config_with(properties: dict[str, str] | None = None, **layers: dict[str, str]) -> BrokerConfig:
    made = BrokerConfig.from_properties({"zookeeper.connect": "z:1", "broker.id": "1", **(properties or {})})
    return made.with_dynamic(default=layers.get("default", {}), broker=layers.get("broker", {}))


class Given:
    """A throttle of broker 1 with a simulated clock."""

    def __init__(self, direction: Direction = Direction.LEADER, properties: dict[str, str] | None = None) -> None:
        self.clock = SimClock(monotonic_ms=1_000_000)
        self.metrics = MetricsRegistry(self.clock)
        self.config = config_with(properties)
        self.quota = ReplicationQuota(direction, self.config, broker_id=1, clock=self.clock, metrics=self.metrics)

    def allow(self, bytes_per_second: int) -> None:
        self.config.become(self.config.with_dynamic(default={}, broker={LEADER_RATE: str(bytes_per_second)}))
        self.quota.follow_config()

    def shown(self) -> dict[str, float]:
        self.metrics.fold()
        return {
            str(name): float(str(metric.attributes()["byte-rate"]))
            for name, metric in self.metrics.metrics()
            if name.type.endswith("Replication")
        }


@pytest.mark.parametrize("line", GOLDEN.read_text().splitlines(), ids=lambda line: line[:4])
def test_the_rate_and_the_decision_are_kafkas_over_random_steps(line: str) -> None:
    samples, seconds, *steps = line.split()
    windows = {"replication.quota.window.num": samples, "replication.quota.window.size.seconds": seconds}
    given = Given(properties=windows)
    given.allow(1000)
    assert len(steps) == 120
    for number, step in enumerate(steps):
        pause_ms, done, exceeded, rate = step.split(",")
        given.clock.advance(int(pause_ms))
        what, _, amount = done.partition("=")
        if what == "rate":
            given.allow(int(amount))
        elif what == "bytes":
            given.quota.record(int(amount))
        assert given.quota.is_exceeded() is (exceeded == "true"), f"step {number}"
        assert given.quota.byte_rate() == pytest.approx(float(rate), rel=1e-12, abs=0), f"step {number}"


@pytest.mark.parametrize(
    ("own", "of_all", "rate"),
    [({}, {}, UNLIMITED), ({}, {LEADER_RATE: "5"}, 5), ({LEADER_RATE: "3"}, {LEADER_RATE: "5"}, 3)],
)
def test_the_rate_is_this_brokers_or_that_of_all(own: dict[str, str], of_all: dict[str, str], rate: int) -> None:
    assert dynamic_rate(config_with(broker=own, default=of_all), LEADER_RATE) == rate


def test_a_rate_in_the_file_counts_for_nothing() -> None:
    assert dynamic_rate(config_with({LEADER_RATE: "5"}), LEADER_RATE) == UNLIMITED


@pytest.mark.parametrize(
    ("entries", "throttled"),
    [
        ([], set()),
        (["*"], {(0, 1), (0, 2), (1, 1), (1, 2)}),
        (["0:1"], {(0, 1)}),
        (["0:2", "1:1", ""], {(0, 2), (1, 1)}),
        (["00:01"], {(0, 1)}),
    ],
)
def test_a_list_names_replicas_and_a_star_all(entries: list[str], throttled: set[tuple[int, int]]) -> None:
    replicas = ThrottledReplicas(entries)
    assert {(index, broker) for index in (0, 1) for broker in (1, 2) if replicas.has(index, broker)} == throttled
    assert bool(replicas) is bool(throttled)


def test_each_direction_has_its_own_list() -> None:
    overrides = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "1:1,0:2"}
    config = LogConfig.from_overrides(config_with(), overrides)
    leader, follower = Given(Direction.LEADER).quota, Given(Direction.FOLLOWER).quota
    assert [leader.throttles(config, 0), leader.throttles(config, 1)] == [True, False]
    assert [follower.throttles(config, 0), follower.throttles(config, 1)] == [False, True]


def test_what_was_counted_stays_counted_under_another_rate() -> None:
    given = Given()
    given.allow(10_000)
    given.quota.record(5_000)
    assert not given.quota.is_exceeded()
    given.allow(1_000)
    assert given.quota.is_exceeded()


def test_a_throttle_is_shown_from_its_first_use_until_an_hour_without() -> None:
    given = Given()
    assert given.shown() == {}
    given.quota.record(500)
    assert given.shown() == {"kafka.server:type=LeaderReplication": 500.0}
    given.clock.advance(FORGET_AFTER_MS)
    assert list(given.shown()) == ["kafka.server:type=LeaderReplication"]
    given.clock.advance(1)
    assert given.shown() == {}
