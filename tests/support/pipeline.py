"""Jobs of the pipeline as processes of their own, as a user starts them, and as they are killed."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.broker import OurBroker
from tests.support.processes import ChildProcess, wait_until

VICTIMS = ("driver", "worker", "broker")
PATIENCE_S = 240
"""A JVM and Spark on a machine that has other things to do."""

FOR_SHORT_LIVES = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A JVM that ends after seconds does not earn back what its second compiler and parallel collector cost two cores."""


class PipelineJob:
    """kafka-pipeline.sh with some arguments; every run appends to one log."""

    def __init__(
        self, folder: Path, *arguments: str, master: str = "local[2,4]", env: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-P", "-m", "kafka_zk.tools.pipeline", *arguments, "--master", master]
        self.process = ChildProcess(command, folder / "job.log", {**FOR_SHORT_LIVES, **(env or {})})

    def run(self) -> None:
        """To its end, which must be a good one."""
        self.process.start()
        code = self.process.wait(PATIENCE_S)
        assert code == 0, self.process.output()

    def start(self) -> None:
        self.process.start()

    def wait_for(self, condition: object, what: str) -> bool:
        """Until `condition()` holds; False when the job ended before."""
        assert callable(condition)
        wait_until(lambda: condition() or not self.process.is_running, what, PATIENCE_S)
        return self.process.is_running

    def kill_driver(self) -> None:
        """Python, the JVM, and with them the workers, which see their input end."""
        workers = list(self.python_workers())
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in workers), "the workers of a killed driver end")

    def interrupt(self) -> int:
        """Ctrl-C: the terminal tells the whole group. The exit code, when nothing is left of all that it started."""
        below = descendants(self.process.pid)
        os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in below), "JVM and workers of an interrupted job end")
        return code

    def python_workers(self) -> Iterator[int]:
        """Processes below the driver that run PySpark's daemon or its workers."""
        for pid in descendants(self.process.pid):
            if b"pyspark" in command_line(pid) and b"daemon" in command_line(pid):
                yield pid


def kill_one(victim: str, job: PipelineJob, broker: OurBroker, chance: random.Random) -> None:
    """kill -9 of one of VICTIMS: the driver, a Python worker if one runs, or the broker, which starts again."""
    if victim == "driver":
        job.kill_driver()
    elif victim == "broker":
        broker.kill()
        broker.start()
    elif workers := sorted(job.python_workers()):
        with suppress(ProcessLookupError):
            os.kill(chance.choice(workers), signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
