"""A protected ZooKeeper beside Apache: the same access lists, mixed brokers, and the tool that protects a cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache import ApacheBroker, java, topics
from tests.support.broker import OurBroker
from tests.support.secure_zookeeper import SecureZooKeeper, acls
from tests.support.zookeeper import eventually, fresh_chroot

SECURE = {"zookeeper.set.acl": "true"}
OWNED = ["ACL(perms=1, acl_list=['READ'], id=Id(scheme='world', id='anyone'))",
         "ACL(perms=31, acl_list=['ALL'], id=Id(scheme='sasl', id='kafka'))"]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureZooKeeper]:
    made = SecureZooKeeper(tmp_path_factory.mktemp("secure-zookeeper"))
    made.start()
    yield made
    made.stop()


def apaches(server: SecureZooKeeper, folder: Path, connect: str, broker_id: int = 0) -> ApacheBroker:
    return ApacheBroker(folder, connect, broker_id=broker_id, overrides=SECURE, jvm_options=[server.kafka_opts()])


def ours(server: SecureZooKeeper, folder: Path, connect: str, broker_id: int = 0) -> OurBroker:
    environ = {"KAFKA_OPTS": server.kafka_opts()}
    return OurBroker(folder, connect, broker_id=broker_id, overrides=SECURE, environ=environ)


def use(broker: ApacheBroker | OurBroker) -> None:
    """Leave znodes of every kind: a topic, its configuration, a change of it."""
    made = topics(broker.bootstrap, "--create", "--topic", "t", "--partitions", "2", "--config", "retention.ms=1000")
    assert made.exit_code == 0, made.stderr
    grown = topics(broker.bootstrap, "--alter", "--topic", "t", "--partitions", "3")
    assert grown.exit_code == 0, grown.stderr


def numberless(lists: dict[str, list[str]]) -> dict[str, list[str]]:
    return {re.sub(r"[0-9]{10}$", "N", path): entries for path, entries in lists.items()}


def test_a_cluster_of_ours_has_the_access_lists_of_apaches(server: SecureZooKeeper, tmp_path: Path) -> None:
    """(security 12.36)"""
    found = []
    for kind, name in ((apaches, "apache"), (ours, "ours")):
        connect = fresh_chroot(server, name)
        broker = kind(server, tmp_path / name, connect)
        broker.start()
        try:
            use(broker)
            found.append(numberless(acls(connect)))
        finally:
            broker.stop()
    assert found[0] == found[1]
    assert found[0]["/brokers/ids/0"] == OWNED
    assert "/brokers/topics/t/partitions/2/state" in found[0]


def test_brokers_of_both_kinds_with_one_identity_are_one_cluster(server: SecureZooKeeper, tmp_path: Path) -> None:
    """(security 12.36)"""
    connect = fresh_chroot(server, "mixed")
    first, second = apaches(server, tmp_path / "apache", connect), ours(server, tmp_path / "ours", connect, 1)
    first.start()
    second.start()
    try:
        made = topics(second.bootstrap, "--create", "--topic", "t", "--partitions", "4", "--replication-factor", "2")
        assert made.exit_code == 0, made.stderr

        def in_sync() -> bool:
            shown = topics(first.bootstrap, "--describe", "--topic", "t", "--under-replicated-partitions")
            return shown.exit_code == 0 and "Partition" not in shown.stdout

        eventually(in_sync, 60)
        first.stop()
        # Ours becomes the controller, of znodes that Apache's has made.
        made = topics(second.bootstrap, "--create", "--topic", "u", "--partitions", "1")
        assert made.exit_code == 0, made.stderr
        assert acls(connect)["/brokers/topics/u"] == OWNED
    finally:
        first.stop()
        second.stop()


def migrate_with_apaches(options: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = java("kafka.admin.ZkSecurityMigrator", *arguments)
    if options:
        command.insert(1, options)
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def migrate_with_ours(options: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    module = "kafka_zk.tools.zookeeper_security_migration"
    environ = {**os.environ, "KAFKA_OPTS": options or ""}
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, timeout=120, env=environ
    )


def test_a_cluster_is_protected_and_opened_again_as_by_apaches_tool(server: SecureZooKeeper, tmp_path: Path) -> None:
    """(security 12.36)"""
    found = []
    for number, migrate in enumerate((migrate_with_apaches, migrate_with_ours)):
        connect = fresh_chroot(server, "migrated")
        broker = OurBroker(tmp_path / str(number), connect).start()
        use(broker)
        broker.stop()
        steps = []
        for wanted in ("secure", "unsecure"):
            done = migrate(server.kafka_opts(), "--zookeeper.acl", wanted, "--zookeeper.connect", connect)
            assert done.returncode == 0, done.stderr
            steps.append((done.stdout, numberless(acls(connect))))
        found.append(steps)
    assert found[0] == found[1]


def without_frames(text: str) -> str:
    kept = [line for line in text.splitlines() if not re.match(r"\tat |\t\.\.\. |Caused by|\[", line)]
    return "\n".join(re.sub(r"client-[0-9]+\.jaas", "client.jaas", line) for line in kept)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        [],
        ["--version"],
        ["--nonsense"],
        ["--zookeeper.acl"],
        ["--zookeeper.acl", "bad"],
        ["--zookeeper.acl", "secure", "--zk-tls-config-file", "/nonexistent"],
        ["--zookeeper.acl", "secure", "--zookeeper.connect", "{connect}", "--enable.path.check"],
        ["--zookeeper.acl", "secure", "--zookeeper.connection.timeout", "x"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("logs_in", [True, False])
def test_the_tool_says_what_apaches_says(server: SecureZooKeeper, arguments: list[str], logs_in: bool) -> None:
    said = []
    for migrate in (migrate_with_apaches, migrate_with_ours):
        filled = [argument.format(connect=server.connect) for argument in arguments]
        done = migrate(server.kafka_opts() if logs_in else None, *filled)
        said.append((done.returncode, without_frames(done.stdout), without_frames(done.stderr)))
    assert said[0] == said[1]


def test_another_identity_is_refused_with_the_same_words(server: SecureZooKeeper) -> None:
    assert migrate_with_ours(server.kafka_opts(), "--zookeeper.acl", "secure", "--zookeeper.connect", server.connect)
    said = []
    for migrate in (migrate_with_apaches, migrate_with_ours):
        done = migrate(server.kafka_opts("other"), "--zookeeper.acl", "unsecure", "--zookeeper.connect", server.connect)
        said.append((done.returncode, done.stdout, without_frames(done.stderr)))
    assert said[0] == said[1]
