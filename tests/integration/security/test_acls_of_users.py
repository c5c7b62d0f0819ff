"""ACLs and logins together: rules name the principals that logins give, and hosts as Java prints them."""

from __future__ import annotations

from collections.abc import Iterator

import kafka
import kafka.admin
import kafka.errors
import pytest

from kafka_zk.protocol.acl import CLUSTER_NAME
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import AclEntry, ResourceZNode
from tests.integration.security.sasl_broker import sasl_overrides
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

ACLS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
TOPIC = "flights"


def put_rules(connect: str, rules: dict[tuple[str, str], list[AclEntry]]) -> None:
    zk = ZkClient(connect)
    zk.start()
    for (kind, name), entries in rules.items():
        zk.create(ResourceZNode.path("LITERAL", kind, name), ResourceZNode.encode(entries), make_parents=True)
    zk.close()


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """Brokers are super users; alice may do all to a topic, bob may read it."""
    connect = fresh_chroot(zookeeper, "acls-of-users")
    put_rules(
        connect,
        {
            ("Topic", TOPIC): [AclEntry("User:alice", "Allow", "*", "All"), AclEntry("User:bob", "Allow", "*", "Read")],
            ("Cluster", CLUSTER_NAME): [AclEntry("User:bob", "Allow", "*", "IdempotentWrite")],
        },
    )
    overrides = sasl_overrides({**ACLS, "super.users": "User:ANONYMOUS"})
    running = OurBroker(tmp_path_factory.mktemp("users"), connect, overrides=overrides).start()
    with RawClient(overrides["listeners"].rpartition("://")[2]) as client:
        wire.create_topic(client, TOPIC)
    yield running
    running.kill()


def written(broker: OurBroker, user: str, password: str) -> bool:
    producer = kafka.KafkaProducer(
        bootstrap_servers=broker.bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username=user,
        sasl_plain_password=password,
        retries=0,
        max_block_ms=60_000,
    )
    try:
        producer.send(TOPIC, b"x").get(timeout=60)
    except kafka.errors.TopicAuthorizationFailedError:
        return False
    finally:
        producer.close(timeout=0)
    return True


def test_a_rule_is_about_the_user_who_has_logged_in(broker: OurBroker) -> None:
    assert written(broker, "alice", "alice-secret")
    assert not written(broker, "bob", "bob-secret")
    audit = broker.folder / "logs" / "kafka-authorizer.log"
    line = (
        "Principal = User:bob is Denied Operation = Write from host = 127.0.0.1 on resource = Topic:LITERAL:flights "
        "for request = Produce with resourceRefCount = 1"
    )
    wait_until(lambda: audit.exists() and line in audit.read_text(), "the denial is told")
    assert "secret" not in audit.read_text()


def test_a_host_is_compared_as_java_prints_it(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """(security 12.29)"""
    connect = fresh_chroot(zookeeper, "acls-of-ipv6")
    everybody, here, short = "User:ANONYMOUS", "0:0:0:0:0:0:0:1", "::1"
    put_rules(
        connect,
        {
            ("Cluster", CLUSTER_NAME): [AclEntry(everybody, "Allow", "*", "All")],
            ("Topic", "long"): [AclEntry(everybody, "Allow", here, "Write")],
            ("Topic", "short"): [AclEntry(everybody, "Allow", short, "Write")],
            ("Topic", "mapped"): [AclEntry(everybody, "Allow", "127.0.0.1", "Write")],
        },
    )
    overrides = {**ACLS, "listeners": f"PLAINTEXT://[::1]:{free_port()}"}
    broker = OurBroker(tmp_path_factory.mktemp("ipv6"), connect, overrides=overrides).start()
    try:
        codes = {}
        with RawClient(f"::1:{broker.port}", own_host="::1") as client:
            for topic in ("long", "short", "mapped"):
                codes[topic], _ = wire.try_produce(client, topic, [b"x"])
    finally:
        broker.kill()
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert codes == {"long": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "short": denied, "mapped": denied}
