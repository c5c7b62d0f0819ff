"""Faults in the tools for ACLs and delegation tokens."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

WANTED = "tests/unit/tools/test_acls.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="what is denied is not allowed",
        file="kafka_zk/tools/acls/wanted.py",
        old='(("allow", Permission.ALLOW), ("deny", Permission.DENY))',
        new='(("allow", Permission.ALLOW), ("deny", Permission.ALLOW))',
        tests=WANTED,
    ),
    Mutant(
        breaks="a consumer's group gets no right to describe",
        file="kafka_zk/tools/acls/wanted.py",
        old="    group = _entries(options, (Operation.READ,))\n",
        new="    group = _entries(options, (Operation.READ, Operation.DESCRIBE))\n",
        tests=WANTED,
    ),
    Mutant(
        breaks="a prefix is never a rule for the whole cluster",
        file="kafka_zk/tools/acls/wanted.py",
        old="        is_literal = pattern_type is PatternType.LITERAL\n",
        new="        is_literal = True\n",
        tests=WANTED,
    ),
)
