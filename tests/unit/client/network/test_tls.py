"""TLS at the client's side: whom a connection trusts, whom it refuses, and how it ends."""

from __future__ import annotations

import datetime
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_zk.client.addresses import Address
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import AuthenticationException, KafkaException, SslAuthenticationException
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataSettings
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.security import ConnectionSecurity
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.unit.client.network.test_network_client import (
    LIST_GROUPS_KEY,
    METADATA_KEY,
    PATIENCE_S,
    VERSIONS,
    Calls,
    backoff,
    poll_until,
    settings,
)
from tests.unit.client.scripted_broker import ScriptedBroker

Brokers = Callable[..., ScriptedBroker]
DAY = datetime.timedelta(days=1)
BYTES = "ByteArraySerializer"
DESERIALIZERS = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture
def stores(authority: CertificateAuthority, tmp_path: Path) -> Stores:
    return authority.issue("broker", tmp_path / "broker")


@pytest.fixture
def start() -> Iterator[Brokers]:
    started: list[ScriptedBroker] = []

    def start_one(tls: ssl.SSLContext | None, size: int = 0) -> ScriptedBroker:
        groups = [ListedGroup(group_id="g" * 1000, protocol_type="consumer") for _ in range(size)]
        broker = ScriptedBroker(
            {LIST_GROUPS_KEY: lambda *_: ListGroupsResponse(groups=groups)}, versions=VERSIONS, tls=tls
        )
        broker.handlers[METADATA_KEY] = lambda *_: MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)], controller_id=1
        )
        started.append(broker)
        return broker

    yield start_one
    for broker in started:
        broker.__exit__()


def server_tls(stores: Stores, client_ca: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stores.keystore_pem)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)
    return context


def trusting(stores: Stores, broker: ScriptedBroker, **more: str) -> dict[str, str]:
    """A client's properties."""
    given = {"bootstrap.servers": broker.bootstrap, "security.protocol": "SSL", "ssl.truststore.type": "PEM"}
    return {**DESERIALIZERS, **given, "ssl.truststore.location": str(stores.ca_pem), **more}


def network_client(broker: ScriptedBroker, context: ssl.SSLContext, **changes: object) -> NetworkClient:
    metadata = ClusterMetadata([Address(broker.host, broker.port)], MetadataSettings(300_000, backoff()))
    return NetworkClient(settings(security=ConnectionSecurity("SSL", context), **changes), metadata)


def test_every_client_reads_its_stores_and_reaches_the_broker(start: Brokers, stores: Stores) -> None:
    broker = start(server_tls(stores, client_ca=stores.ca_pem))
    given = trusting(
        stores,
        broker,
        **{
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(stores.truststore_p12),
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(stores.keystore_p12),
            "ssl.keystore.password": PASSWORD,
        },
    )
    with AdminClient(given) as admin:
        assert admin.list_topics() == []
    with KafkaConsumer(given) as consumer:
        assert consumer.list_topics() == {}
    with KafkaProducer({**given, "key.serializer": BYTES, "value.serializer": BYTES, "max.block.ms": 300}) as producer:
        assert "not present in metadata" in str(producer.send("t", b"v").exception(PATIENCE_S))
    assert broker.refused == []


def test_a_large_answer_arrives_whole_and_the_end_is_announced(start: Brokers, stores: Stores) -> None:
    broker = start(server_tls(stores), 3000)
    context = ssl.create_default_context(cafile=stores.ca_pem)
    client = network_client(broker, context)
    poll_until(client, lambda: client.metadata.has_answer)
    calls = Calls(client)
    for _ in range(4):
        calls.list_groups(1)
    assert [len(answer.groups) for answer in calls.wait_for(4)] == [3000] * 4
    client.close()
    assert broker.said_goodbye.wait(PATIENCE_S)


def refusal_of(given: dict[str, str]) -> AuthenticationException:
    """What the admin client, the consumer and the producer say, which must be the same."""
    with AdminClient(given) as admin, pytest.raises(SslAuthenticationException) as from_admin:
        admin.list_topics()
    with (
        KafkaConsumer(given) as consumer,
        pytest.raises(SslAuthenticationException) as from_consumer,
    ):
        consumer.list_topics()
    with KafkaProducer({**given, "key.serializer": BYTES, "value.serializer": BYTES}) as producer:
        from_producer = producer.send("t", b"v").exception(PATIENCE_S)
    assert isinstance(from_producer, SslAuthenticationException)
    assert str(from_admin.value) == str(from_consumer.value) == str(from_producer)
    return from_admin.value


def test_a_broker_with_another_host_name_is_refused_unless_the_check_is_off(
    start: Brokers, authority: CertificateAuthority, tmp_path: Path
) -> None:
    stores = authority.issue("elsewhere", tmp_path, sans=["elsewhere.example"])
    broker = start(server_tls(stores))
    text = str(refusal_of(trusting(stores, broker)))
    assert text.startswith("SSL handshake failed: the broker's certificate is not accepted: ")
    assert "127.0.0.1" in text
    with AdminClient(trusting(stores, broker, **{"ssl.endpoint.identification.algorithm": ""})) as admin:
        assert admin.list_topics() == []


def test_a_certificate_of_an_unknown_authority_is_refused(start: Brokers, stores: Stores, tmp_path: Path) -> None:
    other = CertificateAuthority("Other").issue("broker", tmp_path / "other")
    broker = start(server_tls(other))
    text = str(refusal_of(trusting(stores, broker)))
    assert (
        text == "SSL handshake failed: the broker's certificate is not accepted: unable to get local issuer certificate"
    )
    assert any("UNKNOWN_CA" in reason for reason in broker.refused)


def test_an_expired_certificate_is_refused(start: Brokers, authority: CertificateAuthority, tmp_path: Path) -> None:
    stores = authority.issue("broker", tmp_path, lasts=-DAY)
    broker = start(server_tls(stores))
    text = str(refusal_of(trusting(stores, broker)))
    assert text == "SSL handshake failed: the broker's certificate is not accepted: certificate has expired"


@pytest.mark.parametrize(
    ("protocols", "begins"),
    [
        ("TLSv1.2", "SSL handshake failed: the broker refused it: "),
        ("TLSv1.3", "Failed to process post-handshake messages: the broker refused it: "),
    ],
)
def test_a_missing_client_certificate_is_fatal_even_when_the_handshake_seemed_done(
    start: Brokers, stores: Stores, protocols: str, begins: str
) -> None:
    """With TLS 1.3 the server's alert is the first thing to read (security 12.11)."""
    broker = start(server_tls(stores, client_ca=stores.ca_pem))
    given = trusting(stores, broker, **{"ssl.enabled.protocols": protocols})
    assert str(refusal_of(given)).startswith(begins)


def test_a_refused_client_is_told_of_in_the_words_of_apache(
    start: Brokers, stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = CertificateAuthority("Other").issue("broker", tmp_path / "other")
    broker = start(server_tls(other))
    caplog.set_level(logging.WARNING)
    refusal_of(trusting(stores, broker))
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    # Admin, consumer, producer.
    assert len(lines) >= 3
    name = f"Connection to node -1 (/127.0.0.1:{broker.port}) failed authentication due to: SSL handshake failed"
    assert all(name in line for line in lines)


def test_a_plain_listener_is_named_as_the_likely_cause(
    start: Brokers, stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes a ClientHello for a request of 369,295,616 bytes and hangs up; the client goes on trying, as in Java."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            while True:
                connection, _ = listener.accept()
                connection.recv(1)
                connection.close()

        threading.Thread(target=hang_up, daemon=True).start()
        bootstrap = f"127.0.0.1:{listener.getsockname()[1]}"
        given = {"bootstrap.servers": bootstrap, "security.protocol": "SSL", "ssl.truststore.type": "PEM"}
        given |= {"ssl.truststore.location": str(stores.ca_pem), "default.api.timeout.ms": "200"}
        given |= {"request.timeout.ms": "200", **DESERIALIZERS}
        with AdminClient(given) as admin, pytest.raises(KafkaException, match="Timed out waiting for a node"):
            admin.list_topics()
        with (
            KafkaConsumer(given) as consumer,
            pytest.raises(KafkaException, match="Timeout expired"),
        ):
            consumer.list_topics()
    hint = (
        f"The broker at {bootstrap}: it closes the connection during the TLS handshake: does this listener speak TLS?"
    )
    told = [record for record in caplog.records if getattr(record, "hint", None) == hint]
    assert {record.getMessage().split(" ")[1][:6] for record in told} == {"client"}
    assert all("terminated during authentication" in record.getMessage() for record in told)


def test_a_tls_listener_is_named_as_the_likely_cause(
    start: Brokers, stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    broker = start(server_tls(stores))
    given = {"bootstrap.servers": broker.bootstrap, "default.api.timeout.ms": "300", "request.timeout.ms": "300"}
    given |= DESERIALIZERS
    with AdminClient(given) as admin, pytest.raises(KafkaException, match="Timed out waiting for a node"):
        admin.list_topics()
    with KafkaConsumer(given) as consumer, pytest.raises(KafkaException, match="Timeout expired"):
        consumer.list_topics()
    hints = {record.hint for record in caplog.records if hasattr(record, "hint")}
    text = "it closes the connection before its first answer: is security.protocol missing or wrong?"
    assert hints == {f"The broker at {broker.bootstrap}: {text}"}


def test_a_broker_that_never_ends_its_handshake_is_given_up(stores: Stores) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        given = {"bootstrap.servers": f"127.0.0.1:{listener.getsockname()[1]}", "security.protocol": "SSL"}
        given |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(stores.ca_pem)}
        given |= {"default.api.timeout.ms": "300", "request.timeout.ms": "300", **DESERIALIZERS}
        with AdminClient(given) as admin, pytest.raises(KafkaException, match="Timed out"):
            admin.list_topics()
        with (
            KafkaConsumer(given) as consumer,
            pytest.raises(KafkaException, match="Timeout expired"),
        ):
            consumer.list_topics()
