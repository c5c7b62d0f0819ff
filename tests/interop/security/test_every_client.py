"""Every client library at our broker, with each mechanism over each protocol, as somebody whom the rules allow to."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE, UNSECURED
from tests.interop.sasl.users import PASSWORD, put_scram_user
from tests.interop.security.logins import CLIENTS, Java, Login, franz_go
from tests.support.apache import java
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD as STORE_PASSWORD
from tests.support.certificates import CertificateAuthority, Stores
from tests.support.known_topics import wait_until_led
from tests.support.metrics import Scrape, metrics_port
from tests.support.names import fresh
from tests.support.processes import free_port, piped
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
LOGINS = [(protocol, mechanism) for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for mechanism in MECHANISMS]
LOGINS.append(("SSL", ""))
SHORT = "SHORT"
"""A listener of SASL_PLAINTEXT whose sessions last for SESSION_MS."""
SESSION_MS = 2000
RIGHTS = [
    (ResourceType.TOPIC, Operation.WRITE),
    (ResourceType.TOPIC, Operation.READ),
    (ResourceType.GROUP, Operation.READ),  # librdkafka looks for its coordinator.
]
REFUSED = {
    "PLAIN": "Authentication failed: Invalid username or password",
    "SCRAM-SHA-256": "Authentication failed during authentication due to invalid credentials "
    "with SASL mechanism SCRAM-SHA-256",
}


class Secured:
    """A broker where alice, however she logs in, may write and read the topics that begin with "by-"."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        authority = CertificateAuthority()
        stores = authority.issue("broker", folder / "broker")
        self._alice = authority.issue("alice", folder / "alice")
        self._ports = {name: free_port() for name in ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL", SHORT)}
        put_scram_user(zookeeper, "alice", *Mechanism)
        self.broker = OurBroker(folder / "data", zookeeper, overrides=self._properties(stores)).start()
        self.admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{self._ports['PLAINTEXT']}"})
        self.admin.create_acls(
            [
                AclBinding(
                    ResourcePattern(kind, "by-", PatternType.PREFIXED),
                    AccessControlEntry(principal, "*", operation, Permission.ALLOW),
                )
                for principal in ("User:alice", "User:CN=alice")
                for kind, operation in RIGHTS
            ]
        )

    def _properties(self, stores: Stores) -> dict[str, str]:
        found = {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self._ports.items()),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,"
            f"SASL_PLAINTEXT:SASL_PLAINTEXT,{SHORT}:SASL_PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "delegation.token.secret.key": "the-cluster's-secret-5",
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(stores.keystore_p12),
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(stores.truststore_p12),
            "ssl.truststore.password": STORE_PASSWORD,
            "listener.name.ssl.ssl.client.auth": "required",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:ANONYMOUS",
            "auto.create.topics.enable": "false",
            "kafka_zk.metrics.port": "0",
        }
        for listener in ("sasl_plaintext", "sasl_ssl", SHORT.lower()):
            prefix = f"listener.name.{listener}."
            found |= {
                f"{prefix}plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="{PASSWORD}";',
                f"{prefix}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
                f"{prefix}scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
                f"{prefix}oauthbearer.sasl.jaas.config": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="x";',
                f"{prefix}oauthbearer.sasl.server.callback.handler.class": UNSECURED,
            }
        for mechanism in MECHANISMS:
            found[f"listener.name.short.{mechanism.lower()}.connections.max.reauth.ms"] = str(SESSION_MS)
        return found

    def login(self, protocol: str, mechanism: str, password: str = PASSWORD) -> Login:
        bootstrap = f"127.0.0.1:{self._ports[protocol]}"
        protocol = "SASL_PLAINTEXT" if protocol == SHORT else protocol
        return Login(bootstrap, protocol, mechanism, "alice", password, self._alice)

    def with_token(self, protocol: str, mechanism: str) -> Login:
        """A login of alice's with a new delegation token."""
        password = self.login("SASL_SSL", "PLAIN")
        with AdminClient(
            {
                "bootstrap.servers": password.bootstrap,
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN_MODULE} required username="alice" password="{PASSWORD}";',
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self._alice.ca_pem),
            }
        ) as admin:
            token = admin.create_delegation_token()
        hmac = base64.b64encode(token.hmac).decode()
        return replace(self.login(protocol, mechanism, hmac), user=token.token_id, is_token=True)

    def topic(self, *words: str) -> str:
        """A new one."""
        name = fresh("-".join(("by", *words)).lower())
        self.admin.create_topics([NewTopic(name, 1, 1)])
        wait_until_led(f"127.0.0.1:{self._ports['PLAINTEXT']}", topics=(name,))
        return name

    def logged_in_again(self) -> float:
        labels = {"listener": SHORT, "networkprocessor": "0"}
        name = "kafka_server_socket_server_metrics_successful_reauthentication_total"
        return Scrape(metrics_port(self.broker)).value(name, **labels)

    def close(self) -> None:
        self.admin.close()
        self.broker.stop()


@pytest.fixture(scope="module")
def secured(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    running = Secured(tmp_path_factory.mktemp("every-client"), fresh_chroot(zookeeper, "every-client"))
    yield running
    running.close()
    output = running.broker.process.output()
    assert " ERROR " not in output and PASSWORD not in output


@pytest.fixture(scope="module")
def java_clients() -> Iterator[Java]:
    with piped(java(str(Path(__file__).parents[1] / "java" / "Logins.java"))) as process:
        yield Java(process)


@pytest.mark.parametrize(("protocol", "mechanism"), LOGINS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_writes_and_reads(secured: Secured, client: str, protocol: str, mechanism: str) -> None:
    topic = secured.topic(client, protocol, mechanism)
    assert CLIENTS[client](secured.login(protocol, mechanism), topic) == topic


@pytest.mark.parametrize(("protocol", "mechanism"), LOGINS)
def test_java_s_clients_write_and_read(secured: Secured, java_clients: Java, protocol: str, mechanism: str) -> None:
    topic = secured.topic("java", protocol, mechanism)
    assert java_clients(secured.login(protocol, mechanism), topic) == topic


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_delegation_token_is_as_good_as_its_owner(secured: Secured, java_clients: Java, mechanism: str) -> None:
    login = secured.with_token("SASL_SSL", mechanism)
    topics = [secured.topic(name, "token", mechanism) for name in ("franz-go", "java")]
    assert [franz_go(login, topics[0]), java_clients(login, topics[1])] == topics


@pytest.mark.parametrize("mechanism", REFUSED)
@pytest.mark.parametrize("client", ["franz-go", "librdkafka", "aiokafka", "java"])
def test_a_wrong_password_is_told_in_kafkas_words(
    secured: Secured, java_clients: Java, client: str, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    """aiokafka tells its log only, and kafka-python nobody: it tries again."""
    write_and_read = java_clients if client == "java" else CLIENTS[client]
    with pytest.raises(Exception) as refused:
        write_and_read(secured.login("SASL_PLAINTEXT", mechanism, "wrong"), "by-nobody")
    assert REFUSED[mechanism] in f"{refused.value} {caplog.text}"


def test_franz_go_may_name_itself_and_nobody_else(secured: Secured) -> None:
    login = secured.login("SASL_PLAINTEXT", "SCRAM-SHA-512")
    topic = secured.topic("franz-go", "itself")
    assert franz_go(login, topic, authorization_id="alice") == topic
    with pytest.raises(RuntimeError, match="authorization id that is different from username"):
        franz_go(login, topic, authorization_id="bob")


def test_franz_go_works_over_the_ends_of_its_sessions(secured: Secured) -> None:
    """(security 12.26) It logs in again a second before the end."""
    again = secured.logged_in_again()
    logins = [secured.login(SHORT, mechanism) for mechanism in MECHANISMS]
    topics = [secured.topic("franz-go", "again", login.mechanism) for login in logins]
    with ThreadPoolExecutor(len(logins)) as threads:
        assert list(threads.map(partial(franz_go, records=100, pause_ms=35), logins, topics)) == topics
    assert secured.logged_in_again() >= again + 2 * len(logins)
