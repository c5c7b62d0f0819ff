"""Listeners of a running broker come, go, and are advertised elsewhere; their limits change: as Apache does, we do.

What is refused is compared in tests/interop/replay/tried_values.py.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

import pytest

from kafka_zk.protocol.messages import incremental_alter_configs as incremental
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import accepts_connections, free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot, plain_client

LISTENERS, ADVERTISED, PROTOCOLS = "listeners", "advertised.listeners", "listener.security.protocol.map"
BOTH = "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"
KINDS: dict[str, Callable[..., ApacheBroker | OurBroker]] = {"apache": ApacheBroker, "ours": OurBroker}


def ask(client: socket.socket) -> None:
    """Send an ApiVersions and take in its answer. Raises OSError."""
    client.sendall(struct.pack(">ihhih", 10, 18, 0, 0, 0))
    with client.makefile("rb") as stream:
        size = stream.read(4)
        if len(size) < 4:
            raise ConnectionError("closed without an answer")
        expected = struct.unpack(">i", size)[0]
        if len(stream.read(expected)) < expected:
            raise ConnectionError("closed within an answer")


class Scene:
    """A running broker with the listener OWN, and two ports for others. Texts name ports in braces."""

    def __init__(self, broker: ApacheBroker | OurBroker, connect: str) -> None:
        self.ports = {"own": broker.port, "first": free_port(), "second": free_port()}
        self._broker = broker
        self._zk = plain_client(connect)

    def close(self) -> None:
        self._zk.stop()
        self._zk.close()

    def alter(self, changes: Mapping[str, str | None]) -> None:
        """Give the broker's keys values, or take them away with None."""
        configs = [
            incremental.AlterableConfig(
                name=name, config_operation=int(text is None), value=None if text is None else self._with_ports(text)
            )
            for name, text in changes.items()
        ]
        resource = incremental.AlterConfigsResource(resource_type=4, resource_name="0", configs=configs)
        request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
        with RawClient(self._broker.bootstrap) as client:
            result = client.send(incremental.INCREMENTAL_ALTER_CONFIGS_REQUEST, request, 1).responses[0]
        assert result.error_code == 0, result

    def registered(self) -> tuple[list[str], dict[str, str], int]:
        """Endpoints, their protocols, and how often the registration was rewritten."""
        data, stat = self._zk.get("/brokers/ids/0")
        found = json.loads(data)
        return found["endpoints"], found["listener_security_protocol_map"], stat.version

    def open_ports(self) -> set[str]:
        return {name for name, port in self.ports.items() if accepts_connections(port)}

    def told_at(self, port: str) -> list[str]:
        """Where a client that asks at a port is sent."""
        with RawClient(f"127.0.0.1:{self.ports[port]}") as client:
            brokers = client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 12).brokers
        return [f"{broker.host}:{broker.port}" for broker in brokers]

    def connect(self, port: str, timeout_s: float = 10) -> socket.socket:
        """A connection that was accepted and answered: a broker may close what only waits."""
        client = socket.create_connection(("127.0.0.1", self.ports[port]), timeout_s)
        try:
            ask(client)
        except OSError:
            client.close()
            raise
        return client

    def wait_for(self, endpoints: str, *, version: int, open_ports: set[str], told: Mapping[str, str]) -> None:
        """`told`: where clients are sent that ask at a port."""
        wanted = [self._with_ports(each) for each in endpoints.split(",")]
        protocols = {each.partition(":")[0]: "PLAINTEXT" for each in wanted}
        wait_until(lambda: self.registered() == (wanted, protocols, version), f"{wanted} are in ZooKeeper")
        wait_until(lambda: self.open_ports() == open_ports, f"{open_ports} are open")
        for port, address in told.items():
            wait_until(
                lambda port=port, address=address: self.told_at(port) == [self._with_ports(address)],  # type: ignore[misc]
                f"who asks at {port} is sent to {address}",
                20,
            )

    def reset(self) -> None:
        """To what its file says, also after a try that ended in between."""
        self.alter({LISTENERS: None, ADVERTISED: None, PROTOCOLS: None})
        wait_until(lambda: self.registered()[0] == [self._with_ports(OWN)], "only its own listener is in ZooKeeper")
        wait_until(lambda: self.open_ports() == {"own"}, "only its own port is open")

    def _with_ports(self, text: str) -> str:
        return text.format(**self.ports)


@pytest.fixture(scope="module", params=KINDS)
def scene(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    connect = fresh_chroot(zookeeper, "changed-listeners")
    broker = KINDS[request.param](tmp_path_factory.mktemp(f"listeners-{request.param}"), connect).start()
    try:
        made = Scene(broker, connect)
        yield made
        made.close()
    finally:
        broker.kill()


OWN, FIRST = "PLAINTEXT://127.0.0.1:{own}", "OTHER://127.0.0.1:{first}"
TO_OWN, TO_FIRST = "127.0.0.1:{own}", "127.0.0.1:{first}"


def test_listeners_come_and_go(scene: Scene) -> None:
    scene.reset()
    *_, version = scene.registered()
    both = {"own", "first"}

    # One more, whose clients are sent back to it.
    scene.alter({LISTENERS: f"{OWN},{FIRST}", PROTOCOLS: BOTH})
    version += 1
    scene.wait_for(f"{OWN},{FIRST}", version=version, open_ports=both, told={"own": TO_OWN, "first": TO_FIRST})

    # Advertised under another name; then not at all: it serves on.
    elsewhere = "OTHER://localhost:{first}"
    scene.alter({ADVERTISED: f"{OWN},{elsewhere}"})
    version += 1
    told = {"own": TO_OWN, "first": "localhost:{first}"}
    scene.wait_for(f"{OWN},{elsewhere}", version=version, open_ports=both, told=told)
    scene.alter({ADVERTISED: OWN})
    version += 1
    scene.wait_for(OWN, version=version, open_ports=both, told={"own": TO_OWN})
    scene.alter({ADVERTISED: None})
    version += 1
    scene.wait_for(f"{OWN},{FIRST}", version=version, open_ports=both, told={"first": TO_FIRST})

    # A listener that keeps its name keeps its address, whatever it is said to be.
    second = "OTHER://127.0.0.1:{second}"
    scene.alter({LISTENERS: f"{OWN},{second}"})
    version += 1
    told = {"own": TO_OWN, "first": "127.0.0.1:{second}"}
    scene.wait_for(f"{OWN},{second}", version=version, open_ports=both, told=told)
    scene.alter({LISTENERS: f"{OWN},{FIRST}"})
    version += 1
    scene.wait_for(f"{OWN},{FIRST}", version=version, open_ports=both, told={"first": TO_FIRST})

    # One goes with its connections; those of the others stay.
    with closing(scene.connect("first")) as on_first, closing(scene.connect("own")) as on_own:
        scene.alter({LISTENERS: OWN})
        version += 1
        scene.wait_for(OWN, version=version, open_ports={"own"}, told={"own": TO_OWN})
        assert on_first.recv(1) == b""
        ask(on_own)

    # Two come and one goes in one step, in another order.
    third = "THIRD://127.0.0.1:{second}"
    scene.alter({LISTENERS: f"{third},{OWN}", PROTOCOLS: f"{BOTH},THIRD:PLAINTEXT"})
    version += 1
    told = {"own": TO_OWN, "second": "127.0.0.1:{second}"}
    scene.wait_for(f"{third},{OWN}", version=version, open_ports={"own", "second"}, told=told)

    # Without values of its own the broker is what its file says.
    scene.alter({LISTENERS: None, PROTOCOLS: None})
    version += 1
    scene.wait_for(OWN, version=version, open_ports={"own"}, told={"own": TO_OWN})


def seconds_of(times: int, do: Callable[[], None]) -> float:
    """How long `do` takes so many times; for ever if it fails."""
    began_s = time.monotonic()
    try:
        for _ in range(times):
            do()
    except OSError:
        return math.inf
    return time.monotonic() - began_s


def test_limits_of_a_listener(scene: Scene) -> None:
    scene.reset()
    scene.alter({LISTENERS: f"{OWN},{FIRST}", PROTOCOLS: BOTH})
    wait_until(lambda: "first" in scene.open_ports(), "the second listener is open")

    def is_served() -> bool:
        try:
            scene.connect("first", timeout_s=0.3).close()
        except OSError:
            return False
        return True

    # A limit on how many there are: the next one waits for its turn.
    limit = "listener.name.other.max.connections"
    with closing(scene.connect("first")):
        scene.alter({limit: "1"})
        wait_until(lambda: not is_served(), "there is no room for a second connection")
        scene.alter({limit: None})
        wait_until(is_served, "there is room again")

    # A limit on how many come.
    limit = "listener.name.other.max.connection.creation.rate"
    scene.alter({limit: "1"})
    wait_until(lambda: not is_served(), "they come too fast")
    scene.alter({limit: None})
    # One a second would take twenty.
    wait_until(lambda: seconds_of(20, lambda: scene.connect("first").close()) < 10, "nobody waits")

    scene.alter({LISTENERS: None, PROTOCOLS: None})
    wait_until(lambda: scene.open_ports() == {"own"}, "the second listener is closed")
