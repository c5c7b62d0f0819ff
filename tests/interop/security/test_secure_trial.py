"""scripts/secure-cluster.sh: what it prints works for each kind of client, and lets them do nothing else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from tests.support.apache import java

SCRIPT = Path(__file__).parents[3] / "scripts" / "secure_cluster.py"
TOPIC = "app-events"


def trial(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--dir", str(folder), *options], capture_output=True, text=True, timeout=180
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("trial") / "secure-trial"
    started = trial(path)
    assert started.returncode == 0, started.stderr
    yield path
    stopped = trial(path, "--stop")
    assert stopped.returncode == 0, stopped.stderr
    assert "Traceback" not in (path / "broker.log").read_text()


def librdkafka(folder: Path) -> dict[str, str]:
    lines = (folder / "app-librdkafka.conf").read_text().splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def test_librdkafka_writes_and_reads_what_it_may_and_nothing_else(folder: Path) -> None:
    errors: list[object] = []
    producer = confluent_kafka.Producer(librdkafka(folder))
    for topic in (TOPIC, "other"):
        producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error and error.name()))
        producer.flush(30)
    assert errors == [None, "TOPIC_AUTHORIZATION_FAILED"]
    consumer = confluent_kafka.Consumer(librdkafka(folder) | {"group.id": "app-1", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    assert [message.error() for message in consumer.consume(1, 30)] == [None]
    consumer.close()


def test_kafka_python_runs_the_program_that_was_written(folder: Path) -> None:
    ran = subprocess.run([sys.executable, str(folder / "app_client.py")], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_java_writes_with_the_properties_that_were_written(folder: Path) -> None:
    config = folder / "app.properties"
    address = config.read_text().partition("bootstrap.servers=")[2].split("\n", 1)[0]
    command = java("kafka.tools.ConsoleProducer", "--bootstrap-server", address, "--topic", TOPIC,
                   "--producer.config", str(config))  # fmt: skip
    ran = subprocess.run(command, input="of java\n", capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_secrets_are_for_the_owner_alone(folder: Path) -> None:
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    for path in folder.rglob("*"):
        if path.suffix in (".properties", ".pem", ".jaas", ".json", ".conf", ".credential", ".py"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_it_is_not_started_twice_and_continues_after_a_stop(folder: Path) -> None:
    twice = trial(folder)
    assert (twice.returncode, twice.stderr.count("\n")) == (1, 1) and "stop it first with --stop" in twice.stderr
    assert trial(folder, "--stop").returncode == 0
    stopped = trial(folder, "--stop")
    assert stopped.returncode == 1 and "nothing is running" in stopped.stderr
    again = trial(folder)
    assert again.returncode == 0 and "Add the users" not in again.stdout
    consumer = confluent_kafka.Consumer(librdkafka(folder) | {"group.id": "app-2", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    assert [message.error() for message in consumer.consume(1, 30)] == [None]
    consumer.close()
