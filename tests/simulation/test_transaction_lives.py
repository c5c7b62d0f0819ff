"""Random lives of transactions in a cluster of three brokers: coordinators and leaders are killed, stopped, parted and
replaced without hearing of it; producers are killed, replaced, and go on beside who replaced them.

At each moment: readers of committed data see no record that is not committed, and miss none that is; what they were
told is stable stays so; a transaction that its coordinator took for ended is open nowhere; who was fenced changes
nothing. At the end each transaction has one outcome in all its partitions, the one that its producer was told. One
again: `--seed`, which a failure prints.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.seeded_lives import LifeFailed, seeds_to_live
from tests.simulation.transaction_life import TransactionLife

FIRST_SEED = 100
CUT_LIVES = 12
FULL_LIVES = 200

pytestmark = pytest.mark.usefixtures("quiet")


def live(folder: Path, seed: int) -> None:
    try:
        TransactionLife(folder / str(seed), seed).go()
    except BaseException as error:
        raise LifeFailed(seed) from error


def test_transactions_are_whole_and_seen_once_decided(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for each in seeds_to_live(request, FIRST_SEED, CUT_LIVES):
        live(tmp_path, each)


@pytest.mark.slow
def test_hundreds_of_lives(seed: int, tmp_path: Path) -> None:
    for each in range(seed, seed + FULL_LIVES):
        live(tmp_path, each)
