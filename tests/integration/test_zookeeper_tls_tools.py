"""The tools that open ZooKeeper themselves, over TLS and with a login."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.secure_zookeeper import SecureZooKeeper, acls, tls_properties
from tests.support.zookeeper import fresh_chroot


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureZooKeeper]:
    made = SecureZooKeeper(tmp_path_factory.mktemp("secure-zookeeper"))
    made.start()
    yield made
    made.stop()


def run(tool: str, *arguments: str, opts: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"kafka_zk.tools.{tool}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "KAFKA_OPTS": opts})


@pytest.fixture
def tls_file(server: SecureZooKeeper, tmp_path: Path) -> str:
    file = tmp_path / "zk-tls.properties"
    values = tls_properties(server.client_stores("tool"))
    file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return str(file)


def test_the_shell_reads_over_tls(server: SecureZooKeeper, tls_file: str) -> None:
    done = run("zookeeper_shell", server.tls_connect, "-zk-tls-config-file", tls_file, "ls", "/")
    assert done.returncode == 0, done.stderr
    assert "[zookeeper]" in done.stdout


def test_the_shell_logs_in(server: SecureZooKeeper) -> None:
    assert run("zookeeper_shell", server.connect, "create", "/mine", "x", opts=server.kafka_opts()).returncode == 0
    done = run("zookeeper_shell", server.connect, "ls", "/", opts=server.kafka_opts())
    assert "mine" in done.stdout


def test_what_a_tool_creates_belongs_to_its_identity(server: SecureZooKeeper, tls_file: str) -> None:
    """(security 12.36)"""
    users = ["--entity-type", "users", "--entity-name", "u"]
    for name, connect, more, opts in (
        ("digest", server.connect, [], server.kafka_opts()),
        ("tls", server.tls_connect, ["--zk-tls-config-file", tls_file], ""),
    ):
        run("zookeeper_shell", server.connect, "create", f"/{name}", "")
        common = ["--zookeeper", f"{connect}/{name}", *more, *users]
        done = run("configs", *common, "--alter", "--add-config", "SCRAM-SHA-256=[password=pw]", opts=opts)
        assert done.returncode == 0, done.stderr
        done = run("configs", *common, "--describe", opts=opts)
        assert "SCRAM-SHA-256" in done.stdout, done.stderr
    owned = ["ACL(perms=31, acl_list=['ALL'], id=Id(scheme='sasl', id='kafka'))"]
    assert acls(f"{server.connect}/digest")["/config/users/u"] == owned
    # The certificate's znodes are not for this user, not even their access lists.
    assert acls(f"{server.connect}/tls")["/config/users"] == []


def test_a_wrong_password_ends_the_tool_at_once(server: SecureZooKeeper) -> None:
    connect = fresh_chroot(server, "wrong")
    opts = server.kafka_opts("kafka", "not-the-Password")
    done = run("zookeeper_security_migration", "--zookeeper.acl", "secure", "--zookeeper.connect", connect, opts=opts)
    assert done.returncode == 1
    assert "Auth failed either before or while waiting for connection" in done.stderr
    assert "not-the-Password" not in done.stdout + done.stderr
