"""Brokers log in at each other: two of ours replicate over SASL with each mechanism, and renew their sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.topics import NewTopic
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.tools.configs.__main__ import main
from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE, UNSECURED
from tests.support.broker import OurBroker
from tests.support.processes import free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

SESSION_MS = 2_000
PREFIX = "listener.name.inner."
OWN = 'username="broker" password="broker-secret"'
JAAS = {
    "PLAIN": f'{PLAIN_MODULE} required {OWN} user_broker="broker-secret";',
    "SCRAM-SHA-512": f"{SCRAM_MODULE} required {OWN};",
    "OAUTHBEARER": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="broker";',
}


def overrides(mechanism: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    key = f"{PREFIX}{mechanism.lower()}."
    callbacks = {f"{key}sasl.server.callback.handler.class": UNSECURED} if mechanism == "OAUTHBEARER" else {}
    return {
        "listeners": f"CLIENTS://127.0.0.1:{free_port()},INNER://127.0.0.1:{free_port()}",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INNER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "INNER",
        "sasl.mechanism.inter.broker.protocol": mechanism,
        "sasl.enabled.mechanisms": mechanism,
        f"{key}sasl.jaas.config": JAAS[mechanism],
        f"{PREFIX}connections.max.reauth.ms": str(SESSION_MS),
        "controlled.shutdown.enable": "false",
        **callbacks,
        **(more or {}),
    }


@contextmanager
def cluster(folder: Path, connect: str, mechanism: str) -> Iterator[list[OurBroker]]:
    brokers = [OurBroker(folder / str(i), connect, broker_id=i, overrides=overrides(mechanism)) for i in range(2)]
    try:
        for broker in brokers:
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.stop()


def add_broker_user(connect: str) -> None:
    """As an operator does before the first broker starts: kafka-configs --zookeeper."""
    entity = ("--alter", "--entity-type", "users", "--entity-name", "broker")
    assert main(["--zookeeper", connect, *entity, "--add-config", "SCRAM-SHA-512=[password=broker-secret]"]) == 0


@pytest.mark.parametrize("mechanism", JAAS)
def test_followers_stay_in_sync_over_sessions_that_end(
    zookeeper: ZooKeeperServer, tmp_path: Path, mechanism: str
) -> None:
    connect = fresh_chroot(zookeeper, "inner")
    if mechanism.startswith("SCRAM"):
        first = OurBroker(tmp_path / "plain", connect, broker_id=9).start()
        first.stop()
        add_broker_user(connect)
    with cluster(tmp_path, connect, mechanism) as brokers:
        config = {"bootstrap.servers": brokers[0].bootstrap}
        with AdminClient(config) as admin:
            admin.create_topics([NewTopic("both", 2, 2)])
        serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
        with KafkaProducer({**config, **serializers, "acks": "all"}) as patient:
            # Brokers may still have to hear that they lead.
            for partition in range(2):
                patient.send("both", b"first", partition=partition).result(30)
        with KafkaProducer({**config, **serializers, "acks": "all", "retries": 0}) as producer:
            until = time.monotonic() + 2.5 * SESSION_MS / 1000
            while time.monotonic() < until:
                for partition in range(2):
                    producer.send("both", b"x" * 100, partition=partition).result(30)
        for broker in brokers:
            output = broker.process.output()
            assert "failed authentication" not in output and "re-authentication" not in output
            assert "Shrinking ISR" not in output
            assert "broker-secret" not in output
