"""zookeeper-server-stop.sh: stops the ZooKeeper servers started by zookeeper-server-start.sh.

Sends $SIGNAL (default TERM) to the processes remembered in LOG_DIR, if they are still the same programs.
Differs from Kafka: Apache's script ends every process of this machine whose command line names QuorumPeerMain.
Source: zookeeper-server-stop.sh.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from kafka_zk.tools.common.background import log_dir
from kafka_zk.tools.common.endings import run_as_program
from kafka_zk.zk.embedded import SERVER_CLASS


def main() -> int:
    wanted = os.environ.get("SIGNAL", "TERM").removeprefix("SIG")
    stop_signal = signal.Signals(int(wanted)) if wanted.isdigit() else signal.Signals[f"SIG{wanted}"]
    stopped = [file for file in sorted(log_dir().glob("zookeeper-*.pid")) if _stop(file, stop_signal)]
    if not stopped:
        print("No zookeeper server to stop")
        return 1
    return 0


def _stop(file: Path, stop_signal: signal.Signals) -> bool:
    """Signal the file's process if it is a running server of ours; returns whether it was."""
    pid = int(file.read_text().strip() or 0)
    file.unlink()
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if SERVER_CLASS.encode() not in command:
            return False
        os.kill(pid, stop_signal)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


def run() -> NoReturn:
    """`main` as a program."""
    sys.exit(run_as_program(main))


if __name__ == "__main__":
    run()
