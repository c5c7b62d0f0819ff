"""Many lives of a log on a bad disk, each from a seed.

One again: `pytest tests/crash --seed 12345`.
"""

from __future__ import annotations

import logging
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.life import Run

FIRST_SEED = 50_000
"""CI shall tell what a change broke, not what chance found: that is for --full."""
FOUND = (50_131, 53_166, 929_504_345_428, 151_415_141_223)
"""Seeds that found a fault, of the log or of the checks."""
CUT_RUNS = 2_000
CUT_SECONDS = 60
FULL_RUNS = 10_000
IN_MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of recoveries log thousands of lines."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where that can be had: a run is some thousand calls on small files."""
    made = Path(tempfile.mkdtemp(prefix="crash", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def run_many(first: int, count: int, folder: Path, seconds: float = float("inf")) -> None:
    began = time.monotonic()
    for done in range(count):
        try:
            Run(first + done, folder / "log").go()
        except BaseException as error:
            error.add_note(f"again with --seed {first + done}")
            raise
        if time.monotonic() - began > seconds:
            break
    print(f"{done + 1} runs from seed {first} on in {time.monotonic() - began:.1f} s")


def test_whatever_breaks_the_log_keeps_what_it_promised(request: pytest.FixtureRequest, folder: Path) -> None:
    seed = request.config.getoption("--seed")
    if seed is not None:
        run_many(seed, 1, folder)
    else:
        run_many(FIRST_SEED, CUT_RUNS, folder, CUT_SECONDS)


@pytest.mark.parametrize("seed", FOUND)
def test_what_once_broke_the_log_does_not_again(seed: int, folder: Path) -> None:
    run_many(seed, 1, folder)


@pytest.mark.slow
def test_whatever_breaks_ten_thousand_times(folder: Path) -> None:
    run_many(random.randrange(1 << 40), FULL_RUNS, folder)
