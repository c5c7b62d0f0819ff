"""Our producer, consumer, admin client and tools log in with each mechanism, and stay logged in."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import KafkaException, SaslAuthenticationException, UnsupportedSaslMechanismException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, PREFIX, SCRAM_MODULE, sasl_overrides
from tests.integration.security.test_sasl_clients import add_scram_user
from tests.support.broker import OurBroker
from tests.support.known_topics import wait_until_led
from tests.support.names import fresh
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

SESSION_MS = 2_000
SHORT_SESSION_MS = 600
RECORDS = 40
PAUSE_S = 0.15
ALICE = 'username="alice" password="alice-secret"'
JAAS = {
    "PLAIN": f"{PLAIN_MODULE} required {ALICE};",
    "SCRAM-SHA-256": f"{SCRAM_MODULE} required {ALICE};",
    "SCRAM-SHA-512": f"{SCRAM_MODULE} required {ALICE};",
    "OAUTHBEARER": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="alice";',
}


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    overrides = sasl_overrides(
        {
            "connections.max.reauth.ms": str(SESSION_MS),
            # Brokers refuse a renewal within a second of the one before.
            f"{PREFIX}plain.connections.max.reauth.ms": str(SHORT_SESSION_MS),
        }
    )
    running = OurBroker(
        tmp_path_factory.mktemp("sasl"), fresh_chroot(zookeeper, "sasl-ours"), overrides=overrides
    ).start()
    add_scram_user(overrides["listeners"].rpartition("://")[2], "alice", "alice-secret")
    yield running
    running.stop()


def login(broker: OurBroker, mechanism: str, jaas: str | None = None) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas or JAAS[mechanism],
    }


@pytest.mark.parametrize("mechanism", JAAS)
def test_sessions_are_renewed_while_records_flow(broker: OurBroker, mechanism: str) -> None:
    """(security 12.26) Three sessions long, ten of the short ones of PLAIN: nothing of it reaches the user."""
    topic = fresh(f"renewed-{mechanism.lower()}")
    config = login(broker, mechanism)
    read = 0
    with (
        AdminClient(config) as admin,
        KafkaProducer(
            {**config, "key.serializer": "ByteArraySerializer", "value.serializer": "ByteArraySerializer", "retries": 0}
        ) as producer,
        KafkaConsumer(
            {
                **config,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "key.deserializer": "ByteArrayDeserializer",
                "value.deserializer": "ByteArrayDeserializer",
            }
        ) as consumer,
    ):
        admin.create_topics([NewTopic(topic, 1, 1)])
        wait_until_led(config, topics=(topic,))
        consumer.subscribe([topic])
        until = time.monotonic() + 3.2 * SESSION_MS / 1000
        sent = 0
        while time.monotonic() < until or read < sent:
            if time.monotonic() < until:
                producer.send(topic, b"x").result()
                sent += 1
                admin.list_topics()
            read += len(list(consumer.poll(PAUSE_S)))
            assert time.monotonic() < until + 30, (sent, read)
    assert read == sent


def test_a_wrong_password_is_fatal_to_the_caller(broker: OurBroker) -> None:
    jaas = f'{PLAIN_MODULE} required username="alice" password="not-it-9";'
    with AdminClient(login(broker, "PLAIN", jaas)) as admin, pytest.raises(SaslAuthenticationException) as raised:
        admin.list_topics()
    assert str(raised.value) == "Authentication failed: Invalid username or password"


def test_a_mechanism_that_the_broker_lacks_is_named(zookeeper: ZooKeeperServer, tmp_path: Path) -> None:
    overrides = sasl_overrides({"sasl.enabled.mechanisms": "PLAIN"})
    only_plain = OurBroker(tmp_path, fresh_chroot(zookeeper, "only-plain"), overrides=overrides).start()
    try:
        refused = pytest.raises(UnsupportedSaslMechanismException, match=r"enabled mechanisms are \[PLAIN\]")
        with AdminClient(login(only_plain, "SCRAM-SHA-256")) as admin, refused:
            admin.list_topics()
    finally:
        only_plain.stop()


def test_a_client_without_a_login_is_told_what_to_give(broker: OurBroker) -> None:
    config = {"bootstrap.servers": broker.bootstrap, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    with pytest.raises(KafkaException) as raised:
        AdminClient(config)
    assert "Could not find a 'KafkaClient' entry in the JAAS configuration" in str(raised.value.__cause__)


def test_a_tool_logs_in_by_its_command_config(broker: OurBroker, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in login(broker, "SCRAM-SHA-256").items()))
    topic = fresh("by-tool")
    tool = [sys.executable, "-m", "kafka_zk.tools.topics", "--bootstrap-server", broker.bootstrap]
    ran = subprocess.run(
        [*tool, "--command-config", str(config), "--create", "--topic", topic],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (0, f"Created topic {topic}.\n"), ran.stderr
