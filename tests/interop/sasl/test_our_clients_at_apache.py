"""Our own clients and tools log in at Apache's broker with each mechanism, and stay logged in."""

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
from kafka_zk.client.errors import SaslAuthenticationException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, PREFIX, SCRAM_MODULE, sasl_overrides
from tests.interop.sasl.users import put_scram_users
from tests.support.apache import ApacheBroker
from tests.support.known_topics import wait_until_led
from tests.support.names import fresh
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

SESSION_MS = 2_000
ENABLED = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
ALICE = 'username="alice" password="alice-secret"'
JAAS = {
    "PLAIN": f"{PLAIN_MODULE} required {ALICE};",
    "SCRAM-SHA-256": f"{SCRAM_MODULE} required {ALICE};",
    "SCRAM-SHA-512": f"{SCRAM_MODULE} required {ALICE};",
    "OAUTHBEARER": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="alice";',
}
BYTES = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
FROM_BYTES = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")


@pytest.fixture(scope="module")
def bootstrap(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    chroot = fresh_chroot(zookeeper, "sasl-apache")
    put_scram_users(chroot)
    overrides = sasl_overrides(
        {
            f"{PREFIX}connections.max.reauth.ms": str(SESSION_MS),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
        }
    )
    address = overrides["listeners"].partition(",")[0].rpartition("://")[2]
    broker = ApacheBroker(tmp_path_factory.mktemp("apache"), chroot, overrides=overrides)
    broker.launch()
    broker.wait_ready()
    yield address
    broker.stop()


def login(bootstrap: str, mechanism: str, jaas: str | None = None) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas or JAAS[mechanism],
    }


@pytest.mark.parametrize("mechanism", ENABLED)
def test_sessions_are_renewed_at_apaches_broker_while_records_flow(bootstrap: str, mechanism: str) -> None:
    """(security 12.26) Three sessions long, without a retry: nothing of it reaches the user."""
    topic = fresh(f"renewed-{mechanism.lower()}")
    config = login(bootstrap, mechanism)
    with (
        AdminClient(config) as admin,
        KafkaProducer({**config, **BYTES, "retries": 0}) as producer,
        KafkaConsumer({**config, **FROM_BYTES, "group.id": topic, "auto.offset.reset": "earliest"}) as consumer,
    ):
        admin.create_topics([NewTopic(topic, 1, 1)])
        wait_until_led(config, topics=(topic,))
        consumer.subscribe([topic])
        end_s = time.monotonic() + 3.2 * SESSION_MS / 1000
        sent = read = 0
        while time.monotonic() < end_s or read < sent:
            if time.monotonic() < end_s:
                producer.send(topic, b"x").result()
                sent += 1
                admin.list_topics()
            read += len(list(consumer.poll(0.1)))
            assert time.monotonic() < end_s + 30, (sent, read)
    assert read == sent


@pytest.mark.parametrize(
    ("mechanism", "module", "text"),
    [
        ("PLAIN", PLAIN_MODULE, "Authentication failed: Invalid username or password"),
        (
            "SCRAM-SHA-512",
            SCRAM_MODULE,
            "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512",
        ),
    ],
)
def test_a_wrong_password_at_apaches_broker_is_fatal(bootstrap: str, mechanism: str, module: str, text: str) -> None:
    jaas = f'{module} required username="alice" password="not-it-9";'
    with (
        AdminClient(login(bootstrap, mechanism, jaas)) as admin,
        pytest.raises(SaslAuthenticationException) as raised,
    ):
        admin.list_topics()
    assert str(raised.value) == text


def test_a_scram_name_with_commas_and_equals_signs_logs_in_at_apaches_broker(bootstrap: str) -> None:
    jaas = f'{SCRAM_MODULE} required username="a,b=c" password="alice-secret";'
    with AdminClient(login(bootstrap, "SCRAM-SHA-256", jaas)) as admin:
        admin.list_topics()


def test_a_tool_logs_in_at_apaches_broker_by_its_command_config(bootstrap: str, tmp_path: Path) -> None:
    config, topic = tmp_path / "client.properties", fresh("by-tool")
    config.write_text("".join(f"{key}={value}\n" for key, value in login(bootstrap, "SCRAM-SHA-512").items()))
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "kafka_zk.tools.topics", "--bootstrap-server", bootstrap),
            *("--command-config", str(config), "--create", "--topic", topic),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (0, f"Created topic {topic}.\n"), ran.stderr
