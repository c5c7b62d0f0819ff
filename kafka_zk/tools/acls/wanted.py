"""Which rules the options of kafka-acls.sh describe.

Role        Pure, but for options that raise.
Source      AclCommand.getResourceFilterToAcls, getResourceFilter, getAcl, validateOperation in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.client.admin.acls import AccessControlEntry, ResourcePattern
from kafka_zk.protocol.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    pascal_case,
)
from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.common.options import OptionError, Options, UsageError

RESOURCE_OPTIONS = (
    ("topic", ResourceType.TOPIC),
    ("group", ResourceType.GROUP),
    ("transactional-id", ResourceType.TRANSACTIONAL_ID),
    ("delegation-token", ResourceType.DELEGATION_TOKEN),
    ("user-principal", ResourceType.USER),
)
CLUSTER = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
    "--delegation-token <Delegation Token ID>"
)

Rules = dict[ResourcePattern, list[AccessControlEntry]]


def rules_to_add(options: Options) -> Rules:
    """Raises UsageError, JavaError."""
    pattern_type = pattern_type_of(options)
    if pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise UsageError(f"A '--resource-pattern-type' value of '{pattern_type.name}' is not valid when adding acls.")
    rules = rules_of(options)
    if not all(rules.values()):
        raise UsageError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return rules


def rules_of(options: Options) -> Rules:
    """The rules by what they are for; none for a resource where no principal is named. Raises UsageError, JavaError."""
    rules: Rules = {}
    if not options.has("producer") and not options.has("consumer"):
        entries = _entries(options, [operation_of(text) for text in options.texts("operation")] or [Operation.ALL])
        rules = {resource: list(entries) for resource in resources_of(options)}
    if options.has("producer"):
        rules |= _of_a_producer(options)
    if options.has("consumer"):
        for resource, entries in _of_a_consumer(options).items():
            rules[resource] = list(dict.fromkeys([*entries, *rules.get(resource, [])]))
    for resource, entries in rules.items():
        _check_operations(resource, entries)
    return rules


def resources_of(options: Options, *, may_be_none: bool = False) -> list[ResourcePattern]:
    """What --topic, --group ... name. Raises UsageError where that is nothing."""
    pattern_type = pattern_type_of(options)
    found = []
    for name, resource_type in RESOURCE_OPTIONS:
        found += [ResourcePattern(resource_type, text.strip(), pattern_type) for text in options.texts(name)]
        is_literal = pattern_type is PatternType.LITERAL
        if name == "topic" and is_literal and (options.has("cluster") or options.has("idempotent")):
            found.append(CLUSTER)
    if not found and not may_be_none:
        raise UsageError(NO_RESOURCE)
    return list(dict.fromkeys(found))


def principals_of(options: Options, name: str) -> list[str]:
    """Raises JavaError for a text that is no principal."""
    return list(dict.fromkeys(_principal(text.strip()) for text in options.texts(name)))


def pattern_type_of(options: Options) -> PatternType:
    """Raises OptionError."""
    text = options.text("resource-pattern-type")
    if text is None:
        return PatternType.LITERAL
    found = PatternType.__members__.get(text.upper())
    if found is None or found is PatternType.UNKNOWN:
        raise OptionError(
            f"Cannot parse argument '{text}' of option resource-pattern-type", "OptionArgumentConversionException"
        ) from JavaError(
            f"Value [{text}] is not one of [ANY|MATCH|LITERAL|PREFIXED]", "joptsimple.ValueConversionException"
        )
    return found


def operation_of(text: str) -> Operation:
    """UNKNOWN for a word that names none."""
    wanted = text.strip()
    return next((each for each in Operation if pascal_case(each) == wanted), Operation.UNKNOWN)


def _of_a_producer(options: Options) -> Rules:
    topic = _entries(options, (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE))
    transactional_id = _entries(options, (Operation.WRITE, Operation.DESCRIBE))
    rules = {}
    for resource in resources_of(options):
        if resource.resource_type is ResourceType.TOPIC:
            rules[resource] = list(topic)
        elif resource.resource_type is ResourceType.TRANSACTIONAL_ID:
            rules[resource] = list(transactional_id)
    if options.has("idempotent"):
        rules[CLUSTER] = _entries(options, (Operation.IDEMPOTENT_WRITE,))
    return rules


def _of_a_consumer(options: Options) -> Rules:
    topic = _entries(options, (Operation.READ, Operation.DESCRIBE))
    group = _entries(options, (Operation.READ,))
    rules = {}
    for resource in resources_of(options):
        if resource.resource_type is ResourceType.TOPIC:
            rules[resource] = list(topic)
        elif resource.resource_type is ResourceType.GROUP:
            rules[resource] = list(group)
    return rules


def _entries(options: Options, operations: Sequence[Operation]) -> list[AccessControlEntry]:
    """For each principal allowed or denied, each operation and each host."""
    return [
        AccessControlEntry(principal, host, operation, permission)
        for kind, permission in (("allow", Permission.ALLOW), ("deny", Permission.DENY))
        for principal in principals_of(options, f"{kind}-principal")
        for operation in dict.fromkeys(operations)
        for host in dict.fromkeys(text.strip() for text in options.texts(f"{kind}-host") or [WILDCARD])
    ]


def _check_operations(resource: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
    valid = (*SUPPORTED_OPERATIONS[resource.resource_type], Operation.ALL)
    if any(entry.operation not in valid for entry in entries):
        names = ", ".join(pascal_case(operation) for operation in valid)
        raise UsageError(f"ResourceType {resource.resource_type.name} only supports operations {names}")


def _principal(text: str) -> str:
    if ":" not in text:
        raise illegal_argument(f"expected a string in format principalType:principalName but got {text}")
    return text
