"""Which partitions kafka-get-offsets.sh means, and what it says of what it finds."""

from __future__ import annotations

import pytest

from kafka_zk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_zk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.tools.get_offsets.__main__ import main
from tests.interop.tools.runs import run_once
from tests.support.apache import ToolRun
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

METADATA_KEY, LIST_OFFSETS_KEY = 3, 2
VERSIONS = {METADATA_KEY: (0, 12), API_VERSIONS_KEY: (0, 4), LIST_OFFSETS_KEY: (0, 9)}
TOPICS = {"a": 3, "ab": 2, "__consumer_offsets": 1}
NOT_LEADER = 6


class Cluster:
    """One broker that leads every partition; partition p of a topic ends at offset 10 + p and begins at p."""

    def __init__(self, *, versions: tuple[int, int] = (0, 9), first_answer: int = 0) -> None:
        self.broker = ScriptedBroker(
            {METADATA_KEY: self._metadata, LIST_OFFSETS_KEY: self._offsets},
            versions={**VERSIONS, LIST_OFFSETS_KEY: versions},
        )
        self._errors = [first_answer] if first_answer else []
        self.asked: list[int] = []

    def run(self, *arguments: str) -> ToolRun:
        with self.broker as broker:
            return run_once(main, ["--bootstrap-server", broker.bootstrap, *arguments])

    def _metadata(self, request: MetadataRequest, _: int) -> MetadataResponse:
        names = TOPICS if request.topics is None else [topic.name for topic in request.topics]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host=self.broker.host, port=self.broker.port)],
            controller_id=1,
            topics=[
                MetadataResponseTopic(
                    name=name,
                    is_internal=name.startswith("__"),
                    partitions=[
                        MetadataResponsePartition(partition_index=index, leader_id=1, replica_nodes=[1], isr_nodes=[1])
                        for index in range(TOPICS[name])
                    ],
                )
                for name in names
            ],
        )

    def _offsets(self, request: ListOffsetsRequest, _: int) -> ListOffsetsResponse:
        error = self._errors.pop() if self._errors else 0
        topics = []
        for topic in request.topics:
            answers = []
            for partition in topic.partitions:
                self.asked.append(partition.timestamp)
                index = partition.partition_index
                offset = {-1: 10 + index, -2: index}.get(partition.timestamp, -1)
                answers.append(ListOffsetsPartitionResponse(partition_index=index, offset=offset, error_code=error))
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        return ListOffsetsResponse(topics=topics)


ALL = "__consumer_offsets:0:10\na:0:10\na:1:11\na:2:12\nab:0:10\nab:1:11\n"


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ("", ALL),
        ("--exclude-internal-topics", ALL.partition("\n")[2]),
        ("--topic a", "a:0:10\na:1:11\na:2:12\n"),
        ("--topic a.*", "a:0:10\na:1:11\na:2:12\nab:0:10\nab:1:11\n"),
        ("--topic a --partitions 0,2", "a:0:10\na:2:12\n"),
        ("--partitions 1", "a:1:11\nab:1:11\n"),
        ("--topic-partitions a:1", "a:1:11\n"),
        ("--topic-partitions a:1-", "a:1:11\na:2:12\n"),
        ("--topic-partitions a:-1", "a:0:10\n"),
        ("--topic-partitions a:0-2,ab:1", "a:0:10\na:1:11\nab:1:11\n"),
        ("--topic-partitions :0", "__consumer_offsets:0:10\na:0:10\nab:0:10\n"),
        ("--topic a --time earliest", "a:0:0\na:1:1\na:2:2\n"),
        ("--topic a --time -2", "a:0:0\na:1:1\na:2:2\n"),
        ("--topic a --time 1700000000000", ""),
    ],
)
def test_the_options_choose_partitions_and_times(arguments: str, printed: str) -> None:
    assert Cluster().run(*arguments.split()) == ToolRun(0, printed, "")


@pytest.mark.parametrize(("name", "number"), [("max-timestamp", -3), ("earliest-local", -4), ("latest-tiered", -5)])
def test_a_place_has_a_name_and_a_number(name: str, number: int) -> None:
    for text in (name, str(number)):
        cluster = Cluster()
        cluster.run("--topic", "ab", "--time", text)
        assert cluster.asked == [number, number]


def test_a_leader_that_has_moved_is_asked_again() -> None:
    cluster = Cluster(first_answer=NOT_LEADER)
    assert cluster.run("--topic", "ab") == ToolRun(0, "ab:0:10\nab:1:11\n", "")
    assert len(cluster.asked) == 4


def test_what_a_broker_is_too_old_for_is_said_of_each_partition() -> None:
    run = Cluster(versions=(0, 6)).run("--topic", "ab", "--time", "max-timestamp")
    assert (run.exit_code, run.stdout) == (0, "")
    assert run.stderr.count("Skip getting offsets for topic-partition ab-") == 2
    assert "org.apache.kafka.common.errors.UnsupportedVersionException" in run.stderr


def test_no_partition_at_all_is_an_error() -> None:
    assert Cluster().run("--topic", "none") == ToolRun(
        1, "", "Error occurred: Could not match any topic-partitions with the specified filters\n"
    )
