"""kafka-topics.sh: every command line answered by our tool as Apache's TopicCommand answers it, text for text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_zk.tools.topics.__main__ import main
from tests.interop.tools.runs import Arguments, differences, run_apache, run_ours, unlike
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer

TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"
NO_BROKER = "127.0.0.1:1"

# What is wrong before any broker is asked.
WRONG_BY_ITSELF = """

--help
--version
--version --help
--bogus
--list --bogus=1
--boot B --list
-list -bootstrap-server B -topic
-lx
--list
--bootstrap-server B
--bootstrap-server B --topic
--bootstrap-server B --create --delete --topic x
--bootstrap-server B --topic x
--bootstrap-server B --create
--bootstrap-server B --delete
--bootstrap-server B --alter
--bootstrap-server B --alter --topic t
--bootstrap-server B --alter --topic t --config a=b
--bootstrap-server B --alter --topic t --delete-config a
--bootstrap-server B --alter --topic t --delete-config a --partitions 3
--bootstrap-server B --alter --topic t --partitions 3 --replication-factor 3
--bootstrap-server B --alter --topic t --partitions 3 --if-not-exists
--bootstrap-server B --alter --topic t --partitions 3 --exclude-internal
--bootstrap-server B --create --topic t --delete-config a
--bootstrap-server B --create --topic t --if-exists
--bootstrap-server B --create --topic t --exclude-internal
--bootstrap-server B --create --topic t --replica-assignment 1 --partitions 1
--bootstrap-server B --create --topic t --replica-assignment 1 --replication-factor 1
--bootstrap-server B --create --topic t --partitions a
--bootstrap-server B --create --topic t --partitions 99999999999
--bootstrap-server B --create --topic t --partitions 1 --partitions 2
--bootstrap-server B --create --topic t --topic u
--bootstrap-server B --create --topic t --partitions 0
--bootstrap-server B --create --topic t_a --partitions 0 --replication-factor 0
--bootstrap-server B --create --topic t --replication-factor 40000
--bootstrap-server B --create --topic t --config a
--bootstrap-server B --create --topic t --config a --config b=c
--bootstrap-server B --create --topic t --config a=b=c
--bootstrap-server B --create --topic t --config =b
--bootstrap-server B --create --topic t --config retention.ms=
--bootstrap-server B --create --topic t --config x=y --config z=y
--bootstrap-server B --create --topic t --config retention.ms=x
--bootstrap-server B --create --topic t --config retention.ms=-2
--bootstrap-server B --create --topic t --config cleanup.policy=foo
--bootstrap-server B --create --topic t --config min.compaction.lag.ms=10 --config max.compaction.lag.ms=5
--bootstrap-server B --create --topic t --config message.format.version=2.8 --config x=y
--bootstrap-server B --create --topic t --replica-assignment a:b
--bootstrap-server B --create --topic t --replica-assignment 1::2
--bootstrap-server B --create --topic t --replica-assignment 1:2,3
--bootstrap-server B --create --topic t --replica-assignment 1:1:2:2
--bootstrap-server B --list --config a=b
--bootstrap-server B --list --partitions a
--bootstrap-server B --list --replica-assignment 1
--bootstrap-server B --list --if-exists
--bootstrap-server B --list --topics-with-overrides
--bootstrap-server B --list --under-replicated-partitions
--bootstrap-server B --list --under-min-isr-partitions
--bootstrap-server B --list --at-min-isr-partitions
--bootstrap-server B --list --unavailable-partitions
--bootstrap-server B --delete --topic t --exclude-internal
--bootstrap-server B --delete --topic t --topics-with-overrides
--bootstrap-server B --describe --partitions 1
--bootstrap-server B --describe --if-not-exists
--bootstrap-server B --describe --if-exists
--bootstrap-server B --describe --topics-with-overrides --at-min-isr-partitions --under-replicated-partitions
--bootstrap-server B --describe --topics-with-overrides --unavailable-partitions
--bootstrap-server B --describe --topic-id x
--bootstrap-server B --describe --topic-id $$
--bootstrap-server B --describe --topic-id AAAA
--bootstrap-server B --describe --topic-id AAAAAAAAAAAAAAAAAAAAA
--bootstrap-server B --describe --topic-id AAAAAAAAAAAAAAAAAAAAAAAAAAAA
--bootstrap-server B --describe --if-exists --topic t --topic-id x
--bootstrap-server foo --list
--bootstrap-server , --list
--bootstrap-server localhost:99999 --list
--bootstrap-server B --list --command-config /no/such/file
--bootstrap-server B --list --command-config F/wrong.properties
--bootstrap-server B --list --command-config F/short.properties
--bootstrap-server 127.0.0.1:1 --list --command-config F/impatient.properties
--bootstrap-server 127.0.0.1:1 --create --topic t --command-config F/impatient.properties
--bootstrap-server 127.0.0.1:1 --describe --partition-size-limit-per-response x --command-config F/impatient.properties
"""
PROPERTIES = {
    "wrong.properties": "default.api.timeout.ms=abc\n",
    "short.properties": "default.api.timeout.ms=1000\n",
    "brief.properties": "request.timeout.ms=1500\n",
    "impatient.properties": "default.api.timeout.ms=500\nrequest.timeout.ms=400\n",
}

# One life of a cluster; each line sees what those above it did.
ONE_LIFE = """
--list
--describe
--create --topic t1 --partitions 3 --replication-factor 1 --config segment.bytes=1048576
--create --topic t1
--create --topic t1 --if-not-exists
--create --topic t.2
--create --topic t_2
--create --topic bad/name
--create --topic .
--create --topic t3 --replication-factor 7
--create --topic t3 --partitions=2 --config=message.format.version=2.8
--create --topic t4 --replica-assignment 1,1
--create --topic t5 --replica-assignment 1:9
--create --topic t6 --replica-assignment 9 --command-config F/brief.properties
--create --topic t7 --config remote.storage.enable=true
--create --topic t8 --replica-assignment ,
--create --topic defaults ignored words -- --bogus
--create --topic __consumer_offsets --config cleanup.policy=compact
--list
--list --exclude-internal
--list --topic t.*
--list --topic t1,t.2
--list --topic "t[13]"
--list --topic nope
--list --topic [
--describe
--describe --topic t1
--describe --topic t1,t4
--describe --topic t1 --partition-size-limit-per-response 1
--describe --topic t1 --partition-size-limit-per-response x
--describe --topic nope
--describe --topic nope --if-exists
--describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ
--describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ --if-exists
--describe --topic-id AAAAAAAAAAAAAAAAAAAAAA
--describe --topics-with-overrides
--describe --under-replicated-partitions
--describe --under-min-isr-partitions
--describe --at-min-isr-partitions
--describe --unavailable-partitions
--describe --unavailable-partitions --under-replicated-partitions
--describe --exclude-internal
--alter --topic t1 --partitions 4
--alter --topic t1 --partitions 2
--alter --topic t1 --partitions 4
--alter --topic t1 --partitions 0
--alter --topic nope --partitions 4
--alter --topic nope --partitions 4 --if-exists
--alter --topic t1 --partitions 6 --replica-assignment 1,1
--alter --topic t1 --partitions 6 --replica-assignment 1,1,1,1,1,1
--alter --topic t1 --partitions 7 --replica-assignment 1,1,1,1,1,1,8
--alter --topic t[34] --partitions 5
--describe --topic t[134]
--delete --topic nope
--delete --topic nope --if-exists
--delete --topic t1
--delete --topic t[34],t5
--list
--delete --topic .*
--describe
--list
"""


def command_lines(table: str, *, bootstrap: str, folder: Path, always: Sequence[str] = ()) -> list[Arguments]:
    """The lines of a table as arguments; B stands for the broker, F for the folder with the properties."""
    lines = table.removeprefix("\n").splitlines()
    places = {"B": bootstrap}
    return [[*always, *(places.get(word, word).replace("F/", f"{folder}/") for word in line.split())] for line in lines]


def write_properties(folder: Path) -> None:
    for name, text in PROPERTIES.items():
        (folder / name).write_text(text)


def test_what_is_wrong_by_itself_is_refused_in_apaches_words(tmp_path: Path) -> None:
    write_properties(tmp_path)
    lines = command_lines(WRONG_BY_ITSELF, bootstrap=NO_BROKER, folder=tmp_path)
    different = unlike(
        lines, lines, lambda asked: run_apache(TOPIC_COMMAND, asked, tmp_path), lambda asked: run_ours(main, asked)
    )
    assert not different, f"{len(different)} of {len(lines)} differ:\n" + "\n".join(different)


BROKERS = {"apache": ApacheBroker, "ours": OurBroker}
TOOLS = ("apache", "ours")


class Lives:
    """What each tool printed in its own cluster, by kind of broker and tool."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], list[Arguments]] = {}
        self.runs: dict[tuple[str, str], list[ToolRun]] = {}

    def differences(self, left: tuple[str, str], right: tuple[str, str]) -> str:
        different = differences(self.lines[left], self.runs[left], self.runs[right])
        return "" if not different else f"{len(different)} of {len(self.runs[left])} differ:\n" + "\n".join(different)


@pytest.fixture(scope="module")
def lives(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    found = Lives()
    for key in itertools.product(BROKERS, TOOLS):
        folder: Path = tmp_path_factory.mktemp("-".join(key))
        write_properties(folder)
        broker = BROKERS[key[0]](folder, f"{zookeeper.connect}/{folder.name}", broker_id=1).start()
        try:
            lines = command_lines(
                ONE_LIFE, bootstrap=broker.bootstrap, folder=folder, always=("--bootstrap-server", broker.bootstrap)
            )
            found.lines[key] = lines
            found.runs[key] = run_apache(TOPIC_COMMAND, lines, folder) if key[1] == "apache" else run_ours(main, lines)
        finally:
            broker.stop()
    return found


@pytest.mark.parametrize("broker", BROKERS)
def test_one_life_of_a_cluster_reads_the_same_in_both_tools(lives: Lives, broker: str) -> None:
    different = lives.differences((broker, "apache"), (broker, "ours"))
    assert not different, different


@pytest.mark.parametrize("tool", TOOLS)
def test_one_life_of_a_cluster_reads_the_same_with_both_brokers(lives: Lives, tool: str) -> None:
    different = lives.differences(("apache", tool), ("ours", tool))
    assert not different, different
