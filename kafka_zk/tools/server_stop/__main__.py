"""kafka-server-stop.sh [--node-id=N]: stops this machine's brokers with SIGTERM or $SIGNAL.

Role        Acts on processes of this user only: those that run kafka-server-start, out of a checkout or a package.
Source      kafka-server-stop.sh; --node-id is KIP-979. Its --process-role names KRaft roles, which no broker here has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.properties import apply_overrides, read_file
from kafka_zk.tools.common.broker_processes import PROC, BrokerProcess, broker_processes
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.stop_signal import wanted_signal

USAGE = "USAGE: kafka-server-stop.sh [--node-id=id] (set SIGNAL=name to send a signal other than TERM)"


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    node_id = ""
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name != "--node-id" or not value:
            print(USAGE, file=sys.stderr)
            return 0 if argument in ("--help", "-h") else 1
        node_id = value
    return exit_code_of(lambda: _stop(node_id), tool="server_stop")


def _stop(node_id: str) -> int:
    stop_signal = wanted_signal()
    pids = list(broker_pids(node_id))
    if not pids:
        print("No kafka server to stop")
        return 1
    for pid in pids:
        with suppress(ProcessLookupError):  # It ended while we looked.
            os.kill(pid, stop_signal)
    return 0


def broker_pids(node_id: str = "", proc: Path = PROC) -> Iterator[int]:
    """Processes of this user that run a broker; with `node_id` only those of that broker id."""
    for broker in broker_processes(proc):
        if not node_id or node_id == _node_id(broker):
            yield broker.pid


def _node_id(broker: BrokerProcess) -> str | None:
    """The id that the broker's properties give it; None if they do not, or can no longer be read."""
    if broker.properties is None:
        return None
    overrides = [word for flag, word in pairwise(broker.arguments) if flag == "--override"]
    overrides += [word.removeprefix("--override=") for word in broker.arguments if word.startswith("--override=")]
    try:
        properties = apply_overrides(read_file(broker.properties), overrides)
    except (OSError, ConfigException):
        return None
    return properties.get("node.id", properties.get("broker.id"))


def run() -> NoReturn:
    """`main` as a program."""
    sys.exit(run_as_program(main))


if __name__ == "__main__":
    run()
