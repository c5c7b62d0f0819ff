"""What goes wrong with TLS on a listener: what the log says, what is counted, and when the connection ends."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

API_VERSIONS = bytes.fromhex("0000000c001200000000000700026162")
"""v0 with correlation id 7."""

GROUP = "kafka_server_socket_server_metrics"
DELAY_MS = 2_000
"""Of a failed login."""


class Site:
    """A broker with one listener of each kind of TLS, and the stores of its clients."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        self.authority = CertificateAuthority()
        own = self.authority.issue("broker", folder / "broker")
        self.client = self.authority.issue("client", folder / "client")
        self.unruled = self.authority.issue("nobody", folder / "nobody")
        self.stranger = CertificateAuthority("Stranger").issue("client", folder / "stranger")
        self.ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "LOGIN", "STRICT")}
        jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="pw";'
        self.broker = OurBroker(
            folder / "ours",
            zookeeper,
            overrides={
                "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,LOGIN:SASL_SSL,STRICT:SASL_SSL",
                "ssl.keystore.location": str(own.keystore_p12),
                "ssl.keystore.password": PASSWORD,
                "ssl.truststore.location": str(own.truststore_p12),
                "ssl.truststore.password": PASSWORD,
                "ssl.client.auth": "required",
                "ssl.principal.mapping.rules": "RULE:^CN=client$/mapped/U",
                "listener.name.SSL.ssl.client.auth": "none",
                "listener.name.strict.ssl.client.auth": "required",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.login.plain.sasl.jaas.config": jaas,
                "listener.name.strict.plain.sasl.jaas.config": jaas,
                "kafka_zk.metrics.port": "0",
                "connection.failed.authentication.delay.ms": str(DELAY_MS),
            },
        ).start()

    def connect(self, own: Stores | None = None, listener: str = "SSL") -> ssl.SSLSocket:
        context = ssl.create_default_context(cadata=self.authority.pem.decode())
        if own is not None:
            context.load_cert_chain(own.chain_pem, own.key_pem)
        plain = socket.create_connection(("127.0.0.1", self.ports[listener]), 10)
        return context.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False)

    def count(self, what: str, listener: str = "SSL") -> int:
        return int(Scrape(metrics_port(self.broker)).value(f"{GROUP}_{what}_authentication_total", listener=listener))

    def log(self) -> str:
        return (self.broker.folder / "logs" / "server.log").read_text()

    def says(self, text: str) -> None:
        """Wait until the log has `text`: a thread writes it."""
        wait_until(lambda: text in self.log(), f"the log says: {text}")

    def counts_one_failure(self, act: Callable[[], None], listener: str = "SSL") -> None:
        """`act` ends in a failed authentication, told by counter and log."""
        before, lines = self.count("failed", listener), self.log().count("(SSL handshake failed)")
        act()
        wait_until(lambda: self.count("failed", listener) == before + 1, "the failure is counted")
        wait_until(lambda: self.log().count("(SSL handshake failed)") == lines + 1, "the failure is logged")


@pytest.fixture(scope="module")
def site(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(tmp_path_factory.mktemp("site"), fresh_chroot(zookeeper, "tls-failures"))
    yield running
    running.broker.stop()


def closed_after_s(connection: socket.socket) -> float:
    """Until the broker closes; what it sends meanwhile is read."""
    begin = time.monotonic()
    with suppress(ConnectionResetError):
        while connection.recv(4096):
            pass
    return time.monotonic() - begin


def test_plain_text_to_a_port_of_ssl_is_a_failed_authentication_and_closed_at_once(site: Site) -> None:
    """(security 12.11)"""

    def speak_plainly() -> None:
        with socket.create_connection(("127.0.0.1", site.ports["SSL"]), 10) as plain:
            plain.sendall(API_VERSIONS)
            assert closed_after_s(plain) < DELAY_MS / 1000, "the delay of failed logins is not for TLS"

    site.counts_one_failure(speak_plainly)
    site.says(f"Failed authentication with /127.0.0.1 (channelId=127.0.0.1:{site.ports['SSL']}-127.0.0.1:")


@pytest.mark.parametrize("sent", [b"", bytes.fromhex("160301")])
def test_an_end_in_the_handshake_is_no_failure(site: Site, sent: bytes) -> None:
    """(security 12.11)"""
    before = site.count("failed")
    with socket.create_connection(("127.0.0.1", site.ports["SSL"]), 10) as plain:
        plain.sendall(sent)
        plain.shutdown(socket.SHUT_WR)
        closed_after_s(plain)
    with site.connect(site.client) as good:
        good.sendall(API_VERSIONS)
        good.recv(4)
    assert site.count("failed") == before


def test_a_client_hello_to_a_port_of_plain_text_is_told_by_its_size(site: Site) -> None:
    """(security 12.11)"""
    context = ssl.create_default_context()
    with socket.create_connection(("127.0.0.1", site.ports["PLAINTEXT"]), 10) as plain, pytest.raises(OSError):
        context.wrap_socket(plain, server_hostname="localhost")
    # Bytes 16 03 01 and the first of the length.
    site.says("Invalid receive (size = 36929561")


@pytest.mark.parametrize("who", ["stranger", "nobody at all"])
def test_a_client_that_may_not_come_believes_in_tls_1_3_that_it_is_connected(site: Site, who: str) -> None:
    """Until its first read. (security 12.11)"""

    def come() -> None:
        with site.connect(site.stranger if who == "stranger" else None) as secured:
            assert secured.version() == "TLSv1.3"
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                secured.recv(1)

    site.counts_one_failure(come)


def test_a_certificate_without_a_rule_is_closed_at_its_first_request(site: Site) -> None:
    """(security 12.8)"""
    before = site.count("successful")
    with site.connect(site.unruled) as secured:
        wait_until(lambda: site.count("successful") == before + 1, "the handshake succeeded")
        secured.sendall(API_VERSIONS)
        assert secured.recv(1) == b""
    site.says("No rules apply to CN=nobody, rules [RULE:^CN=client$/mapped/U]")


def test_the_end_of_a_connection_is_told_with_close_notify(site: Site) -> None:
    with site.connect(site.client) as secured:
        # An API that there is not: the broker closes.
        secured.sendall(bytes.fromhex("0000000a 7fff 0000 00000007 0000".replace(" ", "")))
        assert secured.recv(1) == b"", "an end without close_notify would raise"


def test_a_prefix_in_another_case_is_ignored(site: Site) -> None:
    """ssl.client.auth stays required. (security 12.2)"""
    warning = "Config listener.name.SSL.ssl.client.auth has no effect: there is no such listener (write its name in"
    site.says(warning)


def test_the_general_client_auth_does_not_count_on_sasl_ssl_and_the_listeners_own_does(site: Site) -> None:
    """(security 12.3)"""
    with site.connect(listener="LOGIN") as secured:
        secured.sendall(API_VERSIONS)
        assert secured.recv(4)
    with site.connect(listener="STRICT") as secured, pytest.raises((ssl.SSLError, ConnectionResetError)):
        secured.recv(1)
    with site.connect(site.client, listener="STRICT") as secured:
        secured.sendall(API_VERSIONS)
        assert secured.recv(4)
    site.says("Broker configuration 'ssl.client.auth' is applied only to SSL listeners.")


def test_login_with_sasl_over_tls_serves_a_client(site: Site) -> None:
    settings = {
        "bootstrap.servers": f"127.0.0.1:{site.ports['LOGIN']}",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "pw",
        "ssl.ca.location": str(site.client.ca_pem),
    }
    producer = Producer(settings)
    producer.produce("of-alice", b"v")
    assert producer.flush(20) == 0


def test_a_request_that_shares_its_record_with_the_end_of_a_large_one_is_not_left_waiting(site: Site) -> None:
    """The socket shows nothing of it any more."""
    tag = b"x" * 200_000
    head = bytes.fromhex("001200030000000900000002780276") + b"\x01\x63"
    body = head + _varint(len(tag)) + tag
    with site.connect(site.client) as secured:
        secured.sendall(len(body).to_bytes(4) + body + API_VERSIONS)
        assert [_correlation_id(secured), _correlation_id(secured)] == [9, 7]


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def _correlation_id(secured: ssl.SSLSocket) -> int:
    """Of the next answer."""

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = secured.recv(size - len(data))
            assert part, "the broker closed"
            data += part
        return data

    return int.from_bytes(exactly(int.from_bytes(exactly(4)))[:4])


def test_connections_are_counted_by_javas_name_of_their_cipher(site: Site) -> None:
    name = f"{GROUP}_connections"
    labels = {"listener": "SSL", "cipher": "TLS_AES_256_GCM_SHA384", "protocol": "TLSv1.3"}

    def count() -> float:
        return sum(Scrape(metrics_port(site.broker)).values(name, **labels))

    with site.connect(site.client):
        wait_until(lambda: count() == 1, "the connection is counted")
    wait_until(lambda: count() == 0, "it is gone")


def test_half_open_handshakes_do_not_delay_others(site: Site) -> None:
    """(security 12.12)"""
    context = ssl.create_default_context(cadata=site.authority.pem.decode())
    with RawClient(f"127.0.0.1:{site.ports['PLAINTEXT']}") as client:

        def worst_ms() -> float:
            times = []
            for _ in range(300):
                begin = time.perf_counter()
                client.send(API_VERSIONS_REQUEST, ApiVersionsRequest(), 3)
                times.append((time.perf_counter() - begin) * 1000)
            return sorted(times)[int(len(times) * 0.99)]

        calm_ms = worst_ms()
        half_open = []
        for number in range(500):
            out = ssl.MemoryBIO()
            begun = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
            with suppress(ssl.SSLWantReadError):
                begun.do_handshake()
            hello = out.read()
            half_open.append(socket.create_connection(("127.0.0.1", site.ports["SSL"]), 10))
            # Half of them wait after a whole ClientHello: the broker has answered, and signed.
            half_open[-1].sendall(hello if number % 2 else hello[:100])
        busy_ms = worst_ms()
        for each in half_open:
            each.close()
    assert busy_ms < max(50.0, 10 * calm_ms)
    with site.connect(site.client) as secured:
        secured.sendall(API_VERSIONS)
        assert secured.recv(4)


class Tap:
    """Forwards one port to another, and keeps what passed, in both directions apart."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.streams: list[bytearray] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._to))
                for source, sink in ((near, far), (far, near)):
                    self.streams.append(kept := bytearray())
                    threading.Thread(target=self._forward, args=(source, sink, kept), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                kept += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listening.close()


def tls_records(stream: bytes) -> int:
    """How many whole records of TLS `stream` consists of. Fails for anything else in it."""
    position = count = 0
    while position + 5 <= len(stream):
        kind, major, size = stream[position], stream[position + 1], int.from_bytes(stream[position + 3 : position + 5])
        assert kind in (20, 21, 22, 23) and major == 3 and size <= 16384 + 256, f"no record of TLS at {position}"
        position += 5 + size
        count += 1
    return count


def test_nothing_but_records_of_tls_passes_while_slices_of_segments_are_sent(tmp_path: Path, site: Site) -> None:
    """(security 12.40, where the kernel does not encrypt)"""
    port, listener_port = free_port(), free_port()
    tap = Tap(listener_port)
    own = site.authority.issue("broker", tmp_path / "own")
    broker = OurBroker(
        tmp_path / "tapped",
        fresh_chroot_of(site),
        overrides={
            "listeners": f"PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{listener_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{tap.port}",
            "ssl.keystore.location": str(own.keystore_p12),
            "ssl.keystore.password": PASSWORD,
            "listener.name.ssl.ssl.keystore.type": "PKCS12",
        },
    ).start()
    marker = b"TOP-SECRET-PAYLOAD"
    values = [marker + b"%06d" % number + b"x" * 9000 for number in range(1000)]
    settings = {
        "bootstrap.servers": f"127.0.0.1:{tap.port}",
        "security.protocol": "ssl",
        "ssl.ca.location": str(own.ca_pem),
    }
    try:
        producer = Producer(settings)
        for value in values:
            producer.produce("large", value)
        assert producer.flush(30) == 0
        consumer = Consumer(
            settings | {"group.id": "g", "auto.offset.reset": "earliest", "fetch.message.max.bytes": str(4 << 20)}
        )
        consumer.subscribe(["large"])
        read: list[bytes] = []

        def have_all() -> bool:
            read.extend(message.value() for message in consumer.consume(500, 1.0) if message.error() is None)
            return len(read) == len(values)

        wait_until(have_all, "every record is read")
        consumer.close()
        assert sorted(read) == values
    finally:
        broker.stop()
        tap.close()
    assert sum(map(len, tap.streams)) > 2 * sum(map(len, values))
    for stream in tap.streams:
        assert tls_records(bytes(stream)) >= 1
        assert marker not in stream


def fresh_chroot_of(site: Site) -> str:
    """Another cluster in the same ZooKeeper."""
    text = (site.broker.folder / "server.properties").read_text()
    (connect,) = [line.partition("=")[2] for line in text.splitlines() if line.startswith("zookeeper.connect=")]
    return f"{connect}-tapped"
