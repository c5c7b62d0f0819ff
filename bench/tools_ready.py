"""How soon a command-line tool is there, beside Apache Kafka 3.9.1's: `python -m bench.tools_ready`.

Each tool is started by its script, as a user does, against one broker of ours, and waited for until it does what it is
for: a line typed at once is in the log, the first record is printed, the answer is complete. Seconds of the clock from
the start of the process, median and quickest of ten, and the seconds of CPU it took until then, which hardly depend on
what else the machine does. The same is asked of Apache's classes, with the JVM options of Apache's start script. The
broker does not wait for more members of a new group (Apache's default is 3 s): that is the protocol's time, and no
tool's.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.dump_log import apache
from bench.process import run_bench
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.protocol.types import TopicPartition
from tests.support.broker import OurBroker
from tests.support.zookeeper import EmbeddedZooKeeper

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
TOPIC, FULL_TOPIC = "typed", "full"
LINE = "a line\n"
RUNS, APACHE_RUNS = 10, 3
LIMIT_S = 0.3
PATIENCE_S = 60
HEADS = f"{'median':>9s}{'quickest':>9s}{'CPU':>9s}"


class Tool(NamedTuple):
    """One command line; `sign` is what its first line of stdout that counts holds, None: a record in the log tells."""

    name: str
    script: str
    java_class: str
    words: Sequence[str]
    sign: str | None = None
    bootstrap_option: str = "--bootstrap-server"


GROUP = "GROUP"
"""Stands for the name of a group that nobody has used."""
TOOLS = (
    Tool("console producer: a line is in the log", "kafka-console-producer.sh", "kafka.tools.ConsoleProducer",
         ("--topic", TOPIC, "--timeout", "0")),
    Tool("console consumer: a record of a partition", "kafka-console-consumer.sh",
         "org.apache.kafka.tools.consumer.ConsoleConsumer",
         ("--topic", FULL_TOPIC, "--partition", "0", "--offset", "earliest"), "line"),
    Tool("console consumer: a record in a group", "kafka-console-consumer.sh",
         "org.apache.kafka.tools.consumer.ConsoleConsumer", ("--topic", FULL_TOPIC, "--from-beginning"), "line"),
    Tool("get-offsets: the answer", "kafka-get-offsets.sh", "org.apache.kafka.tools.GetOffsetShell",
         ("--topic", FULL_TOPIC), f"{FULL_TOPIC}:0:1"),
    Tool("topics --list: the answer", "kafka-topics.sh", "org.apache.kafka.tools.TopicCommand", ("--list",),
         FULL_TOPIC),
    Tool("producer-perf-test: a record is in the log", "kafka-producer-perf-test.sh",
         "org.apache.kafka.tools.ProducerPerformance",
         ("--topic", TOPIC, "--num-records", "1", "--record-size", "100", "--throughput", "-1", "--producer-props"),
         None, "bootstrap.servers="),
    Tool("consumer-perf-test: a record read, figures told", "kafka-consumer-perf-test.sh",
         "org.apache.kafka.tools.ConsumerPerformance", ("--topic", FULL_TOPIC, "--messages", "1", "--hide-header"),
         ", "),
    Tool("verifiable producer: a record acknowledged", "kafka-verifiable-producer.sh",
         "org.apache.kafka.tools.VerifiableProducer", ("--topic", TOPIC, "--max-messages", "1"),
         "producer_send_success"),
    Tool("verifiable consumer: a record consumed", "kafka-verifiable-consumer.sh",
         "org.apache.kafka.tools.VerifiableConsumer",
         ("--topic", FULL_TOPIC, "--group-id", GROUP, "--reset-policy", "earliest"), '"records_consumed"'),
)  # fmt: skip


class Log:
    """Tells when a record has arrived."""

    def __init__(self, bootstrap: str) -> None:
        kinds = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")
        self._consumer = KafkaConsumer({"bootstrap.servers": bootstrap, "fetch.max.wait.ms": "5000", **kinds})
        partition = TopicPartition(TOPIC, 0)
        self._consumer.assign([partition])
        self._consumer.seek_to_end([partition])
        self._consumer.position(partition)

    def wait_for_a_record(self) -> None:
        """Blocks."""
        assert self._consumer.poll(PATIENCE_S), "no record has arrived"

    def close(self) -> None:
        self._consumer.close()


class Ready(NamedTuple):
    """What it took one process."""

    seconds: float
    cpu_seconds: float


def until_ready(tool: Tool, command: Sequence[str], log: Log) -> Ready:
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(LINE)
        process.stdin.flush()
        if tool.sign is None:
            log.wait_for_a_record()
        else:
            assert any(tool.sign in line for line in process.stdout), f"{command} ended and was never ready"
        seconds = time.perf_counter() - started
    finally:
        # Not by Popen, which would take the figures away.
        os.kill(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdin.close()
        process.stdout.close()
    return Ready(seconds, usage.ru_utime + usage.ru_stime)


def command_of(program: Callable[[Tool], Sequence[str]], tool: Tool, bootstrap: str, number: int) -> list[str]:
    words = [f"group-{time.time_ns()}-{number}" if word is GROUP else word for word in tool.words]
    option = tool.bootstrap_option
    where = [option + bootstrap] if option.endswith("=") else [option, bootstrap]
    return [*program(tool), *words, *where]


def measured(program: Callable[[Tool], Sequence[str]], tool: Tool, bootstrap: str, runs: int) -> list[Ready]:
    log = Log(bootstrap)
    try:
        found = []
        for number in range(runs):
            found.append(until_ready(tool, command_of(program, tool, bootstrap, number), log))
            if tool.sign is not None and TOPIC in tool.words:
                # It is not to be there for the next.
                log.wait_for_a_record()
        return found
    finally:
        log.close()


def ours(tool: Tool) -> Sequence[str]:
    return [str(SCRIPTS / tool.script)]


def theirs(tool: Tool) -> Sequence[str]:
    return [*apache([])[:-1], tool.java_class]


def prepare(bootstrap: str) -> None:
    for topic in (TOPIC, FULL_TOPIC):
        words = ["--bootstrap-server", bootstrap, "--create", "--topic", topic, "--partitions", "1"]
        subprocess.run([str(SCRIPTS / "kafka-topics.sh"), *words], check=True, stdout=subprocess.DEVNULL)
    words = ["--bootstrap-server", bootstrap, "--topic", FULL_TOPIC]
    subprocess.run([str(SCRIPTS / "kafka-console-producer.sh"), *words], input=LINE, text=True, check=True)


def figures(found: Sequence[Ready]) -> str:
    seconds = [each.seconds for each in found]
    return f"{median(seconds):9.3f}{min(seconds):9.3f}{median(each.cpu_seconds for each in found):9.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tools_ready", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--ours-alone", action="store_true", help="skip Apache's tools")
    parser.add_argument("--check", action="store_true", help=f"exit code 1 where a median of ours is over {LIMIT_S} s")
    options = parser.parse_args()
    is_missed = False
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        zookeeper.start()
        broker = OurBroker(folder / "broker", zookeeper.connect)
        try:
            broker.start()
            prepare(broker.bootstrap)
            print(f"{'seconds until':50s}{'ours':>27s}{'Apache':>27s}")
            print(f"{'':50s}{HEADS}{HEADS}")
            for tool in TOOLS:
                found = measured(ours, tool, broker.bootstrap, options.runs)
                is_missed |= median(each.seconds for each in found) > LIMIT_S
                print(f"{tool.name:50s}{figures(found)}", end="", flush=True)
                print("" if options.ours_alone else figures(measured(theirs, tool, broker.bootstrap, APACHE_RUNS)))
        finally:
            broker.stop()
            zookeeper.stop()
    print(f"limit: {LIMIT_S} s: {'MISSED' if is_missed else 'kept'}")
    return int(options.check and is_missed)


if __name__ == "__main__":
    run_bench(main)
