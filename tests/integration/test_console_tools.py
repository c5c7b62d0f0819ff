"""The console tools against our broker: pipes, signals at any moment, groups, and how fast they are there."""

from __future__ import annotations

import array
import fcntl
import json
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from typing import IO

import pytest

from kafka_zk.protocol.messages.list_groups import LIST_GROUPS_REQUEST, ListGroupsRequest
from kafka_zk.tools.get_offsets.__main__ import main as get_offsets
from kafka_zk.tools.topics.__main__ import main as topics
from tests.interop.tools.runs import run_once
from tests.support.broker import OurBroker
from tests.support.processes import piped, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

TIMEOUT_S = 60
LONG = "x" * 20_000


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    folder = tmp_path_factory.mktemp("console-tools")
    ours = OurBroker(folder, fresh_chroot(zookeeper, folder.name)).start()
    yield ours
    ours.stop()


def create(broker: OurBroker, topic: str) -> str:
    words = ["--bootstrap-server", broker.bootstrap, "--create", "--topic", topic, "--partitions", "1"]
    assert run_once(topics, words).exit_code == 0
    return topic


def command(tool: str, broker: OurBroker, *words: str) -> list[str]:
    return [sys.executable, "-P", "-m", f"kafka_zk.tools.{tool}", "--bootstrap-server", broker.bootstrap, *words]


def open_stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def rest_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it still prints on stdout and stderr until its end; `communicate` would miss lines read ahead."""
    open_stream(process.stdin).close()
    found = open_stream(process.stdout).read(), open_stream(process.stderr).read()
    process.wait(TIMEOUT_S)
    return found


def run(words: Sequence[str], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def end_offset(broker: OurBroker, topic: str) -> int:
    found = run_once(get_offsets, ["--bootstrap-server", broker.bootstrap, "--topic", topic])
    return int(found.stdout.rpartition(":")[2])


def consumed(broker: OurBroker, topic: str, count: int) -> list[str]:
    done = run(command("console_consumer", broker, "--topic", topic, "--from-beginning", "--max-messages", str(count)))
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"Processed a total of {count} messages\n"
    return done.stdout.splitlines()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_typed_before_a_signal_is_sent(broker: OurBroker, number: signal.Signals) -> None:
    topic = create(broker, f"typed-{number.name}")
    with piped(command("console_producer", broker, "--topic", topic, "--timeout", "600000")) as producer:
        typed = open_stream(producer.stdin)
        # More than a batch holds, so it leaves at once and the connection stands; the others would wait ten minutes.
        typed.write(f"{LONG}\n")
        typed.flush()
        wait_until(lambda: end_offset(broker, topic) == 1, "the first line has arrived", TIMEOUT_S)
        typed.write("second\nthird\n")
        typed.flush()
        producer.send_signal(number)
        out, err = rest_of(producer)
    assert (producer.returncode, out) == (128 + number, "")
    assert "Traceback" not in err
    assert consumed(broker, topic, 3) == [LONG, "second", "third"]
    assert end_offset(broker, topic) == 3


def is_reading(process: subprocess.Popen[str]) -> bool:
    """Whether nothing is left in its standard input."""
    waiting = array.array("i", [0])
    fcntl.ioctl(open_stream(process.stdin).fileno(), termios.FIONREAD, waiting)
    return waiting[0] == 0


def test_a_producer_without_a_broker_ends_at_a_second_signal_at_the_latest() -> None:
    words = [sys.executable, "-P", "-m", "kafka_zk.tools.console_producer", "--bootstrap-server", "127.0.0.1:1"]
    with piped([*words, "--topic", "t"]) as producer:
        typed = open_stream(producer.stdin)
        typed.write("never\n")
        typed.flush()
        wait_until(lambda: is_reading(producer), "the producer reads", TIMEOUT_S)
        producer.send_signal(signal.SIGINT)
        producer.send_signal(signal.SIGTERM)
        producer.wait(TIMEOUT_S)
    assert producer.returncode in (130, 143)


def test_a_consumer_that_waits_leaves_its_group_at_a_signal(broker: OurBroker) -> None:
    topic = create(broker, "waiting")
    assert run(command("console_producer", broker, "--topic", topic), "a\nb\n").returncode == 0
    words = command("console_consumer", broker, "--topic", topic, "--group", "leaving", "--from-beginning")
    # Did it not leave, its partition would be given to another only after half an hour.
    patient = ["--consumer-property", "session.timeout.ms=1800000", "--enable-systest-events"]
    with piped([*words, *patient]) as consumer:
        out = open_stream(consumer.stdout)
        assert [out.readline(), out.readline()] == ["a\n", "b\n"]
        consumer.send_signal(signal.SIGINT)
        rest, err = rest_of(consumer)
    assert (consumer.returncode, rest) == (130, "shutdown_complete\n")
    assert err == "Processed a total of 2 messages\n"
    # What it printed is committed.
    assert run(command("console_producer", broker, "--topic", topic), "c\n").returncode == 0
    next_one = run([*words, "--max-messages", "1"])
    assert (next_one.stdout, next_one.returncode) == ("c\n", 0)


def test_a_consumer_whose_reader_is_gone_says_so(broker: OurBroker) -> None:
    topic = create(broker, "gone")
    assert run(command("console_producer", broker, "--topic", topic), "a\n" * 3).returncode == 0
    with piped(command("console_consumer", broker, "--topic", topic, "--from-beginning")) as consumer:
        open_stream(consumer.stdout).close()
        err = open_stream(consumer.stderr).read()
        consumer.wait(TIMEOUT_S)
    assert err.startswith("Unable to write to standard out, closing consumer.\n")
    assert consumer.returncode == 0


def test_of_what_was_fetched_only_what_was_printed_is_committed(broker: OurBroker) -> None:
    topic = create(broker, "committed")
    assert run(command("console_producer", broker, "--topic", topic), "a\nb\nc\n").returncode == 0
    words = command("console_consumer", broker, "--topic", topic, "--group", "exact", "--from-beginning")
    assert [run([*words, "--max-messages", "1"]).stdout for _ in range(3)] == ["a\n", "b\n", "c\n"]


def test_a_verifiable_producer_tells_of_its_end_at_a_signal(broker: OurBroker) -> None:
    with piped(command("verifiable_producer", broker, "--topic", create(broker, "told"))) as producer:
        out = open_stream(producer.stdout)
        events = [json.loads(out.readline()) for _ in range(3)]
        producer.send_signal(signal.SIGTERM)
        rest, _ = rest_of(producer)
    assert producer.returncode == 143
    events += map(json.loads, rest.splitlines())
    names = [event["name"] for event in events]
    assert names[0] == "startup_complete"
    assert names[-2:] == ["shutdown_complete", "tool_data"]
    assert set(names[1:-2]) == {"producer_send_success"}
    assert events[-1]["acked"] == events[-1]["sent"] == len(names) - 3 == end_offset(broker, "told")


def test_a_verifiable_consumer_tells_of_its_end_at_a_signal(broker: OurBroker) -> None:
    topic = create(broker, "heard")
    assert run(command("verifiable_producer", broker, "--topic", topic, "--max-messages", "3")).returncode == 0
    with piped(command("verifiable_consumer", broker, "--topic", topic, "--group-id", "heard")) as consumer:
        out = open_stream(consumer.stdout)
        while json.loads(out.readline())["name"] != "offsets_committed":
            pass
        consumer.send_signal(signal.SIGINT)
        rest, _ = rest_of(consumer)
    assert consumer.returncode == 130
    assert [json.loads(line)["name"] for line in rest.splitlines()][-2:] == ["partitions_revoked", "shutdown_complete"]


def test_a_producer_that_measures_ends_at_a_signal(broker: OurBroker) -> None:
    words = ["--topic", create(broker, "measured"), "--num-records", "10000000", "--record-size", "100"]
    # Bootstrap servers stand among the properties.
    start = [sys.executable, "-P", "-m", "kafka_zk.tools.producer_perf_test", *words, "--throughput", "1000"]
    with piped([*start, "--producer-props", f"bootstrap.servers={broker.bootstrap}"]) as producer:
        wait_until(lambda: end_offset(broker, "measured"), "records arrive", TIMEOUT_S)
        producer.send_signal(signal.SIGINT)
        _, err = rest_of(producer)
    assert (producer.returncode, "Traceback" in err) == (130, False)


def test_a_consumer_that_measures_ends_at_a_signal(broker: OurBroker) -> None:
    topic = create(broker, "awaited")
    assert run(command("console_producer", broker, "--topic", topic), "a\n").returncode == 0
    more = ["--messages", "10", "--timeout", "600000", "--group", "awaiting"]
    with piped(command("consumer_perf_test", broker, "--topic", topic, *more)) as consumer:
        wait_until(lambda: "awaiting" in groups(broker), "it is in its group", TIMEOUT_S)
        consumer.send_signal(signal.SIGINT)
        _, err = rest_of(consumer)
    assert (consumer.returncode, "Traceback" in err) == (130, False)


def groups(broker: OurBroker) -> set[str]:
    with RawClient(broker.bootstrap) as client:
        answer = client.send(LIST_GROUPS_REQUEST, ListGroupsRequest(), 4)
    return {group.group_id for group in answer.groups}
