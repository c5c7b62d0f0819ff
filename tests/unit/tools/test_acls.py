"""Which rules the options of kafka-acls.sh mean; interop/test_security_tools compares whole runs with Apache's."""

from __future__ import annotations

import pytest

from kafka_zk.client.admin.acls import AccessControlEntry, ResourcePattern
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.tools.acls.__main__ import OPTIONS
from kafka_zk.tools.acls.wanted import CLUSTER, Rules, resources_of, rules_of, rules_to_add
from kafka_zk.tools.common.options import Options, UsageError

TOPIC, GROUP = ResourcePattern(ResourceType.TOPIC, "t"), ResourcePattern(ResourceType.GROUP, "g")


def options(text: str) -> Options:
    return Options(OPTIONS, text.split())


def rules(text: str) -> Rules:
    return rules_of(options(text))


def allowed(*operations: Operation) -> list[AccessControlEntry]:
    return [AccessControlEntry("User:a", "*", operation, Permission.ALLOW) for operation in operations]


def test_a_producer_and_a_consumer_get_what_they_need_and_no_more() -> None:
    assert rules("--producer --idempotent --topic t --allow-principal User:a") == {
        TOPIC: allowed(Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
        CLUSTER: allowed(Operation.IDEMPOTENT_WRITE),
    }
    assert rules("--consumer --topic t --group g --allow-principal User:a") == {
        TOPIC: allowed(Operation.READ, Operation.DESCRIBE),
        GROUP: allowed(Operation.READ),
    }


def test_each_principal_and_host_is_allowed_or_denied() -> None:
    (entries,) = rules(
        "--topic t --operation Read --allow-principal User:a --allow-host h1 --allow-host h2 --deny-principal User:b"
    ).values()
    assert entries == [
        AccessControlEntry("User:a", "h1", Operation.READ, Permission.ALLOW),
        AccessControlEntry("User:a", "h2", Operation.READ, Permission.ALLOW),
        AccessControlEntry("User:b", "*", Operation.READ, Permission.DENY),
    ]


def test_the_cluster_is_meant_by_its_name_alone() -> None:
    prefixed = options("--topic t --cluster --resource-pattern-type prefixed")
    assert resources_of(prefixed) == [ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED)]
    assert resources_of(options("--topic t --cluster")) == [TOPIC, CLUSTER]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("--topic t", "You must specify one of: --allow-principal, --deny-principal"),
        ("--allow-principal User:a", "You must provide at least one resource"),
        ("--group g --operation Write --allow-principal User:a", "ResourceType GROUP only supports operations Read"),
        ("--topic t --allow-principal User:a --resource-pattern-type match", "'MATCH' is not valid when adding acls"),
    ],
)
def test_what_cannot_be_added_is_told(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        rules_to_add(options(text))
