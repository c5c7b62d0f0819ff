"""What others notice of bad actors: `python -m bench.bad_actors`, ours beside Apache Kafka 3.9.1.

A well-behaved client produces one record each 5 ms, on the listener that is attacked, alone and then under each attack
of bench/attacks.py. Shown are its latencies, and of the broker its memory, the lines that it logs for each thing done
to it, and its CPU. Brokers take turns; the figures of a row are medians of the turns.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import ssl
import struct
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import frames
from bench.attacks import ATTACKS, Attack, Ports
from bench.brokers import Broker, apache_broker, our_broker
from bench.process import cpu_seconds, resident_mb, run_bench, set_priority
from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from tests.interop.sasl.exchange import authenticate, handshake
from tests.interop.sasl.users import put_scram_user
from tests.support.certificates import CertificateAuthority
from tests.support.login_fuzz import GOOD
from tests.support.oauth_server import ISSUER, OAuthServer
from tests.support.processes import free_port
from tests.support.zookeeper import EmbeddedZooKeeper

PERIOD_S = 0.005
WARM_S = 3.0
TOPIC = "steady"
P99_CEILING_MS = 5.0
"""How much later others may be served."""
SIGNED = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
TRACEBACK = re.compile(r"^(?:Traceback|\s+at [\w.$]+\()", re.M)


@dataclass(frozen=True)
class Site:
    """A broker and how its listeners are reached."""

    broker: Broker
    ports: Ports
    tls: ssl.SSLContext


@dataclass(frozen=True)
class Latency:
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True)
class Turn:
    """One attack on one broker."""

    alone: Latency
    attacked: Latency
    rate: float
    grown_mb: float
    left_mb: float
    lines_each: float
    traces: int
    core_share: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.bad_actors", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="alone, and again under each attack (default 5)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both brokers (default 3)")
    parser.add_argument("--only", default="", help="attacks whose name this regular expression is in")
    parser.add_argument("--ours-alone", action="store_true", help="without Apache")
    parser.add_argument("--check", action="store_true", help=f"exit 1 if p99 grows by more than {P99_CEILING_MS} ms")
    parser.add_argument(
        "--nice", type=int, default=0, help="priority of both brokers and the client; below 0 for a busy machine"
    )
    options = parser.parse_args()
    if options.nice:
        if os.getsid(0) != os.getpid():
            os.setsid()
        set_priority(os.getpid(), options.nice)
    attacks = [attack for attack in ATTACKS if re.search(options.only, attack.name)]
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-") as folder_name:
        folder = Path(folder_name)
        files = CertificateAuthority().issue("localhost", folder / "keys")
        tls = ssl.create_default_context(cafile=str(files.ca_pem))
        zookeeper, issuer = EmbeddedZooKeeper(folder / "zookeeper"), OAuthServer()
        sites: list[Site] = []
        try:
            zookeeper.start()
            for name, make in (("ours", our_broker), ("apache", apache_broker))[: 1 if options.ours_alone else 2]:
                put_scram_user(f"{zookeeper.connect}/{name}", "alice", *Mechanism)
                ports = Ports(ssl=free_port(), sasl=free_port())
                overrides = _overrides(free_port(), ports, files.keystore_pem, issuer.keys_url)
                sites.append(Site(make(folder / name, zookeeper.connect, overrides), ports, tls))
                sites[-1].broker.start()
                set_priority(sites[-1].broker.pid, options.nice)
                sites[-1].broker.create_topic(TOPIC, 1)
                for is_tls in (True, False):
                    _steady(sites[-1], is_tls, WARM_S)
            return _compare(sites, attacks, options)
        finally:
            for site in sites:
                site.broker.stop()
            zookeeper.stop()
            issuer.stop()


def _overrides(port: int, ports: Ports, keystore_pem: Path, keys_url: str) -> Mapping[str, str]:
    prefix = "listener.name.sasl_plaintext."
    return {
        "listeners": ",".join(
            f"{name}://127.0.0.1:{number}"
            for name, number in (("PLAINTEXT", port), ("SSL", ports.ssl), ("SASL_PLAINTEXT", ports.sasl))
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore_pem),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        f"{prefix}plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="alice-secret";',
        f"{prefix}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        f"{prefix}oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
        f"{prefix}oauthbearer.sasl.server.callback.handler.class": SIGNED,
        "sasl.oauthbearer.jwks.endpoint.url": keys_url,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }


def _compare(sites: list[Site], attacks: list[Attack], options: argparse.Namespace) -> int:
    print("the client's latency in ms alone -> attacked; the broker's memory in MB at the end of the attack, and later")
    print(
        f"{'attack':36}{'broker':14}{'done':>7}{'p50':>15}{'p99':>15}{'max':>17}{'memory':>15}"
        f"{'lines each':>12}{'traces':>8}{'cores':>7}"
    )
    missed = []
    for attack in attacks:
        turns = [[_turn(site, attack, options.seconds) for site in sites] for _ in range(options.rounds)]
        for site, of_one in zip(sites, zip(*turns, strict=True), strict=True):
            grown_ms = _shown(attack, site.broker.name, list(of_one))
            if site is sites[0] and grown_ms > P99_CEILING_MS:
                missed.append(f"{attack.name}: p99 grows by {grown_ms:.1f} ms")
    for sentence in missed:
        print(f"missed: {sentence}")
    return 1 if missed and options.check else 0


def _shown(attack: Attack, name: str, turns: list[Turn]) -> float:
    """Print the medians of a broker; returns by how much p99 grows."""

    def pair(what: str) -> str:
        alone, attacked = (
            median(getattr(getattr(turn, when), what) for turn in turns) for when in ("alone", "attacked")
        )
        return f"{alone:.2f} -> {attacked:.2f}"

    def typical(what: str) -> float:
        return float(median(getattr(turn, what) for turn in turns))

    memory = f"{typical('grown_mb'):+.1f} {typical('left_mb'):+.1f}"
    print(
        f"{attack.name:36}{name:14}{typical('rate'):7,.0f}{pair('p50_ms'):>15}{pair('p99_ms'):>15}{pair('max_ms'):>17}"
        f"{memory:>15}{typical('lines_each'):12.2f}{typical('traces'):8.0f}{typical('core_share'):7.2f}",
        flush=True,
    )
    return median(turn.attacked.p99_ms - turn.alone.p99_ms for turn in turns)


def _turn(site: Site, attack: Attack, seconds: float) -> Turn:
    broker = site.broker
    alone = _steady(site, attack.uses_tls_port, seconds)
    before_mb, said_before = resident_mb(broker.pid), len(broker.log())
    cpu_before_s, began_s = cpu_seconds(broker.pid), time.monotonic()
    running = attack.start(site.ports, os.getpriority(os.PRIO_PROCESS, 0))
    try:
        attacked = _steady(site, attack.uses_tls_port, seconds)
        during_mb = resident_mb(broker.pid)
        core_share = (cpu_seconds(broker.pid) - cpu_before_s) / (time.monotonic() - began_s)
    finally:
        done = running.stop()
    # Until failed logins have been answered, and ends have been seen.
    time.sleep(1)
    said = broker.log()[said_before:]
    return Turn(
        alone,
        attacked,
        done.count if attack.most and not attack.is_slow else done.count / done.seconds,
        during_mb - before_mb,
        resident_mb(broker.pid) - before_mb,
        len(said.splitlines()) / max(done.count, 1),
        len(TRACEBACK.findall(said)),
        core_share,
    )


def _steady(site: Site, is_tls: bool, seconds: float) -> Latency:
    """Blocks. One request after the other, at most one each PERIOD_S."""
    request = frames.produce(TOPIC, 0, frames.batch_of(1, 100))
    with socket.create_connection(("127.0.0.1", site.ports.ssl if is_tls else site.ports.sasl), 30) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = site.tls.wrap_socket(plain, server_hostname="localhost") if is_tls else plain
        if not is_tls:
            for frame in (handshake("PLAIN"), authenticate(GOOD)):
                _ask(sock, struct.pack(">i", len(frame)) + frame)
        latencies_ms: list[float] = []
        end_s = time.monotonic() + seconds
        while (sent_s := time.monotonic()) < end_s:
            _ask(sock, request)
            latencies_ms.append((time.monotonic() - sent_s) * 1000)
            time.sleep(max(0.0, sent_s + PERIOD_S - time.monotonic()))
        sock.close()
    ordered = sorted(latencies_ms)
    return Latency(median(ordered), ordered[len(ordered) * 99 // 100], ordered[-1])


def _ask(sock: socket.socket, frame: bytes) -> bytes:
    sock.sendall(frame)
    answer = b""
    while len(answer) < 4 or len(answer) < 4 + struct.unpack_from(">i", answer)[0]:
        more = sock.recv(65536)
        assert more, "the broker closed the connection of the client that behaves"
        answer += more
    return answer


if __name__ == "__main__":
    run_bench(main)
