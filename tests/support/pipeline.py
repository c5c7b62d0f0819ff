"""Jobs of the pipeline as processes of their own, as a user starts them, and as they are killed."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka, Written
from tests.support.processes import ChildProcess, wait_until

VICTIMS = ("driver", "worker", "broker")
Moment = Callable[[], bool]
PATIENCE_S = 240
"""A JVM and Spark on a machine that has other things to do."""

FOR_SHORT_LIVES = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A JVM that ends after seconds does not earn back what its second compiler and parallel collector cost two cores."""


class PipelineJob:
    """kafka-pipeline.sh with some arguments; every run appends to one log.

    Use it in a `with`, or through what ends it: a wait that gives up must leave no JVM behind.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        master: str = "local[2,4]",
        env: Mapping[str, str] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._patience_s = patience_s
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-P", "-m", "kafka_zk.tools.pipeline", *arguments, "--master", master]
        self.process = ChildProcess(command, folder / "job.log", {**FOR_SHORT_LIVES, **(env or {})})

    def __enter__(self) -> PipelineJob:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """All that it has started, if it still runs."""
        if self.process.is_running:
            self.kill_driver()

    def run(self) -> None:
        """To its end, which must be a good one."""
        with self:
            self.process.start()
            code = self.wait()
        assert code == 0, self.process.output()

    def wait(self) -> int:
        """Until it ends by itself; its exit code. A job that does not is ended, with all that it has started."""
        self.wait_for(lambda: False, "the job ends")
        return self.process.wait()

    def start(self) -> None:
        self.process.start()

    def wait_for(self, condition: object, what: str) -> bool:
        """Until `condition()` holds; False when the job ended before."""
        assert callable(condition)
        try:
            wait_until(lambda: condition() or not self.process.is_running, what, self._patience_s)
        except AssertionError as error:
            self.end()
            raise AssertionError(f"{error}; so far the job has written:\n{self.process.output()}") from None
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


def run_among_kills(
    job: PipelineJob, broker: OurBroker, chance: random.Random, *, first: str, kills: int, runs: int, moment: Moment
) -> list[str]:
    """Blocks. Start `job` until it ends well, at most `runs` times, killing `kills` times on the way. Whom it killed.

    `moment` waits until it is time for the next kill; False when the job ended before.
    """
    killed: list[str] = []
    victim = first
    with job:
        for _ in range(runs):
            job.start()
            while len(killed) < kills and moment():
                kill_one(victim, job, broker, chance)
                killed.append(victim)
                victim = chance.choice(VICTIMS)
            if job.wait() == 0:
                assert killed, "nobody was killed"
                return killed
    raise AssertionError(f"the job did not end well in {runs} runs:\n{job.process.output()}")


def topic_of_numbers(bootstrap: str, *, partitions: int, each: int, form: bytes = b"%d") -> str:
    """A new topic with the numbers from 0 to `each` in every partition, written as `form` says. Its name."""
    clients = Librdkafka(bootstrap)
    name = clients.topic(partitions=partitions)
    for partition in range(partitions):
        clients.write(name, [Written(form % n) for n in range(each)], partition=partition, linger_ms=20)
    clients.close()
    return name


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
