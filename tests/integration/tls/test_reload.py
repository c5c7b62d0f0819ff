"""Stores that change while the broker runs: which are refused, when a new one is used, and by whom."""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from cryptography import x509

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.certificates import LOOPBACK, PASSWORD, CertificateAuthority
from tests.support.processes import accepts_connections, free_port, wait_until

PREFIX = "listener.name.secure."
REFUSED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config update of SSLFactory "
    "failed: {} for configuration Invalid dynamic configuration"
)


class Served:
    """A broker with a listener of plain text for its administrator, and one of SSL whose stores change."""

    def __init__(self, folder: Path, zookeeper: str, kind: Callable[..., OurBroker | ApacheBroker] = OurBroker) -> None:
        self.authority, self.folder = CertificateAuthority(), folder
        self.port = free_port()
        first = self.issue("first")
        shutil.copy(first, folder / "used.p12")
        plain_port = free_port()
        self.broker = kind(
            folder / "broker",
            zookeeper,
            overrides={
                "listeners": f"PLAINTEXT://127.0.0.1:{plain_port},SECURE://127.0.0.1:{self.port}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SSL",
                "inter.broker.listener.name": "PLAINTEXT",
                "password.encoder.secret": "encoder-secret",
                f"{PREFIX}ssl.keystore.location": str(folder / "used.p12"),
                f"{PREFIX}ssl.keystore.password": PASSWORD,
            },
        )
        self.broker.port = plain_port
        self.broker.start()
        self.admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{plain_port}"})

    def issue(self, name: str, common_name: str = "broker", sans: tuple[str, ...] = LOOPBACK) -> Path:
        return self.authority.issue(common_name, self.folder / name, sans=sans).keystore_p12

    def served(self) -> int:
        """The serial number of the certificate that a new connection sees."""
        with self.connection() as secured:
            return serial_of(secured)

    def connection(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cadata=self.authority.pem.decode())
        plain = socket.create_connection(("127.0.0.1", self.port), 10)
        return context.wrap_socket(plain, server_hostname="localhost")

    def alter(self, **values: str) -> None:
        """Sets keys of the listener, or plain ones with a leading underscore. Raises KafkaException."""
        self.set(
            {(PREFIX if name.startswith("ssl") else "") + name.replace("_", "."): text for name, text in values.items()}
        )

    def set(self, values: Mapping[str, str], *, is_refused: bool = False) -> None:
        """Raises KafkaException."""
        entries = [
            ConfigEntry(name, text, incremental_operation=AlterConfigOpType.SET) for name, text in values.items()
        ]
        resource = ConfigResource(ResourceType.BROKER, "0", incremental_configs=entries)
        answer = self.admin.incremental_alter_configs([resource])[resource]
        if not is_refused:
            answer.result(60)
            return
        with pytest.raises(KafkaException):
            answer.result(60)

    def refusal_of(self, **values: str) -> str:
        with pytest.raises(KafkaException) as refused:
            self.alter(**values)
        error = refused.value.args[0]
        assert error.code() == 42
        return str(error.str())


def serial_of(secured: ssl.SSLSocket) -> int:
    data = secured.getpeercert(binary_form=True)
    assert data is not None
    return x509.load_der_x509_certificate(data).serial_number


@pytest.fixture
def served(zookeeper_connect: str, tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path, zookeeper_connect)
    yield running
    running.broker.stop()


def test_a_store_replaced_in_place_is_used_after_the_next_alter_and_open_connections_live_on(served: Served) -> None:
    """(security 12.9)"""
    first = served.served()
    with served.connection() as early:
        shutil.copy(served.issue("second"), served.folder / "used.p12")
        assert served.served() == first, "nobody has asked for the new file"
        served.alter(log_cleaner_threads="1")
        assert served.served() != first
        early.sendall(bytes.fromhex("0000000c 0012 0000 00000007 0002 6162".replace(" ", "")))
        assert early.recv(8)[4:] == bytes.fromhex("00000007"), "answered with the certificate of before"
        assert serial_of(early) == first


def test_a_store_that_does_not_fit_is_refused_and_the_old_one_served(served: Served) -> None:
    """(security 12.10)"""
    first = served.served()
    other_name = served.issue("other-name", "else")
    fewer = served.issue("fewer", sans=("localhost",))
    more = served.issue("more", sans=(*LOOPBACK, "kafka.example.com"))

    refusal_of = served.refusal_of
    exception = "org.apache.kafka.common.config.ConfigException"
    assert refusal_of(ssl_keystore_location=str(other_name)) == REFUSED.format(
        f"{exception}: Keystore DistinguishedName does not match:  existing={{alias=key, DN=CN=broker}}, "
        "new={alias=key, DN=CN=else}"
    )
    assert "Keystore SubjectAltNames do not match:  existing={alias=key, SAN=[[" in refusal_of(
        ssl_keystore_location=str(fewer)
    )
    assert refusal_of(ssl_keystore_password="wrong") == REFUSED.format(
        f"org.apache.kafka.common.KafkaException: Failed to load SSL keystore {served.folder / 'used.p12'} of type JKS"
    )
    trust = served.authority.issue("x", served.folder / "x").truststore_p12
    assert "Cannot add SSL truststore to an existing listener" in refusal_of(
        ssl_truststore_location=str(trust), ssl_truststore_password=PASSWORD
    )
    assert served.served() == first
    served.alter(ssl_keystore_location=str(more))
    wait_until(lambda: served.served() != first, "the store with one more host is served")


def test_a_listener_of_ssl_may_be_added_and_its_stores_are_those_of_the_next_start(served: Served) -> None:
    port = free_port()
    own = served.authority.issue("broker", served.folder / "added")
    text = (served.broker.folder / "server.properties").read_text()
    (listeners,) = [line.partition("=")[2] for line in text.splitlines() if line.startswith("listeners=")]
    added = f"{listeners},ADDED://127.0.0.1:{port}"
    values = {
        "listeners": added,
        "advertised.listeners": added,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SSL,ADDED:SSL",
        "listener.name.added.ssl.keystore.location": str(own.keystore_p12),
        "listener.name.added.ssl.keystore.password": PASSWORD,
    }
    served.set(values | {"listener.name.added.ssl.keystore.password": "wrong"}, is_refused=True)
    served.set(values)
    served.port = port
    wait_until(lambda: accepts_connections(port), "the new listener is open")
    serial = served.served()
    assert serial == x509.load_pem_x509_certificate(own.chain_pem.read_bytes()).serial_number
    served.broker.stop()
    served.broker.start()
    assert served.served() == serial
