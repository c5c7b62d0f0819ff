"""Planted faults: small changes to the broker, each of which the named tests must catch.

A row is a promise that the suite can fail: it names the rule that the change breaks and the tests that say so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One planted fault: in `file`, the only occurrence of `old` becomes `new`; `tests` must then fail."""

    breaks: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="followers shift after each round of leaders, so that replica sets differ",
        file="kafka_zk/admin/assignment.py",
        old="            shift += 1\n",
        new="            shift += 0\n",
        tests="tests/unit/admin/test_assignment.py",
    ),
)
