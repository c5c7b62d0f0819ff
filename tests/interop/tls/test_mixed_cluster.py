"""Our broker and Apache's in one cluster that speaks only TLS, and the clients that people use.

Either is the controller once.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from cryptography import x509
from cryptography.x509 import NameOID
from kafka import KafkaConsumer, KafkaProducer

from tests.support.apache import ApacheBroker, java
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.known_topics import wait_until_led
from tests.support.processes import free_port, wait_until

APACHE, OURS = 1, 2
RECORDS = 150


def secured(broker_id: int, port: int, stores: Stores) -> dict[str, str]:
    return {
        "broker.id": str(broker_id),
        "listeners": f"SSL://127.0.0.1:{port}",
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.truststore.location": str(stores.truststore_p12),
        "ssl.truststore.password": PASSWORD,
        "ssl.client.auth": "required",
        "default.replication.factor": "2",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "2",
        "auto.create.topics.enable": "false",
    }


class Cluster:
    """One broker of each kind; the first that is started is the controller."""

    def __init__(self, folder: Path, zookeeper: str, controller: int) -> None:
        authority = CertificateAuthority()
        self.stores = authority.issue("broker", folder / "stores")
        self.client = authority.issue(
            x509.Name(
                [
                    x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Org, Inc."),
                    x509.NameAttribute(NameOID.EMAIL_ADDRESS, "who@example.com"),
                    x509.NameAttribute(NameOID.COMMON_NAME, 'Müller "=" x'),
                ]
            ),
            folder / "client",
        )
        ports = {APACHE: free_port(), OURS: free_port()}
        apache = ApacheBroker(
            folder / "apache", zookeeper, broker_id=APACHE, overrides=secured(APACHE, ports[APACHE], self.stores)
        )
        ours = OurBroker(folder / "ours", zookeeper, broker_id=OURS, overrides=secured(OURS, ports[OURS], self.stores))
        self.brokers: dict[int, ApacheBroker | OurBroker] = {APACHE: apache, OURS: ours}
        for broker_id in sorted(self.brokers, key=lambda each: each != controller):
            self.brokers[broker_id].start()
        self.admin = AdminClient(self.settings())
        wait_until(lambda: len(self.admin.list_topics(timeout=60).brokers) == 2, "both brokers are known")

    def settings(self, *broker_ids: int) -> dict[str, str]:
        """librdkafka's."""
        return {
            "bootstrap.servers": self.bootstrap(*broker_ids),
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.client.ca_pem),
            "ssl.certificate.location": str(self.client.chain_pem),
            "ssl.key.location": str(self.client.key_pem),
        }

    def bootstrap(self, *broker_ids: int) -> str:
        return ",".join(self.brokers[each].bootstrap for each in broker_ids or self.brokers)

    def create(self, topic: str, leader: int) -> None:
        """One partition, led by `leader` and followed by the other."""
        other = APACHE if leader == OURS else OURS
        self.admin.create_topics([NewTopic(topic, 1, replica_assignment=[[leader, other]])])[topic].result(30)
        wait_until_led(*map(self._properties, self.brokers), topics=(topic,))

    def _properties(self, broker_id: int) -> dict[str, str]:
        """Of our clients and Java's."""
        return {
            "bootstrap.servers": self.bootstrap(broker_id),
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.client.ca_pem),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.client.keystore_pem),
        }

    def isr(self, topic: str) -> set[int]:
        return set(self.admin.list_topics(topic, timeout=60).topics[topic].partitions[0].isrs)

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()


@pytest.fixture(params=[APACHE, OURS], ids=["apache controls", "we control"])
def cluster(zookeeper_connect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    running = Cluster(tmp_path, zookeeper_connect, request.param)
    yield running
    running.close()


def test_brokers_of_both_kinds_replicate_over_tls(cluster: Cluster, tmp_path: Path) -> None:
    """(security 12.1 for SSL)"""
    for topic, leader in (("from-apache", APACHE), ("from-us", OURS)):
        cluster.create(topic, leader)
        producer = Producer(cluster.settings() | {"acks": "all"})
        for number in range(RECORDS):
            producer.produce(topic, b"%d" % number)
        assert producer.flush(30) == 0
        wait_until(lambda topic=topic: cluster.isr(topic) == {APACHE, OURS}, "the follower keeps up")
        consumer = Consumer(cluster.settings() | {"group.id": topic, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        read = consumer.consume(RECORDS, 30)
        assert len([each for each in read if each.error() is None]) == RECORDS
        consumer.close()
    for each in cluster.brokers.values():
        output = each.process.output()
        assert "SSL handshake failed" not in output and "SSLHandshakeException" not in output
    clients_of_every_kind(cluster, tmp_path)


def clients_of_every_kind(cluster: Cluster, folder: Path) -> None:
    """kafka-python, and Java's console tools, at our broker alone."""
    ours = cluster.bootstrap(OURS)
    options = {
        "bootstrap_servers": ours,
        "security_protocol": "SSL",
        "ssl_cafile": str(cluster.client.ca_pem),
        "ssl_certfile": str(cluster.client.chain_pem),
        "ssl_keyfile": str(cluster.client.key_pem),
    }
    producer = KafkaProducer(**options)
    producer.send("from-us", b"of kafka-python").get(60)
    producer.close()
    consumer = KafkaConsumer("from-us", auto_offset_reset="earliest", consumer_timeout_ms=60_000, **options)
    values = set()
    for message in consumer:
        values.add(message.value)
        if message.value == b"of kafka-python":
            break
    consumer.close()
    assert b"of kafka-python" in values
    config = folder / "client.properties"
    config.write_text(
        "security.protocol=SSL\n"
        f"ssl.truststore.location={cluster.client.truststore_p12}\nssl.truststore.password={PASSWORD}\n"
        f"ssl.keystore.location={cluster.client.keystore_p12}\nssl.keystore.password={PASSWORD}\n"
    )
    common = ["--bootstrap-server", ours, "--topic", "from-us"]
    written = subprocess.run(
        java("kafka.tools.ConsoleProducer", *common, "--producer.config", str(config)),
        input="of Java\n",
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert written.returncode == 0, written.stderr
    arguments = [*common, "--consumer.config", str(config), "--from-beginning", "--max-messages", str(RECORDS + 2)]
    read = subprocess.run(
        java("org.apache.kafka.tools.consumer.ConsoleConsumer", *arguments, "--timeout-ms", "60000"),
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert "of Java" in read.stdout.splitlines(), read.stderr
