"""Secrets stay where they are: a broker full of planted ones, whatever is asked of it and whatever goes wrong."""

from __future__ import annotations

import base64
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigChange, ConfigOperation, ConfigResource, NewTopic, ResourceType
from kafka_zk.client.admin.scram import ScramMechanism, ScramUpsertion
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError
from tests.integration.security.sasl_broker import PLAIN_MODULE, SCRAM_MODULE
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.processes import free_port, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

ADMIN, ALICE, WRONG, SCRAM, TOKENS, METRICS, ENCODER = (
    f"planted-{name}-5eCr3t" for name in ("admin", "alice", "wrong", "scram", "tokens", "metrics", "encoder")
)
STORE = PASSWORD


class Secured(NamedTuple):
    broker: OurBroker
    client: dict[str, str]
    stores: Stores
    metrics_port: int


@pytest.fixture(scope="module")
def secured(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secrets")
    stores = CertificateAuthority().issue("localhost", folder / "keys")
    prefix = "listener.name.sasl_ssl."
    metrics_port = free_port()
    overrides = {
        "listeners": f"SASL_SSL://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        f"{prefix}plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required username="admin" password="{ADMIN}" user_admin="{ADMIN}" user_alice="{ALICE}";'
        ),
        f"{prefix}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": STORE,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores.ca_pem),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:admin",
        "delegation.token.secret.key": TOKENS,
        "password.encoder.secret": ENCODER,
        "kafka_zk.metrics.port": str(metrics_port),
        "kafka_zk.metrics.basic.username": "prometheus",
        "kafka_zk.metrics.basic.password": METRICS,
    }
    broker = OurBroker(folder / "broker", fresh_chroot(zookeeper, "secrets"), overrides=overrides).start()
    client = {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="admin" password="{ADMIN}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores.ca_pem),
    }
    yield Secured(broker, client, stores, metrics_port)
    broker.stop()


def test_nothing_that_a_broker_says_holds_a_secret(secured: Secured) -> None:
    """(security 12.38)"""
    said: list[str] = []
    secrets = [ADMIN, ALICE, WRONG, SCRAM, TOKENS, METRICS, ENCODER, STORE]
    broker_resource = ConfigResource(ResourceType.BROKER, "0")
    with AdminClient(secured.client) as admin:
        loggers = ConfigResource(ResourceType.BROKER_LOGGER, "0")
        names = ("kafka", "kafka.request.logger", "org.apache.kafka", "root")
        said += [_set(admin, loggers, name, "TRACE") for name in names]
        admin.create_topics([NewTopic("t", 1, 1)])
        admin.alter_user_scram_credentials(
            upsertions=[ScramUpsertion("carol", ScramMechanism.SCRAM_SHA_256, SCRAM.encode())]
        )
        token = admin.create_delegation_token()
        secrets += [base64.b64encode(token.hmac).decode(), token.hmac.hex()]
        admin.renew_delegation_token(token.hmac)
        said.append(repr(admin.describe_delegation_tokens()))
        said.append(repr(token))
        said.append(repr(admin.describe_configs([broker_resource])))
        said.append(repr(admin.describe_user_scram_credentials()))
        key = "listener.name.sasl_ssl.ssl.keystore.password"
        said.append(_set(admin, broker_resource, key, WRONG))
        jaas = "listener.name.sasl_ssl.plain.sasl.jaas.config"
        broken = f"com.sun.security.auth.module.JndiLoginModule required password={WRONG};"
        said.append(_set(admin, broker_resource, jaas, broken))
        said.append(repr(admin))
    for mechanism, module, user, password in (
        ("PLAIN", PLAIN_MODULE, "alice", WRONG),
        ("PLAIN", PLAIN_MODULE, "alice", ALICE),
        ("SCRAM-SHA-256", SCRAM_MODULE, "carol", SCRAM),
        ("SCRAM-SHA-256", SCRAM_MODULE, "carol", WRONG),
    ):
        login = f'{module} required username="{user}" password="{password}";'
        config = {**secured.client, "sasl.mechanism": mechanism, "sasl.jaas.config": login}
        said.append(_outcome(lambda config=config: _list_topics(config)))
    said.append(_scraped(secured.metrics_port, "prometheus", METRICS))
    said.append(_scraped(secured.metrics_port, "prometheus", WRONG))
    process = secured.broker.process
    dumps = _output_size(secured)
    os.kill(process.pid, signal.SIGQUIT)
    wait_until(lambda: _output_size(secured) > dumps, "the state is dumped")
    said.append(Path(f"/proc/{process.pid}/cmdline").read_text())
    said += [path.read_text(errors="replace") for path in _logs(secured)]
    whole = "\n".join(said)
    requests = ("Completed request:", "RENEW_DELEGATION_TOKEN", "ALTER_USER_SCRAM_CREDENTIALS")
    others = ("Failed authentication with", "Created a delegation token", "TRACE", "JndiLoginModule", "# HELP")
    for was_asked in (*requests, *others):
        assert was_asked in whole
    for secret in secrets:
        found = [text[max(0, text.index(secret) - 200) : text.index(secret) + 60] for text in said if secret in text]
        assert found == [], secret[:12]


def _set(admin: AdminClient, resource: ConfigResource, key: str, value: str) -> str:
    change = ConfigChange(key, ConfigOperation.SET, value)
    return _outcome(lambda: admin.incremental_alter_configs({resource: [change]}))


def _list_topics(config: dict[str, str]) -> object:
    with AdminClient(config) as admin:
        return admin.list_topics()


def _outcome(call: object) -> str:
    assert callable(call)
    try:
        return repr(call())
    except (KafkaException, BrokerError) as error:
        return f"{error!r} {error} {error.__cause__!r}"


def _scraped(port: int, user: str, password: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics")
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def _logs(secured: Secured) -> list[Path]:
    folder = secured.broker.folder
    return [folder / "broker.log", *(path for path in (folder / "logs").rglob("*") if path.is_file())]


def _output_size(secured: Secured) -> int:
    return sum(path.stat().st_size for path in _logs(secured))
