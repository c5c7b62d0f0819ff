"""Each planted fault of the catalogue is caught by the tests that it names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS, Mutant
from tests.mutants.forked_pytest import ForkedPytest

PROJECT = Path(__file__).resolve().parents[2]
TESTS_FAILED = 1
"""pytest's exit code for failed tests; others mean that nothing was proved."""
PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.impatience")
FROM_SOURCES = {**os.environ, "KAFKA_ZK_INTERPRETED": "1"}
"""Faults are planted in sources; of what is compiled only the twins are built anew."""


def compiled_twins(folder: str, names: list[str]) -> set[str]:
    """What is compiled from a source beside it: brokers that tests start would run it, and not the planted fault."""
    sources = {name.removesuffix(".py") for name in names if name.endswith(".py")}
    return {name for name in names if name.endswith(".so") and name.partition(".")[0] in sources}


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project in a folder of its own.

    The bytecode that is there comes along: it counts for sources of its time and size only, and -B adds no more.
    """
    folder = tmp_path_factory.mktemp("mutants")
    for part in ("kafka_zk", "tests", "config", "docs", "scripts"):
        shutil.copytree(PROJECT / part, folder / part, ignore=compiled_twins)
    for file in ("setup.cfg", "setup.py", "pyproject.toml", "README.md"):
        shutil.copy(PROJECT / file, folder)
    return folder


@pytest.fixture(scope="session")
def forked_pytest(copy: Path) -> Iterator[ForkedPytest]:
    # For the brokers that tests start, too, which do not look where they are started.
    runs = ForkedPytest(copy, {**FROM_SOURCES, "PYTHONPATH": str(copy)})
    yield runs
    runs.close()


def build(copy: Path) -> None:
    """Compile what changed, for a fault that is planted in a compiled module."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    run = subprocess.run(command, cwd=copy, env=FROM_SOURCES, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "error" not in run.stderr.lower(), run.stderr


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.breaks)
def test_the_suite_catches(mutant: Mutant, copy: Path, forked_pytest: ForkedPytest) -> None:
    original = (PROJECT / mutant.file).read_text()
    assert original.count(mutant.old) == 1, f"{mutant.file} changed: the planted fault no longer has one place"
    replaced = copy / mutant.file
    replaced.write_text(original.replace(mutant.old, mutant.new))
    compiled = replaced.suffix == ".pyx"
    try:
        if compiled:
            build(copy)
        run = forked_pytest.run([*PYTEST, *mutant.tests.split()], timeout_s=300)
    finally:
        shutil.copy2(PROJECT / mutant.file, replaced)
        for module in (PROJECT / mutant.file).parent.glob(f"{replaced.stem}.*.so") if compiled else ():
            shutil.copy(module, replaced.parent)
    assert run.exit_code == TESTS_FAILED, f"not caught (pytest ended with {run.exit_code}):\n{run.output[-3000:]}"
