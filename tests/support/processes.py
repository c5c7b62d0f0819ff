"""Child processes of the tests: started in a group of their own, waited for by what they do, always ended."""

from __future__ import annotations

import itertools
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

POLL_S = 0.02
FREE_PORTS = range(12_000, 32_000)
"""Below those that the kernel gives to whoever connects: one of these is still free when a program comes to it."""
ROWS = range(10_000, 12_000)
"""For those who need ports one after the other."""
SHARES = 8
"""More than there are processes in a run of pytest-xdist, which calls them gw0, gw1 ..."""


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = 60) -> None:
    """Poll `condition` until it holds; fail naming `what` after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {timeout_s} s: {what}"
        time.sleep(POLL_S)


def has_ended(pid: int) -> bool:
    """Whether a process that is not our child is gone, or waits for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def is_asleep(pid: int) -> bool:
    """Whether the first thread of a process waits. A signal that comes just before a system call, which Python has not
    looked at then, interrupts nothing: it counts once the call returns."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def is_stopped(pid: int) -> bool:
    """Whether every thread of a process stands still."""
    states = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
    return set(states) <= {"T", "Z", "X"}


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """Blocks until a process stands still, which it does while the block runs.

    SIGSTOP reaches one thread after the other: until the last has it, the process may still answer.
    """
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: is_stopped(pid), f"every thread of {pid} stands still")
        yield
    finally:
        with suppress(ProcessLookupError):  # it was killed meanwhile
            os.kill(pid, signal.SIGCONT)


def accepts_connections(port: int, host: str = "127.0.0.1") -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """A port nobody listens on now, and no other process of this run is given. For what cannot bind port 0 itself."""
    for port in _ports:
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise AssertionError("unreachable: the ports go round")


def free_ports_in_a_row(count: int) -> int:
    """The first of `count` ports, at most 10, that nobody listens on and no other process of this run is given."""
    for first in _rows:
        with ExitStack() as listeners, suppress(OSError):
            for port in range(first, first + count):
                listeners.enter_context(socket.socket()).bind(("", port))
            return first
    raise AssertionError("unreachable: the ports go round")


def _rows_of(worker: str) -> Iterator[int]:
    """Every tenth port of its share of them, from somewhere on."""
    size = len(ROWS) // SHARES
    share = ROWS[int(worker.removeprefix("gw")) % SHARES * size :][:size:10]
    start = random.randrange(len(share))
    return itertools.cycle([*share[start:], *share[:start]])


def _ports_of(worker: str) -> Iterator[int]:
    """In turn, from somewhere among them: another run on this machine most likely began elsewhere."""
    share = FREE_PORTS[int(worker.removeprefix("gw")) % SHARES :: SHARES]
    start = random.randrange(len(share))
    return itertools.cycle([*share[start:], *share[:start]])


_ports = _ports_of(os.environ.get("PYTEST_XDIST_WORKER", "gw0"))
_rows = _rows_of(os.environ.get("PYTEST_XDIST_WORKER", "gw0"))


@contextmanager
def piped(command: Sequence[str], *, preexec_fn: Callable[[], object] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A program whose three streams are pipes, read and written as text; killed at the end if it still runs."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=preexec_fn,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            with suppress(OSError):  # a pipe with nobody at its other end
                stream.close()


class ChildProcess:
    """One program, its output in `log`."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.command = list(command)
        self.log = log
        self._env = dict(os.environ, **(env or {}))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def resident_bytes(self) -> int:
        """Memory of the process that is in RAM."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    @property
    def open_sockets(self) -> int:
        found = 0
        for descriptor in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                found += os.readlink(descriptor).startswith("socket:")
        return found

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )

    def wait_ready(self, condition: Callable[[], object], what: str, timeout_s: float = 60) -> None:
        """Wait for `condition`; a process that ended meanwhile fails at once, with its output."""

        def ready_or_dead() -> bool:
            assert self.is_running, f"{what}: the process ended with {self._process}\n{self.output()}"
            return bool(condition())

        wait_until(ready_or_dead, what, timeout_s)

    def wait(self, timeout_s: float = 60) -> int:
        """Until it ends by itself; the exit code."""
        assert self._process is not None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.command} did not end in {timeout_s} s\n{self.output()}") from None

    def stop(self, how: signal.Signals = signal.SIGTERM, timeout_s: float = 60) -> int | None:
        """End it with `how`, the hard way when that takes longer than `timeout_s`; the exit code or None."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.send_signal(how)
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"{self.command} did not stop in {timeout_s} s\n{self.output()}") from None

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def kill_all(self) -> None:
        """It and what it has started, if it still runs."""
        if self.is_running:
            os.killpg(self.pid, signal.SIGKILL)
            self.wait()

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def says(self, *texts: str, times: int = 1, since: int = 0, timeout_s: float = 60) -> None:
        """Wait until its output has each of `texts` as many `times`; `since`: characters of it that are passed over.

        What a process does can be seen before it writes a line about it. One that has ended says nothing more.
        """

        def missing() -> list[str]:
            said = self.output()[since:]
            return [text for text in texts if said.count(text) < times]

        def has_said() -> bool:
            was_running = self.is_running
            lacks = missing()
            assert was_running or not lacks, f"{lacks} is missing at the end of\n{self.output()}"
            return not lacks

        wait_until(has_said, f"the output has {texts}", timeout_s)
