"""Runs kazoo on the gevent loop, and closes a session from outside.

Role        Acts. The only place that chooses kazoo's handler and how it retries.
Source      kafka.zookeeper.ZooKeeperClient (it reconnects for ever); kazoo 2.11 handlers.gevent.
"""

from __future__ import annotations

import select
import ssl
from collections.abc import Sequence
from typing import Any

import gevent
from gevent import socket as cooperative
from gevent import ssl as gevent_ssl
from kazoo.client import KazooClient
from kazoo.handlers.gevent import SequentialGeventHandler
from kazoo.hosts import collect_hosts
from kazoo.retry import KazooRetry

from kafka_zk.zk.errors import ConnectionTimeout, InvalidConnectString
from kafka_zk.zk.identity import ANONYMOUS, ZkIdentity
from kafka_zk.zk.kazoo_pipeline import pipeline

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

    def create_connection(self, *args: Any, timeout: float | None = None, **options: Any) -> Any:
        """Blocks. kazoo lets one server use the whole session timeout to accept a connection; Java's client a share.

        kazoo would shake hands with the standard library's TLS, in the loop: ours lets other greenlets run.
        """
        share = None if timeout is None else timeout / self._server_count
        if self._tls is None:
            return super().create_connection(*args, timeout=share, **options)
        with gevent.Timeout(share, TimeoutError("the TLS handshake timed out")):
            return tls_connection(options["address"], options["hostname"], self._tls, share)

    def select(
        self, readers: Sequence[Any], writers: Sequence[Any], errors: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        ready = dict(_ready_now(readers, writers))
        if ready:
            return (
                [each for each in readers if ready.get(each.fileno(), 0) & ~select.POLLOUT],
                [each for each in writers if ready.get(each.fileno(), 0) & ~select.POLLIN],
                [],
            )
        waited: tuple[list[Any], list[Any], list[Any]] = super().select(readers, writers, errors, timeout)
        return waited


def _ready_now(readers: Sequence[Any], writers: Sequence[Any]) -> list[tuple[int, int]]:
    # What TLS has decrypted already makes no descriptor readable.
    decrypted = [(each.fileno(), select.POLLIN) for each in readers if getattr(each, "pending", _none)()]
    if decrypted:
        return decrypted
    poller = select.poll()
    for each in readers:
        poller.register(each, select.POLLIN)
    for each in writers:
        poller.register(each, select.POLLOUT)
    return poller.poll(0)


def _none() -> int:
    return 0


def tls_connection(
    address: tuple[str, int], server_name: str, context: ssl.SSLContext, timeout_s: float | None
) -> gevent_ssl.SSLSocket:
    """Blocks. A TCP connection with the handshake done. Raises OSError; ssl.SSLError is one."""
    plain = cooperative.create_connection(address, timeout_s)
    try:
        plain.setsockopt(cooperative.IPPROTO_TCP, cooperative.TCP_NODELAY, 1)
        return gevent_ssl.SSLSocket(plain, server_hostname=server_name, _context=context)
    except BaseException:
        plain.close()
        raise


def kazoo_client(
    connect: str,
    session_timeout_ms: int,
    session: tuple[int, bytes] | None = None,
    *,
    identity: ZkIdentity = ANONYMOUS,
) -> KazooClient:
    """A client that is not connected yet. Raises InvalidConnectString."""
    retry = KazooRetry(max_tries=-1, delay=RECONNECT_DELAY_S, max_delay=MAX_RECONNECT_DELAY_S, sleep_func=gevent.sleep)
    try:
        servers, _ = collect_hosts(connect)
        return pipeline(
            KazooClient(
                connect,
                timeout=session_timeout_ms / 1000,
                client_id=session,
                handler=LoopHandler(len(servers), identity.tls),
                connection_retry=retry,
                sasl_options=None if identity.login is None else identity.login.kazoo_options(),
                use_ssl=identity.tls is not None,
            )
        )
    except ValueError as error:
        detail = f"Invalid value {connect} for configuration zookeeper.connect: {error}"
        raise InvalidConnectString(detail=detail) from error


def close_session(
    connect: str, session_id: int, password: bytes, *, identity: ZkIdentity = ANONYMOUS, timeout_ms: int = 6_000
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
