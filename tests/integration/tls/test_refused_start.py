"""Listeners and stores that cannot be: the start ends with 1 and Kafka's text, and nothing is registered."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.errors import ConfigException
from tests.integration.test_broker_refused_start import refusal
from tests.support.certificates import PASSWORD, CertificateAuthority
from tests.support.znodes import looking_at

TLS = {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL"}

WRONG_LISTENERS = [
    ({"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
     "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."),
    ({"inter.broker.listener.name": "X"},
     "Listener with name X defined in inter.broker.listener.name not found in listener.security.protocol.map."),
    ({"control.plane.listener.name": "X"},
     "Listener with X defined in control.plane.listener.name not found in listener.security.protocol.map."),
    ({"listeners": "A://:1,B://:2", "listener.security.protocol.map": "A:SSL,B:SSL,C:SSL",
      "inter.broker.listener.name": "A", "control.plane.listener.name": "C"},
     ("control.plane.listener.name must be a listener name defined in advertised.listeners. "
     "The valid options based on currently configured listeners are A,B")),
    ({"listener.security.protocol.map": "PLAINTEXT:TLS"},
     "Invalid security protocol `TLS` defined in listener.security.protocol.map"),
    ({"listeners": "A://127.0.0.1:9,B://127.0.0.2:9", "listener.security.protocol.map": "A:SSL,B:SSL",
      "inter.broker.listener.name": "A"},
     ("If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
     "listeners: A://127.0.0.1:9,B://127.0.0.2:9, port: 9")),
]  # fmt: skip


@pytest.mark.parametrize(("values", "text"), WRONG_LISTENERS, ids=[text[:40] for _, text in WRONG_LISTENERS])
def test_listeners_that_contradict_each_other_are_refused_with_kafkas_text(values: dict[str, str], text: str) -> None:
    """(security 12.4)"""
    with pytest.raises(ConfigException) as refused:
        BrokerConfig.from_properties({"zookeeper.connect": "h:1", "broker.id": "1", **values})
    assert str(refused.value).removeprefix("requirement failed: ") == text


@pytest.mark.parametrize(("values", "text"), [
    ({"ssl.keystore.location": "{p12}", "ssl.keystore.password": "other"},
     "Failed to load SSL keystore {p12} of type JKS"),
    ({"ssl.keystore.location": "{p12}"}, "SSL key store is specified, but key store password is not specified."),
    ({"ssl.keystore.location": "{pem}", "ssl.keystore.type": "PEM", "ssl.key.password": "x"},
     "Failed to load PEM SSL keystore {pem}"),
    ({}, ("Invalid value javax.net.ssl.SSLHandshakeException: No available authentication scheme for configuration "
         "A client SSLEngine created with the provided settings can't connect to a server SSLEngine created with "
         "those settings.")),
    ({"ssl.keystore.location": "{p12}", "ssl.keystore.password": PASSWORD, "ssl.truststore.location": "{trust}",
      "ssl.truststore.password": PASSWORD, "ssl.principal.mapping.rules": "RULE:a"}, "Invalid rule: `RULE:a`"),
    ({"ssl.engine.factory.class": "org.example.Factory"},
     ("Invalid value org.example.Factory for configuration ssl.engine.factory.class: "
     "Class org.example.Factory could not be found.")),
    ({"listener.name.ssl.ssl.engine.factory.class": "org.example.Factory"},
     "Class org.example.Factory could not be found."),
])  # fmt: skip
def test_stores_that_cannot_be_used_stop_the_start(
    values: dict[str, str], text: str, tmp_path: Path, zookeeper_connect: str
) -> None:
    """(security 12.4)"""
    stores = CertificateAuthority().issue("broker", tmp_path / "stores")
    places = {"p12": stores.keystore_p12, "pem": stores.keystore_pem, "trust": stores.truststore_p12}
    overrides = TLS | {key: value.format(**places) for key, value in values.items()}
    said = refusal(tmp_path / "broker", zookeeper_connect, overrides)
    assert text.format(**places) in said
    assert PASSWORD not in said
    with looking_at(zookeeper_connect) as client:
        assert not client.exists("/brokers/ids/0")
