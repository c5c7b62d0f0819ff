"""What a broker takes over of the values that somebody wrote into ZooKeeper; each case was asked of Apache 3.9.1."""

from __future__ import annotations

import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.dynamic import take_over

STATIC = BrokerConfig.from_properties({"zookeeper.connect": "h:1", "log.dirs": "/data"})


def test_values_that_may_change_are_taken_over_the_brokers_own_before_the_default() -> None:
    default = {"log.retention.ms": "5", "log.segment.bytes": "1000"}
    config, complaints = take_over(STATIC, default=default, broker={"log.retention.ms": "6"})
    assert (config.log_retention_ms, config.log_segment_bytes, complaints) == (6, 1000, [])


def test_unknown_keys_stay() -> None:
    config, complaints = take_over(STATIC, default={}, broker={"some.plug.in": "x"})
    assert (config.originals["some.plug.in"], complaints) == ("x", [])


@pytest.mark.parametrize(
    ("default", "broker", "complaint"),
    [
        ({}, {"log.retention.ms": "abc"}, "Invalid value abc for configuration log.retention.ms"),
        ({"log.retention.ms": "abc"}, {}, "Invalid value abc for configuration log.retention.ms"),
        ({}, {"log.dirs": "/elsewhere"}, "Ignoring a config in ZooKeeper that cannot be changed dynamically: log.dirs"),
        ({"listeners": "PLAINTEXT://:1"}, {}, "Ignoring a per-broker config in ZooKeeper that is set as the default"),
        ({}, {"leader.replication.throttled.rate": "-1"}, "Value must be at least 0"),
    ],
)
def test_what_is_wrong_is_left_out_and_named(default: dict[str, str], broker: dict[str, str], complaint: str) -> None:
    good = {"log.segment.bytes": "1000"}
    config, complaints = take_over(STATIC, default=default, broker={**broker, **good})
    (said,) = complaints
    assert complaint in said
    assert config.originals == {**STATIC.originals, **good}


def test_values_that_break_a_rule_together_are_all_ignored() -> None:
    listeners = {"listeners": "PLAINTEXT://:1,OTHER://:2"}
    config, (complaint,) = take_over(STATIC, default={}, broker=listeners)
    assert config is STATIC
    assert complaint.startswith("Ignoring configs in ZooKeeper that could not be applied: listeners: ")
