"""kafka-reassign-partitions.sh in a cluster of Apache's broker (1) and ours (2): Apache's tool and ours, text for text.

Apache's tool moves topics that are its own, and ours then moves its own in the same way. Between two acts everything
that moves has arrived, so that no text depends on how far a move has come.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from kafka_zk.client import KafkaProducer
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigResource, NewTopic, ResourceType
from kafka_zk.client.admin.log_dirs import Replica
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.reassign_partitions import moves
from kafka_zk.tools.reassign_partitions.__main__ import main
from tests.interop.tools import reassign_lines
from tests.interop.tools.election_lines import TOOLS, asked_again
from tests.interop.tools.runs import comparable, differences, run_apache, run_ours
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun, classpath_of_kafka_2_8, java
from tests.support.broker import OurBroker
from tests.support.masks import Mask
from tests.support.processes import ChildProcess, wait_until
from tests.support.znodes import wait_until_unregistered
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

pytestmark = pytest.mark.slow

SIDES = ("theirs", "ours")
MASKS = (
    Mask(re.compile(r"-(theirs|ours)\b"), "-T", allowed("ids-and-times")),
    Mask(re.compile(r"/files/(theirs|ours)/"), "/files/T/", allowed("ids-and-times")),
)
GENERATED = re.compile(r"(?<=^Proposed partition reassignment configuration\n).*", re.MULTILINE)


def plan(*partitions: tuple[str, int, Sequence[int]], log_dirs: Mapping[int, str] | None = None) -> str:
    """A plan's text; `log_dirs` by broker, `any` for the others."""
    entries = []
    for topic, index, replicas in partitions:
        entry: dict[str, object] = {"topic": topic, "partition": index, "replicas": [*replicas]}
        if log_dirs is not None:
            entry["log_dirs"] = [log_dirs.get(broker, "any") for broker in replicas]
        entries.append(entry)
    return json.dumps({"version": 1, "partitions": entries})


class Pair:
    """The two brokers, with two log directories each, and what the acts are made of."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        self.folder = folder
        self.zookeeper = zookeeper
        self.directories = {
            broker_id: [str(folder / str(broker_id) / name) for name in ("a", "b")] for broker_id in (1, 2)
        }
        self.brokers = [
            make(
                folder / f"broker-{broker_id}",
                zookeeper,
                broker_id=broker_id,
                overrides={"log.dirs": ",".join(self.directories[broker_id]), "replica.fetch.wait.max.ms": "100"},
            )
            for broker_id, make in ((1, ApacheBroker), (2, OurBroker))
        ]

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def start(self) -> None:
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_ready()
        with self.admin() as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2, "both brokers are in the metadata")

    def wait_until_at_rest(self) -> None:
        """Until nothing moves between brokers or directories, and every broker says so."""
        with self.admin() as admin:

            def rests() -> bool:
                found = admin.describe_log_dirs([1, 2])
                future = [
                    replica
                    for directories in found.values()
                    for directory in directories.values()
                    for replica in directory.replicas.values()
                    if replica.is_future
                ]
                return not admin.list_partition_reassignments() and not future

            wait_until(rests, "nothing moves any more")

    def act(
        self,
        *lines: tuple[str, str],
        main_class: str = reassign_lines.MAIN_CLASS,
        ours: Callable[[Sequence[str]], int] = main,
        class_path: str | None = None,
    ) -> None:
        """Each line and its file's text, by both tools; -T in them is a topic of the side's own."""
        runs = {}
        words = {side: self._words(side, lines) for side in SIDES}
        runs["theirs"] = run_apache(main_class, words["theirs"], self.folder, class_path=class_path)
        self.wait_until_at_rest()
        runs["ours"] = run_ours(ours, words["ours"])
        self.wait_until_at_rest()
        for side, found in runs.items():
            runs[side] = [self._plain(run) for run in found]
        different = differences(words["theirs"], runs["theirs"], runs["ours"])
        assert not different, "\n".join(different)

    def _words(self, side: str, lines: Sequence[tuple[str, str]]) -> list[list[str]]:
        files = self.folder / "files" / side
        files.mkdir(parents=True, exist_ok=True)
        found = []
        for line, text in lines:
            file = files / f"{len(found)}.json"
            file.write_text(text.replace("-T", f"-{side}"))
            found.append(
                [{"F": str(file), "B": self.bootstrap, "Z": self.zookeeper}.get(word, word) for word in line.split()]
            )
        return found

    @staticmethod
    def _plain(run: ToolRun) -> ToolRun:
        plain = comparable(run)
        text = GENERATED.sub("<by chance>", masks.masked(plain.stdout, MASKS))
        return ToolRun(plain.exit_code, text, masks.masked(plain.stderr, MASKS))

    def overrides(self, *resources: ConfigResource) -> dict[str, str | None]:
        """The throttles of brokers and topics that are set."""
        names = {*moves.BROKER_THROTTLES, *moves.TOPIC_THROTTLES}
        with self.admin() as admin:
            return {
                f"{resource.name} {entry.name}": entry.value
                for resource in resources
                for entry in admin.describe_configs([resource])[resource]
                if entry.name in names and entry.source in (1, 2)
            }


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZooKeeperServer) -> Iterator[Pair]:
    chroot = fresh_chroot(zookeeper, "reassign")
    found = Pair(tmp_path_factory.mktemp("pair"), chroot)
    found.start()
    yield found
    for broker in found.brokers:
        broker.stop()
    wait_until_unregistered(chroot)


@pytest.fixture
def topics(pair: Pair, request: pytest.FixtureRequest) -> Iterator[str]:
    """The beginning of names of this test's topics: NAME-T has two partitions, one on each broker."""
    name = f"{request.node.name.removeprefix('test_')[:20]}{getattr(request.node, 'execution_count', '')}"
    names = [f"{name}-{side}" for side in SIDES]
    with pair.admin() as admin:
        admin.create_topics([NewTopic(each, assignment={0: [1], 1: [2]}) for each in names])

        def led() -> bool:
            found = admin.describe_each_topic(names)
            return all(
                not isinstance(topic, Exception) and all(each.leader is not None for each in topic.partitions)
                for topic in found.values()
            )

        wait_until(led, "the topics have leaders")
        yield name
        admin.delete_topics(names)


EXECUTE = "--bootstrap-server B --execute --reassignment-json-file F"
VERIFY = "--bootstrap-server B --verify --reassignment-json-file F"
GENERATE = "--bootstrap-server B --generate --topics-to-move-json-file F --broker-list"
CANCEL = "--bootstrap-server B --cancel --reassignment-json-file F"


def test_a_life_of_moves(pair: Pair, topics: str) -> None:
    name = f"{topics}-T"
    there = plan((name, 0, [2, 1]), (name, 1, [1, 2]))
    back = plan((name, 0, [1]))
    of_topics = [ConfigResource(ResourceType.TOPIC, f"{topics}-{side}") for side in SIDES]
    of_brokers = [ConfigResource(ResourceType.BROKER, str(broker_id)) for broker_id in (1, 2)]
    pair.act((VERIFY, there), ("--bootstrap-server B --list", ""), (CANCEL, there))
    pair.act((f"{EXECUTE} --throttle 50000000 --replica-alter-log-dirs-throttle 7000000", there))
    found = pair.overrides(*of_topics, *of_brokers)
    for side in SIDES:
        assert found[f"{topics}-{side} {moves.LEADER_REPLICAS}"] == "0:1,1:2"
        assert found[f"{topics}-{side} {moves.FOLLOWER_REPLICAS}"] == "0:2,1:1"
    assert [found[f"{broker_id} {moves.LEADER_RATE}"] for broker_id in (1, 2)] == ["50000000"] * 2
    pair.act((f"{VERIFY} --preserve-throttles", there), (f"{EXECUTE} --additional --throttle 0", there))
    assert pair.overrides(*of_topics)
    pair.act((VERIFY, there))
    assert not pair.overrides(*of_topics, *of_brokers)
    pair.act((EXECUTE, back))
    pair.act((VERIFY, back), (VERIFY, there), (f"{CANCEL} --preserve-throttles", back))


def test_replicas_between_directories(pair: Pair, topics: str) -> None:
    name = f"{topics}-T"
    for _ in range(2):
        with pair.admin() as admin:
            replicas = [Replica(f"{topics}-{side}", index, index + 1) for side in SIDES for index in (0, 1)]
            places = admin.describe_replica_log_dirs(replicas)
        assert len({place.current for place in places.values()}) >= 2
    for directory in (0, 1, 1):
        targets = {broker_id: pair.directories[broker_id][directory] for broker_id in (1, 2)}
        wanted = plan((name, 0, [1]), (name, 1, [2]), log_dirs=targets)
        pair.act((f"{EXECUTE} --replica-alter-log-dirs-throttle 100000000", wanted))
        pair.act((VERIFY, wanted))
    elsewhere = plan((name, 0, [1]), log_dirs={1: pair.directories[1][0]})
    pair.act((VERIFY, elsewhere), (CANCEL, elsewhere))
    unknown = plan((name, 0, [1]), (name, 1, [2]), log_dirs={1: "/no/such/dir", 2: "relative"})
    pair.act((EXECUTE, unknown), (VERIFY, unknown))
    # Not there yet: asked for until the broker has it.
    both = plan((name, 0, [1, 2]), log_dirs={2: pair.directories[2][1]})
    pair.act((EXECUTE, both))
    pair.act((VERIFY, both))


REFUSED = (
    (EXECUTE, plan(("nope", 0, [1]))),
    (EXECUTE, plan(("NAME", 0, [1]), ("nope", 0, [1]))),
    (EXECUTE, plan(("NAME", 7, [1]))),
    (EXECUTE, plan(("NAME", 7, [1]), ("NAME", -1, [1]), ("NAME", 2, [1]))),
    (EXECUTE, plan(("NAME", 0, [9]))),
    (EXECUTE, plan(("NAME", 0, [1, 33, 9, 17]))),
    (EXECUTE, plan(("NAME", 0, [-1]))),
    (EXECUTE, plan(("", 0, [1]))),
    (EXECUTE, plan(("a b", 0, [1]))),
    (EXECUTE, plan(("a" * 300, 0, [1]))),
    (EXECUTE, plan(("NAME", 0, [1]), ("NAME", 0, [1]))),
    (EXECUTE, plan(("NAME", 0, [1, 1]))),
    (EXECUTE, plan(("NAME", 0, []))),
    (EXECUTE, plan()),
    (f"{EXECUTE} --throttle a", plan(("NAME", 0, [1]))),
    (f"{EXECUTE} --throttle 1 --throttle 1", plan(("NAME", 0, [1]))),
    (f"{EXECUTE} --additional", plan(("nope", 0, [1]))),
    (VERIFY, plan(("nope", 0, [1]))),
    (VERIFY, plan(("NAME", 7, [1]))),
    (VERIFY, plan(("NAME", 2, [1]))),
    (VERIFY, plan(("NAME", -1, [1]))),
    (VERIFY, plan(("", 0, [1]))),
    (VERIFY, plan(("a b", 0, [1]))),
    (f"{VERIFY} --preserve-throttles", plan(("nope", 0, [1]))),
    (f"{VERIFY} --preserve-throttles", plan(("NAME", 0, [9]))),
    (f"{VERIFY} --preserve-throttles", plan(("NAME", 0, [1]), ("NAME", 0, [2]))),
    (f"{VERIFY} --preserve-throttles", plan()),
    (VERIFY, plan()),
    (CANCEL, plan(("nope", 0, [1]))),
    (CANCEL, plan(("", 0, [1]))),
    (CANCEL, plan(("NAME", -1, [1]))),
    (CANCEL, plan(("NAME", 7, [1]))),
    (CANCEL, plan()),
    (f"{CANCEL} --preserve-throttles", plan()),
    (f"{GENERATE} 1,2", '{"topics":[{"topic":"nope"}]}'),
    (f"{GENERATE} 9", '{"topics":[{"topic":"NAME"}]}'),
    (f"{GENERATE} ,", '{"topics":[{"topic":"NAME"}]}'),
    (f"{GENERATE} 1,2", '{"topics":[{"topic":"NAME"}]}'),
    (f"{GENERATE} 2", '{"topics":[{"topic":"NAME"}]}'),
    (f"{GENERATE} 1,9 --disable-rack-aware", '{"topics":[{"topic":"NAME"}]}'),
    (f"{GENERATE} 1", '{"topics":[]}'),
    (f"{GENERATE} 1", "{}"),
    (f"{GENERATE} 1", '{"topics":[{"topic":""}]}'),
    ("--bootstrap-server B --list", ""),
)


def test_what_the_cluster_refuses(pair: Pair, topics: str) -> None:
    # Of the same name for both tools, whose hash maps then have the same order; nothing of it changes.
    name = f"{topics}-ours"
    pair.act(*((line, text.replace("NAME", name)) for line, text in REFUSED))


def test_what_apache_refuses_by_itself_is_what_was_written_down(tmp_path: Path) -> None:
    recorded = reassign_lines.written_down()
    runs = reassign_lines.of_apache([*recorded], tmp_path)
    assert dict(zip(recorded, runs, strict=True)) == recorded


ELECTION = "--bootstrap-server B --election-type"
ELECTIONS = (
    (f"{ELECTION} preferred --topic NAME --partition 0", ""),
    (f"{ELECTION} Unclean --topic NAME --partition 1", ""),
    (f"{ELECTION} preferred --topic NAME --partition 7", ""),
    (f"{ELECTION} preferred --topic nope --partition 0", ""),
    (f"{ELECTION} preferred --path-to-json-file F", '{"partitions":[]}'),
    (
        f"{ELECTION} preferred --path-to-json-file F",
        '{"partitions":[{"topic":"NAME","partition":1},{"topic":"NAME","partition":0},{"topic":"nope","partition":3}]}',
    ),
    (f"{ELECTION} preferred --all-topic-partitions", ""),
)
OLD_ELECTIONS = (
    ("--bootstrap-server B", ""),
    (
        "--bootstrap-server B --path-to-json-file F",
        '{"partitions":[{"topic":"NAME","partition":1},{"topic":"NAME","partition":0},{"topic":"nope","partition":3}]}',
    ),
    ("--bootstrap-server B --path-to-json-file F", '{"partitions":[{"topic":"NAME","partition":1}]}'),
)


def test_elections(pair: Pair, topics: str) -> None:
    for name, lines in (("leader_election", ELECTIONS), ("preferred_replica_election", OLD_ELECTIONS)):
        tool = TOOLS[name]
        ours = importlib.import_module(f"kafka_zk.tools.{name}.__main__").main
        wanted = [
            (line.replace("NAME", f"{topics}-ours"), text.replace("NAME", f"{topics}-ours")) for line, text in lines
        ]
        pair.act(*wanted, main_class=tool.main_class, ours=ours, class_path=tool.class_path())


@pytest.mark.parametrize("name", TOOLS)
def test_what_apaches_election_tools_refuse_is_what_was_written_down(name: str, tmp_path: Path) -> None:
    recorded = reassign_lines.written_down(TOOLS[name].golden)
    assert dict(zip(recorded, asked_again(name, tmp_path), strict=True)) == recorded


REPORTED = re.compile(r"^\S+ \S+: (max lag is 0 for partition .*)$", re.MULTILINE)


def test_replicas_are_verified_as_apaches_tool_verifies_them(pair: Pair, topics: str, tmp_path: Path) -> None:
    name = f"{topics}-ours"
    with pair.admin() as admin:
        admin.alter_partition_reassignments({TopicPartition(name, index): [1, 2] for index in (0, 1)})
    pair.wait_until_at_rest()
    arguments = f"--broker-list {pair.bootstrap} --topics-include {name} --report-interval-ms 300 --time -2".split()
    commands = {
        "theirs": java("org.apache.kafka.tools.ReplicaVerificationTool", *arguments, "--max-wait-ms", "200"),
        "ours": [sys.executable, "-P", "-m", "kafka_zk.tools.replica_verification", *arguments, "--max-wait-ms", "200"],
    }
    text = {"key.serializer": "StringSerializer", "value.serializer": "StringSerializer"}
    with KafkaProducer({"bootstrap.servers": pair.bootstrap} | text) as producer:
        for sent in [producer.send(name, f"{number}", partition=number % 2) for number in range(20)]:
            sent.result(30)
    texts = {}
    for side, command in commands.items():
        process = ChildProcess(command, tmp_path / f"{side}.log")
        process.start()
        try:

            def caught_up(side: str = side) -> bool:
                found = REPORTED.findall((tmp_path / f"{side}.log").read_text())
                return any("at offset 10 " in line for line in found[-1:])

            wait_until(caught_up, f"{side}: nothing is left to verify")
            texts[side] = (tmp_path / f"{side}.log").read_text()
        finally:
            process.stop()
    assert {side: REPORTED.findall(text)[-1] for side, text in texts.items()} == dict.fromkeys(
        texts, REPORTED.findall(texts["theirs"])[-1]
    )
    for text in texts.values():
        assert "verification process is started" in text
        assert "unmatched" not in text
        assert "doesn't match" not in text


OLD_CLASS = "kafka.admin.ReassignPartitionsCommand"
OLD_EXECUTE = "--zookeeper Z --execute --reassignment-json-file F"
OLD_VERIFY = "--zookeeper Z --verify --reassignment-json-file F"
OLD_GENERATE = "--zookeeper Z --generate --topics-to-move-json-file F --broker-list"
OLD_LINES = (
    ("--zookeeper Z", ""),
    ("--zookeeper Z --list", ""),
    ("--zookeeper Z --cancel --reassignment-json-file F", "{}"),
    (f"{OLD_EXECUTE} --additional", "{}"),
    (f"{OLD_EXECUTE} --replica-alter-log-dirs-throttle 1", "{}"),
    (f"{OLD_EXECUTE} --bootstrap-server B", "{}"),
    (OLD_EXECUTE, "{}"),
    (OLD_EXECUTE, "nope"),
    (OLD_EXECUTE, '{"version":"1"}'),
    (OLD_EXECUTE, plan(("nope", 0, [1]))),
    (OLD_EXECUTE, plan(("NAME", 0, [9]))),
    (OLD_EXECUTE, plan(("NAME", 0, [1, 1]))),
    (OLD_EXECUTE, plan(("NAME", 0, [1]), ("NAME", 0, [1]))),
    (OLD_EXECUTE, plan(("NAME", 0, [1]), log_dirs={1: "/x"})),
    (f"{OLD_EXECUTE} --throttle x", plan(("NAME", 0, [1]))),
    (OLD_VERIFY, plan(("NAME", 0, [1]), log_dirs={1: "/x"})),
    (OLD_VERIFY, plan(("NAME", 0, [1]), ("NAME", 1, [1]), ("NAME", 7, [1]))),
    (f"{OLD_VERIFY} --preserve-throttles", plan(("nope", 0, [1]))),
    (f"{OLD_GENERATE} 1,2", '{"topics":[{"topic":"NAME"}]}'),
    (f"{OLD_GENERATE} 1,1", '{"topics":[{"topic":"NAME"}]}'),
    (f"{OLD_GENERATE} a", '{"topics":[{"topic":"NAME"}]}'),
    (f"{OLD_GENERATE} 9", '{"topics":[{"topic":"NAME"}]}'),
    (f"{OLD_GENERATE} 1", '{"topics":[{"topic":"nope"}]}'),
    (f"{OLD_GENERATE} 1", '{"topics":[{"topic":"a"},{"topic":"a"}]}'),
)


def test_the_tool_of_2_8_past_the_brokers(pair: Pair, topics: str) -> None:
    class_path = classpath_of_kafka_2_8()
    mine = f"{topics}-ours"
    wanted = [(line.replace("NAME", mine), text.replace("NAME", mine)) for line, text in OLD_LINES]
    pair.act(*wanted, main_class=OLD_CLASS, class_path=class_path)
    name = f"{topics}-T"
    there = plan((name, 0, [2, 1]), (name, 1, [1]))
    of_topics = [ConfigResource(ResourceType.TOPIC, f"{topics}-{side}") for side in SIDES]
    pair.act((f"{OLD_EXECUTE} --throttle 40000000", there), main_class=OLD_CLASS, class_path=class_path)
    wait_until(lambda: len(pair.overrides(*of_topics)) == 4, "the brokers have read the throttles")
    pair.act((OLD_VERIFY, there), main_class=OLD_CLASS, class_path=class_path)
    wait_until(lambda: not pair.overrides(*of_topics), "the brokers have read that the throttles are gone")
