"""What every integration test may ask for: a real ZooKeeper, a chroot of its own in it, clients, chance.

With CI=true the ZooKeeper runs in a container, and a missing container engine is a failure. Elsewhere the embedded
server takes its place where there is no engine or no image, and the run says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import pytest

from kafka_zk.zk.session import ZkClient
from tests.support.broker import OurBroker
from tests.support.librdkafka import Librdkafka
from tests.support.zookeeper import EmbeddedZooKeeper, ZooKeeperServer, fresh_chroot
from tests.support.zookeeper_container import ContainerZooKeeper, NoContainerError, connect_to_engine, find_image

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[ZooKeeperServer]:
    """A running ZooKeeper, shared by the whole run: `.connect`, `.stop()`, `.start()`."""
    try:
        engine = connect_to_engine()
        container = ContainerZooKeeper(engine, find_image(engine))
    except NoContainerError as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs ZooKeeper in a container: {reason}")
        _say(pytestconfig, f"ZooKeeper: the embedded server, not a container ({reason})")
        embedded = EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper"))
        embedded.start()
        yield embedded
        embedded.stop()
        return
    try:
        container.start()
        yield container
    finally:
        container.remove()
        engine.close()


def _say(config: pytest.Config, text: str) -> None:
    """Show a line in the middle of the run, past pytest's capturing."""
    with config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{text}")


@pytest.fixture
def zookeeper_connect(zookeeper: ZooKeeperServer, request: pytest.FixtureRequest) -> str:
    """`host:port/chroot` with a chroot that only this test uses."""
    return fresh_chroot(zookeeper, re.sub(r"\W+", "-", request.node.name)[:60].strip("-"))


class ConnectZk(Protocol):
    """Starts one more client."""

    def __call__(self, **settings: int) -> ZkClient: ...


@pytest.fixture
def connect_zk(zookeeper_connect: str) -> Iterator[ConnectZk]:
    """Start `ZkClient`s in this test's chroot; they are closed at its end."""
    clients: list[ZkClient] = []

    def start(**settings: int) -> ZkClient:
        client = ZkClient(
            zookeeper_connect, **{"session_timeout_ms": 10_000, "connection_timeout_ms": 30_000, **settings}
        )
        clients.append(client)
        client.start()
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for all who run jobs and queries in this process: a JVM is slow to start, and slow when it is new."""
    from tests.support.spark import start_spark

    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def kafka(broker: OurBroker) -> Iterator[Librdkafka]:
    """Clients of librdkafka for the module's `broker`; the test fails when one of them was told of an error."""
    clients = Librdkafka(broker.bootstrap)
    yield clients
    clients.close()
    assert clients.errors == []
