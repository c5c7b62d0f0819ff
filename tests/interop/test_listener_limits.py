"""Limits that one listener has of its own: what Apache Kafka does with them, we do."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import ChildProcess, free_port
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

LISTENERS = ("INTERNAL", "FULL", "FAST", "IDLE", "BYTES", "ADDRESS", "CASE")
pytestmark = pytest.mark.alone

OWN = {
    "listener.name.full.max.connections": "2",
    "listener.name.fast.max.connection.creation.rate": "1",
    "listener.name.idle.connections.max.idle.ms": "500",
    "listener.name.bytes.socket.request.max.bytes": "1000",
    "listener.name.address.max.connections.per.ip": "1",
    "listener.name.CASE.max.connections": "1",
    "listener.name.nobody.max.connections": "not a number",
    "listener.name.full.unknown": "1",
    "quota.window.num": "3",
}
PATIENCE_S = 10
SOON_S = 0.7
KINDS = ("apache", "ours")


def settings(ports: dict[str, int]) -> dict[str, str]:
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in ports),
        "inter.broker.listener.name": "INTERNAL",
        "num.network.threads": "1",
        **OWN,
    }


def broker_of(kind: str, folder: Path, zookeeper: ZooKeeperServer, ports: dict[str, int], **overrides: str):  # type: ignore[no-untyped-def]
    made = {"apache": ApacheBroker, "ours": OurBroker}[kind](
        folder, fresh_chroot(zookeeper, f"limits-{kind}"), overrides=settings(ports) | overrides
    )
    made.port = ports["INTERNAL"]
    return made


@pytest.fixture(scope="module", params=KINDS)
def ports(request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory) -> Iterator[dict[str, int]]:  # type: ignore[no-untyped-def]
    """The ports of a running broker by listener."""
    found = {name: free_port() for name in LISTENERS}
    running = broker_of(request.param, tmp_path_factory.mktemp(f"limits-{request.param}"), zookeeper, found)
    running.start()
    yield found
    running.stop()


class Client:
    """One connection; `ask` sends an ApiVersions."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def ask(self, client_id_size: int = 0) -> None:
        frame = struct.pack(">hhih", 18, 0, 1, client_id_size) + b"c" * client_id_size
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def is_answered(self, timeout_s: float = PATIENCE_S) -> bool:
        self.socket.settimeout(timeout_s)
        try:
            (size,) = struct.unpack(">i", self.socket.recv(4))
        except TimeoutError:
            return False
        while size:
            size -= len(self.socket.recv(size))
        return True

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def crowd() -> Iterator[list[Client]]:
    clients: list[Client] = []
    yield clients
    for client in clients:
        client.close()


def connect(crowd: list[Client], port: int, count: int) -> list[Client]:
    """`count` more connections, each with a request on its way."""
    fresh = [Client(port) for _ in range(count)]
    crowd += fresh
    for client in fresh:
        client.ask()
    return fresh


def test_a_full_listener_lets_the_next_wait_and_others_go_on(ports: dict[str, int], crowd: list[Client]) -> None:
    first, second, third = connect(crowd, ports["FULL"], 3)
    assert first.is_answered()
    assert second.is_answered()
    assert all(client.is_answered() for client in connect(crowd, ports["INTERNAL"], 5))
    assert not third.is_answered(SOON_S)
    first.close()
    assert third.is_answered()


@pytest.mark.alone
def test_a_listener_lets_in_as_many_a_second_as_it_may(ports: dict[str, int], crowd: list[Client]) -> None:
    began_s = time.monotonic()
    waited_s = []
    for client in connect(crowd, ports["FAST"], 5):
        assert client.is_answered()
        waited_s.append(time.monotonic() - began_s)
    # Two whole windows hold two connections; every later one waits until the average allows it.
    assert [round(each) for each in waited_s] == [0, 0, 1, 2, 3]


def test_a_listener_has_no_time_limit_of_its_own(ports: dict[str, int], crowd: list[Client]) -> None:
    (client,) = connect(crowd, ports["IDLE"], 1)
    assert client.is_answered()
    assert not client.is_answered(2), "a closed connection would end the wait with an error"
    client.ask()
    assert client.is_answered()


def test_a_listener_has_no_request_size_and_no_share_of_addresses_of_its_own(
    ports: dict[str, int], crowd: list[Client]
) -> None:
    (client,) = connect(crowd, ports["BYTES"], 1)
    assert client.is_answered()
    client.ask(client_id_size=5_000)
    assert client.is_answered()
    assert all(client.is_answered() for client in connect(crowd, ports["ADDRESS"], 3))


def test_a_key_that_names_the_listener_in_upper_case_says_nothing(ports: dict[str, int], crowd: list[Client]) -> None:
    assert all(client.is_answered() for client in connect(crowd, ports["CASE"], 3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("max.connections", "x", "Invalid value x for configuration max.connections: Not a number of type INT"),
        (
            "max.connection.creation.rate",
            "-1",
            "Invalid value -1 for configuration max.connection.creation.rate: Value must be at least 0",
        ),
    ],
)
def test_a_listeners_wrong_value_ends_the_start(
    kind: str, key: str, value: str, complaint: str, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    found = {name: free_port() for name in LISTENERS}
    broker = broker_of(kind, tmp_path, zookeeper, found, **{f"listener.name.full.{key}": value})
    process: ChildProcess = broker.process
    with pytest.raises(AssertionError, match="the process ended"):
        broker.start()
    assert process.wait() == 1
    process.says(complaint)
