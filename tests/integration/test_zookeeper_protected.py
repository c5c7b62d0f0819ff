"""A protected ZooKeeper: DIGEST-MD5, znodes that belong to the brokers, and what happens without the right identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kafka_zk.zk.identity import DigestLogin, ZkIdentity
from kafka_zk.zk.protection import SENSITIVE_PREFIXES
from kafka_zk.zk.session import ZkClient
from tests.support.broker import OurBroker
from tests.support.zookeeper import EmbeddedZooKeeper, fresh_chroot

USERS = {"kafka": "zk-secret-1", "other": "zk-secret-2"}
DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"
SERVER = "Server {{ {} required {}; }};".format(DIGEST, " ".join(f'user_{name}="{pw}"' for name, pw in USERS.items()))


@pytest.fixture(scope="module")
def protected_zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    provider = {"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"}
    server = EmbeddedZooKeeper(tmp_path_factory.mktemp("protected-zookeeper"), jaas=SERVER, properties=provider)
    server.start()
    yield server
    server.stop()


def logged_in_as(folder: Path, user: str, password: str | None = None) -> Mapping[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    jaas = folder / "jaas.conf"
    jaas.write_text(f'Client {{ {DIGEST} required username="{user}" password="{password or USERS[user]}"; }};')
    return {"KAFKA_OPTS": f"-Djava.security.auth.login.config={jaas}"}


def secured(folder: Path, connect: str, environ: Mapping[str, str], broker_id: int = 0) -> OurBroker:
    return OurBroker(folder, connect, broker_id=broker_id, overrides={"zookeeper.set.acl": "true"}, environ=environ)


def access_lists(connect: str, user: str) -> dict[str, set[tuple[str, str, int]]]:
    """Of every znode below the chroot: (scheme, identity, permissions)."""
    identity = ZkIdentity(DigestLogin(user, USERS[user]))
    client = ZkClient(connect, identity=identity, create_chroot=False)
    client.start()
    found = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        found[path] = {(entry.scheme, entry.identity, entry.permissions) for entry in client.get_acl(path)}
        waiting += [f"{path.rstrip('/')}/{child}" for child in client.children(path)]
    client.close()
    return found


CREATOR = ("sasl", "kafka", 31)
WORLD_READ = ("world", "anyone", 1)
OPEN = ("world", "anyone", 31)


def test_znodes_belong_to_the_broker_and_credentials_are_not_read_by_others(
    protected_zookeeper: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    """(security 12.36)"""
    connect = fresh_chroot(protected_zookeeper, "acl")
    broker = secured(tmp_path, connect, logged_in_as(tmp_path, "kafka")).start()
    try:
        lists = access_lists(connect, "kafka")
    finally:
        broker.stop()
    assert lists["/brokers/ids/0"] == {CREATOR, WORLD_READ}
    assert lists["/consumers"] == {OPEN}
    for path, entries in lists.items():
        if path == "/consumers":
            continue
        wanted = {CREATOR} if path.startswith(SENSITIVE_PREFIXES) else {CREATOR, WORLD_READ}
        assert entries == wanted, path


def test_a_broker_with_another_identity_names_it_and_does_not_start(
    protected_zookeeper: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    """(security 12.36)"""
    connect = fresh_chroot(protected_zookeeper, "other")
    first = secured(tmp_path / "first", connect, logged_in_as(tmp_path / "first", "kafka")).start()
    try:
        second = secured(tmp_path / "second", connect, logged_in_as(tmp_path / "second", "other"), broker_id=1)
        assert second.run_to_its_end() == 1
        second.says("NoAuth")
        second.says("sasl:other")
        assert USERS["other"] not in second.process.output()
    finally:
        first.stop()


def test_a_wrong_password_is_told_at_once(protected_zookeeper: EmbeddedZooKeeper, tmp_path: Path) -> None:
    connect = fresh_chroot(protected_zookeeper, "wrong")
    broker = secured(tmp_path, connect, logged_in_as(tmp_path, "kafka", "wrong-secret-3"))
    assert broker.run_to_its_end(30) == 1
    broker.says("Auth failed either before or while waiting for connection")
    assert "wrong-secret-3" not in broker.process.output()


def test_without_an_identity_no_znode_can_belong_to_anybody(
    protected_zookeeper: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    broker = secured(tmp_path, fresh_chroot(protected_zookeeper, "nobody"), {})
    assert broker.run_to_its_end() == 1
    assert (
        "zookeeper.set.acl is true, but ZooKeeper client TLS configuration identifying at least "
        "zookeeper.ssl.client.enable, zookeeper.clientCnxnSocket, and zookeeper.ssl.keystore.location was not present "
        "and the verification of the JAAS login file failed"
    ) in broker.process.output()
