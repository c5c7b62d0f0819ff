"""A second client, in a process of its own, that asks the broker something small again and again: how long it waits.

`python -m tests.support.probe HOST:PORT PID` asks for ApiVersions every 10 ms. For each line that it reads it writes
the longest wait since the line before, in milliseconds. Of each wait it counts what the broker's loop was at work: what
else the machine does is no fault of the broker's.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from pathlib import Path

from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from tests.support.raw_client import RawClient

EVERY_S = 0.01
PROJECT = Path(__file__).parents[2]


class Probe:
    """The process. Close it."""

    def __init__(self, bootstrap: str, pid: int) -> None:
        command = [sys.executable, "-m", "tests.support.probe", bootstrap, str(pid)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe, text=True)
        # It has begun.
        self.longest_ms()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def longest_ms(self) -> float:
        """The longest wait since this was asked last, the one that is under way included."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def main() -> None:
    bootstrap, pid = sys.argv[1:]
    longest_s = 0.0
    with RawClient(bootstrap, client_id="probe") as client:
        while True:
            began_s, began_ns = time.monotonic(), worked_ns(int(pid))
            client.send(API_VERSIONS_REQUEST, ApiVersionsRequest(), 3)
            waited_s = time.monotonic() - began_s
            longest_s = max(longest_s, min(waited_s, (worked_ns(int(pid)) - began_ns) / 1e9))
            if select.select([sys.stdin], [], [], EVERY_S)[0]:
                if not sys.stdin.readline():
                    return
                print(longest_s * 1000, flush=True)
                longest_s = 0.0


def worked_ns(pid: int) -> int:
    """For how long the thread that the loop of process `pid` runs in was on a CPU."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


if __name__ == "__main__":
    main()
