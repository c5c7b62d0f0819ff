"""Every tool that connects takes a file of client settings; without it, one line says what is likely wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.names import fresh
from tests.support.processes import free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PATIENCE_S = 60
FAIL_SOON = "default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture(scope="module")
def stores(authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return authority.issue("tools", tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """For clients with a certificate, and with a plain listener beside that."""
    overrides = {
        "listeners": f"SSL://127.0.0.1:{free_port()},PLAINTEXT://127.0.0.1:{free_port()}",
        "security.inter.broker.protocol": "PLAINTEXT",
        "ssl.client.auth": "required",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(stores.truststore_p12),
        "ssl.truststore.password": PASSWORD,
    }
    made = OurBroker(tmp_path_factory.mktemp("broker"), fresh_chroot(zookeeper, "tools-tls"), overrides=overrides)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def config(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "client.properties"
    path.write_text(
        f"security.protocol=SSL\nssl.truststore.location={stores.truststore_p12}\nssl.truststore.password={PASSWORD}\n"
        f"ssl.keystore.location={stores.keystore_p12}\nssl.keystore.password={PASSWORD}\n"
    )
    return path


def tool(name: str, *arguments: object, given: str = "", code: int = 0) -> str:
    """What a tool prints, both streams; no password is ever among it."""
    command = [sys.executable, "-m", f"kafka_zk.tools.{name}", *map(str, arguments)]
    environ = {**os.environ, "PYTHONPATH": os.getcwd()}
    ended = subprocess.run(
        command, input=given, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert ended.returncode == code, ended.stdout
    assert PASSWORD not in ended.stdout
    return ended.stdout


def test_every_tool_works_with_a_file_of_settings(broker: OurBroker, config: Path, tmp_path: Path) -> None:
    at, settings = ("--bootstrap-server", broker.bootstrap), ("--command-config", config)
    topic, group = fresh("t"), fresh("g")
    assert f"Created topic {topic}." in tool("topics", *at, *settings, "--create", "--topic", topic, "--partitions", 1)
    tool("console_producer", *at, "--topic", topic, "--producer.config", config, given="a\nb\n")
    reading = ("--topic", topic, "--from-beginning", "--max-messages", 2, "--group", group, "--consumer.config", config)
    assert tool("console_consumer", *at, *reading).startswith("a\nb\n")
    assert group in tool("consumer_groups", *at, *settings, "--list").splitlines()
    assert tool("get_offsets", *at, *settings, "--topic", topic) == f"{topic}:0:2\n"
    assert "cleanup.policy=delete" in tool("configs", *at, *settings, "--describe", "--all", "--topic", topic)
    assert "Produce(0)" in tool("broker_api_versions", *at, *settings)
    assert '"brokers"' in tool("log_dirs", *at, *settings, "--describe")
    assert "Cluster ID" in tool("cluster", "cluster-id", *at, "--config", config)
    wanted = {"partitions": [{"topic": topic, "partition": 0, "offset": 1}], "version": 1}
    (tmp_path / "offsets.json").write_text(json.dumps(wanted))
    assert "low_watermark: 1" in tool("delete_records", *at, *settings, "--offset-json-file", tmp_path / "offsets.json")
    tool("features", *at, *settings, "describe")
    load = ("--topic", topic, "--num-records", 5, "--record-size", 10, "--throughput", -1, "--producer.config", config)
    load = (*load, "--producer-props", f"bootstrap.servers={broker.bootstrap}")
    assert "5 records sent" in tool("producer_perf_test", *load)
    counting = ("--topic", topic, "--messages", 5, "--consumer.config", config, "--timeout", 60_000)
    assert "start.time" in tool("consumer_perf_test", *at, *counting)
    sending = (
        "--bootstrap-server",
        broker.bootstrap,
        "--topic",
        topic,
        "--max-messages",
        3,
        "--producer.config",
        config,
    )
    assert '"name":"tool_data"' in tool("verifiable_producer", *sending)


def test_a_tool_without_settings_is_told_of_tls(broker: OurBroker, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text(FAIL_SOON)
    at = ("--bootstrap-server", broker.bootstrap, "--command-config", tmp_path / "plain")
    told = tool("topics", *at, "--list", code=1)
    hint = f"The broker at {broker.bootstrap}: it closes the connection before its first answer: "
    assert told.count(hint) == 1
    assert "Timed out waiting for a node assignment" in told


def test_a_tool_with_settings_is_told_of_a_plain_listener(
    zookeeper: ZooKeeperServer, config: Path, tmp_path: Path
) -> None:
    plain = OurBroker(tmp_path / "broker", fresh_chroot(zookeeper, "tools-plain"))
    plain.start()
    try:
        (tmp_path / "soon").write_text(config.read_text() + FAIL_SOON)
        at = ("--bootstrap-server", plain.bootstrap, "--command-config", tmp_path / "soon")
        told = tool("topics", *at, "--list", code=1)
    finally:
        plain.stop()
    why = "it closes the connection during the TLS handshake: does this listener speak TLS?"
    assert told.count(f"The broker at {plain.bootstrap}: {why}") == 1


def test_a_refused_broker_ends_a_tool_at_once_and_says_why(broker: OurBroker, tmp_path: Path) -> None:
    """As Apache's: the class and the words SSL handshake failed; ours adds the reason (security 12.11)."""
    other = CertificateAuthority("Other").issue("other", tmp_path / "other")
    (tmp_path / "c").write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={other.ca_pem}\n"
    )
    told = tool("topics", "--bootstrap-server", broker.bootstrap, "--command-config", tmp_path / "c", "--list", code=1)
    assert (
        "Error while executing topic command : SSL handshake failed: the broker's certificate is not accepted" in told
    )
    assert "org.apache.kafka.common.errors.SslAuthenticationException" in told


def test_a_store_that_cannot_be_opened_is_named_without_its_password(
    broker: OurBroker, stores: Stores, tmp_path: Path
) -> None:
    wrong = f"security.protocol=SSL\nssl.truststore.location={stores.truststore_p12}\nssl.truststore.password=pw-4711\n"
    (tmp_path / "c").write_text(wrong)
    told = tool("topics", "--bootstrap-server", broker.bootstrap, "--command-config", tmp_path / "c", "--list", code=1)
    assert f"Failed to load SSL keystore {stores.truststore_p12}" in told
    assert "pw-4711" not in told
