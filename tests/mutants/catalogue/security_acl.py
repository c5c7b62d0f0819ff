"""Faults in who may do what: the decision, the rules in ZooKeeper, what handlers ask."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

ACL = "kafka_zk/security/acl"
DECISION = "tests/unit/security/acl/test_decision.py"
CHANGES = "tests/unit/security/acl/test_changes.py"
APIS = "tests/unit/api/test_acl_apis.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="who is denied to read may still describe",
        file=f"{ACL}/decision.py",
        old="        (Permission.DENY, (operation,)),\n",
        new="        (Permission.DENY, (operation, *IMPLIED_BY.get(operation, ()))),\n",
        tests=f"{DECISION} -k still_describe",
    ),
    Mutant(
        breaks="every prefix of a name is looked up, short ones too",
        file=f"{ACL}/cache.py",
        old="            for length in sorted(lengths, reverse=True):\n",
        new="            for length in sorted(lengths, reverse=True)[:1]:\n",
        tests=f"{DECISION} -k short_prefix",
    ),
    Mutant(
        breaks="a write of rules names the version that was read",
        file=f"{ACL}/store.py",
        old="ResourceZNode.encode(to_znode(acls)), before.zk_version).version",
        new="ResourceZNode.encode(to_znode(acls)), -1).version",
        tests=f"{CHANGES} -k none_is_lost",
    ),
    Mutant(
        breaks="garbage leaves the last good rules",
        file=f"{ACL}/store.py",
        old="NOBODY if before is None else before.acls, stat.version",
        new="NOBODY, stat.version",
        tests=f"{CHANGES} -k last_good_rules",
    ),
    Mutant(
        breaks="a new session reads all rules again",
        file=f"{ACL}/following.py",
        old="        self._zk.on_session_expired(lambda: None, lambda _: self._store.load())\n",
        new="",
        tests=f"{CHANGES} -k lost_session",
    ),
    Mutant(
        breaks="a decision is forgotten when a rule changes",
        file=f"{ACL}/authorizer.py",
        old="        if cache.version != self._remembered_version:\n",
        new="        if self._remembered_version < 0:\n",
        tests=f"{APIS} -k forgotten",
    ),
    Mutant(
        breaks="a transactional batch fails the whole produce",
        file="kafka_zk/api/data/produced_records.py",
        old="    return records[MAGIC_AT] == 2 and bool(records[_LOW_ATTRIBUTES_AT] & TRANSACTIONAL_BIT)\n",
        new="    return False\n",
        tests=f"{APIS} -k transactional_batch",
    ),
)
