"""A program ends cleanly whenever it is told to.

Its moments are made, not waited for: the child says where it is, stands still there, and only then gets the signal.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_zk.tools.common.program import Shutdown, _exit_code, run_here
from tests.support.processes import piped

CHILD = """
import os, signal, sys, threading
from kafka_zk.tools.common.program import run_program
def say(text):
    sys.stdout.write(text + chr(10)); sys.stdout.flush()
def load():
    def work(arguments, shutdown):
{body}
    return work
{before}
run_program(load)
"""
ONE_SIGNAL_S = "from kafka_zk.tools.common import program\nprogram.ONE_SIGNAL_S = {}"
TIMEOUT_S = 30


@contextmanager
def child(body: str, *, before: str = "", ignore: bool = False) -> Iterator[subprocess.Popen[str]]:
    """The program of `body`, which may use say, arguments and shutdown."""

    def reset() -> None:
        # Whatever runs the tests may itself ignore signals.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if ignore else signal.SIG_DFL)

    text = CHILD.format(body=textwrap.indent(textwrap.dedent(body), " " * 8), before=textwrap.dedent(before))
    with piped([sys.executable, "-c", text], preexec_fn=reset) as process:
        yield process


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
    process.stdin.close()
    # Not `communicate`, which would miss what was read ahead.
    out, err = process.stdout.read(), process.stderr.read()
    return process.wait(TIMEOUT_S), out, err


WAITS_FOR_EVER = """
    shutdown.add(lambda: say("hook"))
    say("ready")
    threading.Event().wait()
"""


def test_a_program_that_ends_by_itself_runs_its_hooks_and_has_its_own_code() -> None:
    with child('shutdown.add(lambda: say("hook"))\nreturn 3') as process:
        assert end_of(process) == (3, "hook\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_runs_the_hooks_whatever_the_work_waits_for(number: signal.Signals) -> None:
    with child(WAITS_FOR_EVER) as process:
        assert next_line(process) == "ready"
        process.send_signal(number)
        assert end_of(process) == (128 + number, "hook\n", "")


def test_a_signal_ends_work_that_reads() -> None:
    with child('say("ready")\nsys.stdin.readline()') as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_S)
        assert process.returncode == 130


def test_a_signal_ends_work_that_computes() -> None:
    with child('shutdown.add(lambda: say("hook"))\nsay("ready")\nwhile True: pass') as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGINT)
        assert end_of(process) == (130, "hook\n", "")


def test_a_signal_while_modules_are_imported_leaves_no_trace() -> None:
    with child(
        "return 0", before="real_load = load\ndef load():\n    say('importing')\n    sys.stdin.readline()"
    ) as process:
        assert next_line(process) == "importing"
        process.send_signal(signal.SIGINT)
        assert end_of(process) == (-signal.SIGINT, "", "")


def test_no_signal_interrupts_a_hook_but_a_second_one_ends_the_program_at_once() -> None:
    body = """
        def hook():
            say("in the hook")
            try:
                threading.Event().wait()
            except BaseException:
                say("interrupted")
        shutdown.add(hook)
        say("ready")
        threading.Event().wait()
    """
    with child(body, before=ONE_SIGNAL_S.format(0)) as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGINT)
        assert next_line(process) == "in the hook"
        process.send_signal(signal.SIGTERM)
        assert end_of(process) == (143, "", "")


def test_a_signal_in_the_ending_of_a_finished_program_ends_it_at_once() -> None:
    body = """
        def hook():
            say("in the hook")
            threading.Event().wait()
        shutdown.add(hook)
        return 0
    """
    with child(body) as process:
        assert next_line(process) == "in the hook"
        process.send_signal(signal.SIGINT)
        assert end_of(process)[0] == 130


def test_a_lock_that_the_work_holds_is_never_asked_for_by_the_handler() -> None:
    """As when the signal comes in the middle of a wakeup: the work finishes it, the hook waits for it."""
    body = """
        lock = threading.Lock()
        woken = []
        def wakeup():
            with lock:
                woken.append(1)
        def hook():
            say("hook")
            wakeup()
            say(str(len(woken)))
        shutdown.add(hook)
        with lock:
            woken.append(1)
            say("ready")
            sys.stdin.readline()
        threading.Event().wait()
    """
    with child(body) as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGINT)
        assert next_line(process) == "hook"
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert next_line(process) == "2"
        assert end_of(process)[0] == 130


def test_what_stands_in_the_buffers_is_written_at_a_signal() -> None:
    body = """
        sys.stdout.write("not flushed")
        os.write(2, b"ready" + bytes([10]))
        threading.Event().wait()
    """
    with child(body) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert end_of(process)[:2] == (130, "not flushed")


def test_a_signal_that_is_ignored_at_the_start_stays_ignored() -> None:
    with child('say("ready")\nsys.stdin.readline()\nreturn 0', ignore=True) as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGINT)
        assert end_of(process) == (0, "", "")


def test_a_reader_that_is_gone_is_no_failure() -> None:
    with child('os.read(0, 1)\nsay("nobody")\nreturn 1') as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.close()
        process.stdin.write("x")
        process.stdin.flush()
        process.wait(TIMEOUT_S)
        assert process.returncode == 0


def test_a_bug_shows_its_traceback_and_the_code_one() -> None:
    with child('raise RuntimeError("bug")') as process:
        code, _, err = end_of(process)
        assert code == 1
        assert err.endswith("RuntimeError: bug\n")


def test_a_disk_that_cannot_be_read_is_a_failure() -> None:
    """What was not read is not sent, for instance: it must not look as if all was."""
    with child('os.read(os.open("/proc/self/mem", os.O_RDONLY), 1)') as process:
        code, _, err = end_of(process)
        assert code == 1
        assert err.endswith("Input/output error\n")


DONE, OVER = 0, 255


@pytest.mark.parametrize(
    ("news", "code"),
    [
        ([(0, DONE), (0, OVER)], 7),
        ([(0, signal.SIGINT), (0, OVER)], 130),
        ([(0, signal.SIGINT), (0, DONE), (0, OVER)], 130),
        ([(0, signal.SIGTERM), (0, DONE), (0, OVER)], 143),
        ([(0, signal.SIGINT), (1, signal.SIGINT)], 130),
        ([(0, signal.SIGINT), (0, DONE), (1, signal.SIGTERM)], 143),
        ([(0, DONE), (0, signal.SIGINT)], 130),
        ([(0, signal.SIGINT), (0.1, signal.SIGTERM), (0.2, signal.SIGTERM), (5, OVER)], 130),
        ([(0, signal.SIGINT), (0.1, signal.SIGINT), (1, signal.SIGTERM)], 143),
    ],
)
def test_the_code_tells_what_ended_the_program(news: list[tuple[float, int]], code: int) -> None:
    at = 0.0

    def next_news() -> int:
        nonlocal at
        at, what = news.pop(0)
        return what

    assert _exit_code(next_news(), next_news, [7], lambda: at) == code


def test_a_signal_that_comes_twice_at_once_as_from_timeout_lets_the_hooks_run() -> None:
    body = """
        def hook():
            say("in the hook")
            sys.stdin.readline()
            say("done")
        shutdown.add(hook)
        say("ready")
        threading.Event().wait()
    """
    with child(body, before=ONE_SIGNAL_S.format(3600)) as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGTERM)
        assert next_line(process) == "in the hook"
        process.send_signal(signal.SIGTERM)
        assert end_of(process) == (143, "done\n", "")


def test_hooks_run_once_in_their_order_and_none_is_taken_later() -> None:
    ran: list[str] = []
    shutdown = Shutdown()
    shutdown.add(lambda: ran.append("a"))
    shutdown.add(lambda: ran.append("b"))
    shutdown.run()
    shutdown.add(lambda: ran.append("late"))
    shutdown.run()
    assert ran == ["a", "b"]


def test_a_call_from_a_test_runs_the_hooks_too() -> None:
    ran: list[str] = []

    def work(arguments, shutdown: Shutdown) -> int:
        shutdown.add(lambda: ran.append("hook"))
        ran.extend(arguments)
        return 4

    assert run_here(work, ["work"]) == 4
    assert ran == ["work", "hook"]


NO_THREAD_TO_END_IN = """
start = threading.Thread.start
def refuse(thread):
    if thread.name == "ending":
        raise RuntimeError("can't start new thread")
    start(thread)
threading.Thread.start = refuse
"""


def test_a_signal_runs_the_hooks_though_the_system_has_no_further_thread() -> None:
    with child(WAITS_FOR_EVER, before=NO_THREAD_TO_END_IN) as process:
        assert next_line(process) == "ready"
        process.send_signal(signal.SIGTERM)
        assert end_of(process) == (128 + signal.SIGTERM, "hook\n", "")


def test_a_program_ends_by_itself_though_the_system_has_no_further_thread() -> None:
    with child('shutdown.add(lambda: say("hook"))\nreturn 3', before=NO_THREAD_TO_END_IN) as process:
        assert end_of(process) == (3, "hook\n", "")
