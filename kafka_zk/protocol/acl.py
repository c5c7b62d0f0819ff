"""What ACLs speak of: operations, resource types, pattern types, permissions; their codes and their names.

Role        Pure. The wire, the znodes, the authorizer and the tools share these.
Invariants  UNKNOWN (0) is a word of a newer or broken writer: such an ACL never matches. ANY and MATCH are for filters.
Source      org.apache.kafka.common.acl.AclOperation, AclPermissionType, common.resource.ResourceType, PatternType;
            SecurityUtils.toPascalCase.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""

WILDCARD = "*"
"""As the name of a literal resource: every resource of the type. As a host: every host."""

EVERYBODY = "User:*"
"""The principal that stands for every principal."""


class Operation(IntEnum):
    """What a client does to a resource. ALL is meant in rules, ANY in filters."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a name stands for resources. MATCH, of filters: whatever pattern applies to the resource of this name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


SUPPORTED_OPERATIONS: dict[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.DESCRIBE, Operation.WRITE),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""What can be done with a resource of each type. The last three have no authorized operations in any answer."""

IMPLIED_BY: dict[int, tuple[Operation, ...]] = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Whoever is allowed one of these operations is allowed the key, too. Denials imply nothing."""


@lru_cache(64, typed=True)
def pascal_case(code: IntEnum) -> str:
    """DESCRIBE_CONFIGS: `DescribeConfigs`, as znodes and the audit log write it."""
    return "".join(word.capitalize() for word in code.name.split("_"))
