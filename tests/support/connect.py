"""A worker of Kafka Connect in its distributed mode, as a process."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError

from tests.support.apache import classpath_with_apps, java
from tests.support.processes import ChildProcess, free_port, wait_until

CONNECT = "org.apache.kafka.connect.cli.ConnectDistributed"
FILE_CONNECTORS = "org.apache.kafka.connect.file.FileStream"
STRING = "org.apache.kafka.connect.storage.StringConverter"
STARTS_S = 150
"""Within which an application has started, or taken over from one that was killed; on a busy machine, too."""


class ConnectWorker:
    """Configs, offsets and status are kept in topics of the cluster at `bootstrap`, named after the `group`."""

    def __init__(
        self, folder: Path, bootstrap: str, group: str = "connect", overrides: Mapping[str, str] | None = None
    ) -> None:
        self._port = free_port()
        self.id = f"127.0.0.1:{self._port}"
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "key.converter": STRING,
            "value.converter": STRING,
            **{f"{kind}.storage.topic": f"{group}-{kind}s" for kind in ("config", "offset", "status")},
            **{f"{topic}.storage.replication.factor": "1" for topic in ("config", "offset", "status")},
            "offset.storage.partitions": "2",
            "status.storage.partitions": "2",
            "offset.flush.interval.ms": "100",
            "session.timeout.ms": "3000",
            "heartbeat.interval.ms": "300",
            "rebalance.timeout.ms": "6000",
            "scheduled.rebalance.max.delay.ms": "0",
            "consumer.session.timeout.ms": "3000",
            "consumer.heartbeat.interval.ms": "300",
            "plugin.discovery": "service_load",
            "listeners": f"HTTP://127.0.0.1:{self._port}",
            **(overrides or {}),
        }
        folder.mkdir()
        properties = written(folder / "connect.properties", settings)
        self.process = ChildProcess(
            java(CONNECT, str(properties), class_path=classpath_with_apps()), folder / "connect.log"
        )

    def ask(self, path: str, body: Any = None) -> Any:
        """GET, or PUT of a body; None while the worker cannot answer."""
        data = None if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "PUT"
        address = f"http://127.0.0.1:{self._port}/{path}"
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except (URLError, OSError):  # Not listening yet, or busy with a rebalance (409), or it knows no such task yet.
            assert self.process.is_running, self.process.output()[-3000:]
            return None

    def configure(self, name: str, **settings: str) -> None:
        body = {key.replace("_", "."): value for key, value in settings.items()}
        wait_until(lambda: self.ask(f"connectors/{name}/config", body) is not None, f"Connect takes {name}", STARTS_S)

    def tasks(self, *names: str) -> dict[str, str]:
        """Which worker runs the only task of each connector; nothing of one that does not run."""
        states = {name: self.ask(f"connectors/{name}/status") for name in names}
        return {
            name: task["worker_id"]
            for name, state in states.items()
            for task in (state or {"tasks": ()})["tasks"]
            if task["state"] == "RUNNING"
        }

    def runs(self, *names: str) -> bool:
        states = [self.ask(f"connectors/{name}/status") for name in names]
        return all(
            state
            and state["tasks"]
            and {each["state"] for each in (state["connector"], *state["tasks"])} == {"RUNNING"}
            for state in states
        )


def written(path: Path, settings: Mapping[str, str]) -> Path:
    """A file of Java properties."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path
