"""kafka-server-stop.sh: ask the brokers of this machine that this user started to stop, as SIGTERM or $SIGNAL does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

MODULE = "kafka_zk.tools.server_start"


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments:
        print("USAGE: kafka-server-stop.sh (SIGNAL=name chooses another signal than TERM)", file=sys.stderr)
        return 0 if arguments[0] in ("--help", "-h") else 1
    name = os.environ.get("SIGNAL", "TERM").upper().removeprefix("SIG")
    number = getattr(signal, f"SIG{name}", None)
    if number is None:
        print(f"There is no signal called {name}", file=sys.stderr)
        return 1
    pids = list(broker_pids())
    if not pids:
        print("No kafka server to stop")
        return 1
    for pid in pids:
        os.kill(pid, number)
    return 0


def broker_pids(proc: Path = Path("/proc")) -> Iterator[int]:
    """Processes of this user that run a broker."""
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            owner = folder.stat().st_uid
        except OSError:
            continue  # It ended while we looked.
        if owner == os.getuid() and MODULE in words and "-m" in words[: words.index(MODULE)]:
            yield int(folder.name)


if __name__ == "__main__":
    sys.exit(main())
