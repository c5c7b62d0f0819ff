"""Hours of whatever may come before a login, against a broker in a process of its own, over both kinds of SASL.

`--full --fuzz-minutes 60` fuzzes for an hour; the seed that a run prints, given again with --seed, sends the same.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import statistics
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.security.sasl_broker import PLAIN_MODULE, SCRAM_MODULE
from tests.interop.sasl.exchange import authenticate, handshake, versions
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD, CertificateAuthority, Stores
from tests.support.login_fuzz import GOOD, LoginFuzz
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import free_port, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

MOST_ROUNDS = 60
LOGINS = 200
"""Of each kind after a round: enough for a 99th percentile."""
GROWTH_BYTES = 24 << 20
"""What memory may differ by between two looks at a broker that works; a leak of 1 KB a connection is far above it."""
SERVER = "kafka_server_socket_server_metrics"


class Site(NamedTuple):
    broker: OurBroker
    plain_port: int
    tls_port: int
    stores: Stores


@pytest.fixture
def site(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Site]:
    stores = CertificateAuthority().issue("localhost", tmp_path / "keys")
    ports = {name: free_port() for name in ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL")}
    jaas = {
        "plain": f'{PLAIN_MODULE} required user_alice="alice-secret";',
        "scram-sha-256": f"{SCRAM_MODULE} required;",
    }
    overrides = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": PASSWORD,
        "kafka_zk.metrics.port": "0",
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for mechanism, value in jaas.items():
            overrides[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = value
    broker = OurBroker(tmp_path / "ours", fresh_chroot(zookeeper, "login-fuzz"), overrides=overrides).start()
    yield Site(broker, ports["SASL_PLAINTEXT"], ports["SASL_SSL"], stores)
    broker.stop()


class Look(NamedTuple):
    """A broker between two rounds, when nobody is connected."""

    connections: int
    resident_bytes: int
    descriptors: int
    greenlets: int
    plain_p99_ms: float
    tls_p99_ms: float

    def __str__(self) -> str:
        return (
            f"{self.connections} connections, {self.resident_bytes / 1e6:.1f} MB, {self.descriptors} descriptors, "
            f"{self.greenlets} greenlets, p99 of a login {self.plain_p99_ms:.1f} ms, over TLS {self.tls_p99_ms:.1f} ms"
        )


@pytest.mark.slow
def test_a_broker_is_after_hours_of_fuzz_as_it_was_before(
    site: Site, seed: int, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, flat memory, no greenlet and no descriptor left, logins as fast as before. (security 12.39)"""
    length_s = pytestconfig.getoption("fuzz_minutes") * 60
    fuzz = LoginFuzz(seed, site.plain_port, site.tls_port, site.stores.ca_pem)
    looks: list[Look] = []
    end_s = time.monotonic() + length_s
    while time.monotonic() < end_s or len(looks) < 4:
        round_end_s = time.monotonic() + max(length_s / MOST_ROUNDS, 5)
        fuzz.run(lambda round_end_s=round_end_s: time.monotonic() > round_end_s)  # type: ignore[misc]
        looks.append(look_at(site, fuzz.count))
        with capsys.disabled():
            print(f"\n{looks[-1]}", end="", flush=True)
        assert_no_traceback(site)
    assert fuzz.count > length_s
    # What a broker needs when it is new, it has after some rounds.
    early, late = looks[len(looks) // 4 : len(looks) // 2], looks[-len(looks) // 4 :]
    story = "\n".join(map(str, looks))
    assert late[-1].greenlets <= early[0].greenlets, story
    assert late[-1].descriptors <= early[0].descriptors, story
    assert _typical(late, "resident_bytes") - _typical(early, "resident_bytes") < GROWTH_BYTES, story
    for kind in ("plain_p99_ms", "tls_p99_ms"):
        assert _typical(late, kind) < 2 * _typical(early, kind) + 20, story
    # One line for each at most, and what a minute of a broker has besides.
    assert count_of_lines(site) < 1.1 * fuzz.count + LOGINS


def look_at(site: Site, connections: int) -> Look:
    """Blocks until nobody is connected."""
    scrape_port = metrics_port(site.broker)

    def nobody_is_left() -> bool:
        page = Scrape(scrape_port)
        open_now = [page.values(f"{SERVER}_connection_count", listener=name) for name in ("SASL_PLAINTEXT", "SASL_SSL")]
        return not any(sum(values) for values in open_now)

    plain_ms, tls_ms = (sorted(login_ms(site, kind) for _ in range(LOGINS)) for kind in ("plain", "tls"))
    wait_until(nobody_is_left, "every connection is over")
    assert Scrape(scrape_port).values("kafka_server_supervision_unexpectederrors") == [0]
    process = site.broker.process
    return Look(
        connections,
        process.resident_bytes,
        len(os.listdir(f"/proc/{process.pid}/fd")),
        greenlets(site.broker),
        plain_ms[LOGINS * 99 // 100],
        tls_ms[LOGINS * 99 // 100],
    )


def login_ms(site: Site, kind: str) -> float:
    """From the connection to the first answer after the login."""
    began_s = time.perf_counter()
    with socket.create_connection(("127.0.0.1", site.tls_port if kind == "tls" else site.plain_port), 30) as sock:
        if kind == "tls":
            context = ssl.create_default_context(cafile=str(site.stores.ca_pem))
            sock = context.wrap_socket(sock, server_hostname="localhost")
        for body in (handshake("PLAIN"), authenticate(GOOD), versions(0)):
            sock.sendall(struct.pack(">i", len(body)) + body)
            answer = _exactly(sock, struct.unpack(">i", _exactly(sock, 4))[0])
        sock.close()
    assert len(answer) > 100
    return (time.perf_counter() - began_s) * 1000


def _exactly(sock: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = sock.recv(size - len(found))
        assert more, "the broker closed a good login"
        found += more
    return found


def greenlets(broker: OurBroker) -> int:
    """How many there are, as its state tells."""
    before = len(broker.process.output())
    os.kill(broker.process.pid, signal.SIGUSR1)

    def section() -> re.Match[str] | None:
        return re.search(r"^greenlets \(\d+\)\n((?:  .*\n)+)", broker.process.output()[before:], re.M)

    wait_until(section, "the state is dumped")
    found = section()
    assert found is not None
    entries = re.findall(r"^  (?:(\d+) x )?\S", found[1], re.M)
    return sum(int(count or 1) for count in entries)


def _typical(looks: list[Look], what: str) -> float:
    return statistics.median(getattr(look, what) for look in looks)


def logs(site: Site) -> list[Path]:
    return [path for path in (site.broker.folder / "logs").rglob("*") if path.is_file()]


def assert_no_traceback(site: Site) -> None:
    for path in (site.broker.process.log, *logs(site)):
        with path.open(errors="replace") as lines:
            found = [line for line in lines if line.startswith(("Traceback", "AssertionError"))]
        assert not found, path.read_text(errors="replace")[-20_000:]


def count_of_lines(site: Site) -> int:
    (path,) = (path for path in logs(site) if path.name == "server.log")
    with path.open(errors="replace") as lines:
        return sum(1 for _ in lines)
