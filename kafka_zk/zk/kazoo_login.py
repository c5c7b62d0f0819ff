"""kazoo's client, logged in: each connection begins with the exchange of its login.

Role        Acts, in kazoo's connection greenlet or thread. What waits is kazoo's own reading and writing.
Invariants  Nothing is sent, and nobody told of a connection, before its login is accepted.
Source      kazoo 2.11 (pinned), which tells of the connection first, and takes pure-sasl's nonces;
            ZooKeeperSaslClient in ZooKeeper 3.8.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import EXCEPTIONS, AuthFailedError, ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import SASL
from kazoo.protocol.states import KeeperState

from kafka_zk.sasl.client.exchange import Exchange, ExchangeFailed, ExchangeInterrupted
from kafka_zk.zk.identity import SaslIdentity, ZkIdentity


class LoggedInClient(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """A client that does not count as connected before it is logged in."""

    def _session_callback(self, state: str) -> None:
        if state != KeeperState.CONNECTED or self._connection.is_logged_in:
            super()._session_callback(state)


class LoggedInConnection(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """`login` is what each connection begins with; `on_refused` is told why a server did not accept it."""

    login: SaslIdentity | None = None
    on_refused: Callable[[str], None] | None = None
    is_logged_in = True

    def _connect(self, host: Any, hostip: Any, port: Any) -> Any:
        self.is_logged_in = self.login is None
        read_timeout_ms, connect_timeout_ms = super()._connect(host, hostip, port)
        if self.login is not None:
            self._log_in(self.login.exchange(host), connect_timeout_ms / 1000)
            self.is_logged_in = True
            self.client._session_callback(KeeperState.CONNECTED)
        return read_timeout_ms, connect_timeout_ms

    def _log_in(self, exchange: Exchange, timeout_s: float) -> None:
        """Blocks. Raises AuthFailedError when the server does not accept the login, ConnectionDropped when it may work
        the next time."""
        xid = 0
        try:
            token: bytes | None = self._step(exchange.first)
            while token is not None:
                xid += 1
                self._submit(SASL(token), timeout_s, xid)
                header, body, offset = self._read_header(timeout_s)
                if header.err:
                    raise ExchangeFailed(f"ZooKeeper does not accept the login: {EXCEPTIONS[header.err].__name__}")
                token = self._step(exchange.next, bytes(SASL.deserialize(body, offset)[0] or b""))
        except ExchangeInterrupted as interrupted:
            raise ConnectionDropped(str(interrupted)) from interrupted
        except ExchangeFailed as refused:
            self._refused(str(refused))
        if not exchange.is_complete:
            self._refused("ZooKeeper ended the login early")

    def _step(self, step: Callable[..., bytes | None], *challenge: bytes) -> bytes | None:
        """Blocks. One step of the exchange, which may wait for a KDC."""
        return step(*challenge)

    def _refused(self, why: str) -> None:
        if self.on_refused is not None:
            self.on_refused(why)
        raise AuthFailedError(why)


def with_connection(
    client: KazooClient,
    kind: type[LoggedInConnection],
    login: SaslIdentity | None,
    on_refused: Callable[[str], None] | None = None,
) -> KazooClient:
    """`client`, which is not connected yet, with a connection of another kind."""
    plain = client._connection
    made = kind(client, plain.retry_sleeper, plain.logger, plain.sasl_options)
    made.login, made.on_refused = login, on_refused
    client._connection = made
    return client


class _TlsHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__()
        self._tls = tls

    def create_connection(
        self, address: Any, *, hostname: str | None = None, timeout: float | None = None, **_: Any
    ) -> Any:
        plain = super().create_connection(address, timeout=timeout)
        try:
            return self._tls.wrap_socket(plain, server_hostname=hostname or address[0])
        except BaseException:
            plain.close()
            raise


def client_of_threads(connect: str, session_timeout_s: float, identity: ZkIdentity) -> KazooClient:
    """A client without the gevent loop, for a program that waits for its user. Not connected yet."""
    handler = SequentialThreadingHandler() if identity.tls is None else _TlsHandler(identity.tls)
    client = LoggedInClient(connect, timeout=session_timeout_s, handler=handler)
    return with_connection(client, LoggedInConnection, identity.login)
