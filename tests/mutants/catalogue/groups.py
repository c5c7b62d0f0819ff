"""Faults of groups that end, of coordinators that move or fail, and of what operators ask in odd words."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a dead group writes no record",
        file="kafka_zk/coordinator/group/performer.py",
        old="""        if group.is_dead:
            # It ended before its record had its turn: behind the tombstone the record would bring it back.
            return
""",
        new="",
        tests="tests/unit/coordinator/test_ends_of_groups.py -k right_behind",
    ),
)
