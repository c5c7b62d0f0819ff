"""Random lives of whole clusters: controllers, replicas, producers and consumers over a network, a ZooKeeper, disks and
clocks that fail in every way that is drawn.

After each turn of the loop the invariants of whole_ledger.py hold; at the end all is in sync, equal, and nothing that
was acknowledged is missing. One again: `--seed`, which a failure prints.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.seeded_lives import LifeFailed, seeds_to_live
from tests.simulation.whole_cuts import CutsLife
from tests.simulation.whole_life import WholeLife
from tests.simulation.whole_moves import MovesLife
from tests.simulation.whole_plain import PlainLife
from tests.simulation.whole_power_loss import PowerLossLife
from tests.simulation.whole_unclean import UncleanLife

FIRST_SEED = 1
CUT_LIVES = 12
FULL_LIVES = 2_000
PER_TEST = 250
KINDS: tuple[type[WholeLife], ...] = (PlainLife, PowerLossLife, CutsLife, MovesLife, UncleanLife)

pytestmark = pytest.mark.usefixtures("quiet")

of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def live(kind: type[WholeLife], folder: Path, seed: int) -> WholeLife:
    try:
        life = kind(folder / f"{seed}", seed)
        life.go()
        return life
    except BaseException as error:
        raise LifeFailed(seed) from error


@of_each_kind
def test_the_invariants_hold_in_each_life(
    kind: type[WholeLife], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for each in seeds_to_live(request, FIRST_SEED, CUT_LIVES):
        live(kind, tmp_path, each)


@of_each_kind
def test_a_seed_repeats_its_history(kind: type[WholeLife], tmp_path: Path) -> None:
    first, second = (live(kind, tmp_path / name, FIRST_SEED) for name in ("first", "second"))
    assert first.trace == second.trace


@pytest.mark.slow
@of_each_kind
@pytest.mark.parametrize("part", range(FULL_LIVES // PER_TEST))
def test_thousands_of_lives(kind: type[WholeLife], part: int, seed: int, tmp_path: Path) -> None:
    for each in range(seed + part * PER_TEST, seed + (part + 1) * PER_TEST):
        live(kind, tmp_path, each)
