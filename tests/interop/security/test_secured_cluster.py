"""Apache's broker and ours in one cluster of SASL_SSL, SCRAM and ACLs, and every kind of client at ours.

Either is the controller once. (security 12.1)
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import NewTopic as LibrdkafkaTopic

from kafka_zk.client.admin.acls import AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.admin.scram import ScramDeletion, ScramMechanism, ScramUpsertion
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import SaslAuthenticationException
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.errors import TopicAuthorizationFailed, UnknownTopicOrPartition
from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import PLAIN_MODULE, SCRAM_MODULE
from tests.interop.sasl.users import put_scram_user
from tests.support.apache import ApacheBroker, java
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.known_topics import wait_until_led
from tests.support.names import fresh
from tests.support.processes import free_port, wait_until
from tests.support.writer import Writer, read_all
from tests.support.znodes import end_session
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

APACHE, OURS = 1, 2
RECORDS = 100
SECRET = "alice-secret"
"""What tests/interop/sasl/users.py gives everybody."""


def properties(broker_id: int, port: int, stores: Stores) -> dict[str, str]:
    """Ours and Apache's alike."""
    prefix = "listener.name.sasl_ssl."
    own = f'username="broker{broker_id}" password="{SECRET}"'
    plain = f'{PLAIN_MODULE} required {own} user_alice="{SECRET}" user_bob="{SECRET}";'
    return {
        "listeners": f"SASL_SSL://127.0.0.1:{port}",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
        f"{prefix}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required {own};",
        f"{prefix}scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required {own};",
        f"{prefix}plain.sasl.jaas.config": plain,
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.truststore.location": str(stores.truststore_p12),
        "ssl.truststore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:broker1;User:broker2;User:root",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "2",
        "auto.create.topics.enable": "false",
    }


class Cluster:
    """One broker of each kind; the first that is started is the controller."""

    def __init__(self, folder: Path, zookeeper: str, controller: int) -> None:
        self.zookeeper = zookeeper
        self.stores = CertificateAuthority().issue("broker", folder / "stores")
        for user in ("broker1", "broker2", "root", "alice"):
            put_scram_user(zookeeper, user, *Mechanism)
        ports = {APACHE: free_port(), OURS: free_port()}
        apache = ApacheBroker(
            folder / "apache", zookeeper, broker_id=APACHE, overrides=properties(APACHE, ports[APACHE], self.stores)
        )
        ours = OurBroker(
            folder / "ours", zookeeper, broker_id=OURS, overrides=properties(OURS, ports[OURS], self.stores)
        )
        self.brokers: dict[int, ApacheBroker | OurBroker] = {APACHE: apache, OURS: ours}
        for broker_id in sorted(self.brokers, key=lambda each: each != controller):
            self.brokers[broker_id].start()
        with self.admin(controller) as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2, "both brokers are known")

    def login(
        self, user: str, *broker_ids: int, mechanism: str = "SCRAM-SHA-256", password: str = SECRET
    ) -> dict[str, str]:
        """The configuration of our clients and of Java's."""
        module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
        return {
            "bootstrap.servers": self.bootstrap(*broker_ids),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.stores.ca_pem),
        }

    def librdkafka(self, user: str, *broker_ids: int, mechanism: str = "SCRAM-SHA-256") -> dict[str, str]:
        return {
            "bootstrap.servers": self.bootstrap(*broker_ids),
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": SECRET,
            "ssl.ca.location": str(self.stores.ca_pem),
        }

    def bootstrap(self, *broker_ids: int) -> str:
        return ",".join(self.brokers[each].bootstrap for each in broker_ids or self.brokers)

    def admin(self, *broker_ids: int, user: str = "root") -> AdminClient:
        return AdminClient(self.login(user, *broker_ids))

    def create(self, topic: str, assignment: dict[int, list[int]], **configs: str) -> None:
        """A topic that both brokers know, with the leaders of its partitions."""
        given = {name.replace("_", "."): value for name, value in configs.items()}
        with self.admin() as admin:
            admin.create_topics([NewTopic(topic, assignment=assignment, configs=given)])
        wait_until_led(
            *(self.login("root", broker_id) for broker_id in self.brokers),
            topics=(topic,),
            partitions=len(assignment),
        )

    def logs_are_equal(self, topic: str, partition: int) -> bool:
        logs = [
            b"".join(path.read_bytes() for path in sorted((broker.log_dir / f"{topic}-{partition}").glob("*.log")))
            for broker in self.brokers.values()
        ]
        return logs[0] == logs[1] != b""

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()


@pytest.fixture(scope="module", params=[APACHE, OURS], ids=["apache controls", "we control"])
def cluster(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("secured"), fresh_chroot(zookeeper, "secured"), request.param)
    yield running
    running.close()


def test_brokers_of_both_kinds_replicate(cluster: Cluster) -> None:
    for topic, replicas in ((fresh("from-apache"), [APACHE, OURS]), (fresh("from-us"), [OURS, APACHE])):
        cluster.create(topic, {0: replicas})
        producer = confluent_kafka.Producer(cluster.librdkafka("root") | {"acks": "all"})
        for number in range(RECORDS):
            producer.produce(topic, b"%d" % number)
        assert producer.flush(30) == 0
        with cluster.admin() as admin:
            isr = admin.describe_topics([topic])[topic].partitions[0].isr
        assert set(isr) == {APACHE, OURS}
        consumer = confluent_kafka.Consumer(
            cluster.librdkafka("root", mechanism="SCRAM-SHA-512") | {"group.id": topic, "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([topic])
        read = consumer.consume(RECORDS, 30)
        assert [each.value() for each in read if each.error() is None] == [b"%d" % number for number in range(RECORDS)]
        consumer.close()
    for each in cluster.brokers.values():
        output = each.process.output()
        assert "Failed authentication" not in output and "failed authentication" not in output
        assert SECRET not in output


@pytest.mark.parametrize(("changed_at", "asked"), [(APACHE, OURS), (OURS, APACHE)])
def test_rules_changed_at_one_broker_are_obeyed_by_the_other(cluster: Cluster, changed_at: int, asked: int) -> None:
    prefix = fresh(f"ruled-{changed_at}")
    topic = f"{prefix}-topic"
    rule = AclBinding(
        ResourcePattern(ResourceType.TOPIC, prefix, PatternType.PREFIXED),
        AccessControlEntry("User:alice", "*", Operation.READ, Permission.ALLOW),
    )
    with cluster.admin(changed_at) as root, cluster.admin(asked, user="alice") as alice:
        cluster.create(topic, {0: [asked]})
        wait_until(lambda: _denied(alice, topic), "she may not look")
        root.create_acls([rule])
        wait_until(lambda: not _denied(alice, topic), "she may")
        root.delete_acls(rule.pattern)
        wait_until(lambda: _denied(alice, topic), "she may no longer")


def _denied(admin: AdminClient, topic: str) -> bool:
    try:
        admin.describe_topics([topic])
    except TopicAuthorizationFailed:
        return True
    return False


@pytest.mark.parametrize(("changed_at", "asked"), [(APACHE, OURS), (OURS, APACHE)])
def test_users_added_and_removed_at_one_broker_are_known_to_the_other(
    cluster: Cluster, changed_at: int, asked: int
) -> None:
    """(security 12.19) An open session stays."""
    user = fresh(f"new-{changed_at}")
    with cluster.admin(changed_at) as root:
        root.alter_user_scram_credentials(
            upsertions=[ScramUpsertion(user, ScramMechanism.SCRAM_SHA_256, SECRET.encode())]
        )
        wait_until(lambda: _logs_in(cluster, user, asked), "the user is known")
        with cluster.admin(asked, user=user) as session:
            session.list_topics()
            root.alter_user_scram_credentials(deletions=[ScramDeletion(user, ScramMechanism.SCRAM_SHA_256)])
            wait_until(lambda: not _logs_in(cluster, user, asked), "the user is gone")
            session.list_topics()


def _logs_in(cluster: Cluster, user: str, broker_id: int) -> bool:
    try:
        with cluster.admin(broker_id, user=user) as admin:
            admin.list_topics()
    except SaslAuthenticationException:
        return False
    return True


def _of_ours(cluster: Cluster, topic: str, mechanism: str, folder: Path) -> None:
    config = cluster.login("alice", OURS, mechanism=mechanism)
    serializers = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
    with KafkaProducer({**config, **serializers}) as producer:
        producer.send(topic, mechanism.encode()).result(20)
    readers = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")
    with KafkaConsumer({**config, **readers, "group.id": topic, "auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe([topic])
        wait_until(lambda: len(list(consumer.poll(1.0))) > 0, "our consumer reads")


def _of_librdkafka(cluster: Cluster, topic: str, mechanism: str, folder: Path) -> None:
    config = cluster.librdkafka("alice", OURS, mechanism=mechanism)
    producer = confluent_kafka.Producer(config)
    producer.produce(topic, mechanism.encode())
    assert producer.flush(20) == 0
    consumer = confluent_kafka.Consumer(config | {"group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read = consumer.consume(1, 20)
    assert [each.error() for each in read] == [None]
    consumer.close()


def _of_kafka_python(cluster: Cluster, topic: str, mechanism: str, folder: Path) -> None:
    config = {
        "bootstrap_servers": cluster.bootstrap(OURS),
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": SECRET,
        "ssl_cafile": str(cluster.stores.ca_pem),
    }
    producer = kafka.KafkaProducer(**config)
    producer.send(topic, mechanism.encode()).get(60)
    producer.close()
    consumer = kafka.KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=60_000, **config)
    assert next(iter(consumer)).value == mechanism.encode()
    consumer.close()


def _of_java(cluster: Cluster, topic: str, mechanism: str, folder: Path) -> None:
    config = folder / "java.properties"
    config.write_text(
        "".join(f"{key}={value}\n" for key, value in cluster.login("alice", OURS, mechanism=mechanism).items())
    )
    os.chmod(config, 0o600)
    common = ("--bootstrap-server", cluster.bootstrap(OURS), "--topic", topic)
    produced = subprocess.run(
        java("kafka.tools.ConsoleProducer", *common, "--producer.config", str(config)),
        input=f"{mechanism}\n", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert produced.returncode == 0, produced.stderr
    consumed = subprocess.run(
        java("org.apache.kafka.tools.consumer.ConsoleConsumer", *common, "--consumer.config", str(config),
             "--from-beginning", "--max-messages", "1", "--timeout-ms", "60000", "--group", topic),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert consumed.stdout.strip() == mechanism, consumed.stderr


CLIENTS: dict[str, Callable[[Cluster, str, str, Path], None]] = {
    "ours": _of_ours,
    "librdkafka": _of_librdkafka,
    "kafka-python": _of_kafka_python,
    "java": _of_java,
}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_writes_and_reads_at_our_broker_with_the_rights_it_has(
    cluster: Cluster, tmp_path: Path, client: str
) -> None:
    mechanisms = ("SCRAM-SHA-512",) if client == "java" else ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    with cluster.admin() as root:
        for mechanism in mechanisms:
            topic = fresh(f"{client}-{mechanism.lower()}")
            cluster.create(topic, {0: [OURS, APACHE]})
            allowed = [(ResourceType.TOPIC, (Operation.READ, Operation.WRITE)), (ResourceType.GROUP, (Operation.READ,))]
            root.create_acls(
                [
                    AclBinding(
                        ResourcePattern(kind, topic), AccessControlEntry("User:alice", "*", operation, Permission.ALLOW)
                    )
                    for kind, operations in allowed
                    for operation in operations
                ]
            )
            with cluster.admin(OURS, user="alice") as alice:
                wait_until(lambda alice=alice, topic=topic: not _denied(alice, topic), "our broker knows the rules")
            CLIENTS[client](cluster, topic, mechanism, tmp_path)


def test_without_rights_nothing_is_seen_or_written(cluster: Cluster) -> None:
    secret = fresh("secret")
    cluster.create(secret, {0: [OURS, APACHE]})
    errors: list[object] = []
    producer = confluent_kafka.Producer(cluster.librdkafka("alice"))
    producer.produce(secret, b"x", on_delivery=lambda error, _: errors.append(error.name()))
    producer.flush(20)
    assert errors == ["TOPIC_AUTHORIZATION_FAILED"]
    admin = confluent_kafka.admin.AdminClient(cluster.librdkafka("alice"))
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        admin.create_topics([LibrdkafkaTopic("mine", 1, 1)])["mine"].result(20)
    assert refused.value.args[0].name() == "TOPIC_AUTHORIZATION_FAILED"


def test_nothing_is_lost_while_brokers_are_killed_and_stopped(cluster: Cluster) -> None:
    """Each once, so that each is the controller once, and leads both partitions once."""
    topic, partitions = fresh("kept"), 2
    cluster.create(topic, {0: [APACHE, OURS], 1: [OURS, APACHE]}, min_insync_replicas="1")

    def in_sync() -> bool:
        try:
            with cluster.admin() as admin:
                return all(len(each.isr) == 2 for each in admin.describe_topics([topic])[topic].partitions)
        except UnknownTopicOrPartition:
            return False  # A broker that has just started knows no topic yet.

    with Writer(cluster.login("root"), topic, partitions) as writer:
        for broker_id, broker in cluster.brokers.items():
            for end in (broker.kill, broker.stop):
                writer.goes_on()
                end()
                end_session(cluster.zookeeper, broker_id)
                writer.goes_on()
                broker.start()
                wait_until(in_sync, "the replicas are in sync")
        writer.goes_on()
    read = read_all(cluster.login("root"), topic, partitions, len(writer.acked))
    assert sorted(read) == writer.acked
    for partition in range(partitions):
        wait_until(partial(cluster.logs_are_equal, topic, partition), "the logs are equal byte for byte")
