"""What every integration test may ask for: a real ZooKeeper, and a chroot of its own in it.

With CI=true the ZooKeeper runs in a container, and a missing container engine is a failure. Elsewhere an engine is used
where one runs; otherwise the embedded server takes its place, and the run says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.zookeeper import EmbeddedZooKeeper, ZooKeeperServer, fresh_chroot


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A running ZooKeeper, shared by the whole run: `.connect`, `.stop()`, `.start()`."""
    server: ZooKeeperServer = EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def zookeeper_connect(zookeeper: ZooKeeperServer, request: pytest.FixtureRequest) -> str:
    """`host:port/chroot` with a chroot that only this test uses."""
    return fresh_chroot(zookeeper, re.sub(r"\W+", "-", request.node.name)[:60].strip("-"))
