"""Loads over TLS on our broker and Apache Kafka 3.9.1, and new TLS connections a second: `python -m bench.secured`.

Both brokers have one certificate (ECDSA, P-256) and the same listener; TLS 1.3 with the cipher suite that the client
prefers. The load generator decrypts what it gets, on a core that it shares with Apache's second thread.
"""

from __future__ import annotations

import argparse
import socket
import ssl
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from bench.brokers import Broker, apache_broker, our_broker
from bench.process import cpu_seconds, run_bench
from bench.side_by_side import Entrance, FetchLoad, Load, ProduceLoad, Result, measure
from tests.support.certificates import CertificateAuthority
from tests.support.processes import free_port
from tests.support.zookeeper import EmbeddedZooKeeper

LOADS: tuple[Load, ...] = (
    ProduceLoad("produce 100 x 100 B", 100),
    FetchLoad("fetch 64 KiB", 64 << 10),
    FetchLoad("fetch 1 MiB", 1 << 20),
)
RATE_FLOOR, CPU_CEILING, HANDSHAKE_FLOOR = 1.2, 0.8, 1.0
"""Ours to Apache's: requests a second, CPU a request, handshakes a second of the broker's CPU."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.secured", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each load on each broker (default 3)")
    parser.add_argument("--warm", type=float, default=4, help="seconds of warm-up with the same load (default 4)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both brokers (default 3); the median is shown")
    parser.add_argument("--check", action="store_true", help="exit 1 when a floor of docs/performance.md is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        files = CertificateAuthority().issue("localhost", folder / "keys")
        tls = ssl.create_default_context(cafile=str(files.ca_pem))
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        brokers: list[tuple[Broker, Entrance]] = []
        try:
            zookeeper.start()
            for name, make in (("ours", our_broker), ("apache", apache_broker)):
                port, tls_port = free_port(), free_port()
                overrides = _listeners(port, tls_port, files.keystore_pem)
                broker = make(folder / name, zookeeper.connect, overrides)
                brokers.append((broker, Entrance(tls_port, tls)))
                broker.start()
            return _compare(brokers, options)
        finally:
            for broker, _ in brokers:
                broker.stop()
            zookeeper.stop()


def _listeners(port: int, tls_port: int, keystore_pem: Path) -> Mapping[str, str]:
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{tls_port}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore_pem),
    }


def _compare(brokers: list[tuple[Broker, Entrance]], options: argparse.Namespace) -> int:
    print(f"{'':36}{'kafka_zk':>12}{'Apache':>12}{'ours/Apache':>14}   (medians of {options.rounds} turns)")
    missed = []
    for load in LOADS:
        turns = [
            [measure(broker, load, seconds=options.seconds, warm_s=options.warm, entrance=entrance)
             for broker, entrance in brokers]
            for _ in range(options.rounds)
        ]  # fmt: skip
        missed += [f"{load.name}: {sentence}" for sentence in _shown(load.name, turns)]
    turns_of_handshakes = [
        [_handshakes(broker, entrance, options.seconds) for broker, entrance in brokers]
        for _ in range(options.rounds + 1)
    ][1:]  # The first turn warms.
    print("new TLS connections, one after the other")
    ratio = _row("  a second", [[turn[0] for turn in both] for both in turns_of_handshakes], ",.0f")
    _row("  a second of the broker's CPU", [[turn[1] for turn in both] for both in turns_of_handshakes], ",.0f")
    if ratio < HANDSHAKE_FLOOR:
        missed.append(f"handshakes: {ratio:.2f} of Apache's, not {HANDSHAKE_FLOOR}")
    for sentence in missed:
        print(f"floor missed: {sentence}")
    return 1 if missed and options.check else 0


def _shown(name: str, turns: list[list[Result]]) -> list[str]:
    """Print the rows of one load; returns what missed its floor."""
    print(name)
    rate = _row("  requests a second", [[result.requests_a_second for result in both] for both in turns], ",.0f")
    cpu = _row("  broker CPU a request, us", [[result.cpu_us_a_request for result in both] for both in turns], ".1f")
    _row("  p99, ms", [[result.p99_ms for result in both] for both in turns], ".2f")
    missed = []
    if rate < RATE_FLOOR:
        missed.append(f"{rate:.2f} of Apache's requests a second, not {RATE_FLOOR}")
    if cpu > CPU_CEILING:
        missed.append(f"{cpu:.2f} of Apache's CPU a request, not {CPU_CEILING}")
    return missed


def _row(title: str, turns: list[list[float]], form: str) -> float:
    """Print the medians of both brokers; returns the median of the turns' ratios."""
    ratio = median(ours / apache for ours, apache in turns)
    medians = [median(column) for column in zip(*turns, strict=True)]
    print(f"{title:36}" + "".join(f"{format(value, form):>12}" for value in medians) + f"{ratio:14.2f}", flush=True)
    return ratio


def _handshakes(broker: Broker, entrance: Entrance, seconds: float) -> tuple[float, float]:
    """Full handshakes a second, and a second of the broker's CPU; none resumes a session."""
    assert entrance.tls is not None
    before, began, count = cpu_seconds(broker.pid), time.monotonic(), 0
    while time.monotonic() - began < seconds:
        with socket.create_connection(("127.0.0.1", entrance.port), timeout=30) as plain:
            entrance.tls.wrap_socket(plain, server_hostname="localhost").close()
        count += 1
    took = time.monotonic() - began
    return count / took, count / max(cpu_seconds(broker.pid) - before, 0.01)


if __name__ == "__main__":
    run_bench(main)
