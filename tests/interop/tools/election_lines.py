"""Command lines that small tools for replicas refuse by themselves, what Apache's say, and how that was written down.

`python -m tests.interop.tools.election_lines` runs Apache's tools again and writes tests/golden/tools/TOOL.jsonl anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.interop.tools.reassign_lines import Line, line_of, of_apache, write_down
from tests.support.apache import ToolRun, classpath_of_kafka_2_8

FOLDER = Path(__file__).parents[2] / "golden" / "tools"
ELECTION = """

--help
--version
--bogus
--bootstrap-server B
--election-type preferred
--topic t
--bootstrap-server B --election-type preferred
--bootstrap-server B --election-type preferred --topic t
--bootstrap-server B --election-type preferred --partition 1
--bootstrap-server B --election-type preferred --all-topic-partitions --partition 1
--bootstrap-server B --election-type preferred --all-topic-partitions --topic t --partition 1
--bootstrap-server B --election-type preferred --all-topic-partitions --path-to-json-file F
--bootstrap-server B --election-type preferred --topic t --path-to-json-file F
--bootstrap-server B --election-type bogus --all-topic-partitions
--bootstrap-server B --election-type= --all-topic-partitions
--bootstrap-server B --election-type preferred --election-type unclean --all-topic-partitions
--bootstrap-server B --election-type preferred --topic t --partition a
--bootstrap-server B --election-type preferred --topic t --topic u --partition 0
--bootstrap-server B --election-type preferred --topic t --partition 99999999999
--bootstrap-server B --election-type preferred --path-to-json-file /no/such/file
--bootstrap-server B --election-type bogus --path-to-json-file /no/such/file
--bootstrap-server B --election-type UNCLEAN --all-topic-partitions --admin.config /no/such/file
--bootstrap-server foo --election-type preferred --all-topic-partitions
--bootstrap-server= --election-type preferred --all-topic-partitions
"""
PREFERRED = """

--help
--bogus
--zookeeper
--zookeeper B --bootstrap-server B
--path-to-json-file F
--admin.config /no/such/file
--zookeeper B --admin.config /no/such/file
--bootstrap-server B --admin.config /no/such/file
--bootstrap-server B --path-to-json-file /no/such/file
--zookeeper B --path-to-json-file /no/such/file
--bootstrap-server foo
--bootstrap-server B --bootstrap-server B
"""
VERIFICATION = """

--help
--version
--bogus
--broker-list
--topics-include x
--broker-list B --topics-include a --topic-white-list b
--broker-list foo
--broker-list ,
--broker-list=
--broker-list B --broker-list B
--fetch-size 1
"""
FILES = (
    "",
    "{",
    "nope",
    "12",
    "[]",
    "{}",
    '{"partitions":{}}',
    '{"partitions":[1]}',
    '{"partitions":[{}]}',
    '{"partitions":[{"topic":1}]}',
    '{"partitions":[{"topic":"a"}]}',
    '{"partitions":[{"topic":"a","partition":"0"}]}',
    '{"partitions":[{"topic":"a","partition":0},{"topic":"a","partition":0}]}',
    (
        '{"partitions":[{"topic":"b","partition":7},{"topic":"a","partition":0},{"topic":"b","partition":7},'
        '{"topic":"a","partition":0},{"topic":"c","partition":1}]}'
    ),
)


class Tool(NamedTuple):
    """One of them: Apache's class, its class path, what is asked, and where that was written down."""

    main_class: str
    class_path: Callable[[], str | None]
    asked: list[Line]
    golden: Path


TOOLS = {
    "leader_election": Tool(
        "org.apache.kafka.tools.LeaderElectionCommand",
        lambda: None,
        [line_of(text, "{}") for text in ELECTION.removeprefix("\n").splitlines()]
        + [line_of("--bootstrap-server B --election-type preferred --path-to-json-file F", text) for text in FILES],
        FOLDER / "leader-election.jsonl",
    ),
    "preferred_replica_election": Tool(
        "kafka.admin.PreferredReplicaLeaderElectionCommand",
        classpath_of_kafka_2_8,
        [line_of(text, "{}") for text in PREFERRED.removeprefix("\n").splitlines()]
        + [line_of("--bootstrap-server B --path-to-json-file F", text) for text in FILES],
        FOLDER / "preferred-replica-election.jsonl",
    ),
    "replica_verification": Tool(
        "org.apache.kafka.tools.ReplicaVerificationTool",
        lambda: None,
        [line_of(text, "") for text in VERIFICATION.removeprefix("\n").splitlines()],
        FOLDER / "replica-verification.jsonl",
    ),
}


def asked_again(name: str, folder: Path) -> list[ToolRun]:
    """Blocks. What Apache's tool says now to the same lines."""
    tool = TOOLS[name]
    return of_apache(tool.asked, folder, main_class=tool.main_class, tool=name, class_path=tool.class_path())


if __name__ == "__main__":
    for name, tool in TOOLS.items():
        with tempfile.TemporaryDirectory() as scratch:
            write_down(tool.golden, tool.asked, asked_again(name, Path(scratch)))
