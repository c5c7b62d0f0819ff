"""Apache's broker and ours in one cluster of a Kerberos realm, and every kind of client with a ticket at both."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka
import kafka
import pytest
from kazoo.security import Permissions

from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import KafkaException, SaslAuthenticationException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.errors import TopicAuthorizationFailed
from kafka_zk.sasl.client.exchange import ExchangeInterrupted as ClientInterrupted
from kafka_zk.sasl.client.gssapi import GssapiClient
from kafka_zk.sasl.kerberos.errors import GssError
from kafka_zk.sasl.kerberos.login import KerberosLogin, RenewalRules
from kafka_zk.sasl.kerberos.options import Krb5Options
from kafka_zk.sasl.server.gssapi import GssapiServer
from kafka_zk.sasl.server.mechanism import InvalidExchange
from kafka_zk.zk.identity import IdentityError, identity
from tests.interop.sasl.exchange import (
    DELAY_MS,
    MOST_TIMES_ASKED,
    Frame,
    authenticate,
    comparable,
    exchange,
    handshake,
    metadata,
    token_text,
    versions,
)
from tests.support.apache import ApacheBroker, java
from tests.support.broker import OurBroker
from tests.support.kdc import KRB5_MODULE, REALM, SERVICE, Kdc, missing
from tests.support.known_topics import wait_until_led
from tests.support.names import fresh
from tests.support.processes import free_port, wait_until
from tests.support.znodes import looking_at
from tests.support.zookeeper import EmbeddedZooKeeper, ZooKeeperServer, fresh_chroot

if missing() is None:
    from kafka_zk.sasl.kerberos.library import Acceptor, Initiator

APACHE, OURS = 1, 2
SESSION_MS = 2_000
PREFIX = "listener.name.sasl_plaintext.gssapi."
NOBODY = "odd/a/b"
"""A principal that Kafka takes for no name."""

BYTES = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
FROM_BYTES = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")
INVALID = b"Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    """Its configuration is that of this process, too."""
    if why := missing():
        pytest.skip(why)
    realm = Kdc(tmp_path_factory.mktemp("kdc"), SERVICE, "alice", "bob", NOBODY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRB5_CONFIG", str(realm.krb5_conf))
        # Where it is remembered which tickets were used.
        patch.setenv("KRB5RCACHEDIR", str(realm.folder))
        realm.start()
        yield realm
        realm.stop()


def properties(kdc: Kdc, port: int) -> dict[str, str]:
    """Ours and Apache's alike."""
    return {
        "listeners": f"SASL_PLAINTEXT://localhost:{port}",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal.to.local.rules": f"RULE:[1:$1@$0](b.*@{REALM})s/@.*/-by-rule/,DEFAULT",
        f"{PREFIX}sasl.jaas.config": kdc.jaas(SERVICE, more=""),
        "listener.name.sasl_plaintext.connections.max.reauth.ms": str(SESSION_MS),
        "connection.failed.authentication.delay.ms": str(DELAY_MS),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:kafka;User:alice",
        "min.insync.replicas": "2",
        "default.replication.factor": "2",
        "offsets.topic.replication.factor": "2",
    }


class Cluster:
    """One broker of each kind. They find the realm by KAFKA_OPTS, as Java does."""

    def __init__(self, kdc: Kdc, folder: Path, zookeeper: str) -> None:
        self.kdc = kdc
        ports = {APACHE: free_port(), OURS: free_port()}
        apache = ApacheBroker(
            folder / "apache",
            zookeeper,
            broker_id=APACHE,
            overrides=properties(kdc, ports[APACHE]),
            jvm_options=(kdc.java_option,),
        )
        apache.port = ports[APACHE]
        ours = OurBroker(
            folder / "ours",
            zookeeper,
            broker_id=OURS,
            overrides=properties(kdc, ports[OURS]),
            environ={"KAFKA_OPTS": kdc.java_option, "KRB5_CONFIG": ""},
        )
        self.brokers: dict[int, ApacheBroker | OurBroker] = {APACHE: apache, OURS: ours}
        for broker in self.brokers.values():
            broker.launch()
        for broker in self.brokers.values():
            broker.wait_ready()
        with AdminClient(self.login("alice")) as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2, "both brokers are known")

    def address(self, broker_id: int) -> str:
        return f"localhost:{self.brokers[broker_id].port}"

    def login(self, user: str, broker_id: int = OURS, jaas: str | None = None) -> dict[str, str]:
        """The configuration of our clients and of Java's."""
        return {
            "bootstrap.servers": self.address(broker_id),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.jaas.config": jaas or self.kdc.jaas(user),
        }

    def wait_until_led(self, topic: str) -> None:
        """Until both brokers know it, and who leads it."""
        wait_until_led(*(self.login("alice", broker_id) for broker_id in self.brokers), topics=(topic,))

    def topics(self, broker_id: int) -> list[str]:
        """Those that a broker knows, internal ones among them."""
        with AdminClient(self.login("alice", broker_id)) as admin:
            return sorted(each.name for each in admin.list_topics(internal=True))

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()


@pytest.fixture(scope="module")
def cluster(kdc: Kdc, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(kdc, tmp_path_factory.mktemp("kerberos"), fresh_chroot(zookeeper, "kerberos"))
    yield running
    running.close()


@pytest.fixture
def ticket_cache(kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default one, with a ticket of alice."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    kdc.run("kinit", "-k", "-t", str(kdc.keytab("alice")), "alice")
    return cache


def token_client(kdc: Kdc, user: str = "alice", authorization_id: str = "") -> GssapiClient:
    options = Krb5Options(f"{user}@{REALM}", uses_keytab=True, keytab=str(kdc.keytab(user)))
    return GssapiClient(Initiator(options).context("kafka", "localhost"), authorization_id)


def frames(client: GssapiClient, *more: Frame) -> list[Frame]:
    def answered(answers: list[bytes]) -> bytes:
        return authenticate(client.next(token_text(answers[-1])) or b"")

    return [handshake("GSSAPI"), authenticate(client.first()), answered, answered, *more]


# --- brokers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leader", [APACHE, OURS])
def test_brokers_of_both_kinds_log_in_at_each_other_and_replicate(cluster: Cluster, leader: int) -> None:
    topic, follower = fresh(f"led-by-{leader}"), APACHE + OURS - leader
    with (
        AdminClient(cluster.login("alice", leader)) as admin,
        KafkaProducer({**cluster.login("alice", leader), **BYTES, "acks": "all"}) as producer,
    ):
        admin.create_topics([NewTopic(topic, assignment={0: [leader, follower]})])
        cluster.wait_until_led(topic)
        # min.insync.replicas is 2: the other one has it, too.
        for sent in [producer.send(topic, b"value") for _ in range(20)]:
            sent.result()
    logs = [cluster.brokers[each].log_dir / f"{topic}-0" / f"{0:020}.log" for each in (leader, follower)]
    assert logs[0].read_bytes() == logs[1].read_bytes() != b""


# --- clients -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broker_id", [APACHE, OURS])
def test_our_clients_stay_logged_in_longer_than_a_session(cluster: Cluster, broker_id: int) -> None:
    topic = fresh(f"ours-at-{broker_id}")
    config = cluster.login("alice", broker_id)
    with (
        AdminClient(config) as admin,
        KafkaProducer({**config, **BYTES, "retries": 0}) as producer,
        KafkaConsumer({**config, **FROM_BYTES, "group.id": topic, "auto.offset.reset": "earliest"}) as consumer,
    ):
        admin.create_topics([NewTopic(topic, assignment={0: [broker_id]}, configs={"min.insync.replicas": "1"})])
        cluster.wait_until_led(topic)
        consumer.subscribe([topic])
        end_s = time.monotonic() + 1.3 * SESSION_MS / 1000
        sent = read = 0
        while time.monotonic() < end_s or read < sent:
            if time.monotonic() < end_s:
                producer.send(topic, b"x").result()
                sent += 1
            read += len(list(consumer.poll(0.1)))
            assert time.monotonic() < end_s + 30, (sent, read)


def test_javas_clients_log_in_with_keytabs(cluster: Cluster, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in cluster.login("alice").items()))
    topic = fresh("by-java")
    with AdminClient(cluster.login("alice")) as admin:
        admin.create_topics([NewTopic(topic, assignment={0: [OURS, APACHE]})])
    cluster.wait_until_led(topic)
    bootstrap = ("--bootstrap-server", cluster.address(OURS), "--topic", topic)

    def run(main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = java(main, *bootstrap, *arguments)
        command[1:1] = [cluster.kdc.java_option]
        return subprocess.run(command, input="one\ntwo\n", capture_output=True, text=True, timeout=60)

    produced = run("kafka.tools.ConsoleProducer", "--producer.config", str(config))
    assert produced.returncode == 0, produced.stderr
    read = run(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--consumer.config", str(config), "--from-beginning", "--max-messages", "2", "--timeout-ms", "60000"),
    )
    assert read.stdout == "one\ntwo\n", read.stderr


@pytest.mark.parametrize("broker_id", [APACHE, OURS])
def test_pythons_clients_log_in_with_the_users_tickets(cluster: Cluster, broker_id: int, ticket_cache: Path) -> None:
    """They ask to be the service itself, which changes nothing."""
    settings: dict[str, Any] = {
        "bootstrap_servers": cluster.address(broker_id),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
    }
    consumer = kafka.KafkaConsumer(**settings, sasl_kerberos_domain_name="localhost")
    try:
        consumer.topics()
    finally:
        consumer.close()

    async def asked() -> None:
        client = aiokafka.AIOKafkaConsumer(**settings, sasl_kerberos_domain_name="localhost")
        await client.start()
        try:
            await client.topics()
        finally:
            await client.stop()

    asyncio.run(asked())


def test_a_tool_logs_in_with_the_users_ticket_at_both(cluster: Cluster, ticket_cache: Path, tmp_path: Path) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f'KafkaClient {{ {KRB5_MODULE} required useTicketCache=true serviceName="kafka"; }};\n')
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n")
    wait_until(lambda: cluster.topics(APACHE) == cluster.topics(OURS), "both brokers know the same topics")
    ran = [
        subprocess.run(
            [
                *(sys.executable, "-m", "kafka_zk.tools.topics", "--bootstrap-server", cluster.address(broker_id)),
                *("--command-config", str(config), "--list"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "KAFKA_OPTS": f"-Djava.security.auth.login.config={jaas}"},
        )
        for broker_id in cluster.brokers
    ]
    assert [each.returncode for each in ran] == [0, 0], ran
    assert ran[0].stdout == ran[1].stdout


# --- who somebody is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broker_id", [APACHE, OURS])
def test_a_principal_has_the_name_that_the_rules_give_it(cluster: Cluster, broker_id: int) -> None:
    topic = fresh(f"of-bob-{broker_id}")
    with AdminClient(cluster.login("alice", broker_id)) as admin, AdminClient(cluster.login("bob", broker_id)) as bobs:
        admin.create_topics([NewTopic(topic, 1, 1)])
        cluster.wait_until_led(topic)
        with pytest.raises(TopicAuthorizationFailed):
            bobs.describe_topics([topic])
        everywhere = AccessControlEntry("User:bob-by-rule", "*", Operation.DESCRIBE, Permission.ALLOW)
        admin.create_acls([AclBinding(ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL), everywhere)])
        wait_until(lambda: may_describe(bobs, topic), "bob may describe the topic")


def may_describe(admin: AdminClient, topic: str) -> bool:
    try:
        admin.describe_topics([topic])
    except TopicAuthorizationFailed:
        return False
    return True


# --- token by token ------------------------------------------------------------------------------------------------


Found = tuple[list[object], str, bool]


def seen(cluster: Cluster, broker_id: int, sent: list[Frame]) -> Found:
    found = exchange(cluster.address(broker_id).replace("localhost", "127.0.0.1"), sent)
    # The context's tokens and the offer are encrypted or signed with other keys each time.
    answers = [
        comparable(answer) if index not in (1, 2) or INVALID in answer else "a token"
        for index, answer in enumerate(found.answers)
    ]
    # A JVM may be late for the first time.
    return answers, found.end, found.was_late and found.end != "open"


def unsigned(answers: list[bytes]) -> bytes:
    return authenticate(b"\x01\0\0\0")


def test_logins_end_as_at_apache(cluster: Cluster) -> None:
    kdc = cluster.kdc

    def logins() -> dict[str, list[Frame]]:
        spent = token_client(kdc).first()
        return {
            "a good one": frames(token_client(kdc, authorization_id=f"alice@{REALM}"), versions(0)),
            "no authorization id": frames(token_client(kdc), versions(0)),
            "a foreign authorization id": frames(token_client(kdc, authorization_id="bob"), versions(0)),
            "nobody": frames(token_client(kdc, NOBODY), versions(0)),
            "garbage": [handshake("GSSAPI"), authenticate(b"garbage")],
            "nothing": [handshake("GSSAPI"), authenticate(b"")],
            "a broken ticket": [handshake("GSSAPI"), authenticate(spent[:-1] + bytes([spent[-1] ^ 1]))],
            "something for the offer": [*frames(token_client(kdc))[:2], authenticate(b"something")],
            "an unsigned choice": [*frames(token_client(kdc))[:3], unsigned],
        }

    ends = {"a good one": "open", "a foreign authorization id": "open", "nobody": "closed at once"}
    ours: dict[str, Found] = {}
    apaches: dict[str, Found] = {}

    def unlike() -> list[str]:
        return [name for name, found in ours.items() if found != apaches[name] or found[1] != ends.get(name, found[1])]

    for _ in range(MOST_TIMES_ASKED):
        with ThreadPoolExecutor() as pool:
            running = {
                broker_id: {
                    name: pool.submit(seen, cluster, broker_id, sent)
                    for name, sent in logins().items()
                    if not ours or name in unlike()
                }
                for broker_id in (OURS, APACHE)
            }
        for found, broker_id in ((ours, OURS), (apaches, APACHE)):
            found.update({name: each.result() for name, each in running[broker_id].items()})
        if not unlike():
            break
    assert {name: (ours[name], apaches[name]) for name in unlike()} == {}, ends


def test_a_token_that_was_used_is_of_no_use_to_others(cluster: Cluster) -> None:
    client = token_client(cluster.kdc)
    sent = frames(client, versions(0))
    spent = sent[:2]
    assert seen(cluster, OURS, sent)[1] == "open"
    # A replay may be an accident: the connection ends at once, and is no failed login.
    assert any(seen(cluster, OURS, spent)[1] == "closed at once" for _ in range(MOST_TIMES_ASKED))


@pytest.mark.parametrize("broker_id", [APACHE, OURS])
@pytest.mark.parametrize("begins", ["with a handshake", "with a token, as Kafka 0.9"])
def test_tokens_without_requests_log_in(cluster: Cluster, broker_id: int, begins: str) -> None:
    client = token_client(cluster.kdc)
    with socket.create_connection(("127.0.0.1", cluster.brokers[broker_id].port), timeout=10) as sock:
        if begins == "with a handshake":
            send(sock, handshake("GSSAPI", 0))
            receive(sock)
        send(sock, client.first())
        while not client.is_complete:
            send(sock, client.next(receive(sock)) or b"")
        # The last token has no answer.
        send(sock, metadata())
        assert receive(sock)[:4] == (7).to_bytes(4, "big")


def send(sock: socket.socket, frame: bytes) -> None:
    sock.sendall(struct.pack(">i", len(frame)) + frame)


def receive(sock: socket.socket) -> bytes:
    with sock.makefile("rb") as stream:
        return stream.read(struct.unpack(">i", stream.read(4))[0])


# --- ZooKeeper -----------------------------------------------------------------------------------------------------


@pytest.fixture
def kerberos_zookeeper(kdc: Kdc, tmp_path: Path) -> Iterator[EmbeddedZooKeeper]:
    kdc.add("zookeeper/localhost")
    options = f'useKeyTab=true storeKey=true keyTab="{kdc.keytab("zookeeper/localhost")}"'
    running = EmbeddedZooKeeper(
        tmp_path / "zookeeper",
        jaas=f'Server {{ {KRB5_MODULE} required {options} principal="zookeeper/localhost@{REALM}"; }};\n',
        properties={"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"},
        jvm_options=(kdc.java_option,),
    )
    running.start()
    yield running
    running.stop()


def test_a_broker_logs_in_at_zookeeper_and_owns_its_znodes(
    kdc: Kdc, kerberos_zookeeper: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f"Client {{ {kdc.jaas(SERVICE, more='')} }};\n")
    broker = OurBroker(
        tmp_path / "broker",
        kerberos_zookeeper.connect,
        overrides={"zookeeper.set.acl": "true"},
        environ={"KAFKA_OPTS": f"-Djava.security.auth.login.config={jaas} {kdc.java_option}", "KRB5_CONFIG": ""},
    )
    broker.start()
    broker.stop()
    with looking_at(kerberos_zookeeper.connect) as client:
        owner, everybody = sorted(client.get_acls("/brokers/topics")[0], key=lambda each: each.id.scheme)
    assert (everybody.id.scheme, everybody.perms) == ("world", Permissions.READ)
    assert (owner.id.scheme, owner.id.id, owner.perms) == ("sasl", f"{SERVICE}@{REALM}", Permissions.ALL)


def test_without_a_ticket_nobody_begins_with_zookeeper(kdc: Kdc, tmp_path: Path) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f"Client {{ {kdc.jaas('carol', more='', keytab=kdc.keytab('alice'))} }};\n")
    with pytest.raises(
        IdentityError,
        match=r"^The login of section Client of the JAAS file failed: .*No key table entry found for carol@",
    ):
        identity({}, {"KAFKA_OPTS": f"-Djava.security.auth.login.config={jaas}"})


# --- what cannot work ----------------------------------------------------------------------------------------------


def test_a_keytab_with_an_old_key_stops_the_start(cluster: Cluster, tmp_path: Path) -> None:
    kdc = cluster.kdc
    kdc.add("kafka/old", options="+requires_preauth")
    kdc.admin("cpw -randkey kafka/old")
    overrides = {**properties(kdc, free_port()), f"{PREFIX}sasl.jaas.config": kdc.jaas("kafka/old", more="")}
    broker = OurBroker(tmp_path, "127.0.0.1:1", overrides=overrides, environ={"KAFKA_OPTS": kdc.java_option})
    assert broker.run_to_its_end() == 1
    broker.says("Unable to log in for listener SASL_PLAINTEXT: Preauthentication failed (24)")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"keytab": "/no/such.keytab"}, r"being asked for a password.*\(Key table file '/no/such.keytab' not found\)"),
        (
            {"principal": "carol@EXAMPLE.COM"},
            r"being asked for a password.*\(No key table entry found for carol@EXAMPLE.COM\)",
        ),
    ],
)
def test_a_client_without_a_key_is_refused_when_it_is_made(cluster: Cluster, options: dict[str, str], why: str) -> None:
    keytab, principal = options.get("keytab", cluster.kdc.keytab("alice")), options.get("principal", f"alice@{REALM}")
    jaas = f'{KRB5_MODULE} required useKeyTab=true keyTab="{keytab}" principal="{principal}" serviceName="kafka";'
    with pytest.raises(KafkaException) as raised:
        AdminClient(cluster.login("alice", jaas=jaas))
    assert re.search(
        f"^Failed to log in with Kerberos: Could not login: the client is {why}", str(raised.value.__cause__)
    )


def test_a_service_that_the_kdc_does_not_know_is_fatal(cluster: Cluster) -> None:
    jaas = cluster.kdc.jaas("alice", more='serviceName="nosuch"')
    with (
        AdminClient(cluster.login("alice", jaas=jaas)) as admin,
        pytest.raises(
            SaslAuthenticationException, match=r"not found in Kerberos database \(7\).*AUTHENTICATION_FAILED"
        ),
    ):
        admin.list_topics()


# --- time ----------------------------------------------------------------------------------------------------------


class Early(NamedTuple):
    """What was good when this module began: a client's first token, and a cache with a ticket for a second."""

    token: bytes
    cache: Path
    made_s: float


@pytest.fixture(scope="module", autouse=True)
def early(kdc: Kdc) -> Early:
    cache = kdc.folder / "early"
    kdc.run("kinit", "-k", "-t", str(kdc.keytab("bob")), "-l", "1s", "-c", f"FILE:{cache}", "bob")
    return Early(token_client(kdc).first(), cache, time.monotonic())


def test_a_token_of_another_time_is_refused(
    kdc: Kdc, early: Early, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until(lambda: time.monotonic() > early.made_s + 3, "the token is older than the clocks may differ")
    use_realm(kdc, tmp_path, monkeypatch, "[libdefaults]", "[libdefaults]\n  clockskew = 1")
    server = GssapiServer(acceptor(kdc).context(), str)
    # Not a passing error, as with Apache's brokers: the client is told that it failed.
    with pytest.raises(InvalidExchange, match=r"Clock skew too great \(37\)"):
        server.respond(early.token)


def test_a_ticket_that_has_ended_is_named_when_a_client_is_made(kdc: Kdc, early: Early) -> None:
    wait_until(lambda: time.monotonic() > early.made_s + 3, "the ticket has ended")
    with pytest.raises(GssError, match="expired"):
        Initiator(Krb5Options(None, uses_ticket_cache=True, ticket_cache=str(early.cache)))


def test_while_no_kdc_answers_clients_try_again(
    kdc: Kdc, ticket_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets = Initiator(Krb5Options(None, uses_ticket_cache=True))
    use_realm(kdc, tmp_path, monkeypatch, f"127.0.0.1:{kdc.port}", "127.0.0.1:1")
    with pytest.raises(ClientInterrupted, match=r"Cannot contact any KDC.* Kafka Client will retry\.$"):
        GssapiClient(tickets.context("kafka", "localhost"), "").first()


def test_a_ticket_is_renewed_from_its_keytab_before_it_ends(kdc: Kdc) -> None:
    kdc.add("short", options='-maxlife "3 seconds"')
    tickets = Initiator(Krb5Options(f"short@{REALM}", uses_keytab=True, keytab=str(kdc.keytab("short"))))
    login = KerberosLogin(tickets, RenewalRules(window_factor=0.6, min_time_before_relogin_ms=1000))
    login.start()
    end_s = time.monotonic() + tickets.lifetime_s()
    wait_until(lambda: time.monotonic() + tickets.lifetime_s() > end_s + 1, "there is a ticket that lasts longer")
    assert time.monotonic() < end_s
    assert login.exchange("kafka", "localhost").first()


def use_realm(kdc: Kdc, folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """A configuration of the realm in which something is different, for this process."""
    text = kdc.krb5_conf.read_text()
    assert old in text
    (folder / "krb5.conf").write_text(text.replace(old, new))
    monkeypatch.setenv("KRB5_CONFIG", str(folder / "krb5.conf"))


def acceptor(kdc: Kdc) -> Acceptor:
    return Acceptor(Krb5Options(f"{SERVICE}@{REALM}", uses_keytab=True, keytab=str(kdc.keytab(SERVICE))))
