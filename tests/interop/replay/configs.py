"""DescribeConfigs: topics, brokers, loggers; which keys, which sources; what is refused."""

from __future__ import annotations

from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_zk.protocol.messages.describe_configs import (
    DESCRIBE_CONFIGS_REQUEST,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.interop.replay.scenario import Exchange, World

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS = 2, 4, 8, 16
STATIC = {
    # Of what a test sets for the sake of memory, both sides must tell the same.
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.retention.hours": "24",
    "log.roll.ms": "5000000",
    "ssl.key.password": "secret",
    "listener.name.plaintext.max.connections": "1000",
    "listener.name.plaintext.ssl.key.password": "secret",
    "my.plugin.key": "1",
}
"""Both brokers are started with it."""
LOGGER = "kafka.server.KafkaApis"


def describe(name: str, *resources: tuple[int, str, list[str] | None], **flags: bool) -> Exchange:
    def build(world: World, version: int) -> DescribeConfigsRequest:
        given = {k: v for k, v in flags.items() if version >= {"include_synonyms": 1, "include_documentation": 3}[k]}
        return DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=kind, resource_name=resource, configuration_keys=keys)
                for kind, resource, keys in resources
            ],
            **given,
        )

    return Exchange(f"configs: {name}", DESCRIBE_CONFIGS_REQUEST, build)


EXCHANGES = (
    Exchange(
        "configs: a topic to describe",
        CREATE_TOPICS_REQUEST,
        lambda w, v: CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name="described",
                    num_partitions=1,
                    replication_factor=1,
                    configs=[CreatableTopicConfig(name="retention.ms", value="1000")],
                )
            ],
            timeout_ms=20_000,
        ),
        [7],
    ),
    describe("a topic", (TOPIC, "described", None)),
    describe("a topic with synonyms", (TOPIC, "described", None), include_synonyms=True),
    describe("two keys of a topic", (TOPIC, "described", ["retention.ms", "segment.bytes"]), include_synonyms=True),
    describe("no keys of a topic", (TOPIC, "described", [])),
    describe("an unknown key", (TOPIC, "described", ["no.such"])),
    describe("an unknown topic", (TOPIC, "unknown", None)),
    describe("an illegal topic", (TOPIC, "il legal", None)),
    describe("an empty topic", (TOPIC, "", None)),
    describe(
        "a broker's keys", (BROKER, "0", ["log.retention.hours", "log.retention.ms", "num.io.threads", "broker.id"])
    ),
    describe(
        "a broker's synonyms",
        (BROKER, "0", ["log.retention.ms", "broker.id", "ssl.key.password"]),
        include_synonyms=True,
    ),
    describe("all of a topic", (TOPIC, "described", None), include_synonyms=True, include_documentation=True),
    describe("all of a broker", (BROKER, "0", None)),
    describe(
        "all of a broker and whence it comes", (BROKER, "0", None), include_synonyms=True, include_documentation=True
    ),
    describe("a logger", (BROKER_LOGGER, "0", [LOGGER]), include_synonyms=True),
    describe("a logger in words", (BROKER_LOGGER, "0", [LOGGER]), include_documentation=True),
    describe("a logger that is not there", (BROKER_LOGGER, "0", ["no.such.logger"])),
    describe("the defaults of all brokers", (BROKER, "", None)),
    describe("another broker", (BROKER, "7", None)),
    describe("no broker id", (BROKER, "seven", None)),
    describe("loggers of no broker", (BROKER_LOGGER, "", None)),
    describe("loggers of another broker", (BROKER_LOGGER, "7", None)),
    describe("client metrics without a name", (CLIENT_METRICS, "", None)),
    describe("client metrics", (CLIENT_METRICS, "x", None)),
    describe("an unknown type", (3, "x", None)),
    describe("an unknown type beside a good one", (TOPIC, "described", ["retention.ms"]), (3, "x", None)),
    describe("several", (TOPIC, "described", ["retention.ms"]), (BROKER, "0", ["broker.id"]), (TOPIC, "unknown", None)),
    describe("nothing"),
)
