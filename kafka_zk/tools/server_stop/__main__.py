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
from kafka_zk.tools.common.endings import exit_code_of, run_as_program
from kafka_zk.tools.common.stop_signal import wanted_signal

MODULE = "kafka_zk.tools.server_start"
PROGRAM = "kafka-server-start"
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


def broker_pids(node_id: str = "", proc: Path = Path("/proc")) -> Iterator[int]:
    """Processes of this user that run a broker; with `node_id` only those of that broker id."""
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="surrogateescape").rstrip("\0").split("\0")
            owner = folder.stat().st_uid
        except OSError:
            continue  # It ended while we looked.
        arguments = _broker_arguments(words)
        if owner != os.getuid() or arguments is None:
            continue
        if not node_id or node_id == _node_id(folder / "cwd", arguments):
            yield int(folder.name)


def _broker_arguments(words: list[str]) -> list[str] | None:
    """What a broker was started with; None if this is another program's command line."""
    if MODULE in words and "-m" in words[: words.index(MODULE)]:
        return words[words.index(MODULE) + 1 :]
    if len(words) > 1 and Path(words[1]).name == PROGRAM:
        return words[2:]
    return None


def _node_id(working_folder: Path, arguments: list[str]) -> str | None:
    """The id that the broker's properties give it; None if they do not, or can no longer be read."""
    files = [word for word in arguments if not word.startswith("-")]
    overrides = [word for flag, word in pairwise(arguments) if flag == "--override"]
    overrides += [word.removeprefix("--override=") for word in arguments if word.startswith("--override=")]
    try:
        properties = apply_overrides(read_file(working_folder / files[0]), overrides)
    except (OSError, ConfigException, IndexError):
        return None
    return properties.get("node.id", properties.get("broker.id"))


def run() -> NoReturn:
    """`main` as a program."""
    sys.exit(run_as_program(main))


if __name__ == "__main__":
    run()
