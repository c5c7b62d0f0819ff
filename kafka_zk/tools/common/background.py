"""-daemon: runs a server in the background, independent of the terminal.

Role        Acts. Both servers' tools take -daemon themselves: an installed package has no shell scripts.
Source      kafka-run-class.sh: LOG_DIR, nohup, output in $LOG_DIR/kafkaServer.out.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

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
    """Run `command` detached from this terminal, output in LOG_DIR/`output`; returns its process id. Raises OSError."""
    return detach(command, log_dir() / output, os.environ).pid


def detach(command: Sequence[str], output: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Run `command` detached from this terminal, its output in a new file. Raises OSError.

    It ignores SIGHUP and SIGINT, like a command that a script starts with `nohup ... &`.
    """
    import subprocess

    def ignore() -> None:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("wb") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environ,
            start_new_session=True,
            preexec_fn=ignore,
        )
