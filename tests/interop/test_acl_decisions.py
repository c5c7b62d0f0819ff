"""Decisions of AclAuthorizer beside Apache's: every pair of a literal and a prefixed rule, asked for by several hosts.

An answer's field of authorized operations tells eight decisions of a topic, or three of a group, at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.protocol.acl import CLUSTER_NAME
from kafka_zk.protocol.messages.describe_groups import DESCRIBE_GROUPS_REQUEST, DescribeGroupsRequest
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest, MetadataRequestTopic
from kafka_zk.zk.operations import Create
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import ACL_ROOTS, RESOURCE_TYPES, AclEntry, PatternType, ResourceZNode
from tests.support import wire
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer

ME = "User:ANONYMOUS"
BROKER, PLAIN, FAVOURED, BANNED = (f"127.0.0.{number}" for number in range(1, 5))
ASKING = (PLAIN, FAVOURED, BANNED)

CHOICES: list[AclEntry | None] = [
    None,
    *(
        AclEntry(principal, permission, host, operation)
        for principal, permission, host, operation in itertools.product(
            (ME, "User:*", "User:eve"), ("Allow", "Deny"), ("*", PLAIN), ("Read", "Describe", "All", "AlterConfigs")
        )
    ),
]
PAIRS = [
    (f"r{number:05d}.", literal, prefixed)
    for number, (literal, prefixed) in enumerate(itertools.product(CHOICES, CHOICES))
]
NAMES = [f"{prefix}x" for prefix, _, _ in PAIRS]
EVERYWHERE = {
    ("Cluster", CLUSTER_NAME): [AclEntry(ME, "Allow", BROKER, "All")],
    ("Topic", "*"): [
        AclEntry(ME, "Allow", BROKER, "All"),
        AclEntry(ME, "Allow", FAVOURED, "Write"),
        AclEntry("User:*", "Deny", BANNED, "Read"),
    ],
}
"""Groups have no rule for all of them: where neither rule is there, the flag decides."""

Decisions = dict[tuple[str, str, str], tuple[int, int]]
"""By host, kind and name: the error code and the authorized operations."""


def put_rules(connect: str) -> None:
    zk = ZkClient(connect)
    zk.start()
    zk.ensure_paths(f"{root}/{kind}" for root in ACL_ROOTS.values() for kind in RESOURCE_TYPES)
    creates = [
        Create(ResourceZNode.path("LITERAL", kind, name), ResourceZNode.encode(entries))
        for (kind, name), entries in EVERYWHERE.items()
    ]
    creates += [rule for kind in ("Topic", "Group") for rule in rules_of(kind)]
    zk.multi_many([creates[start : start + 200] for start in range(0, len(creates), 200)])
    zk.close()


def rules_of(kind: str) -> Iterator[Create]:
    for prefix, literal, prefixed in PAIRS:
        stores: tuple[tuple[PatternType, str, AclEntry | None], ...] = (
            ("LITERAL", f"{prefix}x", literal),
            ("PREFIXED", prefix, prefixed),
        )
        for store, name, entry in stores:
            if entry is not None:
                yield Create(ResourceZNode.path(store, kind, name), ResourceZNode.encode([entry]))


def decisions(bootstrap: str) -> Decisions:
    found: Decisions = {}
    topics = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in NAMES],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    groups = DescribeGroupsRequest(groups=NAMES, include_authorized_operations=True)
    for host in ASKING:
        with RawClient(bootstrap, own_host=host) as client:
            for topic in client.send(METADATA_REQUEST, topics, 9).topics:
                found[host, "topic", topic.name] = topic.error_code, topic.topic_authorized_operations
            for group in client.send(DESCRIBE_GROUPS_REQUEST, groups, 5).groups:
                found[host, "group", group.group_id] = group.error_code, group.authorized_operations
    return found


def wait_for_coordinators(bootstrap: str) -> None:
    with RawClient(bootstrap) as client:
        wire.wait_for_brokers(client)
        found = FindCoordinatorRequest(coordinator_keys=["g"])
        groups = DescribeGroupsRequest(groups=[f"probe-{number}" for number in range(20)])

        def is_there() -> bool:
            client.send(FIND_COORDINATOR_REQUEST, found, 6)
            answer: Any = client.send(DESCRIBE_GROUPS_REQUEST, groups, 5)
            return all(group.error_code in (0, 30) for group in answer.groups)

        wait_until(is_there, "the coordinators have loaded")


@pytest.mark.parametrize("open_without_rules", [False, True], ids=["closed", "open"])
def test_every_decision_is_apaches(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory, open_without_rules: bool
) -> None:
    """(security 12.28)"""
    folder: Path = tmp_path_factory.mktemp("decisions")
    flag = str(open_without_rules).lower()
    overrides = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": flag,
    }
    both: list[Decisions] = []
    for name, kind in (("apache", ApacheBroker), ("ours", OurBroker)):
        connect = f"{zookeeper.connect}/{folder.name}-{name}"
        put_rules(connect)
        broker = kind(folder / name, connect, overrides=overrides).start()
        try:
            wait_for_coordinators(broker.bootstrap)
            both.append(decisions(broker.bootstrap))
        finally:
            broker.stop()
    apache, ours = both
    assert len(apache) == len(ASKING) * 2 * len(PAIRS)
    assert len(set(apache.values())) > 10, "the rules say something"
    different = [
        f"{asked}: Apache {apache[asked]}, ours {ours[asked]}" for asked in apache if apache[asked] != ours[asked]
    ]
    assert not different, f"{len(different)} of {len(apache)}: " + "\n".join(different[:20])
