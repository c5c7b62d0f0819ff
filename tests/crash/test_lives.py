"""Many lives of a log on a bad disk, each from a seed.

One again: `pytest tests/crash --seed 12345`.
"""

from __future__ import annotations

import logging
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.life import Run

CUT_RUNS = 1_500
CUT_SECONDS = 100
FULL_RUNS = 10_000
IN_MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of recoveries log thousands of lines."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def run(seed: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="crash", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    Run(seed, folder).go()


def run_many(first: int, count: int, seconds: float = float("inf")) -> None:
    began = time.monotonic()
    done = 0
    for seed in range(first, first + count):
        try:
            run(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: again with --seed {seed}")
            raise
        done += 1
        if time.monotonic() - began > seconds:
            break
    print(f"{done} runs from seed {first} in {time.monotonic() - began:.1f} s")


def test_whatever_breaks_the_log_keeps_what_it_promised(request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--seed")
    if seed is not None:
        run(seed)
    else:
        run_many(random.randrange(1 << 40), CUT_RUNS, CUT_SECONDS)


@pytest.mark.slow
def test_whatever_breaks_in_ten_thousand_runs(request: pytest.FixtureRequest) -> None:
    run_many(random.randrange(1 << 40), FULL_RUNS)
