"""Java's clients, librdkafka and ours log in with tickets, at our broker and at Apache's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.interop.kerberos.conftest import client_properties
from tests.support.apache import ApacheBroker, java
from tests.support.broker import OurBroker
from tests.support.kdc import Kdc


@pytest.fixture(params=["ours", "apache"])
def bootstrap(request: pytest.FixtureRequest) -> str:
    broker: OurBroker | ApacheBroker = request.getfixturevalue(request.param)
    return f"localhost:{broker.port}"


def run_java(kdc: Kdc, main: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = java(main, *arguments)
    command[1:1] = [kdc.java_option]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def test_javas_console_clients_log_in_with_keytabs(kdc: Kdc, ours: OurBroker, tmp_path: Path) -> None:
    bootstrap = f"localhost:{ours.port}"
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in client_properties(kdc, bootstrap).items()))
    produced = run_java(
        kdc,
        "kafka.tools.ConsoleProducer",
        *("--bootstrap-server", bootstrap, "--topic", "by-java", "--producer.config", str(config)),
        stdin="one\ntwo\n",
    )
    assert produced.returncode == 0, produced.stderr
    read = run_java(
        kdc,
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", bootstrap, "--topic", "by-java", "--consumer.config", str(config)),
        *("--from-beginning", "--max-messages", "2", "--timeout-ms", "20000"),
    )
    assert read.stdout == "one\ntwo\n", read.stderr
