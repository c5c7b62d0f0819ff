"""A login that is refused while a client runs: told, tried again each second, and taken up again."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafka_zk.zk.identity import identity
from kafka_zk.zk.session import ZkClient
from tests.support.secure_zookeeper import SecureZooKeeper
from tests.support.zookeeper import eventually


def test_a_refused_login_is_tried_again_until_it_is_accepted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = SecureZooKeeper(tmp_path)
    server.start()
    right = (tmp_path / "jaas.conf").read_text()
    environ = {"KAFKA_OPTS": server.kafka_opts()}
    zk = ZkClient(server.connect, session_timeout_ms=6_000, identity=identity({}, environ), protects=True)
    states: list[str] = []
    registered: list[int] = []
    zk.on_state_change(states.append)
    zk.on_session_expired(lambda: None, registered.append)
    zk.start()
    try:
        server.stop()
        server._jaas = right.replace("kafka-Secret", "changed")
        server.start()
        with caplog.at_level(logging.ERROR):
            eventually(lambda: caplog.text.count("Auth failed, initialized=true") >= 2)
        assert "sasl:kafka" in caplog.text
        assert "kafka-Secret" not in caplog.text
        assert states[-1] == "EXPIRED"
        server.stop()
        server._jaas = right
        server.start()
        eventually(lambda: zk.state == "CONNECTED" and registered)
        eventually(lambda: zk.generation == registered[-1])
        zk.create("/again")
        assert zk.get_acl("/again")[0].identity == "kafka"
    finally:
        zk.close()
        server.stop()
