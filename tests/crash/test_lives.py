"""Many lives of a log on a bad disk, each from a seed.

One again: `pytest tests/crash --seed 12345 -k syncfs` (or the other kind that its failure named).
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.log import closing
from kafka_zk.log.loading import directory_load
from tests.crash.compacted_life import CompactedRun
from tests.crash.moving_life import MovingRun
from tests.crash.plain_life import Run

FIRST_SEED = 50_000
"""CI shall tell what a change broke, not what chance found: that is for --full."""


class LifeFailed(AssertionError):
    """What broke one life is its cause."""

    def __init__(self, seed: int, kind: str) -> None:
        super().__init__(f"the {kind} life of seed {seed}")
        self.seed = seed


class Kind(NamedTuple):
    """How logs live. `cut_runs` of them are CI's, which has `cut_seconds` for them at most."""

    life: type[Run]
    syncs_at_once: bool
    cut_runs: int
    cut_seconds: float
    full_runs: int

    def run(self, seed: int, folder: Path) -> None:
        self.life(seed, folder, syncs_at_once=self.syncs_at_once).go()


KINDS = {
    "plain": Kind(Run, syncs_at_once=False, cut_runs=1_600, cut_seconds=40, full_runs=10_000),
    "syncfs": Kind(Run, syncs_at_once=True, cut_runs=400, cut_seconds=12, full_runs=2_000),
    "compacted": Kind(CompactedRun, syncs_at_once=False, cut_runs=600, cut_seconds=20, full_runs=2_000),
    "moving": Kind(MovingRun, syncs_at_once=False, cut_runs=400, cut_seconds=20, full_runs=3_000),
    "compacted-syncfs": Kind(CompactedRun, syncs_at_once=True, cut_runs=300, cut_seconds=12, full_runs=1_000),
}
FOUND = (
    ("plain", 50_131),
    ("plain", 53_166),
    ("plain", 929_504_345_428),
    ("plain", 151_415_141_223),
    ("plain", 396_774_754_379),
    ("plain", 268_961_363_190),
    ("plain", 261_278_379_682),
    ("plain", 643_087_132_565),
    ("compacted", 428),
    ("compacted", 545_900_728_335),
    ("compacted-syncfs", 743_502_193_127),
    ("compacted-syncfs", 50_027),
)
"""Seeds that found a fault, of the log or of the checks."""
IN_MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of recoveries log thousands of lines."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One log is synced as many are, where the disk can sync them at once."""
    monkeypatch.setattr(closing, "MANY_LOGS", 0)
    monkeypatch.setattr(directory_load, "MANY_FILES", 0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where that can be had: a run is some thousand calls on small files."""
    made = Path(tempfile.mkdtemp(prefix="crash", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def run_many(name: str, first: int, count: int, folder: Path, seconds: float = float("inf")) -> None:
    kind = KINDS[name]
    began = time.monotonic()
    done = 0
    for done in range(count):
        try:
            kind.run(first + done, folder / "log")
        except BaseException as error:
            raise LifeFailed(first + done, name) from error
        if time.monotonic() - began > seconds:
            break
    print(f"{done + 1} {name} runs from seed {first} on in {time.monotonic() - began:.1f} s")


@pytest.mark.parametrize("name", KINDS)
def test_whatever_breaks_the_log_keeps_what_it_promised(
    request: pytest.FixtureRequest, folder: Path, name: str
) -> None:
    seed = request.config.getoption("--seed")
    if seed is not None:
        run_many(name, seed, 1, folder)
    else:
        run_many(name, FIRST_SEED, KINDS[name].cut_runs, folder, KINDS[name].cut_seconds)


@pytest.mark.parametrize(("name", "seed"), FOUND)
def test_what_once_broke_the_log_does_not_again(name: str, seed: int, folder: Path) -> None:
    run_many(name, seed, 1, folder)


@pytest.mark.parametrize("name", KINDS)
def test_a_seed_says_all_that_a_run_does(name: str, tmp_path: Path) -> None:
    """In another folder (names of files hash to other places), and whenever the collector comes by."""
    kind = KINDS[name]

    def lived(seed: int, folder: Path) -> tuple[object, ...]:
        run = kind.life(seed, folder / "log", syncs_at_once=kind.syncs_at_once)
        run.go()
        return run.disk.calls, run.chance.getstate()

    (tmp_path / "other").mkdir()
    for seed in range(FIRST_SEED, FIRST_SEED + 8):
        first = lived(seed, tmp_path)
        gc.collect()
        assert lived(seed, tmp_path / "other") == first, f"seed {seed} of {name}"


@pytest.mark.parametrize("name", KINDS)
def test_lives_leave_no_descriptor_behind(name: str, folder: Path) -> None:
    """Else many lives in one process end by running out of them, and the disk has failed nothing."""
    run_many(name, FIRST_SEED, 1, folder)
    before = open_descriptors()
    run_many(name, FIRST_SEED + 1, 8, folder)
    # One more or less: the cleaner's table of keys stays mapped until the next one comes.
    assert open_descriptors() <= before + 1


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_whatever_breaks_ten_thousand_times(name: str, seed: int, folder: Path) -> None:
    run_many(name, seed, KINDS[name].full_runs, folder)
