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
        old="                change = SetData(path, data, before.zk_version)\n",
        new="                change = SetData(path, data)\n",
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
        breaks="a rule is never removed without its notice",
        file="kafka_zk/zk/announced.py",
        old="    changed, told = zk.multi([change, notice])\n",
        new="    (changed,), (told,) = zk.multi([change]), zk.multi([notice])\n",
        tests=f"{CHANGES} -k between_a_removal",
    ),
    Mutant(
        breaks="between many additions of rules notices have their turn",
        file=f"{ACL}/changes.py",
        old="                outcomes[index] = error\n            gevent.sleep(0)\n",
        new="                outcomes[index] = error\n",
        tests=f"{CHANGES} -k thousands",
    ),
    Mutant(
        breaks="names of any length are not remembered",
        file=f"{ACL}/authorizer.py",
        old="            if len(name) + len(asker.principal) <= LONGEST_REMEMBERED:\n",
        new="            if True:\n",
        tests=f"{APIS} -k fill_memory",
    ),
    Mutant(
        breaks="no name makes two lines of the audit log",
        file=f"{ACL}/audit.py",
        old="    return one_line(text)\n",
        new="    return text\n",
        tests=f"{APIS} -k two_lines",
    ),
    Mutant(
        breaks="one znode that may not be read does not stop the rest",
        file=f"{ACL}/store.py",
        old="        if isinstance(answer, NoAuth) and self._is_loaded:\n",
        new="        if False:\n",
        tests=f"{CHANGES} -k may_not_be_read_any_more",
    ),
    Mutant(
        breaks="rules that nobody can read are not removed with others",
        file=f"{ACL}/store.py",
        old="                if not (acls or before.acls or before.is_readable):\n                    return\n",
        new="",
        tests=f"{CHANGES} -k does_not_find",
    ),
    Mutant(
        breaks="a name that no znode can have fails alone",
        file=f"{ACL}/changes.py",
        old="            if not may_be_znode(pattern.name):\n",
        new="            if not pattern.name:\n",
        tests=f"{CHANGES} -k fails_alone",
    ),
    Mutant(
        breaks="who may write somewhere is found in the rules as they are",
        file=f"{ACL}/cache.py",
        old="        self._named_by = other._named_by\n",
        new="",
        tests=f"{DECISION} -k after_any_changes",
    ),
    Mutant(
        breaks="an election that is refused does not show which partitions exist",
        file="kafka_zk/api/admin/elect_leaders.py",
        old="dict.fromkeys(_named(request), denied), denied.code if",
        new="dict.fromkeys(_asked(request, ctx)[0] or (), denied), denied.code if",
        tests=f"{APIS} -k elect_leaders",
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
        breaks="an old version of Produce is no way around the check of transactional batches",
        file="kafka_zk/api/data/produced_records.py",
        old="        return _holds_transactional(records)\n",
        new="        return False\n",
        tests=f"{APIS} -k old_version",
    ),
    Mutant(
        breaks="a transactional batch fails the whole produce",
        file="kafka_zk/api/data/produced_records.py",
        old="    return records[MAGIC_AT] == 2 and bool(records[_LOW_ATTRIBUTES_AT] & TRANSACTIONAL_BIT)\n",
        new="    return False\n",
        tests=f"{APIS} -k transactional_batch",
    ),
)
