"""A socket server under TLS: of what was decrypted nothing is forgotten, and nobody is read from for long."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import gevent
import pytest
from gevent import socket as cooperative
from gevent import ssl as cooperative_ssl

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.frames import BUFFER_BYTES
from kafka_zk.network.listener_tls import ListenerTls
from kafka_zk.network.read_watch import LOOK_S, ReadWatch
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.network.tls_stream import RECEIVED_BYTES, RECEIVED_RECORDS, Step, TlsStream
from kafka_zk.tls.contexts import client_context
from kafka_zk.tls.errors import TlsError
from kafka_zk.tls.settings import TlsSettings
from tests.integration.network.harness import TIMEOUT_S, Client, Script, connect, framed
from tests.support.identities import authority, pem_settings

CA = authority()
OWN = TlsSettings.of(pem_settings(CA.issue("broker"), CA))
RECORD_BYTES = 10_000
"""No buffer of the server holds a whole number of these."""

ARRIVES_S = 0.05
"""Until what was sent over loopback is there, also on a busy machine; the server does not run meanwhile."""


class Listeners:
    """The TLS of every listener, or `failure`."""

    def __init__(self) -> None:
        self.security = ListenerTls(OWN, None)
        self.failure: Exception | None = None

    def of(self, listener_name: str) -> ListenerTls:
        if self.failure is not None:
            raise self.failure
        return self.security


@contextmanager
def serving(handler: Any, listeners: Listeners | None = None, **settings: Any) -> Iterator[SocketServer]:
    points = (EndPoint("SSL", "SSL", "127.0.0.1", 0), EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0))
    server = SocketServer(SocketServerSettings(endpoints=points, **settings), handler, tls=listeners or Listeners())
    server.start()
    try:
        server.enable_processing()
        yield server
    finally:
        server.stop()


class TlsClient(Client):
    def __init__(self, server: SocketServer, **options: Any) -> None:
        super().__init__(server.bound_port("SSL"), **options)
        context = cooperative_ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)

    def send_records(self, data: bytes) -> None:
        for begin in range(0, len(data), RECORD_BYTES):
            self.socket.sendall(data[begin : begin + RECORD_BYTES])

    def say_end(self) -> None:
        """Nothing follows; the answers are still read."""
        self.socket.settimeout(0)
        with suppress(ssl.SSLError):
            self.socket._sslobj.shutdown()
        self.socket.settimeout(TIMEOUT_S)

    def send_garbage(self) -> None:
        with socket.socket(fileno=os.dup(self.socket.fileno())) as plain:
            plain.send(b"\x17\x03\x03\x00\x20" + bytes(32))

    def reset(self) -> None:
        self.socket.setsockopt(cooperative.SOL_SOCKET, cooperative.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def client_hello() -> bytes:
    out = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    return out.read()


def wait_until(claim: Callable[[], object]) -> None:
    with gevent.Timeout(TIMEOUT_S):
        while not claim():
            gevent.sleep(0.001)


@contextmanager
def without_memory(server: SocketServer, script: Script) -> Iterator[None]:
    """Inside, a request that hangs has all memory of requests."""
    busy = connect(server)
    handled = len(script.handled)
    busy.send(b"b" + bytes(200))
    script.wait_handled(handled + 1)
    yield
    wait_until(lambda: "1 wait" in repr(server.memory))
    script.unblock.set()


def test_what_was_decrypted_while_there_was_no_memory_is_read_later() -> None:
    script = Script()
    bodies = [b"e%02d" % number + bytes(RECORD_BYTES - 7) for number in range(BUFFER_BYTES // RECORD_BYTES + 1)]
    with serving(script, queued_max_request_bytes=100) as server:
        client = TlsClient(server)
        with without_memory(server, script):
            client.send_records(b"".join(map(framed, bodies)))
            time.sleep(ARRIVES_S)
        assert [client.receive() for _ in bodies] == bodies


def test_what_a_client_that_sends_no_more_asked_last_is_handled_once_there_is_memory() -> None:
    script = Script()
    with serving(script, queued_max_request_bytes=100) as server:
        client = TlsClient(server)
        assert client.ask(b"e") == b"e"
        with without_memory(server, script):
            client.send(b"e last")
            client.say_end()
            time.sleep(ARRIVES_S)
        assert client.receive() == b"e last"


@pytest.mark.parametrize("end", [TlsClient.send_garbage, TlsClient.reset], ids=lambda end: end.__name__)
def test_what_came_before_a_broken_end_is_handled(end: Callable[[TlsClient], None]) -> None:
    script = Script()
    with serving(script) as server:
        client = TlsClient(server)
        assert client.ask(b"e") == b"e"
        client.send(b"0 last")
        end(client)
        time.sleep(ARRIVES_S)
        script.wait_handled(2)
        wait_until(lambda: not server.connection_count)


@pytest.mark.parametrize(
    ("record_bytes", "at_once"), [(RECORD_BYTES, RECEIVED_BYTES // RECORD_BYTES + 1), (1, RECEIVED_RECORDS)]
)
def test_who_sends_as_fast_as_it_is_read_lets_others_in(record_bytes: int, at_once: int) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    stream = TlsStream(ours, ListenerTls(OWN, None).context)
    sender = TlsStream(theirs, client_context(OWN), "localhost")
    while {stream.step(), sender.step()} != {Step.DONE}:
        pass
    for _ in range(at_once + 3):
        sender.send(bytes(record_bytes))
    assert stream.recv_into(memoryview(bytearray(2 * RECEIVED_BYTES))) == at_once * record_bytes
    assert not stream.has_buffered, "the rest is in the socket, which tells of it in its turn"
    stream.sock.close()
    sender.sock.close()


@pytest.mark.parametrize("by_bytes", [1, 100])
def test_a_handshake_takes_nothing_before_the_first_record_is_whole(
    by_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[ssl.SSLSocket] = []
    step = ssl.SSLSocket.do_handshake
    monkeypatch.setattr(ssl.SSLSocket, "do_handshake", lambda sock: (steps.append(sock), step(sock)))
    hello = client_hello()
    with serving(Script()) as server:
        client = Client(server.bound_port("SSL"))
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        whole = len(hello) - 1
        for begin in range(0, whole, by_bytes):
            client.send_raw(hello[begin : min(begin + by_bytes, whole)])
            gevent.sleep(0)
        other = TlsClient(server)
        assert other.ask(b"e") == b"e"
        assert len({id(sock) for sock in steps}) == 1, "only the other one's"
        client.send_raw(hello[whole:])
        assert client.receive_exactly(1) == b"\x16"


@pytest.mark.parametrize("first", [b"\x16\x03\x01\xff\xff", b"GET / HTTP/1.1\r\n", b"\0\0\0\x0a\0\x12"])
def test_what_begins_no_handshake_is_refused_at_once(first: bytes) -> None:
    with serving(Script()) as server:
        client = Client(server.bound_port("SSL"))
        client.send_raw(first)
        with suppress(ConnectionResetError):
            assert client.socket.recv(1) in (b"\x15", b""), "an alert, or the end"
        wait_until(lambda: not server.connection_count)


def test_a_connection_whose_listener_has_lost_its_stores_leaves_nothing(caplog: pytest.LogCaptureFixture) -> None:
    listeners = Listeners()
    with serving(Script(), listeners) as server:
        listeners.failure = TlsError("Failed to load the store")
        assert Client(server.bound_port("SSL")).is_closed()
        wait_until(lambda: not server.connection_count)
        assert "The listener SSL cannot be used: Failed to load the store" in caplog.text


def test_a_listener_whose_stores_cannot_be_read_does_not_open() -> None:
    listeners = Listeners()
    with serving(Script(), listeners) as server:
        listeners.failure = TlsError("Failed to load the store")
        more = (*server.settings.endpoints, EndPoint("NEW", "SSL", "127.0.0.1", 0))
        with pytest.raises(NetworkError, match="The listener NEW cannot be opened: Failed to load the store"):
            server.use_endpoints_of(SocketServerSettings(endpoints=more))
        assert server.open_listeners == {"SSL", "PLAINTEXT"}


def test_a_read_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def read_on(sock: ssl.SSLSocket, room: memoryview) -> int:
        """As OpenSSL does with records that hold no data."""
        end_s = time.monotonic() + TIMEOUT_S / 3
        while time.monotonic() < end_s:
            with suppress(BlockingIOError):
                if not socket.socket.recv(sock, 1):
                    break
        raise OSError("the end of a long read")

    with serving(Script()) as server:
        client = TlsClient(server)
        assert client.ask(b"e") == b"e"
        (connection,) = server.connections()
        monkeypatch.setattr(ssl.SSLSocket, "recv_into", read_on)
        client.send(b"e")
        assert client.is_closed()
        wait_until(lambda: not server.connection_count)
    assert f"Closing the connection with ('127.0.0.1', {connection.client_port}): it sends only what" in caplog.text


def test_a_read_that_waits_for_the_machine_goes_on() -> None:
    ours, theirs = socket.socketpair()
    watch = ReadWatch()
    watch.start()
    watch.begin(ours)
    time.sleep(5 * LOOK_S)
    watch.end()
    watch.stop()
    theirs.send(b"there")
    assert ours.recv(5) == b"there"
    ours.close()
    theirs.close()
