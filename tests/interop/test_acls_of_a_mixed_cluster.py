"""ACLs of a cluster with brokers of both kinds: each changes the rules of one resource, at the same time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafka_zk.protocol.acl import CLUSTER_NAME
from kafka_zk.protocol.messages import create_acls, delete_acls, describe_acls
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import AclEntry, ResourceZNode
from tests.support import wire
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.names import fresh
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

ACLS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
TOPIC, GROUP, CLUSTER = 2, 3, 4
LITERAL, READ, ALLOW = 3, 3, 3
EVERYTHING = {
    ("Cluster", CLUSTER_NAME): [AclEntry("User:ANONYMOUS", "Allow", "127.0.0.1", "All")],
    ("Topic", "*"): [AclEntry("User:ANONYMOUS", "Allow", "127.0.0.1", "All")],
}
EACH = 25


@pytest.fixture(scope="module")
def brokers(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ApacheBroker, OurBroker]]:
    folder = tmp_path_factory.mktemp("mixed-acls")
    connect = fresh_chroot(zookeeper, folder.name)
    zk = ZkClient(connect)
    zk.start()
    for (kind, name), entries in EVERYTHING.items():
        zk.create(ResourceZNode.path("LITERAL", kind, name), ResourceZNode.encode(entries), make_parents=True)
    zk.close()
    apache = ApacheBroker(folder / "apache", connect, broker_id=0, overrides=ACLS)
    ours = OurBroker(folder / "ours", connect, broker_id=1, overrides=ACLS)
    apache.launch()
    ours.launch()
    try:
        apache.wait_ready()
        ours.wait_ready()
        for broker in (apache, ours):
            with RawClient(broker.bootstrap) as client:
                wire.wait_for_brokers(client, 2)
        yield connect, apache, ours
    finally:
        apache.stop()
        ours.stop()


def create(broker: Any, topic: str, who: str) -> int:
    creation = create_acls.AclCreation(
        resource_type=TOPIC,
        resource_name=topic,
        resource_pattern_type=LITERAL,
        principal=f"User:{who}",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    with RawClient(broker.bootstrap) as client:
        answer = client.send(create_acls.CREATE_ACLS_REQUEST, create_acls.CreateAclsRequest(creations=[creation]), 3)
        return int(answer.results[0].error_code)


def filter_of(kind: type[Any], topic: str, who: str | None = None) -> Any:
    return kind(
        resource_type_filter=TOPIC,
        resource_name_filter=topic,
        pattern_type_filter=LITERAL,
        principal_filter=None if who is None else f"User:{who}",
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def delete(broker: Any, topic: str, who: str) -> int:
    request = delete_acls.DeleteAclsRequest(filters=[filter_of(delete_acls.DeleteAclsFilter, topic, who)])
    with RawClient(broker.bootstrap) as client:
        return len(client.send(delete_acls.DELETE_ACLS_REQUEST, request, 3).filter_results[0].matching_acls)


def known(broker: Any, topic: str) -> set[str]:
    with RawClient(broker.bootstrap) as client:
        wanted = filter_of(describe_acls.DescribeAclsRequest, topic)
        answer = client.send(describe_acls.DESCRIBE_ACLS_REQUEST, wanted, 3)
    return {acl.principal for resource in answer.resources for acl in resource.acls}


def stored(connect: str, topic: str) -> set[str]:
    zk = ZkClient(connect)
    zk.start()
    try:
        data, _ = zk.get(f"/kafka-acl/Topic/{topic}")
        return {acl["principal"] for acl in json.loads(data or b"{}")["acls"]}
    finally:
        zk.close()


def test_of_changes_by_both_kinds_at_once_none_is_lost(brokers: tuple[str, ApacheBroker, OurBroker]) -> None:
    """(security 12.31)"""
    connect, *both = brokers
    topic = fresh("shared")
    who = [(broker, f"{number}-of-{broker.broker_id}") for broker in both for number in range(EACH)]
    with ThreadPoolExecutor(2) as pool:
        # One thread a broker, so that both have a change under way at all times.
        results = list(pool.map(lambda broker: [create(broker, topic, name) for at, name in who if at is broker], both))
    assert results == [[0] * EACH, [0] * EACH]
    everybody = {f"User:{name}" for _, name in who}
    assert stored(connect, topic) == everybody
    for broker in both:
        wait_until(lambda broker=broker: known(broker, topic) == everybody, f"broker {broker.broker_id} knows all")
    # Each removes every other one of what the other has made.
    gone = [(both[1 - both.index(broker)], name) for index, (broker, name) in enumerate(who) if index % 2]
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda broker: [delete(broker, topic, name) for at, name in gone if at is broker], both))
    assert all(count == 1 for found in counts for count in found)
    left = everybody - {f"User:{name}" for _, name in gone}
    assert stored(connect, topic) == left
    for broker in both:
        wait_until(lambda broker=broker: known(broker, topic) == left, f"broker {broker.broker_id} knows what is left")
