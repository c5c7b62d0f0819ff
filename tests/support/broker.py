"""Our broker as a process of its own, as a user starts it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from kafka_zk.config.shipped import shipped_config
from tests.support.processes import ChildProcess, free_port

FOR_ONE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "zookeeper.session.timeout.ms": "30000",
}
"""Ours and Apache's alike: internal topics that one broker can hold, and nothing to wait for.

A broker on a busy machine does not answer ZooKeeper for seconds, and must not lose what it leads and controls by that:
the sessions are long, and `support.znodes.end_session` ends that of a broker that was killed."""


START_S = 180
"""It takes two; beside a dozen other programs on two cores it took more than sixty."""
EACH_HOUR, EACH_YEAR = "'.'yyyy-MM-dd-HH", "'.'yyyy"
"""When the log's files roll, and when they do in tests: what a test looks for must not be in another file by then."""


class OurBroker:
    """A broker on a free port of the loopback; its data, its logs and its output are in `folder`."""

    def __init__(
        self,
        folder: Path,
        zookeeper: str,
        *,
        broker_id: int = 0,
        overrides: Mapping[str, str] | None = None,
        log_dir: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.log_dir = log_dir or folder / "data"
        self.broker_id = broker_id
        self.zookeeper = zookeeper
        self.port = 0
        self._properties = {
            "broker.id": str(broker_id),
            # Its own for good: after a kill the same clients must find it again.
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "zookeeper.connect": zookeeper,
            "log.dirs": str(self.log_dir),
            **FOR_ONE_BROKER,
            **(overrides or {}),
        }
        self._port_file = folder / "port"
        self._log4j = folder / "log4j.properties"
        command = [sys.executable, "-P", "-m", "kafka_zk.tools.server_start", str(folder / "server.properties")]
        self.process = ChildProcess(
            [*command, "--port-file", str(self._port_file)],
            folder / "broker.log",
            {
                "LOG_DIR": str(folder / "logs"),
                "KAFKA_LOG4J_OPTS": f"-Dlog4j.configuration=file:{self._log4j}",
                **(environ or {}),
            },
        )

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> OurBroker:
        self.launch()
        return self.wait_ready()

    def wait_ready(self) -> OurBroker:
        """Until it serves, when it was launched."""
        self.process.wait_ready(self._port_file.exists, "our broker serves", START_S)
        self.port = int(self._port_file.read_text())
        return self

    def run_to_its_end(self, timeout_s: float = 60) -> int:
        """For a start that must fail: its exit code."""
        self.launch()
        return self.process.wait(timeout_s)

    def launch(self) -> None:
        """Start it, and wait for nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._port_file.unlink(missing_ok=True)
        text = "".join(f"{key}={value}\n" for key, value in self._properties.items())
        (self.folder / "server.properties").write_text(text)
        log4j = shipped_config("log4j.properties").read_text()
        assert EACH_HOUR in log4j
        self._log4j.write_text(log4j.replace(EACH_HOUR, EACH_YEAR))
        self.process.start()

    def stop(self) -> int | None:
        return self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def says(self, *texts: str, times: int = 1, since: int = 0) -> None:
        """Wait until its output has each of `texts`; see `ChildProcess.says`."""
        self.process.says(*texts, times=times, since=since)
