"""One seed for all that tests leave to chance: drawn by the run, printed by each failure, given again with --seed.

A CI run takes the same one each time, because it shall tell what a change broke; `--full` and runs by hand draw theirs.
"""

from __future__ import annotations

import os
import random
import shlex
from pathlib import Path

import pytest

from tests.support import interpreted

CI_SEED = 20_261_123
SEEDS = 1 << 31
OPTION = "--seed"
SEED = pytest.StashKey[int]()
MOST_SECOND_TRIES = 2
"""More of them in one suite than a busy machine explains."""


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, type=int, help="run what is left to chance with this seed, which a failure has printed")


def choose(config: pytest.Config, of_the_controller: int | None) -> None:
    """Settle the run's seed; `of_the_controller` is that of the process that handed this one its tests."""
    given = config.getoption(OPTION)
    if given is None:
        given = of_the_controller
    if given is None:
        is_ci = os.environ.get("CI") == "true" and not config.getoption("--full")
        given = CI_SEED if is_ci else random.SystemRandom().randrange(SEEDS)
    config.stash[SEED] = given
    # Hypothesis draws from the same seed: its plugin reads this option when it is configured, after us.
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(given)


def again(config: pytest.Config, nodeid: str, error: BaseException | None) -> str:
    """The command that runs one test as it ran now; an error of one life among many carries the `seed` of that one."""
    seed = getattr(error, "seed", config.stash[SEED])
    words = ["python", "-m", "pytest", nodeid, OPTION, str(seed)]
    if config.getoption("--full"):
        words.append("--full")
    return ("KAFKA_ZK_INTERPRETED=1 " if interpreted.INTERPRETED else "") + shlex.join(words)


def second_tries(terminal: pytest.TerminalReporter) -> list[tuple[str, str]]:
    """Of each test that failed and was tried again: its id, and what went wrong the first time, when, in one line."""
    return [
        (report.nodeid, f"{_first_line(report)} (in its {report.when}, after {report.duration:.1f} s)")
        for report in terminal.stats.get("rerun", ())
    ]


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        lines = str(report.longrepr).strip().splitlines()
        return lines[-1] if lines else "no error was kept"
    return f"{Path(crash.path).name}:{crash.lineno}: {crash.message.splitlines()[0] if crash.message else ''}"
