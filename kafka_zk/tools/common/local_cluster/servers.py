"""The processes of a folder: found, started and stopped.

Role        Acts. A server is known by the properties file that it was started with, however it was started: a run that
            was killed loses none.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kafka_zk.log.files.names import CLEAN_SHUTDOWN
from kafka_zk.tools.common.background import PYTHON_OPTIONS, detach
from kafka_zk.tools.common.broker_processes import MODULE, broker_processes, processes, started_at
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.folder import ClusterFolder, read_if_there
from kafka_zk.tools.common.local_cluster.interruption import Interruption
from kafka_zk.zk.embedded import SERVER_CLASS

OUTPUT = "kafkaServer.out"
PORT = "port"
_FAILURES = (" ERROR ", " FATAL ")


@dataclass(frozen=True, slots=True)
class Running:
    """A process; `started` tells it from a later one with its pid.

    `tells_port`: it is a broker that writes the file `port` once it serves.
    """

    pid: int
    started: str
    tells_port: bool = False

    @property
    def is_alive(self) -> bool:
        return started_at(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if self.is_alive:
                os.kill(self.pid, number)


def running_brokers(folder: ClusterFolder) -> dict[int, Running]:
    """The brokers that run out of the folder, by id."""
    files = {folder.properties_of(broker_id): broker_id for broker_id in folder.broker_ids()}
    found = {}
    for process in broker_processes():
        if process.properties is None:
            continue
        with suppress(OSError):  # It ended while we looked.
            broker_id = files.get(process.properties.resolve())
            started = started_at(process.pid)
            if broker_id is not None and started is not None:
                found[broker_id] = Running(process.pid, started, "--port-file" in process.arguments)
    return dict(sorted(found.items()))


def running_zookeeper(folder: ClusterFolder) -> Running | None:
    """The ZooKeeper that runs out of the folder."""
    file = str(folder.zookeeper_properties)
    for pid, words in processes():
        if SERVER_CLASS in words and words[-1] == file and (started := started_at(pid)) is not None:
            return Running(pid, started)
    return None


class Child:
    """A server that this run started."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], output: Path) -> None:
        self.name = name
        self.output = output
        self._process = process
        self.running = Running(process.pid, started_at(process.pid) or "")

    def check(self) -> None:
        """Raises Refused if it has ended, with what it said."""
        code = self._process.poll()
        if code is not None:
            said = self.output.read_text(errors="replace").splitlines() or ["it wrote nothing"]
            cause = next((line for line in said if any(mark in line for mark in _FAILURES)), said[-1])
            raise Refused(f"{self.name} ended with exit code {code}: {cause}\nAll that it said is in {self.output}")


def start_broker(folder: ClusterFolder, broker_id: int) -> Child:
    """Start the broker that the folder's file describes, and wait for nothing. Raises OSError."""
    properties = folder.properties_of(broker_id)
    logs, port = properties.parent / "logs", properties.with_name(PORT)
    port.unlink(missing_ok=True)
    command = [sys.executable, *PYTHON_OPTIONS, "-m", MODULE, str(properties), "--port-file", str(port)]
    process = detach(command, logs / OUTPUT, {**os.environ, "LOG_DIR": str(logs)})
    return Child(f"broker {broker_id}", process, logs / OUTPUT)


def port_of(folder: ClusterFolder, broker_id: int) -> int | None:
    """The port of the first listener of a broker that serves; None before."""
    try:
        return int(folder.properties_of(broker_id).with_name(PORT).read_text())
    except FileNotFoundError:
        return None


def wait_until_serving(
    folder: ClusterFolder, broker_id: int, child: Child, waits: Interruption, timeout_s: float
) -> None:
    """Blocks. Raises Refused where the broker ends or takes too long, Interrupted."""
    port = folder.properties_of(broker_id).with_name(PORT)

    def serves() -> bool:
        child.check()
        return port.exists()

    if not waits.wait_until(serves, timeout_s):
        raise Refused(f"{child.name} has not started after {timeout_s:g} s: see {child.output}")


def wait_for_earlier_start(
    folder: ClusterFolder, broker_id: int, running: Running, waits: Interruption, timeout_s: float
) -> None:
    """Blocks until a broker that another run has started serves. Raises Refused, Interrupted."""
    if not running.tells_port:
        return
    what = f"broker {broker_id}, which was starting already"
    output = folder.properties_of(broker_id).parent / "logs" / OUTPUT

    def serves() -> bool:
        if not running.is_alive:
            raise Refused(f"{what}, has ended: see {output}")
        return port_of(folder, broker_id) is not None

    if not waits.wait_until(serves, timeout_s):
        raise Refused(f"{what}, does not serve after {timeout_s:g} s: see {output}")


def stop(name: str, running: Running, waits: Interruption, timeout_s: float) -> None:
    """Blocks. Ask the server to end, and wait until it has. Raises Refused where it takes too long, Interrupted."""
    running.signal(signal.SIGTERM)
    if not waits.wait_until(lambda: not running.is_alive, timeout_s):
        raise Refused(f"{name}, process {running.pid}, is still running {timeout_s:g} s after it was asked to stop")


def was_stopped_cleanly(folder: ClusterFolder, broker_id: int) -> bool:
    """Whether the broker has closed each of its log directories."""
    directories = read_if_there(folder.properties_of(broker_id)).get("log.dirs", "").split(",")
    return all((Path(each) / CLEAN_SHUTDOWN).exists() for each in directories)
