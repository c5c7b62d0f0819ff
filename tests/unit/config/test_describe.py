"""DescribeConfigs, entry by entry, as a live Apache 3.9.1 broker answered it."""

from pathlib import Path

import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.describe import (
    ConfigEntry,
    ConfigSource,
    describe_broker,
    describe_broker_defaults,
    describe_topic,
)
from kafka_zk.config.values import ConfigType

GOLDEN = Path(__file__).parents[2] / "golden" / "configs"
TYPES = {0: "UNKNOWN"} | {config_type.value: config_type.name for config_type in ConfigType}
BASE = {
    "broker.id": "1",
    "listeners": "PLAINTEXT://HOST:1",
    "zookeeper.connect": "ZK",
    "log.dirs": "LOGDIR",
    "offsets.topic.replication.factor": "1",
}
OVERRIDES = {
    "retention.ms": "1000",
    "cleanup.policy": "compact,delete",
    "min.cleanable.dirty.ratio": "0.25",
    "leader.replication.throttled.replicas": "0:1",
}
STATIC = {
    "log.dir": "/ignored",
    "allow.everyone.if.no.acl.found": "true",
    "log.retention.hours": "24",
    "num.partitions": "3",
    "ssl.keystore.password": "secret",
    "log.roll.hours": "5",
}
DYNAMIC = {
    "log.retention.minutes": "30",
    "compression.type": "zstd",
    "log.cleaner.min.cleanable.ratio": "0.3",
    "delegation.token.master.key": "abc",
    "node.id": "1",
}
DEFAULTS = {"log.retention.ms": "6000", "log.segment.bytes": "1000000", "log.cleanup.policy": "compact"}
OF_BROKER = {
    "log.retention.ms": "5000",
    "log.flush.interval.ms": "77",
    "num.io.threads": "5",
    "max.connections": "55",
    "listener.name.plaintext.max.connections": "44",
}
ODD = {
    **DYNAMIC,
    "log.retention.minutes": "30 ",
    "log.cleaner.min.cleanable.ratio": ".3",
    "listener.name.plaintext.max.connections": "7",
    "listener.name.plaintext.foo": "7",
    "metric.reporters": "",
    "log.cleanup.policy": "delete, compact",
    "log.message.timestamp.difference.max.ms": "1234",
}
ODD_DEFAULTS = {**DEFAULTS, "max.connections": "0", "follower.replication.throttled.rate": "2000"}
ODD_OF_BROKER = {**OF_BROKER, "leader.replication.throttled.rate": "1000", "super.users": "x"}


def as_captured(resource: str, entry: ConfigEntry) -> str:
    """The entry as Java's admin client prints it; it calls a topic's own values DYNAMIC_TOPIC_CONFIG."""

    def source(value: ConfigSource) -> str:
        return "DYNAMIC_TOPIC_CONFIG" if value is ConfigSource.TOPIC_CONFIG else value.name

    def text(value: str | None) -> str:
        return "null" if value is None else value

    columns = [resource, entry.name, text(entry.value), source(entry.source), TYPES[entry.type_code]]
    columns += [str(entry.read_only).lower(), str(entry.sensitive).lower()]
    columns += [f"{synonym.name}|{text(synonym.value)}|{source(synonym.source)}" for synonym in entry.synonyms]
    return "\t".join(columns)


@pytest.mark.parametrize(
    ("case", "static", "default", "broker"),
    [
        ("static", STATIC, {}, {}),
        ("dynamic", DYNAMIC, DEFAULTS, OF_BROKER),
        ("dynamic-odd", ODD, ODD_DEFAULTS, ODD_OF_BROKER),
    ],
)
def test_rule_80_entries_are_those_of_apache(
    case: str, static: dict[str, str], default: dict[str, str], broker: dict[str, str]
):
    config = BrokerConfig.from_properties({**BASE, **static}).with_dynamic(default=default, broker=broker)
    shown = [as_captured("BROKER:1", entry) for entry in describe_broker(config)]
    shown += [as_captured("BROKER:", entry) for entry in describe_broker_defaults(config)]
    shown += [as_captured("TOPIC:t0", entry) for entry in describe_topic(config, {})]
    shown += [as_captured("TOPIC:t1", entry) for entry in describe_topic(config, OVERRIDES)]
    captured = (GOLDEN / f"described-{case}.tsv").read_text().splitlines()
    assert sorted(shown) == sorted(captured)


def test_only_the_wanted_keys_are_described():
    config = BrokerConfig.from_properties(BASE)
    assert {entry.name for entry in describe_broker(config, ["log.dirs", "nope", "broker.id"])} == {
        "broker.id",
        "log.dirs",
    }
    assert [entry.name for entry in describe_topic(config, {}, ["retention.ms"])] == ["retention.ms"]


def test_no_secret_leaves_through_a_description():
    config = BrokerConfig.from_properties({**BASE, "ssl.keystore.password": "s3cret", "my.password": "s3cret"})
    assert "s3cret" not in repr(describe_broker(config))


def test_a_listeners_own_key_has_a_type_and_no_documentation():
    config = BrokerConfig.from_properties({**BASE, "listener.name.plaintext.max.connections": "7"})
    (entry,) = describe_broker(config, ["listener.name.plaintext.max.connections"])
    assert (entry.type_code, entry.documentation) == (ConfigType.INT.value, None)


def test_every_key_has_documentation():
    config = BrokerConfig.from_properties(BASE)
    assert all(entry.documentation for entry in describe_broker(config) + describe_topic(config, {}))
