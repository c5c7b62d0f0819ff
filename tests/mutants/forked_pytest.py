"""pytest in a fork of a process that has imported the libraries: most of what a run over one planted fault would cost.

As a program it takes orders from stdin and answers on stdout, a JSON line each; nothing of kafka_zk is imported before
the fork. `ForkedPytest` is the other end.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

LIBRARIES = (
    "_hypothesis_pytestplugin",
    "cryptography.hazmat.primitives.serialization.pkcs12",
    "cryptography.x509",
    "docker",
    "gevent.monkey",
    "gevent.socket",
    "gevent.ssl",
    "gevent.subprocess",
    "gevent.threadpool",
    "hypothesis.stateful",
    "jwt",
    "kazoo.client",
    "prometheus_client",
    "pytest_rerunfailures",
    "unittest.mock",
    "xdist.plugin",
)
TIMED_OUT = -signal.SIGKILL


class Run(NamedTuple):
    """`exit_code` is pytest's, or the negative number of the signal that ended it; `output` has both its streams."""

    exit_code: int
    output: str


class ForkedPytest:
    """Runs pytest in `folder`, again and again."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        command = [sys.executable, "-B", "-m", __name__]
        self._process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: Sequence[str], timeout_s: int) -> Run:
        """One run; after `timeout_s` it is killed, with all that it started."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.NamedTemporaryFile("r", errors="replace") as output:
            order = {"arguments": arguments, "output": output.name, "timeout_s": timeout_s}
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return Run(json.loads(self._process.stdout.readline()), output.read())

    def close(self) -> None:
        self._process.communicate()


class _TimeIsUp(Exception):
    pass


def main() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    signal.signal(signal.SIGALRM, _time_is_up)
    for line in sys.stdin:
        order = json.loads(line)
        if not (pid := os.fork()):
            _become_pytest(order)
        print(_exit_code(pid, order["timeout_s"]), flush=True)


def _become_pytest(order: dict[str, Any]) -> None:
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for source, target in ((os.devnull, 0), (order["output"], 1), (order["output"], 2)):
        opened = os.open(source, os.O_RDWR | os.O_APPEND)
        os.dup2(opened, target)
        os.close(opened)
    sys.exit(pytest.main(order["arguments"]))


def _exit_code(pid: int, timeout_s: int) -> int:
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except _TimeIsUp:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return TIMED_OUT
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _time_is_up(number: int, frame: FrameType | None) -> None:
    raise _TimeIsUp


if __name__ == "__main__":
    main()
