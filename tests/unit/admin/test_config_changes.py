"""What a change of configurations says to the log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import gevent
import pytest

from kafka_zk.admin.config_changes import ConfigChangeListener
from kafka_zk.admin.scram_credentials import Deletion, alter_credentials
from kafka_zk.clock import SimClock
from kafka_zk.sasl.scram_credentials import Mechanism, credential_of
from kafka_zk.zk.entity_configs import announce_config_change, write_entity_config
from kafka_zk.zk.errors import SessionExpired
from kafka_zk.zk.operations import Operation
from kafka_zk.zk.znodes import ConfigChangeZNode, ConfigEntityZNode

from .given import Cluster


@pytest.mark.parametrize(
    ("path", "plain", "secret"),
    [
        ("brokers/1", "num.io.threads", "password.encoder.secret"),
        ("brokers/1", "listener.name.l.max.connections", "listener.name.l.ssl.keystore.password"),
        ("brokers/1", "message.max.bytes", "listener.name.l.plain.sasl.jaas.config"),
        ("brokers/<default>", "message.max.bytes", "a.plugins.key"),
        ("users/bob", "producer_byte_rate", "SCRAM-SHA-256"),
    ],
)
def test_no_secret_comes_into_the_log(path: str, plain: str, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    zk = Cluster().zk
    write_entity_config(zk, path, {plain: "4711", secret: "hunter2"})
    told: list[dict[str, str]] = []
    handlers = {kind: lambda entity, overrides: told.append(dict(overrides)) for kind in ("brokers", "users")}
    ConfigChangeListener(zk, SimClock(), handlers)._handle(ConfigChangeZNode.encode(path))
    assert told == [{plain: "4711", secret: "hunter2"}]
    assert f'"{plain}": "4711"' in caplog.text
    assert f'"{secret}": "[hidden]"' in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("left", [{}, {"producer_byte_rate": "4711"}], ids=["nothing", "a quota"])
def test_whatever_ends_between_a_removal_of_a_credential_and_its_notice_no_broker_misses_it(
    left: dict[str, str],
) -> None:
    """Whoever was removed must not log in where nobody has heard of it."""
    cluster = Cluster()
    path = ConfigEntityZNode.path("users/bob")
    credential = credential_of(Mechanism.SHA_256, salt=b"s" * 20, salted_password=b"p" * 32, iterations=4096).text()
    write_entity_config(cluster.zk, "users/bob", {Mechanism.SHA_256.key: credential, **left})

    def end_after_the_removal(batch: Sequence[Operation]) -> None:
        node = cluster.zookeeper.nodes.get(path)
        if node is None or credential.encode() not in (node.data or b""):
            raise SessionExpired

    cluster.zookeeper.cut = end_after_the_removal
    assert alter_credentials(cluster.zk, [Deletion("bob", Mechanism.SHA_256.code)], []) == {"bob": None}
    (notice,) = cluster.zk.children("/config/changes")
    assert ConfigChangeZNode.decode(*cluster.zk.get(f"/config/changes/{notice}")) == "users/bob"


def test_a_change_that_is_told_while_the_first_look_is_taken_is_applied_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zk = Cluster().zk
    write_entity_config(zk, "topics/t", {"retention.ms": "1"})
    read, left = zk.get_many, [{"retention.ms": "2"}]

    def slow(paths: Iterable[str]) -> Any:
        wanted = list(paths)
        found = read(wanted)
        if ConfigEntityZNode.path("topics/t") in wanted and left:
            write_entity_config(zk, "topics/t", left.pop())
            announce_config_change(zk, "topics/t")
            let_others_run()
        return found

    monkeypatch.setattr(zk, "get_many", slow)
    told: list[str] = []
    listener = ConfigChangeListener(
        zk, SimClock(), {"topics": lambda entity, overrides: told.append(overrides["retention.ms"])}
    )
    listener.start()
    let_others_run()
    listener.stop()
    assert told == ["1", "2"]


def let_others_run() -> None:
    for _ in range(5):
        gevent.sleep(0)
