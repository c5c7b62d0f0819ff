"""Random lives of three replicas: killed, stopped in order, parted, moved between directories, their disks failing;
in lives of their own also reassigned to other brokers, or led in one epoch after another.

Whatever happened, once everything works again the replicas are equal, all know what is committed, and nothing that a
producer was told is there is missing. One again: `--seed`, which a failure prints.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.replication_life import Life
from tests.simulation.seeded_lives import LifeFailed, seeds_to_live

FIRST_SEED = 100
CUT_LIVES = 30
FULL_LIVES = 1_000
FOUND = (111, 1078, 1133, 1140, 1303)
"""Seeds that found a fault."""


pytestmark = pytest.mark.usefixtures("quiet")


def live(folder: Path, seed: int, *, reassigns: bool = False, passes: bool = False) -> None:
    """Every third life has elections outside the ISR."""
    try:
        Life(folder / str(seed), seed, unclean=seed % 3 == 0, reassigns=reassigns, passes=passes).go()
    except BaseException as error:
        raise LifeFailed(seed) from error


def test_nothing_acknowledged_is_lost_and_replicas_end_equal(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for each in seeds_to_live(request, FIRST_SEED, CUT_LIVES):
        live(tmp_path, each)


def test_replicas_that_go_to_other_brokers_and_return_lose_nothing(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Their leader stops in order meanwhile, is killed, or moves its log into another directory."""
    seed = request.config.getoption("--seed")
    for each in (seed,) if seed is not None else range(FIRST_SEED, FIRST_SEED + CUT_LIVES):
        live(tmp_path, each, reassigns=True)


def test_leaderships_that_pass_from_epoch_to_epoch_lose_nothing(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Among records that wait for their followers; now and then the leader is told what it knows."""
    for each in seeds_to_live(request, FIRST_SEED, CUT_LIVES):
        live(tmp_path, each, passes=True)


@pytest.mark.parametrize("seed", FOUND)
def test_what_once_went_wrong_does_not_again(seed: int, tmp_path: Path) -> None:
    live(tmp_path, seed)


@pytest.mark.slow
def test_a_thousand_lives(seed: int, tmp_path: Path) -> None:
    for each in range(seed, seed + FULL_LIVES):
        live(tmp_path, each, reassigns=each % 2 == 0)
