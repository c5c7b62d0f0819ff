"""kafka-topics.sh --zookeeper prints and does what the tool of Kafka 2.8.2 printed and did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from kafka_zk.tools.common.options import usage_of
from kafka_zk.tools.topics.__main__ import main
from tests.interop.tools.runs import comparable, run_once
from tests.support.apache import ToolRun
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer, eventually, fresh_chroot, plain_client

CASES = Path(__file__).parents[1] / "golden" / "tools" / "kafka-topics-2.8-zookeeper.jsonl"
BROKER_ID = 1
ABSENT_BROKER_ID = 5
OFFSETS_CONFIGS = ("compression.type=producer", "cleanup.policy=compact", "segment.bytes=104857600")
TRANSACTIONS_CONFIGS = (
    "compression.type=uncompressed",
    "cleanup.policy=compact",
    "min.insync.replicas=1",
    "segment.bytes=104857600",
    "unclean.leader.election.enable=false",
)
TOPICS_OF_BEFORE: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("t", 3, ()),
    ("auto-created", 1, ()),
    ("tx-open", 1, ("retention.ms=-1",)),
    ("__consumer_offsets", 3, OFFSETS_CONFIGS),
    ("__transaction_state", 3, TRANSACTIONS_CONFIGS),
)


@pytest.fixture(scope="module")
def cluster(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, OurBroker, KazooClient]]:
    connect = fresh_chroot(zookeeper, "topics-tool")
    broker = OurBroker(tmp_path_factory.mktemp("broker"), connect, broker_id=BROKER_ID).start()
    zk = plain_client(connect)
    yield connect, broker, zk
    zk.stop()
    zk.close()
    broker.stop()


def test_the_runs_of_2_8_are_repeated_word_for_word(cluster: tuple[str, OurBroker, KazooClient]) -> None:
    connect, broker, zk = cluster
    for name, partition_count, configs in TOPICS_OF_BEFORE:
        assignment = ",".join([str(BROKER_ID)] * partition_count)
        options = [word for config in configs for word in ("--config", config)]
        run(connect, "--create", "--topic", name, "--replica-assignment", assignment, *options)
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    different = [text for case in cases if case["broker"] == "up" for text in difference(case, connect, zk)]
    run(connect, "--alter", "--topic", "z2", "--config", "retention.ms=7000")
    broker.stop()
    different += [text for case in cases if case["broker"] == "down" for text in difference(case, connect, None)]
    assert not different, f"{len(different)} of {len(cases)} differ:\n" + "\n".join(different)
    assert json.loads(zk.get("/brokers/topics/offline2")[0]) == {
        "partitions": {"0": [1]},
        "adding_replicas": {},
        "removing_replicas": {},
        "version": 3,
    }
    assert json.loads(zk.get("/config/topics/offline2")[0]) == {"version": 1, "config": {"retention.ms": "77"}}
    assert zk.exists("/nochroot") is None


def run(connect: str, *arguments: str) -> None:
    done = run_once(main, ["--zookeeper", connect, *arguments])
    assert done.exit_code == 0, done


def difference(case: dict[str, Any], connect: str, zk: KazooClient | None) -> list[str]:
    """Repeat one run, once the controller has done what those before it ask for; what differs, if anything does."""
    if zk is not None:
        eventually(lambda: is_settled(zk))
    expected = ToolRun(case["exit_code"], case["stdout"], case["stderr"])
    arguments = [word.replace("ZOOKEEPER", connect) for word in case["args"]]
    found = run_once(main, arguments)
    found = ToolRun(
        found.exit_code, found.stdout, found.stderr.replace(usage_of("topics", "zookeeper"), "<usage text>\n")
    )
    if comparable(found) == comparable(expected):
        return []
    return [f"{' '.join(arguments)}\n  2.8:  {comparable(expected)}\n  ours: {comparable(found)}"]


def is_settled(zk: KazooClient) -> bool:
    """Whether every topic has its id and its leaders, and none is waiting for its end."""
    if zk.get_children("/admin/delete_topics"):
        return False
    for topic in zk.get_children("/brokers/topics"):
        document = json.loads(zk.get(f"/brokers/topics/{topic}")[0])
        if "topic_id" not in document:
            return False
        for partition, replicas in document["partitions"].items():
            state = zk.exists(f"/brokers/topics/{topic}/partitions/{partition}/state")
            if state is None and ABSENT_BROKER_ID not in replicas:
                return False
    return True
