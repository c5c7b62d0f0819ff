"""Faults that lose or double what is committed: each found by a life of a whole cluster, of the seed that is named."""

from __future__ import annotations

from tests.mutants.catalogue.mutant import Mutant

LIVES = "tests/simulation/test_whole_lives.py::test_the_invariants_hold_in_each_life"


def seed(kind: str, number: int) -> str:
    return f"{LIVES}[{kind}] --seed {number}"


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="a controller of before writes nothing, in whole clusters",
        file="kafka_zk/controller/store.py",
        old="Check(znodes.ControllerEpochZNode.PATH, epoch_zk_version)",
        new="Check(znodes.ControllerEpochZNode.PATH, -1)",
        tests=seed("PlainLife", 8),
    ),
    Mutant(
        breaks="only where the topic allows it an election loses records, in whole clusters",
        file="kafka_zk/controller/decisions/election.py",
        old="(unclean_allowed and isr_is_dead)",
        new="isr_is_dead",
        tests=seed("PlainLife", 2),
    ),
)
