"""zookeeper-server-stop.sh: stops the ZooKeeper servers started by zookeeper-server-start.sh.

Sends $SIGNAL (default TERM) to the processes remembered in LOG_DIR, if they are still the same programs. They stay
remembered while they run: not every signal ends them, and none at once.
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
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.stop_signal import wanted_signal
from kafka_zk.zk.embedded import SERVER_CLASS


def main() -> int:
    return exit_code_of(_run, tool="zookeeper_server_stop")


def _run() -> int:
    stop_signal = wanted_signal()
    stopped, refusals = 0, list[str]()
    for file in sorted(log_dir().glob("zookeeper-*.pid")):
        try:
            stopped += _stop(file, stop_signal)
        except Refused as error:
            refusals.append(str(error))
    if refusals:
        raise Refused("\n".join(refusals))
    if not stopped:
        print("No zookeeper server to stop")
        return 1
    return 0


def _stop(file: Path, stop_signal: signal.Signals) -> bool:
    """Signal the file's process if it is a running server of ours; returns whether it was. Raises Refused."""
    try:
        pid = int(file.read_text())
        if SERVER_CLASS.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            os.kill(pid, stop_signal)
            return True
    except PermissionError as error:
        raise Refused(f"Cannot stop the server of {file}: {error.strerror}") from error
    except ValueError:
        return False  # It is not written yet.
    except (FileNotFoundError, ProcessLookupError):
        pass  # It has ended.
    file.unlink(missing_ok=True)
    return False


def run() -> NoReturn:
    """`main` as a program."""
    sys.exit(run_as_program(main))


if __name__ == "__main__":
    run()
