"""The folder of a machine's brokers, and who works in it.

    common.properties     the first broker's properties, as the last kafka-cluster-up.sh was told
    broker-ID/            server.properties; port, while it serves; logs/ with kafkaServer.out, server.log ...; data/
    zookeeper/            zookeeper.properties, logs/ and data/ of the ZooKeeper of --with-zookeeper

Role        Acts on files. Properties may hold passwords: only their owner can read them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka_zk.config.properties import format_properties, read_file
from kafka_zk.tools.common.failures import Refused
from kafka_zk.tools.common.local_cluster.plan import broker_id_of, folder_of

SERVER_PROPERTIES = "server.properties"
ZOOKEEPER_PROPERTIES = "zookeeper.properties"


class ClusterFolder:
    """`path` is without links, so that a broker is known by the file it was started with."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def common_properties(self) -> Path:
        return self.path / "common.properties"

    @property
    def zookeeper_properties(self) -> Path:
        return self.path / "zookeeper" / ZOOKEEPER_PROPERTIES

    def properties_of(self, broker_id: int) -> Path:
        return folder_of(self.path, broker_id) / SERVER_PROPERTIES

    def broker_ids(self) -> list[int]:
        """The brokers that were ever started in it, in order."""
        found = (broker_id_of(each.parent) for each in self.path.glob(f"broker-*/{SERVER_PROPERTIES}"))
        return sorted(each for each in found if each is not None)

    def make(self) -> None:
        """Raises OSError, and Refused for a folder that holds something else."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.common_properties.exists() and any(self.path.iterdir()):
            raise Refused(f"{self.path} holds something else: name a new or an empty folder with --folder")

    def check(self) -> None:
        """Raises Refused where no broker was ever started."""
        if not self.common_properties.exists():
            raise Refused(f"there are no brokers in {self.path}: name their folder with --folder")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Two runs at once would spoil each other. Raises Refused for the second."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Refused(f"another run is working in {self.path}") from None
        try:
            yield
        finally:
            os.close(descriptor)


def read_if_there(path: Path) -> dict[str, str]:
    """The entries of a properties file; none if there is no such file. Raises OSError, ConfigException."""
    try:
        return read_file(path)
    except FileNotFoundError:
        return {}


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Replace the file as a whole. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(format_properties(properties))
    unfinished.replace(path)
