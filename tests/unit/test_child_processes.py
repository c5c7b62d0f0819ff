"""What tests wait for in the processes they start, and names that no second try meets again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.names import fresh
from tests.support.processes import ChildProcess, has_ended, is_stopped, paused, wait_until

LATE = "import time; time.sleep(0.3); print('late', flush=True); time.sleep(600)"
THREADS = """
import threading, time
for _ in range(8):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print("all run", flush=True)
time.sleep(600)
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[ChildProcess]]:
    children: list[ChildProcess] = []
    yield children
    for child in children:
        child.kill()


def run(started: list[ChildProcess], program: str, folder: Path) -> ChildProcess:
    child = ChildProcess([sys.executable, "-c", program], folder / "output")
    started.append(child)
    child.start()
    return child


def test_what_a_process_says_is_waited_for(started: list[ChildProcess], tmp_path: Path) -> None:
    child = run(started, LATE, tmp_path)
    child.says("late")
    assert child.output() == "late\n"


def test_what_it_says_at_its_end_counts(started: list[ChildProcess], tmp_path: Path) -> None:
    run(started, "print('once'); print('twice'); print('twice')", tmp_path).says("once")
    run(started, "print('twice'); print('twice')", tmp_path / "again").says("twice", times=2)


@pytest.mark.parametrize(("texts", "times", "since"), [(("never",), 1, 0), (("once",), 2, 0), (("once",), 1, 1)])
def test_what_it_does_not_say_is_not_waited_for_once_it_has_ended(
    started: list[ChildProcess], tmp_path: Path, texts: tuple[str, ...], times: int, since: int
) -> None:
    child = run(started, "print('once')", tmp_path)
    with pytest.raises(AssertionError, match="is missing at the end of\nonce"):
        child.says(*texts, times=times, since=since, timeout_s=600)


def test_all_threads_of_a_paused_process_stand_still(started: list[ChildProcess], tmp_path: Path) -> None:
    child = run(started, THREADS, tmp_path)
    child.says("all run")
    assert not is_stopped(child.pid)
    with paused(child.pid):
        assert is_stopped(child.pid)
    wait_until(lambda: not is_stopped(child.pid), "it goes on")


def test_who_ends_while_paused_does_not_stop_the_test(started: list[ChildProcess], tmp_path: Path) -> None:
    child = run(started, LATE, tmp_path)
    with paused(child.pid):
        child.kill()
    assert has_ended(child.pid)


def test_no_name_is_given_twice() -> None:
    names = [fresh("orders") for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith("orders-") for name in names)
