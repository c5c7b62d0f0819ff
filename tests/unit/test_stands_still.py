"""tests.mutants.impatience: a test that stands still fails; the run over a planted fault goes on to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SHORT = "from tests.mutants import impatience; import time; impatience.LIMIT_S = 0.2\n"
SLOW_REPORT = SHORT + "def pytest_runtest_logreport(report):\n    time.sleep(0.3)\n"
STANDS_STILL = "import gevent\ndef test_it(): gevent.sleep(30)\n"


def run(folder: Path, conftest: str, test: str) -> subprocess.CompletedProcess[str]:
    tests = folder / "tests" / "unit"
    tests.mkdir(parents=True)
    (tests / "conftest.py").write_text(conftest)
    (tests / "test_it.py").write_text(test)
    plugins = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.mutants.impatience")
    options = ("-q", *plugins, "--rootdir", str(folder), "--import-mode=importlib")
    command = [sys.executable, "-m", "pytest", *options, "tests/unit/test_it.py"]
    environment = {"PYTHONPATH": str(PROJECT), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("where", ["test", "set-up", "tear-down"])
def test_a_test_that_stands_still_fails(tmp_path: Path, where: str) -> None:
    wait = "gevent.sleep(30)"
    fixture = "import gevent, pytest\n@pytest.fixture\ndef it():\n    {}\n    yield\n    {}\ndef test_it(it): {}\n"
    ended = run(
        tmp_path, SHORT, fixture.format(*(wait if where == each else "0" for each in ("set-up", "tear-down", "test")))
    )
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout
    assert "it stands still" in ended.stdout


def test_what_pytest_itself_does_is_not_cut_off(tmp_path: Path) -> None:
    ended = run(tmp_path, SLOW_REPORT, STANDS_STILL)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout + ended.stderr
    assert "INTERNALERROR" not in ended.stdout
