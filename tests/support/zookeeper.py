"""A real Apache ZooKeeper for tests, bench and demos: embedded (Java on this machine) or in a container.

`EmbeddedZooKeeper` and `ContainerZooKeeper` (tests/support/zookeeper_container.py) look the same from outside. The port
stays the same over `stop` and `start`, and so do the data: clients of before find their session or its expiry.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import gevent
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, SessionExpiredError
from kazoo.retry import KazooRetry

from kafka_zk.zk.embedded import server_command
from kafka_zk.zk.session import ZkClient, close_session
from tests.support.processes import POLL_S, ChildProcess, free_port

# A small tick lets tests use sessions of a second; the upper bound lets them keep Kafka's default of 18 s.
TICK_MS = 500
MAX_SESSION_TIMEOUT_MS = 60_000
PATIENCE_S = 60
START_S = 180
FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class ZooKeeperServer(Protocol):
    """One running ZooKeeper."""

    @property
    def connect(self) -> str:
        """`host:port` as in zookeeper.connect."""

    def start(self) -> None:
        """Start it, again after `stop` too; returns when it answers."""

    def stop(self) -> None:
        """Stop it; its data stay."""


class EmbeddedZooKeeper:
    """Apache ZooKeeper as a child process, its data and its log in `folder`.

    `jaas` is the text of a JAAS file with a section Server; `properties` are added to the server's own, and
    `jvm_options` to its command line. `home`: a folder whose folder libs has the jars of another release. It listens on
    `host`; `wrapped` makes the command line of it that runs it elsewhere.
    """

    def __init__(
        self,
        folder: Path,
        *,
        jaas: str | None = None,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = (),
        heap: str = "-Xmx128m",
        home: Path | None = None,
        host: str = "127.0.0.1",
        wrapped: Callable[[Sequence[str]], Sequence[str]] = list,
    ) -> None:
        self._host = host
        self._folder = folder
        self.port = free_port()
        self._jaas = jaas
        self._properties = properties or {}
        options = () if jaas is None else (f"-Djava.security.auth.login.config={folder}/jaas.conf",)
        command = server_command(
            str(folder / "zookeeper.properties"),
            environ={
                **os.environ,
                "KAFKA_HEAP_OPTS": heap,
                "KAFKA_OPTS": "",
                **({} if home is None else {"ZOOKEEPER_HOME": str(home)}),
            },
            jvm_options=(*FAST_START, *options, *jvm_options),
        )
        self._process = ChildProcess(wrapped(command), folder / "zookeeper.log")

    @property
    def connect(self) -> str:
        return f"{self._host}:{self.port}"

    @property
    def log(self) -> str:
        """What it has said."""
        return self._process.output()

    def start(self) -> None:
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start it, and wait for nothing: a server of an ensemble answers only with a quorum."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "zookeeper.properties").write_text(
            f"dataDir={self._folder}/data\nclientPort={self.port}\nclientPortAddress={self._host}\ntickTime={TICK_MS}\n"
            f"maxSessionTimeout={MAX_SESSION_TIMEOUT_MS}\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "4lw.commands.whitelist=*\n" + "".join(f"{key}={value}\n" for key, value in self._properties.items())
        )
        if self._jaas is not None:
            (self._folder / "jaas.conf").write_text(self._jaas)
        self._process.start()

    def wait_ready(self) -> None:
        """Until it answers, when it was launched."""
        self._process.wait_ready(lambda: answers(self.port, self._host), "ZooKeeper answers", START_S)

    def stop(self) -> None:
        self._process.stop()


def answers(port: int, host: str = "127.0.0.1", mode: str = "") -> bool:
    """Whether the server takes requests (as `mode`: leader or follower); its port is open a little earlier."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(b"srvr")
            return f"Mode: {mode}".encode() in connection.makefile("rb").read()
    except OSError:
        return False


_chroots = itertools.count(1)


def fresh_chroot(server: ZooKeeperServer, name: str = "test") -> str:
    """A connect string with a chroot that nobody has used; whoever connects creates it."""
    return f"{server.connect}/{name}-{next(_chroots)}"


class _PatientClient(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """Reads again, over its next connection or in its next session, what was lost with the last one."""

    def get(self, path: str, watch: Any = None) -> Any:
        return self._answer(self.get_async, path, watch)

    def exists(self, path: str, watch: Any = None) -> Any:
        return self._answer(self.exists_async, path, watch)

    def get_children(self, path: str, watch: Any = None, include_data: bool = False) -> Any:
        return self._answer(self.get_children_async, path, watch, include_data)

    def _answer(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask(*arguments).get(timeout=PATIENCE_S)
            except (ConnectionLoss, SessionExpiredError) as error:
                if isinstance(error, ConnectionClosedError) or time.monotonic() > until_s:
                    raise
                time.sleep(POLL_S)


def plain_client(connect: str) -> KazooClient:
    """A started kazoo client: another program's view.

    It has threads of its own: tests hold the gevent loop for longer than any session lasts, with waits, with calls of C
    libraries and with starts of brokers.
    """
    # Without an upper bound kazoo doubles its pauses for as long as ZooKeeper is away.
    retry = KazooRetry(max_tries=-1, max_delay=1)
    client = _PatientClient(connect, timeout=MAX_SESSION_TIMEOUT_MS / 1000, connection_retry=retry)
    client.start(timeout=PATIENCE_S)
    return client


def session_password(session_id: int) -> bytes:
    """What ZooKeeper gave the owner of a session as a proof of ownership.

    The server does not store it. It makes it of the session's id when it is shown: sixteen bytes of a java.util.Random.
    Source: ZooKeeperServer.generatePasswd.
    """
    multiplier, mask = 0x5DEECE66D, (1 << 48) - 1
    state = (session_id ^ 0xB3415C00 ^ multiplier) & mask
    words = []
    for _ in range(4):
        state = (state * multiplier + 0xB) & mask
        words.append(state >> 16)
    return struct.pack("<4I", *words)


def expire_session(server: ZooKeeperServer, session_id: int, password: bytes) -> None:
    """End a session from outside: ZooKeeper drops its ephemeral nodes, its owner learns that it has expired."""
    close_session(server.connect, session_id, password)


def eventually(
    condition: Callable[[], object], timeout_s: float = 30, told: Callable[[], str] = lambda: "still not so"
) -> None:
    """Wait on the gevent loop until `condition` holds; when it does not, fail with what is `told`."""
    timeout = gevent.Timeout(timeout_s)
    try:
        with timeout:
            while not condition():
                gevent.sleep(POLL_S)
    except gevent.Timeout as raised:
        if raised is not timeout:
            raise
        raise AssertionError(f"after {timeout_s} s: {told()}") from None


def expire(server: ZooKeeperServer, client: ZkClient) -> None:
    """Let a client's session expire, and wait until the client knows."""
    generation = client.generation
    expire_session(server, client.session_id, client.session_password)
    eventually(lambda: client.generation == generation + 1)
