"""Runs kazoo on the gevent loop, and closes a session from outside.

Role        Acts. The only place that chooses kazoo's handler and how it retries.
Source      kafka.zookeeper.ZooKeeperClient (it reconnects for ever); kazoo 2.11 handlers.gevent.
"""

from __future__ import annotations

import select
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent
from kazoo.client import KazooClient
from kazoo.handlers.gevent import SequentialGeventHandler
from kazoo.hosts import collect_hosts
from kazoo.retry import KazooRetry

from kafka_zk.zk.errors import ConnectionTimeout, InvalidConnectString
from kafka_zk.zk.identity import ANONYMOUS, ZkIdentity
from kafka_zk.zk.kazoo_login import LoggedInClient
from kafka_zk.zk.kazoo_pipeline import pipeline
from kafka_zk.zk.tls_socket import TlsSocket
from kafka_zk.zk.tls_socket import connect as connect_with_tls

RECONNECT_DELAY_S = 0.1
MAX_RECONNECT_DELAY_S = 1.0


class LoopHandler(SequentialGeventHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's gevent handler for an ensemble of `server_count`, faster where nothing has to wait.

    kazoo asks up to three times a response whether the socket is ready, and builds a selector each time: 60 of the 140
    microseconds a pipelined read took. Mostly the answer is yes at once. It cannot starve the
    loop that way: only other greenlets send requests, and at most `max_in_flight` responses are under way.
    """

    def __init__(self, server_count: int, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._server_count = server_count
        self._tls = tls

    def create_connection(
        self, address: Any, *, hostname: str | None = None, timeout: float | None = None, **options: Any
    ) -> Any:
        """kazoo lets one server use the whole session timeout to accept a connection; Java's client a share of it."""
        share = None if timeout is None else timeout / self._server_count
        if self._tls is not None:
            return connect_with_tls(address, hostname or address[0], self._tls, share)
        return super().create_connection(address, hostname=hostname, timeout=share, **options)

    def select(
        self, readers: Sequence[Any], writers: Sequence[Any], errors: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        if any(isinstance(each, TlsSocket) for each in readers):
            return self._select_tls(readers, timeout)
        ready = dict(_ready_now(readers, writers))
        if ready:
            return (
                [each for each in readers if ready.get(each.fileno(), 0) & ~select.POLLOUT],
                [each for each in writers if ready.get(each.fileno(), 0) & ~select.POLLIN],
                [],
            )
        waited: tuple[list[Any], list[Any], list[Any]] = super().select(readers, writers, errors, timeout)
        return waited

    def _select_tls(self, readers: Sequence[Any], timeout: float | None) -> tuple[list[Any], list[Any], list[Any]]:
        """The readers that have something to say beyond TLS. kazoo never waits for readers and writers at once."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            buffered = [each for each in readers if isinstance(each, TlsSocket) and each.pending()]
            left = 0 if buffered else None if end is None else max(0.0, end - time.monotonic())
            there = dict(_ready_now(readers, ()))
            if not there and left != 0:
                there = {each.fileno(): 0 for each in super().select(readers, [], [], left)[0]}
            ready = [each for each in readers if each in buffered or (each.fileno() in there and _says(each))]
            if ready or (end is not None and time.monotonic() >= end):
                return ready, [], []


def _says(reader: Any) -> bool:
    """Whether what has come to a descriptor that is ready is for kazoo. A broken connection is: reading it tells."""
    if not isinstance(reader, TlsSocket):
        return True
    try:
        return reader.take_in()
    except OSError:
        return True


def _ready_now(readers: Sequence[Any], writers: Sequence[Any]) -> list[tuple[int, int]]:
    poller = select.poll()
    for each in readers:
        poller.register(each, select.POLLIN)
    for each in writers:
        poller.register(each, select.POLLOUT)
    return poller.poll(0)


def kazoo_client(
    hosts: str,
    session_timeout_ms: int,
    session: tuple[int, bytes] | None = None,
    *,
    identity: ZkIdentity = ANONYMOUS,
    on_refused: Callable[[str], None] | None = None,
) -> KazooClient:
    """A client that is not connected yet; `on_refused` is told why a server did not accept the login, and must not
    block. Raises InvalidConnectString.
    """
    retry = KazooRetry(max_tries=-1, delay=RECONNECT_DELAY_S, max_delay=MAX_RECONNECT_DELAY_S, sleep_func=gevent.sleep)
    try:
        servers, _ = collect_hosts(hosts)
        client = LoggedInClient(
            hosts,
            timeout=session_timeout_ms / 1000,
            client_id=session,
            handler=LoopHandler(len(servers), identity.tls),
            connection_retry=retry,
            use_ssl=identity.tls is not None,
        )
    except ValueError as error:
        detail = f"Invalid value {hosts} for configuration zookeeper.connect: {error}"
        raise InvalidConnectString(detail=detail) from error
    return pipeline(client, identity.login, on_refused)


def close_session(
    connect: str, session_id: int, password: bytes, *, timeout_ms: int = 6_000, identity: ZkIdentity = ANONYMOUS
) -> None:
    """Blocks. Close a session from outside, as a restarted broker does with that of its killed predecessor.

    Its ephemeral znodes go at once. A session that is over already is no error. Raises ConnectionTimeout.
    """
    hosts = connect.partition("/")[0]
    kazoo = kazoo_client(hosts, timeout_ms, (session_id, password), identity=identity)
    connected = kazoo.start_async().wait(timeout_ms / 1000)
    kazoo.stop()
    kazoo.close()
    if not connected:
        raise ConnectionTimeout(detail="Timed out waiting for connection while in state: CONNECTING")
