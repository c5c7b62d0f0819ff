"""What a change of configurations says to the log."""

from __future__ import annotations

import logging

import pytest

from kafka_zk.admin.config_changes import ConfigChangeListener
from kafka_zk.clock import SimClock
from kafka_zk.zk.entity_configs import write_entity_config
from kafka_zk.zk.znodes import ConfigChangeZNode

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
