"""A bench that is ended early leaves no process and no folder behind."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_zk.compiled import PROJECT
from tests.support.processes import has_ended, wait_until

BENCH = """
import os, subprocess, sys, tempfile, time
from bench.process import exit_code_of, run_bench

def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        tidy = subprocess.Popen(["sleep", "600"], start_new_session=True)
        forgotten = subprocess.Popen(["sleep", "600"], start_new_session=True)
        try:
            with open(sys.argv[1] + "/pids", "w") as pids:
                print(os.getpid(), tidy.pid, forgotten.pid, file=pids)
            time.sleep(60)
        finally:
            tidy.kill()
            tidy.wait()
            open(sys.argv[1] + "/tidying", "w").close()
            time.sleep(float(sys.argv[2]))
            open(sys.argv[1] + "/tidied", "w").close()

def below():
    return exit_code_of([sys.executable, "-c", open(sys.argv[1] + "/bench.py").read(), *sys.argv[1:3]])

run_bench(below if sys.argv[3:] else main)
"""


class Bench:
    """One that runs, with what it wrote in `folder`."""

    def __init__(self, folder: Path, *, tidies_s: float = 0, is_below_another: bool = False) -> None:
        self.folder = folder
        (folder / "bench.py").write_text(BENCH)
        arguments = [str(folder), str(tidies_s), *(["below"] if is_below_another else [])]
        self.process = subprocess.Popen([sys.executable, "-c", BENCH, *arguments], cwd=PROJECT, start_new_session=True)
        wait_until(lambda: self.pids, "it has started what it needs")

    @property
    def pids(self) -> list[int]:
        """Of the bench and of what it started, once all runs."""
        path = self.folder / "pids"
        return [int(word) for word in path.read_text().split()] if path.exists() else []

    @property
    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture(params=[signal.SIGTERM, signal.SIGINT])
def how(request: pytest.FixtureRequest) -> signal.Signals:
    return signal.Signals(request.param)


def test_a_bench_that_is_ended_tidies_up_and_leaves_no_process(tmp_path: Path, how: signal.Signals) -> None:
    bench = Bench(tmp_path)
    bench.process.send_signal(how)
    assert bench.process.wait(30) == 128 + how
    assert all(map(has_ended, bench.pids))
    assert bench.names == {"bench.py", "pids", "tidying", "tidied"}


def test_a_second_signal_does_not_end_the_tidying_up(tmp_path: Path, how: signal.Signals) -> None:
    bench = Bench(tmp_path, tidies_s=0.5)
    bench.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "tidying" in bench.names, "it tidies up")
    bench.process.send_signal(how)
    assert bench.process.wait(30) == 128 + signal.SIGTERM
    assert "tidied" in bench.names


def test_a_bench_below_another_is_ended_with_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, is_below_another=True)
    bench.process.send_signal(signal.SIGTERM)
    assert bench.process.wait(30) == 128 + signal.SIGTERM
    assert all(map(has_ended, bench.pids))
    assert bench.names == {"bench.py", "pids", "tidying", "tidied"}


def test_all_benches_are_run_so() -> None:
    ends = {path.name: path.read_text().partition('if __name__ == "__main__":\n')[2] for path in _programs()}
    assert ends == dict.fromkeys(ends, "    run_bench(main)\n")
    assert len(ends) > 15


def _programs() -> list[Path]:
    return [path for path in (PROJECT / "bench").glob("*.py") if re.search("^def main", path.read_text(), re.M)]
