"""The console tools: each command line answered by ours as Apache's answers it, text for text, with both brokers."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.tools.console_consumer.__main__ import main as consume
from kafka_zk.tools.console_producer.__main__ import main as produce
from kafka_zk.tools.consumer_perf_test.__main__ import main as measure_consumer
from kafka_zk.tools.get_offsets.__main__ import main as get_offsets
from kafka_zk.tools.producer_perf_test.__main__ import main as measure_producer
from kafka_zk.tools.topics.__main__ import main as topics
from tests.interop.tools import goldens, runs
from tests.interop.tools.goldens import ENDS_THE_MACHINE, MAIN_CLASSES, asked_again, refusals
from tests.interop.tools.runs import Arguments, comparable, run_apache, run_once, run_ours
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun, java
from tests.support.broker import OurBroker
from tests.support.masks import Mask
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

TOOLS = ("apache", "ours")


def test_apaches_tools_refuse_still_what_was_written_down(tmp_path: Path) -> None:
    # Those that end the machine take one each; unit tests hold ours to what they printed.
    known = [each for each in refusals() if each.tool not in ENDS_THE_MACHINE]
    assert list(asked_again(known, tmp_path)) == known


@dataclass
class Given:
    """A broker, and what was run against it."""

    bootstrap: str
    folder: Path
    made: set[str] = field(default_factory=set)

    def compare(
        self, tool: str, main: Callable[[Sequence[str]], int], table: Sequence[tuple[str, str]], *, keep: str = ""
    ) -> None:
        """Run command lines with their inputs in both tools; T in a line is a topic that only the one tool uses."""
        found: dict[str, list[ToolRun]] = {}
        for kind in TOOLS:
            lines = [self._line(text, kind, keep) for text, _ in table]
            inputs = {index: text for index, (_, text) in enumerate(table)}
            runs = (
                run_apache(MAIN_CLASSES[tool], lines, self.folder, inputs)
                if kind == "apache"
                else run_ours(main, lines, inputs)
            )
            found[kind] = [masked(run) for run in runs]
        different = [
            f"{text}\n  Apache: {theirs}\n  ours:   {ours}"
            for (text, _), theirs, ours in zip(table, found["apache"], found["ours"], strict=True)
            if theirs != ours
        ]
        assert not different, f"{len(different)} of {len(table)} differ:\n" + "\n".join(different)

    def _line(self, text: str, kind: str, keep: str) -> Arguments:
        words = [re.sub(r"\b(T\d*)\b", rf"{kind}-{keep}\1", word) for word in text.split()]
        return ["--bootstrap-server", self.bootstrap, *words]

    def create(self, *names: str, keep: str, config: str = "") -> None:
        """One partition each, for each tool: then there is one order."""
        for kind in TOOLS:
            for name in names:
                words = ["--create", "--topic", f"{kind}-{keep}{name}", "--partitions", "1"]
                run = run_once(
                    topics, ["--bootstrap-server", self.bootstrap, *words, *(["--config", config] if config else [])]
                )
                assert run.exit_code == 0, run


MASKS = (
    Mask(re.compile(r"(CreateTime|LogAppendTime):\d+"), r"\1:<time>", allowed("ids-and-times")),
    Mask(
        re.compile(r"^\[<time>\] (WARN|ERROR) .* \(org\.apache\.kafka\.clients\.(Metadata|NetworkClient)\)\n", re.M),
        "",
        allowed("client-logs"),
    ),
    Mask(re.compile(r"console-consumer-\d+"), "console-consumer-<number>", allowed("ids-and-times", by_chance=True)),
)

_OWNERS = re.compile(r"\b(apache|ours)-")


def masked(run: ToolRun) -> ToolRun:
    plain = comparable(run)

    def mask(text: str) -> str:
        return _OWNERS.sub("", masks.masked(text, MASKS))

    return ToolRun(plain.exit_code, mask(plain.stdout), mask(plain.stderr))


@pytest.fixture(scope="module", params=["apache", "ours"])
def given(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Given]:
    folder = tmp_path_factory.mktemp(f"console-{request.param}")
    chroot = fresh_chroot(zookeeper, folder.name)
    kind = ApacheBroker if request.param == "apache" else OurBroker
    broker = kind(folder, chroot, broker_id=1)
    broker.start()
    try:
        yield Given(broker.bootstrap, folder)
    finally:
        broker.stop()


PRODUCED = (
    ("--topic T", "hello\nwörld\n\nlast"),
    ("--topic T --property parse.key=true --property key.separator=:", "k1:v1\nk2:v2:x\n"),
    ("--topic T --property parse.key=true", "nosep\n"),
    ("--topic T --property parse.key=true --property key.separator=: --property ignore.error=true", "nosep\nk3:v3\n"),
    ("--topic T --property parse.headers=true --property parse.key=true", "h1:v1,h2:v2\tkey\tvalue\n"),
    ("--topic T --property parse.headers=true", "nohdr\n"),
    ("--topic T --property parse.headers=true", "h1\tx\n"),
    ("--topic T --property parse.key=true --property null.marker=NULL --property key.separator=:", "k4:NULL\nNULL:v\n"),
    ("--topic T --compression-codec gzip --request-required-acks 1 --sync", "z\ny\n"),
    ("--topic T --compression-codec lz4 --producer-property acks=0", "w\n"),
    ("--topic T --compression-codec --sync", "four\n"),
    ("--topic bad/name", "x\n"),
    ("--topic bad/name --sync", "x\n"),
    ("--topic T --producer-property max.request.size=100", f"{'long' * 100}\n"),
    ("--topic T --producer-property max.request.size=100 --sync", f"{'long' * 100}\n"),
    ("--topic T --max-memory-bytes 1000", "x\n"),
    ("--topic T2", "without a key\n"),
    ("--topic T2 --sync", "without a key\n"),
)
CONSUMED = (
    "--topic T --from-beginning --max-messages 15",
    (
        "--topic T --from-beginning --max-messages 15 --property print.key=true --property print.offset=true "
        "--property print.partition=true --property print.headers=true --property print.timestamp=true"
    ),
    (
        "--topic T --from-beginning --max-messages 3 --property print.key=true --property key.separator=| "
        "--property null.literal=none --property line.separator=;"
    ),
    "--topic T --partition 0 --offset 4 --max-messages 2",
    "--topic T --partition 0 --offset earliest --max-messages 1",
    "--topic T --partition 0 --from-beginning --max-messages 1",
    "--include T --from-beginning --max-messages 2",
    "--whitelist T --from-beginning --max-messages 2 --isolation-level read_committed",
    "--topic T --from-beginning --max-messages 2 --formatter org.apache.kafka.tools.consumer.LoggingMessageFormatter",
    "--topic T --from-beginning --max-messages 2 --formatter kafka.tools.NoOpMessageFormatter",
    (
        "--topic T --from-beginning --max-messages 2 --value-deserializer "
        "org.apache.kafka.common.serialization.StringDeserializer --property print.key=true --key-deserializer "
        "org.apache.kafka.common.serialization.IntegerDeserializer"
    ),
    (
        "--topic T --from-beginning --max-messages 2 --value-deserializer "
        "org.apache.kafka.common.serialization.IntegerDeserializer"
    ),
    (
        "--topic T --partition 0 --offset 13 --max-messages 2 --skip-message-on-error --value-deserializer "
        "org.apache.kafka.common.serialization.IntegerDeserializer"
    ),
    "--topic T --from-beginning --max-messages 2 --group T",
    "--topic T --from-beginning --max-messages 2 --group T",
    "--topic T --partition 0 --timeout-ms 300",
)


def test_what_is_typed_arrives_and_what_is_wrong_is_told_alike(given: Given) -> None:
    given.create("T", keep="line")
    given.create("T2", keep="line", config="cleanup.policy=compact")
    given.compare("console-producer", produce, PRODUCED, keep="line")
    given.compare("console-consumer", consume, [(line, "") for line in CONSUMED], keep="line")


FORMATTERS = (
    "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
    "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter",
)


def test_what_groups_write_is_shown_alike(given: Given) -> None:
    given.create("T", keep="group")
    here = ["--bootstrap-server", given.bootstrap]
    topic = [*here, "--topic", "ours-groupT"]
    assert run_once(produce, topic, "a\nb\n").exit_code == 0
    for members in range(2):
        run = run_once(consume, [*topic, "--group", f"shown-{members}", "--from-beginning", "--max-messages", "1"])
        assert run.stdout == "a\n", run
    ends = run_once(get_offsets, [*here, "--topic", "__consumer_offsets"]).stdout.splitlines()
    written = {partition: end for _, partition, end in (line.split(":") for line in ends) if end != "0"}
    assert written
    shown = "--topic __consumer_offsets --offset 0"
    given.compare(
        "console-consumer",
        consume,
        [
            (f"{shown} --partition {partition} --max-messages {end} --formatter {name}", "")
            for partition, end in written.items()
            for name in FORMATTERS
        ],
    )


OFFSETS = (
    "--topic T\\d",
    "--topic T1 --time earliest",
    "--topic T1 --time -2",
    "--topic T1 --time -3",
    "--topic T1 --time max-timestamp",
    "--topic T1 --time -4",
    "--topic T1 --time -5",
    "--topic T2 --time -3",
    "--topic T1 --time 0",
    "--topic T1 --time 9999999999999",
    "--topic T1 --partitions 0",
    "--topic T1 --partitions 1",
    "--topic-partitions T1:0,T2:0-1",
    "--topic-partitions T1:1-",
    "--topic no-such-topic",
    "--topic T1 --exclude-internal-topics",
    "--topic __consumer_offsets --exclude-internal-topics",
)


def test_offsets_are_told_alike(given: Given) -> None:
    given.create("T1", "T2", keep="end")
    # Times of their own: which of two topics' records came first within a millisecond is chance.
    now_ms = time.time_ns() // 1_000_000
    serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
    with KafkaProducer({"bootstrap.servers": given.bootstrap, **serializers}) as producer:
        for kind in TOOLS:
            for ago_ms in (2000, 0, 1000):
                producer.send(f"{kind}-endT1", b"x", timestamp_ms=now_ms - ago_ms).result()
    given.compare("get-offsets", get_offsets, [(line, "") for line in OFFSETS], keep="end")


def shape(text: str) -> str:
    """The text with marks for its numbers and times, without what a slow run tells every five seconds."""
    text = re.sub(r"^.* max latency\.\n", "", text, flags=re.M)
    return re.sub(r"\d+(\.\d+)?", "#", re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", "<time>", text))


def compare_shapes(
    given: Given, tool: str, main: Callable[[Sequence[str]], int], lines: Sequence[Arguments]
) -> list[str]:
    """What ours printed, once it was seen to have the shape of what Apache's did."""
    theirs = [comparable(run) for run in run_apache(MAIN_CLASSES[tool], lines, given.folder)]
    ours = [comparable(run) for run in run_ours(main, lines)]
    assert [shape(run.stdout) for run in ours] == [shape(run.stdout) for run in theirs]
    assert {run.exit_code for run in (*ours, *theirs)} == {0}
    assert not any("ERROR" in run.stderr for run in ours)
    return [run.stdout for run in ours]


def test_measuring_producers_read_alike(given: Given) -> None:
    always = ["--topic", "perf", "--num-records", "1000"]
    props = ["--producer-props", f"bootstrap.servers={given.bootstrap}", "acks=1"]
    options = (
        ["--record-size", "100", "--throughput", "-1"],
        ["--payload-monotonic", "--throughput", "-1"],
        ["--record-size", "10", "--throughput", "5000"],
    )
    printed = compare_shapes(
        given, "producer-performance", measure_producer, [[*always, *some, *props] for some in options]
    )
    assert all(text.splitlines()[-1].startswith("1000 records sent, ") for text in printed)


PATIENT = ("--timeout", "60000", "--reporting-interval", "600000")


def test_measuring_consumers_read_alike(given: Given) -> None:
    topic = ["--bootstrap-server", given.bootstrap, "--topic", "read"]
    assert run_once(produce, topic, "0123456789\n" * 2000).exit_code == 0
    options: tuple[list[str], ...] = ([], ["--hide-header"], ["--show-detailed-stats"], ["--date-format", "'day'"])
    printed = compare_shapes(
        given,
        "consumer-performance",
        measure_consumer,
        [[*topic, "--messages", "2000", *PATIENT, *some] for some in options],
    )
    columns = printed[0].splitlines()[-1].split(", ")
    assert (columns[2], columns[4]) == ("0.0191", "2000")


def test_figures_of_a_client_stand_in_apaches_table(given: Given) -> None:
    props = ["--producer-props", f"bootstrap.servers={given.bootstrap}"]
    words = ["--topic", "perf", "--num-records", "10", "--throughput", "-1", "--record-size", "10", "--print-metrics"]
    run = run_once(measure_producer, [*words, *props])
    header, *rows = run.stdout.partition("\n\n")[2].splitlines()
    assert re.fullmatch(r"Metric Name +Value", header)
    assert {row.index(" : ") + 3 for row in rows} == {header.index("Value")}
    assert any(row.startswith("producer-metrics:record-send-total:{client-id=perf-producer-client}") for row in rows)


def run_alone(kind: str, tool: str, words: Sequence[str]) -> list[str]:
    """The lines of a verifiable tool, times and rates masked."""
    if kind == "apache":
        command = java(MAIN_CLASSES[tool], *words)
    else:
        command = [sys.executable, "-P", "-m", f"kafka_zk.tools.{tool.replace('-', '_')}", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    plain = re.sub(r'"timestamp":\d+', '"timestamp":<time>', done.stdout)
    plain = re.sub(r'"avg_throughput":[0-9.E]+', '"avg_throughput":<rate>', plain)
    return _OWNERS.sub("", plain).splitlines()


def test_verifiable_tools_tell_the_same_events(given: Given) -> None:
    given.create("T", keep="told")
    events: dict[str, list[list[str]]] = {}
    for kind in TOOLS:
        here = ["--bootstrap-server", given.bootstrap, "--topic", f"{kind}-toldT"]
        sent = [*here, "--max-messages", "5"]
        options = ["--value-prefix", "7", "--repeating-keys", "2", "--acks", "1"]
        read = [*here, "--group-id", f"{kind}-told", "--max-messages"]
        events[kind] = [
            run_alone(kind, "verifiable-producer", sent),
            run_alone(kind, "verifiable-producer", [*sent, *options]),
            run_alone(kind, "verifiable-consumer", [*read, "5", "--verbose"]),
        ]
    assert events["ours"] == events["apache"]


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless((*MASKS, *goldens.MASKS, *runs.MASKS)) == []
