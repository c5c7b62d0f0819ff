"""zookeeper-server-start.sh [-daemon] zookeeper.properties: run Apache ZooKeeper's own server.

Like Apache's script it also takes clientPort dataDir [tickTime] [maxcnxns] instead of a file.
In the foreground this process becomes the server; with -daemon the server runs on in the background, with its output in
LOG_DIR/zookeeper.out. Either way LOG_DIR/zookeeper-PID.pid remembers it for zookeeper-server-stop.sh.
Source: zookeeper-server-start.sh, kafka-run-class.sh.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kafka_zk.tools.common.background import log_dir, start
from kafka_zk.tools.common.endings import run_as_program
from kafka_zk.zk.embedded import NotFoundOnThisMachineError, server_command

USAGE = "USAGE: zookeeper-server-start.sh [-daemon] zookeeper.properties"
DAEMON_OUTPUT = "zookeeper.out"


def pid_file(folder: Path, pid: int) -> Path:
    return folder / f"zookeeper-{pid}.pid"


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    daemon = bool(given) and given[0] == "-daemon"
    if daemon:
        del given[0]
    if not given or given[0] in ("--help", "-h"):
        print(USAGE)
        return 0 if given else 1
    try:
        command = server_command(*given)
    except NotFoundOnThisMachineError as missing:
        print(missing, file=sys.stderr)
        return 1
    folder = log_dir()
    if daemon:
        _remember(folder, start(command, output=DAEMON_OUTPUT))
        return 0
    _remember(folder, os.getpid())
    return os.execv(command[0], command)


def _remember(folder: Path, pid: int) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pid_file(folder, pid).write_text(f"{pid}\n")
    except OSError as error:
        print(f"zookeeper-server-stop.sh cannot stop this server: {error}", file=sys.stderr)


def run() -> NoReturn:
    """`main` as a program."""
    sys.exit(run_as_program(main))


if __name__ == "__main__":
    run()
