"""kafka-topics.sh --describe: the lines of a topic, whatever its partitions go through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_zk.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kafka_zk.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_zk.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.tools.topics.__main__ import main
from tests.unit.client.scripted_broker import ScriptedBroker

METADATA_KEY, API_VERSIONS_KEY, CONFIGS_KEY, REASSIGNMENTS_KEY, CLUSTER_KEY = 3, 18, 32, 46, 60
VERSIONS = {
    METADATA_KEY: (0, 12),
    API_VERSIONS_KEY: (0, 4),
    CONFIGS_KEY: (0, 4),
    REASSIGNMENTS_KEY: (0, 0),
    CLUSTER_KEY: (0, 1),
}
DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 4, 5


def partition(index: int, leader: int, replicas: list[int], isr: list[int]) -> MetadataResponsePartition:
    return MetadataResponsePartition(partition_index=index, leader_id=leader, replica_nodes=replicas, isr_nodes=isr)


PARTITIONS = [
    partition(1, 1, [1, 2, 3], [1, 2, 3]),  # broker 3 is coming, broker 2 is going
    partition(0, 1, [1, 2], [1, 2]),
    partition(2, 2, [2, 1], [2]),
    partition(3, -1, [2, 1], []),
    partition(4, 1, [1, 2, 3], [1, 2]),  # the same, and broker 3 has not come far
]


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker({}, versions=VERSIONS) as broker:
        brokers = [MetadataResponseBroker(node_id=node, host=broker.host, port=broker.port) for node in (1, 2, 3)]
        topics = [MetadataResponseTopic(name="a", partitions=PARTITIONS)]
        configs = [
            DescribeConfigsResourceResult(name="min.insync.replicas", value="2", config_source=STATIC_BROKER_CONFIG),
            DescribeConfigsResourceResult(name="retention.ms", value="5", config_source=DYNAMIC_TOPIC_CONFIG),
            DescribeConfigsResourceResult(name="segment.ms", value="7", config_source=DEFAULT_CONFIG),
        ]
        moving = [
            OngoingPartitionReassignment(
                partition_index=index, replicas=[1, 2, 3], adding_replicas=[3], removing_replicas=[2]
            )
            for index in (1, 4)
        ]
        broker.handlers = {
            METADATA_KEY: lambda *_: MetadataResponse(brokers=brokers, controller_id=1, topics=topics),
            CONFIGS_KEY: lambda *_: DescribeConfigsResponse(
                results=[DescribeConfigsResult(resource_type=2, resource_name="a", configs=configs)]
            ),
            REASSIGNMENTS_KEY: lambda *_: ListPartitionReassignmentsResponse(
                topics=[OngoingTopicReassignment(name="a", partitions=moving)]
            ),
            CLUSTER_KEY: lambda *_: DescribeClusterResponse(
                cluster_id="c", brokers=[DescribeClusterBroker(broker_id=node, host="h", port=1) for node in (1, 2, 3)]
            ),
        }
        yield broker


def described(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["--bootstrap-server", broker.bootstrap, "--describe", *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_topic_is_described_by_its_overrides_and_its_partitions_in_order(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = described(broker, capsys)
    assert lines[0].startswith("Topic: a\tPartitionCount: 5\tReplicationFactor: 2\tConfigs: ")
    assert set(lines[0].rpartition(" ")[2].split(",")) == {"min.insync.replicas=2", "retention.ms=5"}
    elr = "\tElr: N/A\tLastKnownElr: N/A"
    assert lines[1:] == [
        "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2" + elr,
        "\tTopic: a\tPartition: 1\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3"
        "\tAdding Replicas: 3\tRemoving Replicas: 2" + elr,
        "\tTopic: a\tPartition: 2\tLeader: 2\tReplicas: 2,1\tIsr: 2" + elr,
        "\tTopic: a\tPartition: 3\tLeader: none\tReplicas: 2,1\tIsr: " + elr,
        "\tTopic: a\tPartition: 4\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 2"
        + elr,
    ]


@pytest.mark.parametrize(
    ("report", "partitions"),
    [
        ("--under-replicated-partitions", [2, 3]),
        ("--under-min-isr-partitions", [2, 3]),
        ("--at-min-isr-partitions", [0, 4]),
        ("--unavailable-partitions", [3]),
    ],
)
def test_a_report_shows_only_the_partitions_it_is_about(
    broker: ScriptedBroker, capsys: pytest.CaptureFixture[str], report: str, partitions: list[int]
) -> None:
    lines = described(broker, capsys, report)
    assert [int(line.split("\t")[2].removeprefix("Partition: ")) for line in lines] == partitions
