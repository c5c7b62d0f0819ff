"""An ensemble of ZooKeeper servers on this machine, each a process that can be stopped and started by itself."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import free_port, wait_until
from tests.support.zookeeper import EmbeddedZooKeeper, answers

INIT_TICKS, SYNC_TICKS = 40, 20
"""How long followers may take to connect, and to lag: 20 s and 10 s, for a busy machine."""

QUORUM_S = 60


class ZooKeeperEnsemble:
    """`count` servers; as a `ZooKeeperServer` it is all of them."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        members = {f"server.{number}": f"127.0.0.1:{free_port()}:{free_port()}" for number in range(1, count + 1)}
        limits = {"initLimit": str(INIT_TICKS), "syncLimit": str(SYNC_TICKS)}
        self.servers: list[EmbeddedZooKeeper] = []
        for number in range(1, count + 1):
            home = folder / f"zookeeper-{number}"
            (home / "data").mkdir(parents=True)
            (home / "data" / "myid").write_text(f"{number}\n")
            self.servers.append(EmbeddedZooKeeper(home, properties={**members, **limits}))

    @property
    def connect(self) -> str:
        return ",".join(server.connect for server in self.servers)

    def start(self) -> None:
        for server in self.servers:
            server.launch()
        for server in self.servers:
            server.wait_ready()

    def stop(self) -> None:
        for server in self.servers:
            server.stop()

    def leader(self) -> int:
        """Blocks until there is one: the index of the server that leads."""
        found: list[int] = []

        def is_led() -> bool:
            found[:] = [index for index, server in enumerate(self.servers) if answers(server.port, mode="leader")]
            return bool(found)

        wait_until(is_led, "the ensemble has a leader", QUORUM_S)
        return found[0]
