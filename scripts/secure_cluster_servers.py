"""The processes of secure_cluster.py: starts servers and tools, sees at once when one fails, and ends them.

Needs nothing but Python itself.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from secure_cluster_state import Ports, Process, State, TrialError, save

SCRIPTS = Path(__file__).resolve().parent
START_S = 60
STOP_S = 30
POLL_S = 0.03
FREE_PORTS = range(12_000, 32_000)
"""Below those that the kernel gives to whoever connects: a later run finds its port free."""
USES = {"broker": "listener SASL_SSL", "ssl": "listener SSL", "zookeeper": "ZooKeeper"}
OPTIONS = {"broker": "--port", "ssl": "--ssl-port", "zookeeper": "--zookeeper-port"}
_CAUSE = re.compile(r"^[\w.$]+(Exception|Error)\b.*|.* (ERROR|FATAL) .*", re.M)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asks this run to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


class Interrupts:
    """Signals raise Interrupted, but not while a process is being started: it must be noted first."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._is_held = False

    def listen(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._take)

    def ignore(self) -> None:
        """From now on: nothing is to keep this run from stopping what it started."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def held(self) -> Iterator[None]:
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._received is not None:
            raise Interrupted(self._received)

    def _take(self, number: int, _: FrameType | None) -> None:
        self._received = number
        if not self._is_held:
            raise Interrupted(number)


@dataclass(frozen=True)
class Log:
    """What a server has written since it was started."""

    path: Path
    start: int

    def text(self) -> str:
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read().decode(errors="replace")

    def cause(self) -> str:
        """The line that most likely says why the server ended."""
        text = self.text().strip()
        causes = [found.group().strip() for found in _CAUSE.finditer(text)]
        named = [line for line in causes if not re.search(r" (ERROR|FATAL) ", line)]
        return (named or causes or text.splitlines() or ["it wrote nothing"])[-1]


@dataclass(frozen=True)
class Tool:
    """One run of a script, and what its arguments are."""

    script: str
    arguments: tuple[str, ...]


class Servers:
    """Those that this run has started."""

    def __init__(self, folder: Path, state: State, interrupts: Interrupts) -> None:
        self._folder = folder
        self._state = state
        self._interrupts = interrupts
        self._started: dict[str, tuple[subprocess.Popen[bytes], Log]] = {}

    def launch(self, name: str, script: str, properties: Path, *, jaas: str) -> Log:
        """Start a server in a session of its own; its output goes to its log in the folder."""
        path = self._folder / f"{name}.log"
        with path.open("ab") as file, self._interrupts.held():
            log = Log(path, file.tell())
            process = subprocess.Popen(
                [str(SCRIPTS / script), str(properties)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment(self._folder, jaas),
                start_new_session=True,
            )
            self._started[name] = process, log
            self._state.processes[name] = Process(process.pid, started_at(process.pid) or "")
            save(self._folder, self._state)
        return log

    def check(self) -> None:
        """Raises TrialError for a server that has ended, with what it said."""
        for name, (process, log) in self._started.items():
            if process.poll() is not None:
                ending = f"{name} ended with exit code {process.returncode}: {log.cause()}"
                raise TrialError(f"{ending}\nAll that it said is in {log.path}")

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Blocks. Raises TrialError where a server ends meanwhile, or it takes too long."""
        deadline = time.monotonic() + START_S
        while not condition():
            self.check()
            if time.monotonic() > deadline:
                raise TrialError(f"still not so after {START_S} s: {what}; the logs are in {self._folder}")
            time.sleep(POLL_S)
        # Somebody else may have answered in the place of a server that has ended.
        self.check()

    def run(self, *tools: Tool) -> None:
        """Blocks. Run tools side by side. Raises TrialError with what one of them said, or a server."""
        running: list[tuple[Tool, subprocess.Popen[bytes], IO[bytes]]] = []
        with ExitStack() as stack:
            for tool in tools:
                output = stack.enter_context(tempfile.TemporaryFile())
                command = [str(SCRIPTS / tool.script), *tool.arguments]
                with self._interrupts.held():
                    process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                        env=environment(self._folder, "client.jaas"),
                    )  # fmt: skip
                    stack.callback(_kill, process)
                    running.append((tool, process, output))
            self.wait_until(lambda: all(process.poll() is not None for _, process, _ in running), "the tools are done")
            for tool, process, said in running:
                if process.returncode:
                    said.seek(0)
                    raise TrialError(f"{tool.script} failed: {said.read().decode(errors='replace').strip()}")

    def stop(self) -> None:
        """Blocks. Stop them all, last first."""
        for name, (process, _) in reversed(self._started.items()):
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            del self._state.processes[name]
        save(self._folder, self._state)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def environment(folder: Path, jaas: str) -> dict[str, str]:
    """Of a server or a tool: its own JAAS file, and its logs in the folder."""
    options = shlex.quote(f"-Djava.security.auth.login.config={folder / jaas}")
    return {**os.environ, "KAFKA_OPTS": options, "LOG_DIR": str(folder / "logs")}


# --- processes of earlier runs ----------------------------------------------------------------------------------------


def is_running(process: Process) -> bool:
    return started_at(process.pid) == process.started_at


def started_at(pid: int) -> str | None:
    """When a process started, in clock ticks since the machine came up; None if it has ended.

    Not its command line: that is empty while it becomes another program.
    """
    try:
        # The second field is the program's name in parentheses, and may hold any of them.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started


def end(process: Process) -> None:
    """Blocks until it has ended."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    if not _ends(process, STOP_S):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        if not _ends(process, STOP_S):
            raise TrialError(f"the process {process.pid} does not end")


def _ends(process: Process, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


# --- ports ------------------------------------------------------------------------------------------------------------


def choose_ports(wanted: Ports, kept: Ports) -> Ports:
    """What is asked for, else what an earlier run had, else free ones."""
    chosen = Ports(**{use: asked or getattr(kept, use) for use, asked in asdict(wanted).items()})
    for use, number in asdict(chosen).items():
        if number is None:
            setattr(chosen, use, _free_port(besides=set(asdict(chosen).values())))
    return chosen


def refuse_unusable(ports: Ports) -> None:
    """Raises TrialError for a port that somebody else listens on, or that may not be used."""
    seen: dict[int, str] = {}
    for use, number in asdict(ports).items():
        if number in seen:
            both = f"{USES[seen[number]]} and {USES[use]}"
            raise TrialError(f"port {number} cannot be that of {both}: choose another with {OPTIONS[use]}")
        seen[number] = use
        if (problem := _problem_of(number)) is not None:
            raise TrialError(f"port {number} of {USES[use]} {problem}: choose another with {OPTIONS[use]}")


def _problem_of(port: int) -> str | None:
    # The broker listens on the first; a client that looks up localhost may come to the second.
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((address, port))
                listener.listen()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return "is taken by another program"
            if family == socket.AF_INET:
                return f"cannot be used ({error.strerror})"
    return None


def _free_port(besides: set[int | None]) -> int:
    for port in random.sample(FREE_PORTS, len(FREE_PORTS)):
        if port not in besides and _problem_of(port) is None:
            return port
    raise TrialError("no port is free")


def accepts_connections(port: int | None) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port or 0), timeout=1).close()
    except OSError:
        return False
    return True
