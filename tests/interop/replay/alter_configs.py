"""AlterConfigs and IncrementalAlterConfigs: what is taken, what is refused, what DescribeConfigs shows then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_zk.protocol.messages import alter_configs as whole
from kafka_zk.protocol.messages import incremental_alter_configs as incremental
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.describe_configs import DESCRIBE_CONFIGS_REQUEST, DescribeConfigsRequest
from tests.interop.replay.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, TOPIC, describe
from tests.interop.replay.scenario import Exchange, World
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

SET, DELETE, APPEND, SUBTRACT = range(4)
SECRET = {"password.encoder.secret": "a secret of the broker"}
"""Both brokers are started with it: passwords are stored encrypted."""

Entry = tuple[Any, ...]
"""(name, value), or (operation, name, value)."""
Resource = tuple[int, str, Sequence[Entry]]


def replace(name: str, *resources: Resource, validate_only: bool = False) -> Exchange:
    """AlterConfigs: what is not named is gone."""
    request = whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(
                resource_type=kind,
                resource_name=resource,
                configs=[whole.AlterableConfig(name=key, value=value) for key, value in entries],
            )
            for kind, resource, entries in resources
        ],
        validate_only=validate_only,
    )
    return Exchange(f"replace: {name}", whole.ALTER_CONFIGS_REQUEST, lambda world, version: request)


def change(name: str, *resources: Resource, validate_only: bool = False) -> Exchange:
    """IncrementalAlterConfigs, once: what changes by steps must not be changed twice."""
    request = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=resource,
                configs=[
                    incremental.AlterableConfig(config_operation=operation, name=key, value=value)
                    for operation, key, value in entries
                ],
            )
            for kind, resource, entries in resources
        ],
        validate_only=validate_only,
    )
    return Exchange(f"change: {name}", incremental.INCREMENTAL_ALTER_CONFIGS_REQUEST, lambda w, v: request, [1])


def shown(after: str, kind: int, resource: str, *keys: str, until: tuple[str, int] | None = None) -> Exchange:
    """What DescribeConfigs shows then; `until` a key has a source, because brokers hear of their changes later."""
    wanted = (kind, resource, list(keys))
    exchange = describe(f"after {after}", wanted, include_synonyms=True, include_documentation=True)

    def build(world: World, version: int) -> DescribeConfigsRequest:
        request = exchange.build(world, version)

        def has_come() -> bool:
            with RawClient(world.bootstrap) as client:
                (result,) = client.send(DESCRIBE_CONFIGS_REQUEST, request, version).results
            return until in [(entry.name, entry.config_source) for entry in result.configs]

        if until is not None:
            wait_until(has_come, f"{until} is shown after {after}")
        return request

    return Exchange(exchange.name, exchange.message, build, [4])


THREADS = "num.io.threads"
SIZE = "message.max.bytes"
PLUGIN = "my.plugin.key"
THROTTLE = "leader.replication.throttled.rate"
LOG = "log.retention.ms"
POLICY = "cleanup.policy"
LOG_POLICY = "log.cleanup.policy"
PREFIXED = "listener.name.plaintext."
PLAIN_JAAS = PREFIXED + "plain.sasl.jaas.config"
SECRET_KEY = PREFIXED + "ssl.key.password"
LOGGER = "kafka.log.LogCleaner"

TOPICS = (
    Exchange(
        "alter: a topic to change",
        CREATE_TOPICS_REQUEST,
        lambda w, v: CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name="altered",
                    num_partitions=1,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name="retention.ms", value="1000")],
                )
            ],
            timeout_ms=20_000,
        ),
        [7],
    ),
    replace("a topic", (TOPIC, "altered", [("segment.bytes", "1048576"), (POLICY, "compact")])),
    shown("a topic", TOPIC, "altered", "retention.ms", "segment.bytes", POLICY),
    replace("only looked at", (TOPIC, "altered", [("segment.bytes", "2097152")]), validate_only=True),
    shown("only looked at", TOPIC, "altered", "segment.bytes"),
    replace("a wrong value", (TOPIC, "altered", [("segment.bytes", "many")])),
    replace("a value out of range", (TOPIC, "altered", [("segment.bytes", "13")])),
    replace("an unknown key", (TOPIC, "altered", [("no.such", "1")])),
    replace("a null value", (TOPIC, "altered", [("segment.bytes", None)])),
    replace("null values", (TOPIC, "altered", [("segment.bytes", None), (POLICY, None)])),
    replace("a key twice", (TOPIC, "altered", [("segment.bytes", "1"), ("segment.bytes", "2")])),
    replace("an empty value", (TOPIC, "altered", [("segment.bytes", "")])),
    replace("an empty list", (TOPIC, "altered", [(POLICY, "")])),
    replace(
        "a rule between keys", (TOPIC, "altered", [("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")])
    ),
    replace("tiered storage", (TOPIC, "altered", [("remote.storage.enable", "true")])),
    replace("a remote key", (TOPIC, "altered", [("remote.log.copy.disable", "true")])),
    replace("several wrong values", (TOPIC, "altered", [("preallocate", "x"), ("flush.ms", "x"), ("segment.ms", "x")])),
    replace("several unknown keys", (TOPIC, "altered", [(f"no.such.{name}", "1") for name in "abc"])),
    replace("an unknown topic", (TOPIC, "nowhere", [("segment.bytes", "1048576")])),
    replace("an illegal topic", (TOPIC, "il legal", [("segment.bytes", "1048576")])),
    replace("no topic", (TOPIC, "", [("segment.bytes", "1048576")])),
    replace("an unknown type", (3, "x", [])),
    replace("an unknown type beside a topic", (3, "x", []), (TOPIC, "altered", [("segment.bytes", "1048577")])),
    shown("an unknown type", TOPIC, "altered", "segment.bytes"),
    replace("client metrics", (CLIENT_METRICS, "x", [("interval.ms", "100")])),
    replace("client metrics without a name", (CLIENT_METRICS, "", [])),
    replace("groups", (32, "x", [])),
    replace("two of two", (TOPIC, "nowhere", []), (TOPIC, "altered", [("retention.ms", "5")])),
    replace("nothing of a topic", (TOPIC, "altered", [])),
    shown("nothing of a topic", TOPIC, "altered", "retention.ms", "segment.bytes", POLICY),
    replace("nothing at all"),
    change("set", (TOPIC, "altered", [(SET, "retention.ms", "77"), (SET, "segment.bytes", "1048576")])),
    change("delete one", (TOPIC, "altered", [(DELETE, "retention.ms", None)])),
    change("delete with a value", (TOPIC, "altered", [(DELETE, "retention.ms", "8")])),
    change("delete what is not set", (TOPIC, "altered", [(DELETE, "retention.ms", "")])),
    change("delete an unknown key", (TOPIC, "altered", [(DELETE, "no.such", "")])),
    shown("deletes", TOPIC, "altered", "retention.ms", "segment.bytes"),
    change("append to the default", (TOPIC, "altered", [(APPEND, POLICY, "compact")])),
    shown("append to the default", TOPIC, "altered", POLICY),
    change("append what is there", (TOPIC, "altered", [(APPEND, POLICY, "compact")])),
    shown("append what is there", TOPIC, "altered", POLICY),
    change("subtract", (TOPIC, "altered", [(SUBTRACT, POLICY, "delete")])),
    shown("subtract", TOPIC, "altered", POLICY),
    change("subtract what is not there", (TOPIC, "altered", [(SUBTRACT, POLICY, "delete,nothing")])),
    change("subtract the last", (TOPIC, "altered", [(SUBTRACT, POLICY, "compact")])),
    shown("subtract the last", TOPIC, "altered", POLICY),
    change("append a wrong value", (TOPIC, "altered", [(APPEND, POLICY, "shred")])),
    change("append two", (TOPIC, "altered", [(SET, POLICY, "delete")])),
    change(
        "append throttled replicas", (TOPIC, "altered", [(APPEND, "leader.replication.throttled.replicas", "0:1,1:2")])
    ),
    change("append more", (TOPIC, "altered", [(APPEND, "leader.replication.throttled.replicas", "2:2,0:1")])),
    shown("append more", TOPIC, "altered", "leader.replication.throttled.replicas"),
    change("append to no list", (TOPIC, "altered", [(APPEND, "retention.ms", "8")])),
    change("subtract from no list", (TOPIC, "altered", [(SUBTRACT, "retention.ms", "8")])),
    change("append to an unknown key", (TOPIC, "altered", [(APPEND, "no.such", "8")])),
    change("an unknown operation", (TOPIC, "altered", [(7, "retention.ms", "8")])),
    change("a null value", (TOPIC, "altered", [(SET, "retention.ms", None), (APPEND, POLICY, None)])),
    change("a key twice", (TOPIC, "altered", [(SET, "retention.ms", "1"), (DELETE, "retention.ms", "")])),
    change("a wrong value", (TOPIC, "altered", [(SET, "retention.ms", "-2")])),
    change("an unknown key", (TOPIC, "altered", [(SET, "no.such", "1")])),
    change("only looked at", (TOPIC, "altered", [(SET, "retention.ms", "78")]), validate_only=True),
    change("wrong and only looked at", (TOPIC, "altered", [(SET, "retention.ms", "x")]), validate_only=True),
    change("an unknown topic", (TOPIC, "nowhere", [(SET, "retention.ms", "1")])),
    change("an illegal topic", (TOPIC, "il legal", [(SET, "retention.ms", "1")])),
    change("no topic", (TOPIC, "", [(SET, "retention.ms", "1")])),
    change("a topic twice", (TOPIC, "altered", []), (TOPIC, "altered", [])),
    change("an unknown type", (3, "x", [])),
    change("client metrics", (CLIENT_METRICS, "x", [(SET, "interval.ms", "100")])),
    change("groups", (32, "x", [])),
    change("nothing at all"),
    shown("all of it", TOPIC, "altered", "retention.ms", "segment.bytes", POLICY),
)

BROKERS = (
    replace("a broker", (BROKER, "0", [(LOG, "100000"), (THREADS, "9")])),
    shown("a broker", BROKER, "0", LOG, "log.retention.hours", THREADS, until=(LOG, 2)),
    replace("all brokers", (BROKER, "", [(LOG, "200000"), (SIZE, "2000000")])),
    shown("all brokers", BROKER, "0", LOG, "log.retention.hours", THREADS, SIZE, until=(SIZE, 3)),
    shown("all brokers, as such", BROKER, "", LOG, SIZE, until=(SIZE, 3)),
    shown("all brokers, on a topic", TOPIC, "altered", "retention.ms", "max.message.bytes"),
    replace("a broker by other keys", (BROKER, "0", [("log.retention.hours", "5")])),
    shown("a broker by other keys", BROKER, "0", LOG, "log.retention.hours", "log.retention.minutes", THREADS),
    replace("a broker's read-only key", (BROKER, "0", [("zookeeper.connect", "x")])),
    replace("two read-only keys", (BROKER, "0", [("zookeeper.connect", "x"), ("broker.id", "1")])),
    replace("a read-only key of all", (BROKER, "", [("log.dirs", "x")])),
    replace("a broker's key for all", (BROKER, "", [("listeners", "PLAINTEXT://:1")])),
    replace("a listener's key for all", (BROKER, "", [(PREFIXED + "ssl.keystore.location", "/x")])),
    replace("a listener's limit for all", (BROKER, "", [(PREFIXED + "max.connections", "100")])),
    replace("a security key", (BROKER, "0", [("ssl.keystore.location", "/x")])),
    replace("a password without its listener", (BROKER, "0", [("ssl.keystore.password", "x")])),
    replace("a listener's unknown key", (BROKER, "0", [(PREFIXED + "no.such", "1")])),
    replace("a listener's read-only key", (BROKER, "0", [(PREFIXED + "connections.max.reauth.ms", "1")])),
    replace("a wrong value of a listener", (BROKER, "0", [(PREFIXED + "max.connections", "x")])),
    replace("a listener's password", (BROKER, "0", [(SECRET_KEY, "secret word")])),
    shown("a listener's password", BROKER, "0", SECRET_KEY, "ssl.key.password", until=(SECRET_KEY, 2)),
    replace("a password of all", (BROKER, "", [(SECRET_KEY, "secret word")])),
    replace("an unknown key of a broker", (BROKER, "0", [(PLUGIN, "1")])),
    shown("an unknown key of a broker", BROKER, "0", PLUGIN, until=(PLUGIN, 2)),
    replace("an unknown key of all", (BROKER, "", [(PLUGIN, "2")])),
    shown("an unknown key of all", BROKER, "", PLUGIN, until=(PLUGIN, 3)),
    replace("a broker's wrong value", (BROKER, "0", [(LOG, "x")])),
    replace("a broker's value out of range", (BROKER, "0", [("log.cleaner.min.cleanable.ratio", "2")])),
    replace("a broken rule", (BROKER, "0", [(LOG, "0")])),
    replace("a broken rule of the cleaner", (BROKER, "0", [("log.cleaner.dedupe.buffer.size", "1000")])),
    replace("no cleaner", (BROKER, "0", [("log.cleaner.threads", "0")])),
    replace("too many cleaners", (BROKER, "0", [("log.cleaner.threads", "7")])),
    replace("two cleaners", (BROKER, "0", [("log.cleaner.threads", "2")])),
    shown("two cleaners", BROKER, "0", "log.cleaner.threads", until=("log.cleaner.threads", 2)),
    replace("too many threads", (BROKER, "0", [(THREADS, "100")])),
    replace("too few threads", (BROKER, "0", [(THREADS, "1")])),
    replace("no threads", (BROKER, "0", [(THREADS, "0")])),
    replace("too many fetchers", (BROKER, "0", [("num.replica.fetchers", "3")])),
    replace("too many recovery threads", (BROKER, "", [("num.recovery.threads.per.data.dir", "50")])),
    replace("too many background threads", (BROKER, "", [("background.threads", "50")])),
    replace("too many network threads", (BROKER, "0", [("num.network.threads", "50")])),
    replace("a listener's network threads", (BROKER, "0", [(PREFIXED + "num.network.threads", "50")])),
    # Only looked at: Apache closes the connections of the thread that goes, which may be the one that asks.
    replace("two network threads", (BROKER, "0", [("num.network.threads", "2")]), validate_only=True),
    replace("other listeners, none of them advertised", (BROKER, "0", [("listeners", "OTHER://127.0.0.1:0")])),
    replace("a listener without protocol", (BROKER, "0", [("advertised.listeners", "OTHER://127.0.0.1:0")])),
    replace("no listeners", (BROKER, "0", [("listeners", "")])),
    replace("a reporter that is not there", (BROKER, "0", [("metric.reporters", "no.such.Reporter")])),
    replace(
        "a reporter of metrics", (BROKER, "0", [("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter")])
    ),
    replace("a principal builder", (BROKER, "0", [("principal.builder.class", "no.such.Builder")])),
    replace("limits of connections", (BROKER, "0", [("max.connections.per.ip", "0")])),
    replace("limits of hosts", (BROKER, "0", [("max.connections.per.ip.overrides", "127.0.0.1:50")])),
    replace("bad limits of hosts", (BROKER, "0", [("max.connections.per.ip.overrides", "127.0.0.1:x")])),
    replace("throttles of replication", (BROKER, "0", [(THROTTLE, "100")])),
    shown("throttles of replication", BROKER, "0", THROTTLE, until=(THROTTLE, 2)),
    replace("a wrong throttle", (BROKER, "0", [(THROTTLE, "x")])),
    replace("local retention", (BROKER, "0", [("log.local.retention.ms", "999999999999")])),
    replace("expiration of producers", (BROKER, "0", [("producer.id.expiration.ms", "-1")])),
    replace("remote threads", (BROKER, "0", [("remote.log.reader.threads", "100")])),
    replace("a provider", (BROKER, "0", [("log.retention.ms", "${file:/x:y}")])),
    replace("a secret of the encoder", (BROKER, "0", [("password.encoder.secret", "x")])),
    replace("a null value of a broker", (BROKER, "0", [(LOG, None)])),
    replace("a broker's key twice", (BROKER, "0", [(LOG, "1"), (LOG, "2")])),
    replace("another broker", (BROKER, "7", [(LOG, "1")])),
    replace("no broker id", (BROKER, "seven", [(LOG, "1")])),
    replace("a broker id in other words", (BROKER, "+0", [(LOG, "300000")])),
    shown("a broker id in other words", BROKER, "0", LOG, until=(LOG, 2)),
    replace("a broker, only looked at", (BROKER, "0", [(LOG, "400000")]), validate_only=True),
    shown("a broker, only looked at", BROKER, "0", LOG),
    replace("a topic and a broker", (TOPIC, "altered", [("retention.ms", "5")]), (BROKER, "0", [(LOG, "5000")])),
    replace("a broker and a wrong broker", (BROKER, "0", [(LOG, "6000")]), (BROKER, "7", [(LOG, "5000")])),
    change("a broker", (BROKER, "0", [(SET, LOG, "7000"), (SET, "log.roll.hours", "3")])),
    change("a broker's delete", (BROKER, "0", [(DELETE, LOG, None)])),
    shown(
        "a broker's delete", BROKER, "0", LOG, "log.retention.hours", "log.roll.ms", "log.roll.hours", until=(LOG, 5)
    ),
    change("a broker's list", (BROKER, "0", [(APPEND, LOG_POLICY, "compact")])),
    shown("a broker's list", BROKER, "0", LOG_POLICY, until=(LOG_POLICY, 2)),
    shown("a broker's list, on a topic", TOPIC, "altered", POLICY),
    change("no list of a broker", (BROKER, "0", [(APPEND, LOG, "1")])),
    change("a broker's unknown key", (BROKER, "0", [(SET, PLUGIN, "1")])),
    change("append to a broker's unknown key", (BROKER, "0", [(APPEND, PLUGIN, "1")])),
    change("an unknown operation on a broker", (BROKER, "0", [(7, LOG, "1")])),
    change("a broker's read-only key", (BROKER, "0", [(SET, "zookeeper.connect", "1")])),
    change("delete of a broker's read-only key", (BROKER, "0", [(DELETE, "zookeeper.connect", "1")])),
    change("another broker", (BROKER, "7", [(SET, LOG, "1")])),
    change("no broker id", (BROKER, "seven", [(SET, LOG, "1")])),
    change("all brokers", (BROKER, "", [(SET, "log.segment.bytes", "1048576"), (DELETE, LOG, None)])),
    shown("all brokers, changed", BROKER, "", LOG, "log.segment.bytes", PLUGIN, until=("log.segment.bytes", 3)),
    change("a password", (BROKER, "0", [(SET, PREFIXED + "sasl.jaas.config", "secret")])),
    change("a mechanism's password", (BROKER, "0", [(SET, PLAIN_JAAS, "secret")])),
    shown("passwords", BROKER, "0", PLAIN_JAAS, PREFIXED + "sasl.jaas.config", until=(PLAIN_JAAS, 2)),
    change("a broker, only looked at", (BROKER, "0", [(SET, LOG, "1234567")]), validate_only=True),
    change("a broken rule", (BROKER, "0", [(SET, LOG, "0")])),
    change("unclean elections", (BROKER, "", [(SET, "unclean.leader.election.enable", "true")])),
    change("log level by the wrong name", (BROKER, "0", [(SET, "log4j.rootLogger", "DEBUG")])),
)

LOGGERS = (
    replace("loggers", (BROKER_LOGGER, "0", [(LOGGER, "DEBUG")])),
    change("a logger", (BROKER_LOGGER, "0", [(SET, LOGGER, "DEBUG")])),
    shown("a logger", BROKER_LOGGER, "0", LOGGER),
    change("a logger, only looked at", (BROKER_LOGGER, "0", [(SET, LOGGER, "TRACE")]), validate_only=True),
    change("the root logger", (BROKER_LOGGER, "0", [(SET, "root", "WARN")])),
    shown("the root logger", BROKER_LOGGER, "0", "root"),
    change("the root logger again", (BROKER_LOGGER, "0", [(SET, "root", "INFO")])),
    change("the root logger in capitals", (BROKER_LOGGER, "0", [(SET, "ROOT", "INFO")])),
    change("a level in small letters", (BROKER_LOGGER, "0", [(SET, LOGGER, "debug")])),
    change("a level that is none", (BROKER_LOGGER, "0", [(SET, LOGGER, "LOUD")])),
    change("a level of log4j alone", (BROKER_LOGGER, "0", [(SET, LOGGER, "OFF")])),
    change("a logger that is not there", (BROKER_LOGGER, "0", [(SET, "no.such.logger", "INFO")])),
    change("delete of a logger that is not there", (BROKER_LOGGER, "0", [(DELETE, "no.such.logger", None)])),
    change("delete of a level", (BROKER_LOGGER, "0", [(DELETE, LOGGER, None)])),
    shown("delete of a level", BROKER_LOGGER, "0", LOGGER),
    change("delete of the root's level", (BROKER_LOGGER, "0", [(DELETE, "root", None)])),
    change("append to a level", (BROKER_LOGGER, "0", [(APPEND, LOGGER, "INFO")])),
    change("subtract from a level", (BROKER_LOGGER, "0", [(SUBTRACT, LOGGER, "INFO")])),
    change("an unknown operation on a logger", (BROKER_LOGGER, "0", [(7, LOGGER, "INFO")])),
    change("a null level", (BROKER_LOGGER, "0", [(SET, LOGGER, None)])),
    change("a level twice", (BROKER_LOGGER, "0", [(SET, LOGGER, "INFO"), (SET, LOGGER, "WARN")])),
    change("loggers of another broker", (BROKER_LOGGER, "7", [(SET, LOGGER, "INFO")])),
    change("loggers of no broker", (BROKER_LOGGER, "", [(SET, LOGGER, "INFO")])),
    change("loggers of no number", (BROKER_LOGGER, "seven", [(SET, LOGGER, "INFO")])),
    change("one good level and one bad", (BROKER_LOGGER, "0", [(SET, LOGGER, "WARN"), (SET, "root", "LOUD")])),
    shown("one good level and one bad", BROKER_LOGGER, "0", LOGGER),
)

EXCHANGES = (*TOPICS, *BROKERS, *LOGGERS)
