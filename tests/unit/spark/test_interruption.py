"""A job that is interrupted or terminated ends at once, with one line and its code, and nothing is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kafka_zk.spark.cli.interruption import LINE
from tests.support.processes import wait_until

JOB = """
import subprocess, sys, threading
from pathlib import Path
from kafka_zk.spark.cli import interruption
interruption.LIMIT_S = float(sys.argv[2])
interruption.end_on_interrupt(Path(sys.argv[1]))
jvm = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(jvm.pid, flush=True)
{work}
threading.Event().wait()
"""
FOR_EVER, NO_TIME = "1000", "0"


@contextmanager
def job(scratch: Path, limit_s: str, work: str = "", **streams: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A job at work, and the process id of what it has started."""
    scratch.mkdir()
    (scratch / "file").write_text("")
    command = [sys.executable, "-c", JOB.format(work=work), str(scratch), limit_s]
    given = {"stderr": subprocess.PIPE, **streams}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **given) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        jvm = int(process.stdout.readline())
        try:
            yield process, jvm
        finally:
            process.kill()
            with suppress(ProcessLookupError):
                os.kill(jvm, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_job_and_its_jvm_with_one_line(tmp_path: Path, number: signal.Signals) -> None:
    with job(tmp_path / "scratch", FOR_EVER) as (process, jvm):
        process.send_signal(number)
        _, told = process.communicate()
        assert (process.returncode, told) == (128 + number, f"{LINE}\n")
        assert not (tmp_path / "scratch").exists()
        wait_until(lambda: not is_alive(jvm), "the JVM ends")


def test_a_job_that_fails_because_its_jvm_was_ended_says_nothing_of_that(tmp_path: Path) -> None:
    failing = """
from kafka_zk.spark.cli.command import _explain
failed = threading.Event()
interruption.shutil.rmtree = lambda *_, **how: failed.wait(0.5)
print("ready", flush=True)
jvm.wait()
code = _explain("archive", ConnectionRefusedError("[Errno 111] Connection refused"))
failed.set()
sys.exit(code)
"""
    with job(tmp_path / "scratch", FOR_EVER, failing) as (process, _):
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
        assert (process.returncode, told) == (130, f"{LINE}\n")


def test_what_other_threads_make_of_the_end_of_the_jvm_is_not_printed(tmp_path: Path) -> None:
    printing = """
told = threading.Event()
def serve():
    jvm.wait()
    print("Exception occurred during processing of request", file=sys.stderr, flush=True)
    told.set()
threading.Thread(target=serve, daemon=True).start()
interruption.shutil.rmtree = lambda *_, **how: told.wait()
print("ready", flush=True)
"""
    with job(tmp_path / "scratch", FOR_EVER, printing) as (process, _):
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
        assert (process.returncode, told) == (130, f"{LINE}\n")


def test_who_read_the_line_may_have_ended(tmp_path: Path) -> None:
    with job(tmp_path / "scratch", FOR_EVER) as (process, jvm):
        assert process.stderr is not None
        process.stderr.close()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        wait_until(lambda: not is_alive(jvm), "the JVM ends")


def test_a_job_without_stderr_ends_too(tmp_path: Path) -> None:
    with job(tmp_path / "scratch", FOR_EVER, "sys.stderr = None") as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143


def test_a_line_that_nobody_reads_does_not_hold_the_end_up(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 65536)
        os.set_blocking(writer, True)
        with job(tmp_path / "scratch", NO_TIME, stderr=writer) as (process, jvm):
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
            wait_until(lambda: not is_alive(jvm), "the JVM ends")
    finally:
        os.close(reader)
        os.close(writer)


NO_MORE_THREADS = """
def refuse(*_):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
"""


def test_a_job_that_can_start_no_thread_ends_too(tmp_path: Path) -> None:
    with job(tmp_path / "scratch", FOR_EVER, NO_MORE_THREADS + 'print("none", flush=True)') as (process, jvm):
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "none\n"
        process.send_signal(signal.SIGTERM)
        assert process.stderr.readline() == f"{LINE}\n"
        assert process.wait() == 143
        wait_until(lambda: not is_alive(jvm), "the JVM ends")


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with job(tmp_path / "scratch", FOR_EVER) as (process, _):
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 143
    finally:
        signal.signal(signal.SIGINT, before)
