"""Apache's own consumer and group tool, unmodified, with a group id against our broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.replay.scenario import World
from tests.support.apache import run_tool
from tests.support.broker import OurBroker

CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSOLE_PRODUCER = "kafka.tools.ConsoleProducer"
GROUP_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PATIENT = ("--timeout", "60000")
"""Where an answer takes longer than its five seconds it prints an error, and ends with 0."""


@pytest.fixture
def broker(zookeeper_connect: str, tmp_path: Path) -> Iterator[OurBroker]:
    made = OurBroker(tmp_path / "broker", zookeeper_connect, overrides={"auto.create.topics.enable": "true"}).start()
    World(made.bootstrap).wait_until_known()
    yield made
    made.stop()


def consume(broker: OurBroker, count: int) -> list[str]:
    ran = run_tool(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", broker.bootstrap, "--topic", "t", "--group", "java", "--from-beginning"),
        *("--max-messages", str(count), "--timeout-ms", "60000"),
    )
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout.split()


def group_tool(broker: OurBroker, *arguments: str) -> str:
    ran = run_tool(GROUP_TOOL, "--bootstrap-server", broker.bootstrap, *arguments, *PATIENT)
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


def test_the_java_consumer_goes_on_where_its_group_stopped(broker: OurBroker) -> None:
    arguments = ("--bootstrap-server", broker.bootstrap, "--topic", "t")
    produced = run_tool(CONSOLE_PRODUCER, *arguments, stdin="".join(f"{number}\n" for number in range(10)))
    assert produced.exit_code == 0, produced.stderr
    assert consume(broker, 4) == ["0", "1", "2", "3"]
    assert consume(broker, 6) == ["4", "5", "6", "7", "8", "9"]
    assert group_tool(broker, "--list").split() == ["java"]
    described = group_tool(broker, "--describe", "--group", "java")
    row = next(line.split() for line in described.splitlines() if line.startswith("java"))
    assert row[:6] == ["java", "t", "0", "10", "10", "0"]
    assert "Empty" in group_tool(broker, "--describe", "--group", "java", "--state")
    group_tool(broker, "--delete", "--group", "java")
    assert group_tool(broker, "--list").split() == []
