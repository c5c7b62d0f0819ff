"""The helper process that closes the ZooKeeper session of a killed broker.

Role        A separate program that imports little of the standard library, to stay small: it reads
            sessions from its standard input until the pipe ends, which the kernel does when the broker is dead, and
            then closes the last session it read. An empty line cancels it.
Invariants  The pipe ends only after the last thread of the broker has run its last instruction: no session is closed
            that is still in use. A broker that stopped cleanly has cancelled its session: nothing is done.
Source      ZooKeeper's ConnectRequest and its closeSession (ZooDefs.OpCode -11).
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable

TLS = "--tls"
CLOSE_SESSION = -11
RETRY_S = 0.2
CONNECT_TIMEOUT_S = 2.0
DEFAULT_PORT = 2181


Secure = Callable[[socket.socket, str], socket.socket]
"""From a connection and the name of its host to the connection that requests go over."""


def in_plaintext(connection: socket.socket, host: str) -> socket.socket:
    return connection


def watch(sessions: Iterable[str], hosts: str, session_timeout_ms: int, secure: Secure = in_plaintext) -> None:
    """Blocks until `sessions` ends, then end the last of them. After its timeout it expires by itself."""
    last = ""
    for line in sessions:
        last = line.strip()
    if not last:
        return
    session_id, password = last.split()
    deadline = time.monotonic() + session_timeout_ms / 1000
    addresses = [parse_address(host) for host in hosts.split(",")]
    while time.monotonic() < deadline:
        for address in addresses:
            if end_session(address, int(session_id), bytes.fromhex(password), secure):
                return
        time.sleep(RETRY_S)


def end_session(address: tuple[str, int], session_id: int, password: bytes, secure: Secure = in_plaintext) -> bool:
    """Blocks. Take the session over and close it, unless it is over already; False when the server does not answer."""
    # Protocol version, last zxid seen, time-out in ms, session, password, not read-only.
    request = struct.pack(">iqiqi", 0, 0, 10_000, session_id, len(password)) + password + b"\0"
    try:
        with socket.create_connection(address, CONNECT_TIMEOUT_S) as plain, secure(plain, address[0]) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            _, granted_timeout_ms = struct.unpack_from(">ii", _frame(connection))
            if granted_timeout_ms > 0:
                connection.sendall(struct.pack(">iii", 8, 1, CLOSE_SESSION))
                _frame(connection)
    except OSError:
        return False
    return True


def _frame(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionError("ZooKeeper closed the connection")
        received += chunk
    return received


def parse_address(text: str) -> tuple[str, int]:
    """`host:port`, `[v6]:port`, or a host alone with ZooKeeper's usual port."""
    text = text.strip()
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or text.endswith("]"):
        return text.strip("[]"), DEFAULT_PORT
    return host.strip("[]"), int(port)


def over_tls(settings: str) -> Secure:
    """From a line of the standard input. It is the broker that wrote it."""
    import pickle

    from kafka_zk.tls.contexts import client_context

    context = client_context(pickle.loads(bytes.fromhex(settings)))
    return lambda connection, host: context.wrap_socket(connection, server_hostname=host)


def main() -> None:
    """`session_end.py hosts session-timeout-ms [--tls path...]`, the sessions on its standard input.

    With --tls, the first line has the settings, and the paths are where modules are looked for.
    """
    # Stopping a service signals all its processes; this one must end with the broker.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    secure: Secure = in_plaintext
    if sys.argv[3:4] == [TLS]:
        sys.path[:] = sys.argv[4:]
        secure = over_tls(sys.stdin.readline().strip())
    watch(sys.stdin, sys.argv[1], int(sys.argv[2]), secure)


if __name__ == "__main__":
    main()
