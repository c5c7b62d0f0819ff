"""Work in a helper process: results and errors come back, the loop goes on, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import gevent
import pytest

from kafka_zk.log.helper.process import HelperFailed, HelperProcess
from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.protocol.errors import InvalidRecord
from tests.support.processes import has_ended, wait_until
from tests.unit.log import helper_tasks as tasks

SOON_S = 20
PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def tasks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper process imports what it is told to do; the tests' own tasks are not installed."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))


@pytest.fixture
def helper() -> Iterator[HelperProcess]:
    running = HelperProcess("tests")
    yield running
    running.stop()


def given_call_under_way(helper: HelperProcess, started: Path) -> gevent.Greenlet[..., object]:
    caller = gevent.spawn(helper.call, tasks.wait_for_ever, started)
    wait_here_until(lambda: started.exists() and bool(started.read_text()))
    return caller


def wait_here_until(condition) -> None:  # type: ignore[no-untyped-def]
    """As `wait_until`, but the loop runs meanwhile."""
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline
        gevent.sleep(0.01)


def test_a_call_runs_in_another_process_which_serves_the_next_one_too(helper: HelperProcess) -> None:
    assert helper.pid is None
    assert helper.call(tasks.add, 2, 3) == 5
    first = helper.call(tasks.process_id)
    assert first == helper.pid != os.getpid()
    assert helper.call(tasks.process_id) == first


def test_large_arguments_and_results_pass(helper: HelperProcess) -> None:
    data = os.urandom(3_000_001)
    assert helper.call(tasks.repeat, data, 3) == data * 3


def test_an_error_comes_back_as_it_was_raised_with_its_traceback_as_a_note(helper: HelperProcess) -> None:
    with pytest.raises(InvalidRecord, match="no such record") as caught:
        helper.call(tasks.refuse)
    assert caught.value.record_errors == [(3, "this one")]
    assert "in refuse" in caught.value.__notes__[0]


@pytest.mark.parametrize("task", [tasks.raise_what_cannot_be_sent, tasks.answer_what_cannot_be_sent])
def test_what_cannot_be_sent_back_is_an_error_of_this_call_only(helper: HelperProcess, task) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RuntimeError, match="cannot be sent"):
        helper.call(task)
    assert helper.call(tasks.add, 1, 1) == 2


def test_open_files_travel_both_ways_and_stay_with_nobody_else(helper: HelperProcess) -> None:
    mine = Descriptor(os.memfd_create("mine"))
    os.write(mine.fileno, b"abc")
    counts = set()
    for _ in range(3):
        answer, open_files = helper.call(tasks.upper, mine)
        counts.add(open_files)
        assert os.pread(answer.fileno, 100, 0) == b"ABC"
        answer.close()
    mine.close()
    assert len(counts) == 1


def test_the_loop_goes_on_while_a_call_runs_and_calls_are_served_in_turn(helper: HelperProcess) -> None:
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while True:
            gevent.sleep(0)
            ticks += 1

    ticker = gevent.spawn(tick)
    done: list[int] = []
    callers = [gevent.spawn(lambda n=n: done.append(helper.call(tasks.add, n, 0))) for n in range(5)]
    gevent.joinall(callers, raise_error=True)
    ticker.kill()
    assert done == [0, 1, 2, 3, 4]
    assert ticks > 100


def test_a_call_whose_process_is_killed_is_made_again_on_a_fresh_one(helper: HelperProcess, tmp_path: Path) -> None:
    before = helper.call(tasks.process_id)
    assert helper.call(tasks.die_once, tmp_path / "died") == "alive"
    assert helper.call(tasks.process_id) != before


def test_a_call_that_kills_its_process_twice_fails_and_later_ones_work(helper: HelperProcess) -> None:
    with pytest.raises(HelperFailed, match="died twice"):
        helper.call(tasks.die)
    assert helper.call(tasks.add, 1, 1) == 2


def test_a_process_that_was_killed_between_two_calls_is_replaced(helper: HelperProcess) -> None:
    before = helper.call(tasks.process_id)
    os.kill(before, signal.SIGKILL)
    assert helper.call(tasks.process_id) != before


def test_a_caller_that_is_killed_leaves_its_answer_to_nobody(helper: HelperProcess, tmp_path: Path) -> None:
    caller = given_call_under_way(helper, tmp_path / "started")
    working = int((tmp_path / "started").read_text())
    waiting = gevent.spawn(helper.call, tasks.add, 1, 1)
    gevent.sleep(0)
    caller.kill()
    assert waiting.get(timeout=SOON_S) == 2
    wait_here_until(lambda: has_ended(working))


def test_stopping_ends_the_process_and_fails_who_waits_and_who_comes_later(
    helper: HelperProcess, tmp_path: Path
) -> None:
    caller = given_call_under_way(helper, tmp_path / "started")
    waiting = gevent.spawn(helper.call, tasks.add, 1, 1)
    gevent.sleep(0)
    helper.stop()
    for each in (caller, waiting):
        each.join(SOON_S)
        assert isinstance(each.exception, HelperFailed)
    with pytest.raises(HelperFailed):
        helper.call(tasks.add, 1, 1)
    wait_here_until(lambda: has_ended(int((tmp_path / "started").read_text())))


def test_without_work_the_process_ends_and_the_next_call_starts_another() -> None:
    helper = HelperProcess("tests", idle_s=0.05)
    first = helper.call(tasks.process_id)
    wait_here_until(lambda: not Path(f"/proc/{first}").exists())
    assert helper.pid is None
    assert helper.call(tasks.process_id) != first
    helper.stop()


def test_it_is_niced_ignores_the_signals_of_a_service_stop_and_imports_no_broker(helper: HelperProcess) -> None:
    assert helper.call(tasks.niceness) == min(19, os.nice(0) + 5)
    pid = helper.call(tasks.process_id)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)
    assert helper.call(tasks.process_id) == pid
    heavy = ("gevent", "kazoo", "kafka_zk.network", "kafka_zk.replication", "kafka_zk.config")
    assert [name for name in helper.call(tasks.loaded_modules) if name.startswith(heavy)] == []


@pytest.mark.parametrize("task", ["wait_for_ever", "busy_for_ever", "process_id"])
def test_the_death_of_the_broker_ends_it_at_work_and_idle(task: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = (
        "import gevent, sys\n"
        "from pathlib import Path\n"
        "from kafka_zk.log.helper.process import HelperProcess\n"
        "from tests.unit.log import helper_tasks as tasks\n"
        "helper, path = HelperProcess('tests'), Path(sys.argv[1])\n"
        f"task = tasks.{task}\n"
        "if task is tasks.process_id: path.write_text(str(helper.call(task)))\n"
        "else: helper.call(task, path)\n"
        "gevent.sleep(600)\n"
    )
    broker = subprocess.Popen([sys.executable, "-c", script, str(started)])
    try:
        wait_until(lambda: started.exists() and started.read_text(), "the helper is at work", SOON_S)
    finally:
        broker.kill()
        broker.wait()
    helper = int(started.read_text())
    try:
        wait_until(lambda: has_ended(helper), "the helper has ended", SOON_S)
    finally:
        with suppress(ProcessLookupError):
            os.kill(helper, signal.SIGKILL)
