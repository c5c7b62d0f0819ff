"""A broker with AclAuthorizer: rules from ZooKeeper decide what is answered.

Without authentication everybody is User:ANONYMOUS; who may do what differs by host. The broker asks itself from
127.0.0.1, and so does the administrator; everybody else comes from 127.0.0.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_zk.protocol.acl import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import create_acls, delete_acls, describe_acls, produce
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import AclChange, AclChangeZNode, AclEntry, ResourceZNode
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

AUTHORIZER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
STRANGER = "127.0.0.2"
TOPIC = "flights"


@pytest.fixture(scope="module")
def connect(zookeeper: ZooKeeperServer) -> str:
    return fresh_chroot(zookeeper, "broker-acls")


@pytest.fixture(scope="module")
def zk(connect: str) -> Iterator[ZkClient]:
    # The tests hold the loop with calls that block, above all while the broker starts; the session must bear that.
    client = ZkClient(connect, session_timeout_ms=60_000)
    client.start()
    yield client
    client.close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, connect: str, zk: ZkClient) -> Iterator[OurBroker]:
    everything = AclEntry("User:ANONYMOUS", "Allow", "127.0.0.1", "All")
    for kind, name in (("Topic", "*"), ("Group", "*"), ("Cluster", CLUSTER_NAME)):
        zk.create(ResourceZNode.path("LITERAL", kind, name), ResourceZNode.encode([everything]), make_parents=True)
    running = OurBroker(tmp_path_factory.mktemp("acls"), connect, overrides=AUTHORIZER).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC)
    yield running
    running.kill()


def produced(broker: OurBroker, host: str) -> ErrorCode:
    with RawClient(broker.bootstrap, own_host=host) as client:
        answer = client.send(produce.PRODUCE_REQUEST, wire.produce_request(TOPIC, [b"x"]), 9)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def filter_of(name: str) -> delete_acls.DeleteAclsFilter:
    return delete_acls.DeleteAclsFilter(
        resource_type_filter=ResourceType.TOPIC,
        resource_name_filter=name,
        pattern_type_filter=PatternType.LITERAL,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )


def test_a_rule_from_zookeeper_lets_a_client_write_once_it_is_announced(broker: OurBroker, zk: ZkClient) -> None:
    assert produced(broker, "127.0.0.1") == ErrorCode.NONE
    assert produced(broker, STRANGER) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    entry = AclEntry("User:ANONYMOUS", "Allow", STRANGER, "Write")
    zk.create(ResourceZNode.path("LITERAL", "Topic", TOPIC), ResourceZNode.encode([entry]))
    change = AclChange("LITERAL", "TOPIC", TOPIC)
    zk.create(AclChangeZNode.prefix("LITERAL"), AclChangeZNode.encode(change), sequential=True)
    wait_until(lambda: produced(broker, STRANGER) == ErrorCode.NONE, "the rule holds")
    denied = AclEntry("User:*", "Deny", "*", "All")
    zk.set(ResourceZNode.path("LITERAL", "Topic", TOPIC), ResourceZNode.encode([entry, denied]))
    zk.create(AclChangeZNode.prefix("LITERAL"), AclChangeZNode.encode(change), sequential=True)
    wait_until(lambda: produced(broker, STRANGER) == ErrorCode.TOPIC_AUTHORIZATION_FAILED, "the denial holds")
    assert produced(broker, "127.0.0.1") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with RawClient(broker.bootstrap) as client:
        answer = client.send(
            delete_acls.DELETE_ACLS_REQUEST, delete_acls.DeleteAclsRequest(filters=[filter_of(TOPIC)]), 3
        )
    assert len(answer.filter_results[0].matching_acls) == 2
    assert zk.exists(ResourceZNode.path("LITERAL", "Topic", TOPIC)) is None
    assert produced(broker, "127.0.0.1") == ErrorCode.NONE
    assert produced(broker, STRANGER) == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rules_are_made_and_listed_by_whoever_may(broker: OurBroker) -> None:
    creation = create_acls.AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name="listed",
        resource_pattern_type=PatternType.PREFIXED,
        principal="User:bob",
        host="*",
        operation=Operation.READ,
        permission_type=Permission.ALLOW,
    )
    request = create_acls.CreateAclsRequest(creations=[creation])
    wanted = describe_acls.DescribeAclsRequest(
        resource_type_filter=ResourceType.TOPIC,
        resource_name_filter="listed-1",
        pattern_type_filter=PatternType.MATCH,
        principal_filter="User:bob",
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    with RawClient(broker.bootstrap, own_host=STRANGER) as client:
        refused = client.send(create_acls.CREATE_ACLS_REQUEST, request, 3)
        assert refused.results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        hidden = client.send(describe_acls.DESCRIBE_ACLS_REQUEST, wanted, 3)
        assert (hidden.error_code, hidden.resources) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
    with RawClient(broker.bootstrap) as client:
        made = client.send(create_acls.CREATE_ACLS_REQUEST, request, 3)
        assert made.results[0].error_code == ErrorCode.NONE
        (found,) = client.send(describe_acls.DESCRIBE_ACLS_REQUEST, wanted, 3).resources
    assert (found.resource_name, found.pattern_type) == ("listed", PatternType.PREFIXED)
    assert [(acl.principal, acl.operation) for acl in found.acls] == [("User:bob", Operation.READ)]


def test_denials_are_in_the_audit_log(broker: OurBroker) -> None:
    log = broker.folder / "logs" / "kafka-authorizer.log"
    produced(broker, STRANGER)
    line = (
        "INFO Principal = User:ANONYMOUS is Denied Operation = Write from host = 127.0.0.2 "
        "on resource = Topic:LITERAL:flights for request = Produce with resourceRefCount = 1 (kafka.authorizer.logger)"
    )
    wait_until(lambda: log.exists() and line in log.read_text(), "the denial is told")
