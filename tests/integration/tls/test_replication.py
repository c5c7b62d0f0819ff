"""Two brokers that speak nothing but TLS: they find each other, replicate, and serve a client with a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.names import fresh
from tests.support.processes import free_port, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

RECORDS = 200


def secured(stores: Stores, **more: str) -> dict[str, str]:
    """A broker whose only listener is of SSL, and asks for certificates."""
    return {
        "listeners": f"SSL://127.0.0.1:{free_port()}",
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(stores.truststore_p12),
        "ssl.truststore.password": PASSWORD,
        "ssl.client.auth": "required",
        **more,
    }


def client_settings(brokers: list[OurBroker], stores: Stores) -> dict[str, str]:
    return {
        "bootstrap.servers": ",".join(broker.bootstrap for broker in brokers),
        "security.protocol": "ssl",
        "ssl.ca.location": str(stores.ca_pem),
        "ssl.certificate.location": str(stores.chain_pem),
        "ssl.key.location": str(stores.key_pem),
    }


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture(scope="module")
def stores(authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return authority.issue("broker", tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def brokers(
    zookeeper: ZooKeeperServer, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[OurBroker]]:
    chroot = fresh_chroot(zookeeper, "tls-replication")
    overrides = {"default.replication.factor": "2", "min.insync.replicas": "2"}
    running = [
        OurBroker(
            tmp_path_factory.mktemp(f"broker-{number}"),
            chroot,
            broker_id=number,
            overrides=secured(stores) | overrides,
        )
        for number in (0, 1)
    ]
    try:
        for broker in running:
            broker.launch()
        for broker in running:
            broker.wait_ready()
        yield running
    finally:
        for broker in running:
            broker.stop()


def test_brokers_replicate_over_tls(brokers: list[OurBroker], stores: Stores) -> None:
    settings = client_settings(brokers, stores)
    admin = AdminClient(settings)
    wait_until(lambda: len(admin.list_topics(timeout=60).brokers) == 2, "both brokers are known")
    topic = fresh("t")
    admin.create_topics([NewTopic(topic, 3, 2)])[topic].result(30)
    producer = Producer(settings | {"acks": "all", "enable.idempotence": "true"})
    for number in range(RECORDS):
        producer.produce(topic, b"v%d" % number, b"k%d" % number)
    assert producer.flush(30) == 0
    consumer = Consumer(settings | {"group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read: set[bytes] = set()

    def have_all() -> bool:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            read.add(message.value())
        return len(read) == RECORDS

    wait_until(have_all, "every record is read")
    consumer.close()

    def isrs() -> list[list[int]]:
        partitions = admin.list_topics(topic, timeout=60).topics[topic].partitions.values()
        return [sorted(partition.isrs) for partition in partitions]

    wait_until(lambda: isrs() == [[0, 1]] * 3, "both replicas are in sync")


def test_a_client_without_a_certificate_is_refused(brokers: list[OurBroker], stores: Stores) -> None:
    settings = {
        key: text for key, text in client_settings(brokers, stores).items() if key.startswith(("boot", "sec", "ssl.ca"))
    }
    with pytest.raises(KafkaException):
        AdminClient(settings).list_topics(timeout=5)
    log = brokers[0].folder / "logs" / "server.log"
    wait_until(lambda: "(SSL handshake failed)" in log.read_text(), "the refusal is logged")


def test_a_broker_that_its_own_stores_do_not_believe_does_not_start(
    zookeeper_connect: str, authority: CertificateAuthority, tmp_path: Path
) -> None:
    own, other = authority.issue("broker", tmp_path / "own"), CertificateAuthority("Other").issue("x", tmp_path / "x")
    overrides = secured(own, **{"ssl.truststore.location": str(other.truststore_p12)})
    broker = OurBroker(tmp_path / "broker", zookeeper_connect, overrides=overrides)
    assert broker.run_to_its_end() == 1
    broker.says("A client SSLEngine created with the provided settings can't connect to a server")
