"""Starts that must fail: exit code 1, and an operator reads why in one line without a traceback."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.broker import OurBroker
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

NOBODY = "127.0.0.1:1"


def refusal(
    folder: Path,
    zookeeper: str = NOBODY,
    overrides: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """What a broker says that does not start."""
    broker = OurBroker(folder, zookeeper, overrides=overrides, environ=environ)
    assert broker.run_to_its_end() == 1
    said = broker.process.output()
    assert "Traceback" not in said
    assert re.search(r"ERROR .*(Exiting Kafka|Fatal error during KafkaServer startup)", said)
    return said


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "kafka_zk.tools.server_start", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
    )


def test_without_arguments_the_usage_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert "USAGE: " in done.stderr + done.stdout
    assert "server.properties [--override property=value]*" in done.stderr + done.stdout


def test_an_unknown_option_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "server.properties", "--overide", "broker.id=1")
    assert done.returncode == 1
    assert "--overide" in done.stderr
    assert "USAGE: " in done.stderr


def test_a_missing_properties_file_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "no-such.properties")
    assert done.returncode == 1
    assert "no-such.properties" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("num.partitions=many", "Invalid value many for configuration num.partitions: Not a number of type INT"),
        ("num.partitions=0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
        ("auto.create.topics.enable=maybe", "Invalid value maybe for configuration auto.create.topics.enable"),
        ("compression.type=rar", "Invalid value rar for configuration compression.type"),
        ("listeners=PLAINTEXT:127.0.0.1", "PLAINTEXT:127.0.0.1"),
        ("listeners=NAMELESS://127.0.0.1:0", "No security protocol defined for listener NAMELESS"),
        ("zookeeper.connect=", "zookeeper.connect"),
        ("zookeeper.connect=localhost:port", "Invalid value localhost:port for configuration zookeeper.connect"),
        ("process.roles=broker", "process.roles"),
        ("authorizer.class.name=org.example.OwnAuthorizer", "authorizer.class.name=org.example.OwnAuthorizer"),
    ],
)
def test_a_wrong_property_is_refused_with_kafkas_words(tmp_path: Path, override: str, message: str) -> None:
    key, _, value = override.partition("=")
    assert message in refusal(tmp_path, overrides={key: value})


def test_a_port_in_use_is_named(tmp_path: Path, zookeeper_connect: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(tmp_path, zookeeper_connect, {"listeners": f"PLAINTEXT://127.0.0.1:{port}"})
    assert f"Socket server failed to bind to 127.0.0.1:{port}: Address already in use." in said


def test_log_dirs_that_cannot_be_made_are_named(tmp_path: Path, zookeeper_connect: str) -> None:
    (tmp_path / "file").write_text("not a directory")
    said = refusal(tmp_path, zookeeper_connect, {"log.dirs": f"{tmp_path}/file/a,{tmp_path}/file"})
    for path in ("file/a", "file"):
        assert f"Failed to create or validate data directory {tmp_path}/{path}" in said
    assert (
        f"Shutdown broker because none of the specified log dirs from {tmp_path}/file/a, {tmp_path}/file "
        "can be created or validated" in said
    )


def test_a_broker_starts_with_the_log_dirs_that_work(tmp_path: Path, zookeeper_connect: str) -> None:
    (tmp_path / "file").write_text("not a directory")
    overrides = {"log.dirs": f"{tmp_path}/file/a,{tmp_path}/good"}
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    broker.says(f"Failed to create or validate data directory {tmp_path}/file/a")
    assert broker.stop() == 143


def test_data_of_another_cluster_are_refused(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    first = OurBroker(tmp_path, zookeeper_connect).start()
    assert first.stop() == 143
    meta = tmp_path / "data" / "meta.properties"
    (stored,) = re.findall(r"cluster\.id=(.*)", meta.read_text())
    said = refusal(tmp_path, fresh_chroot(zookeeper, "another"))
    (expected,) = re.findall(r"Invalid cluster\.id in: " + re.escape(str(meta)) + r"\. Expected (.*), but read", said)
    assert f"but read {stored}" in said
    assert expected != stored
    # Nothing was written: in its own cluster it starts again.
    first.start()
    assert first.stop() == 143


def test_data_of_another_broker_are_refused(tmp_path: Path, zookeeper_connect: str) -> None:
    first = OurBroker(tmp_path, zookeeper_connect).start()
    assert first.stop() == 143
    said = refusal(tmp_path, zookeeper_connect, {"broker.id": "7"})
    assert f"Stored node id 0 doesn't match previous node id 7 in {tmp_path}/data/meta.properties" in said


def test_a_directory_that_is_no_partition_is_named(tmp_path: Path, zookeeper_connect: str) -> None:
    (tmp_path / "data" / "holiday photos").mkdir(parents=True)
    said = refusal(tmp_path, zookeeper_connect)
    assert "'holiday photos' is not in the form of topic-partition" in said
