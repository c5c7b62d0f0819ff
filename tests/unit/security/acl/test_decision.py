"""Who may do what: the decision, and which rules a filter matches."""

from __future__ import annotations

import random

import pytest

from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.security.acl.cache import AclCache, VersionedAcls
from kafka_zk.security.acl.decision import Policy, decide, decide_on_any
from kafka_zk.security.acl.filters import EVERYTHING, EntryFilter, PatternFilter
from kafka_zk.security.acl.rules import Acl, ResourcePattern

TOPIC = ResourceType.TOPIC
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY
HOST = "10.0.0.1"

Rule = tuple[str, PatternType, Acl]


def rule(
    name: str,
    operation: Operation,
    permission: Permission = ALLOW,
    *,
    pattern: PatternType = LITERAL,
    who: str = "User:bob",
    host: str = "*",
) -> Rule:
    return name, pattern, Acl(who, host, operation, permission)


def given(*rules: Rule) -> AclCache:
    cache = AclCache()
    for name, pattern_type, acl in rules:
        pattern = ResourcePattern(TOPIC, name, pattern_type)
        before = cache.get(pattern)
        cache.put(pattern, VersionedAcls((before.acls if before else frozenset()) | {acl}, 0))
    return cache


def may(
    cache: AclCache,
    operation: Operation,
    name: str = "flights",
    *,
    who: str = "User:bob",
    host: str = HOST,
    policy: Policy | None = None,
) -> bool:
    return decide(cache, policy or Policy(), who, host, operation, TOPIC, name).allowed


def test_without_a_rule_the_flag_decides() -> None:
    nothing = given(rule("other", Operation.READ))
    assert not may(nothing, Operation.READ)
    assert may(nothing, Operation.READ, policy=Policy(allow_everyone_if_no_acl_found=True))


def test_a_rule_about_others_closes_the_resource_although_everyone_is_allowed_where_there_is_none() -> None:
    cache = given(rule("flights", Operation.READ, who="User:eve"))
    assert not may(cache, Operation.READ, policy=Policy(allow_everyone_if_no_acl_found=True))


def test_a_super_user_may_do_what_is_denied_to_it_and_is_compared_case_and_all() -> None:
    cache = given(rule("flights", Operation.ALL, DENY))
    policy = Policy(frozenset({"User:bob"}))
    assert may(cache, Operation.READ, policy=policy)
    assert not may(cache, Operation.READ, who="User:Bob", policy=policy)
    assert not may(cache, Operation.READ, who="user:bob", policy=policy)


@pytest.mark.parametrize("pattern", ["literal", "prefix", "wildcard"])
def test_a_denial_of_any_pattern_wins_over_every_permission(pattern: str) -> None:
    denial = {
        "literal": rule("flights", Operation.READ, DENY),
        "prefix": rule("fl", Operation.READ, DENY, pattern=PREFIXED),
        "wildcard": rule("*", Operation.READ, DENY),
    }[pattern]
    permissions = (rule("flights", Operation.ALL), rule("f", Operation.ALL, pattern=PREFIXED), rule("*", Operation.ALL))
    assert not may(given(*permissions, denial), Operation.READ)
    assert may(given(*permissions), Operation.READ)


def test_who_is_denied_to_read_may_still_describe() -> None:
    cache = given(rule("flights", Operation.READ, DENY), rule("flights", Operation.WRITE))
    assert may(cache, Operation.DESCRIBE)
    assert not may(cache, Operation.READ)
    assert not may(
        given(rule("flights", Operation.DESCRIBE, DENY), rule("flights", Operation.READ)), Operation.DESCRIBE
    )


@pytest.mark.parametrize("operation", list(Operation)[Operation.READ :])
def test_only_these_operations_imply_another(operation: Operation) -> None:
    cache = given(rule("flights", operation))
    implied = {other for other in list(Operation)[Operation.READ :] if may(cache, other)} - {operation}
    expected = {
        Operation.READ: {Operation.DESCRIBE},
        Operation.WRITE: {Operation.DESCRIBE},
        Operation.DELETE: {Operation.DESCRIBE},
        Operation.ALTER: {Operation.DESCRIBE},
        Operation.ALTER_CONFIGS: {Operation.DESCRIBE_CONFIGS},
    }
    assert implied == expected.get(operation, set())


def test_a_short_prefix_counts_although_a_longer_one_stands_between() -> None:
    """KAFKA-14265, KAFKA-7702: a prefix of one character, and names that sort between it and the resource."""
    cache = given(
        rule("f", Operation.READ, pattern=PREFIXED),
        rule("fb", Operation.READ, pattern=PREFIXED, who="User:eve"),
        rule("flew", Operation.READ, pattern=PREFIXED, who="User:eve"),
    )
    assert may(cache, Operation.READ)
    assert not may(cache, Operation.READ, "g")


def test_a_name_is_no_pattern_of_its_own_and_a_star_no_prefix() -> None:
    assert not may(given(rule("fl*", Operation.READ)), Operation.READ)
    assert not may(given(rule("*", Operation.READ, pattern=PREFIXED)), Operation.READ)


def test_hosts_and_principals_compare_as_text() -> None:
    from_there = given(rule("flights", Operation.READ, host=HOST))
    assert may(from_there, Operation.READ)
    assert not may(from_there, Operation.READ, host="10.0.0.2")
    assert not may(given(rule("flights", Operation.READ, host="10.0.0.0/8")), Operation.READ)
    assert may(given(rule("flights", Operation.READ, who="User:*")), Operation.READ, who="User:anybody")
    assert not may(given(rule("flights", Operation.READ, who="*")), Operation.READ)


def test_an_unknown_operation_or_permission_never_matches() -> None:
    cache = given(rule("flights", Operation.UNKNOWN), rule("flights", Operation.READ, Permission.UNKNOWN))
    assert not any(may(cache, operation) for operation in Operation if operation >= Operation.READ)


def test_writing_to_some_topic() -> None:
    def any_topic(*rules: Rule, everyone: bool = False) -> bool:
        policy = Policy(allow_everyone_if_no_acl_found=everyone)
        return decide_on_any(given(*rules), policy, "User:bob", HOST, Operation.WRITE, TOPIC)

    write, denied = Operation.WRITE, DENY
    assert not any_topic()
    assert any_topic(everyone=True)
    assert any_topic(rule("t", write))
    assert any_topic(rule("t", Operation.ALL))
    assert not any_topic(rule("t", Operation.READ))
    assert not any_topic(rule("*", write, denied), everyone=True)
    assert not any_topic(rule("t", write), rule("t", write, denied))
    assert not any_topic(rule("team-a", write, pattern=PREFIXED), rule("te", write, denied, pattern=PREFIXED))
    assert any_topic(rule("te", write, pattern=PREFIXED), rule("team", write, denied, pattern=PREFIXED))
    assert not any_topic(rule("team", write), rule("te", write, denied, pattern=PREFIXED))
    assert any_topic(rule("*", write), rule("t", write, denied, pattern=PREFIXED))
    assert decide_on_any(given(), Policy(frozenset({"User:bob"})), "User:bob", HOST, write, TOPIC)


def test_what_may_be_written_is_found_in_the_rules_as_they_are_after_any_changes() -> None:
    chance = random.Random(5)
    cache = AclCache()
    every = [
        Acl(who, host, operation, permission)
        for who in ("User:a", "User:b")
        for host in ("*", HOST)
        for operation in (Operation.READ, Operation.WRITE, Operation.ALL)
        for permission in (DENY, ALLOW)
    ]
    for _ in range(300):
        pattern = ResourcePattern(TOPIC, chance.choice("tuv"), chance.choice((LITERAL, PREFIXED)))
        cache.put(pattern, VersionedAcls(frozenset(chance.sample(every, chance.randrange(4))), 0))
        if chance.random() < 0.1:
            other = AclCache()
            for kept, found in cache:
                if kept.name != "t":
                    other.put(kept, found)
            cache.replace_all(other)
        rules = chance.sample([acl for acl in every if acl.operation != Operation.READ], 3)
        for pattern_type in (LITERAL, PREFIXED):
            names = {p.name for p, found in cache if p.pattern_type == pattern_type and found.acls & set(rules)}
            assert cache.names_with(TOPIC, pattern_type, rules) == names


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (PatternFilter(ResourceType.ANY, None, PatternType.ANY), "t * te team"),
        (PatternFilter(TOPIC, "team", PatternType.ANY), "team"),
        (PatternFilter(TOPIC, "team", PatternType.MATCH), "* te team"),
        (PatternFilter(TOPIC, "t", PatternType.MATCH), "t *"),
        (PatternFilter(TOPIC, "team", LITERAL), ""),
        (PatternFilter(TOPIC, "team", PREFIXED), "team"),
        (PatternFilter(TOPIC, None, PREFIXED), "te team"),
        (PatternFilter(TOPIC, None, LITERAL), "t *"),
        (PatternFilter(ResourceType.GROUP, None, PatternType.ANY), ""),
    ],
    ids=str,
)
def test_which_patterns_a_filter_matches(wanted: PatternFilter, expected: str) -> None:
    cache = given(
        rule("t", Operation.READ),
        rule("*", Operation.READ),
        rule("te", Operation.READ, pattern=PREFIXED),
        rule("team", Operation.READ, pattern=PREFIXED),
    )
    assert {pattern.name for pattern, _ in cache if wanted.matches(pattern)} == set(expected.split())


def test_principal_and_host_of_a_filter_compare_as_text() -> None:
    acl = Acl("User:*", "*", Operation.READ, ALLOW)
    assert EVERYTHING.entry.matches(acl)
    assert EntryFilter("User:*", "*", Operation.READ, ALLOW).matches(acl)
    assert not EntryFilter("User:bob", None, Operation.ANY, Permission.ANY).matches(acl)
    assert not EntryFilter(None, HOST, Operation.ANY, Permission.ANY).matches(acl)
    assert not EntryFilter(None, None, Operation.DESCRIBE, Permission.ANY).matches(acl)
