"""-daemon: runs a server in the background, independent of the terminal.

Role        Acts. Both servers' tools take -daemon themselves: an installed package has no shell scripts.
Source      kafka-run-class.sh: LOG_DIR, nohup, output in $LOG_DIR/kafkaServer.out.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

PYTHON_OPTIONS = ("-P", "-X", "frozen_modules=on")
"""-P keeps the working folder off the module path: a file called queue.py there must not get in the way."""

_PROJECT = Path(__file__).resolve().parents[3]


def log_dir() -> Path:
    """Where server logs go: LOG_DIR, else `logs` beside the scripts, else `logs` here (an installed package)."""
    if configured := os.environ.get("LOG_DIR"):
        return Path(configured)
    return (_PROJECT if (_PROJECT / "scripts").is_dir() else Path.cwd()) / "logs"


def start_module(module: str, arguments: Sequence[str], *, output: str) -> int:
    """Run `module` detached from this terminal; returns its process id. Raises OSError."""
    return start([sys.executable, *PYTHON_OPTIONS, "-m", module, *arguments], output=output)


def start(command: Sequence[str], *, output: str) -> int:
    """Run `command` detached from this terminal, output in LOG_DIR/`output`; returns its process id. Raises OSError.

    It ignores SIGHUP and SIGINT, like a command that a script starts with `nohup ... &`.
    """
    import subprocess

    def ignore() -> None:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    folder = log_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / output).open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ignore,
        )
    return process.pid
