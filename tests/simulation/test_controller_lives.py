"""Random lives of a cluster's controllers, beside moves, deletions, controlled stops, failed directories, lost replies.

Whatever happened, once everything works again each move and each deletion has ended, every partition has a leader and
all its replicas in sync, the brokers know what ZooKeeper says, and no event met a bug. One again: `--seed`.
"""

from __future__ import annotations

import pytest

from tests.simulation.controller_life import ControllerLife
from tests.simulation.seeded_lives import LifeFailed, seeds_to_live

FIRST_SEED = 1_000
CUT_LIVES = 60
FULL_LIVES = 3_000
FOUND = (0, 104, 131, 238)
"""Seeds that found a fault."""

pytestmark = pytest.mark.usefixtures("quiet")


def live(seed: int) -> None:
    try:
        ControllerLife(seed).go()
    except BaseException as error:
        raise LifeFailed(seed) from error


def test_every_move_and_every_deletion_ends_and_nobody_is_without_a_leader(request: pytest.FixtureRequest) -> None:
    for each in seeds_to_live(request, FIRST_SEED, CUT_LIVES):
        live(each)


@pytest.mark.parametrize("seed", FOUND)
def test_what_once_went_wrong_does_not_again(seed: int) -> None:
    live(seed)


@pytest.mark.slow
def test_three_thousand_lives(seed: int) -> None:
    for each in range(seed, seed + FULL_LIVES):
        live(each)
