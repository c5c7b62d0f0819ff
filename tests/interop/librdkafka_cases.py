"""librdkafka's own test-runner, case by case, against three secured brokers of Apache and three of ours.

    python -m tests.interop.librdkafka_cases SOURCE [--protocol P] [OPTION...] [CASE...]

SOURCE is a checkout of librdkafka that is built (docs/security-tests.md says how). A CASE is a number, with a colon and
what the names of some of its parts hold if only those shall run. Without cases, all run that need a broker.
Each runs at both, with the same configuration, and a line tells how it ended at each. The exit code
is 1 if a case passes at Apache only.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from kafka_zk.config.sasl_classes import SIGNED_VALIDATORS
from kafka_zk.sasl.scram_credentials import Mechanism
from tests.integration.security.sasl_broker import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE, UNSECURED
from tests.interop.librdkafka_tokens import TokenIssuer
from tests.interop.sasl.users import PASSWORD, put_scram_user
from tests.support.apache import ApacheBroker, java
from tests.support.broker import OurBroker
from tests.support.certificates import PASSWORD as STORE_PASSWORD
from tests.support.certificates import CertificateAuthority, Stores
from tests.support.maven import ORACLE, jars
from tests.support.processes import free_port, wait_until
from tests.support.znodes import looking_at
from tests.support.zookeeper import EmbeddedZooKeeper

VERSION = "3.9.1"
BROKER_IDS = (1, 2, 3)
USER, SUPER_USER = "testuser", "admin"
MECHANISMS = {
    "PLAINTEXT": "",
    "SSL": "",
    "SASL_PLAINTEXT": "PLAIN",
    "SASL_SSL": "SCRAM-SHA-512",
}
"""The protocols of the listeners, with the mechanism that the cases log in with."""
PATIENCE = 3
"""How much longer the cases wait than on a quiet machine."""
TOOLS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-acls.sh": "kafka.admin.AclCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
}
_ENTRY = re.compile(r"_TEST\((\d{4})_\w+,\s*([^)]*)\)")
_ENDED = re.compile(r'Test "?(\d{4}\w*)[^#]*?"? (PASSED|FAILED|failed|SKIPPED)')
"""Not the summary at the end: a case that fails may prevent it. The name of a part may hold the end of a line."""


def properties(
    broker_id: int, ports: Mapping[str, int], stores: Stores, options: argparse.Namespace, issuer: TokenIssuer
) -> dict[str, str]:
    """What librdkafka's own clusters have, ours and Apache's alike: rules where there are some, else everybody may."""
    users = f'user_{USER}="{PASSWORD}" user_{SUPER_USER}="{PASSWORD}"'
    own = f'username="{SUPER_USER}" password="{PASSWORD}"'
    found = {
        "listeners": ",".join(f"{protocol}://127.0.0.1:{port}" for protocol, port in ports.items()),
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "connections.max.reauth.ms": str(options.session_ms),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(stores.keystore_p12),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(stores.truststore_p12),
        "ssl.truststore.password": STORE_PASSWORD,
        "ssl.client.auth": "required",
        # From TLS 1.3 on a client may be told that its certificate is refused by the end of the connection only.
        "listener.name.ssl.ssl.enabled.protocols": "TLSv1.2",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": f"User:{SUPER_USER}",
        "num.partitions": "4",
        "default.replication.factor": "3",
        "offsets.topic.replication.factor": "3",
        "transaction.state.log.replication.factor": "3",
        "transaction.state.log.min.isr": "2",
        "auto.create.topics.enable": "false" if options.scenario == "noautocreate" else "true",
        "delete.topic.enable": "true",
        # The default: some cases count on members that come at the same time.
        "group.initial.rebalance.delay.ms": "3000",
        "broker.rack": f"RACK{broker_id}",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }
    for protocol in ("sasl_plaintext", "sasl_ssl"):
        prefix = f"listener.name.{protocol}."
        found |= {
            f"{prefix}plain.sasl.jaas.config": f"{PLAIN_MODULE} required {own} {users};",
            f"{prefix}scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required {own};",
            f"{prefix}scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required {own};",
        }
        if options.issuer:
            found |= {
                f"{prefix}oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
                f"{prefix}oauthbearer.sasl.server.callback.handler.class": SIGNED_VALIDATORS[0],
                f"{prefix}oauthbearer.sasl.oauthbearer.jwks.endpoint.url": issuer.keys_url,
            }
        else:
            own_claim = 'unsecuredLoginStringClaim_sub="admin"'
            found |= {
                f"{prefix}oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required {own_claim};",
                f"{prefix}oauthbearer.sasl.server.callback.handler.class": UNSECURED,
            }
    return found


class Cluster:
    """Three brokers of one kind."""

    def __init__(
        self,
        kind: type[ApacheBroker | OurBroker],
        folder: Path,
        zookeeper: str,
        stores: Stores,
        options: argparse.Namespace,
        issuer: TokenIssuer,
    ) -> None:
        self.zookeeper = zookeeper
        self._ports = {broker_id: {protocol: free_port() for protocol in MECHANISMS} for broker_id in BROKER_IDS}
        self._brokers: list[ApacheBroker | OurBroker] = []
        for user in (USER, SUPER_USER):
            put_scram_user(zookeeper, user, *Mechanism)
        for broker_id, ports in self._ports.items():
            overrides = properties(broker_id, ports, stores, options, issuer)
            broker = kind(folder / f"broker-{broker_id}", zookeeper, broker_id=broker_id, overrides=overrides)
            if isinstance(broker, ApacheBroker):
                broker.port = ports["PLAINTEXT"]
            self._brokers.append(broker)

    def start(self) -> None:
        for broker in self._brokers:
            broker.launch()
        for broker in self._brokers:
            broker.wait_ready()
        with looking_at(self.zookeeper) as client:
            wait_until(lambda: len(client.get_children("/brokers/ids")) == len(BROKER_IDS), "all brokers are there")

    def stop(self) -> None:
        for broker in reversed(self._brokers):
            broker.kill()

    def addresses(self, protocol: str) -> dict[int, str]:
        return {broker_id: f"127.0.0.1:{ports[protocol]}" for broker_id, ports in self._ports.items()}


@dataclass(frozen=True)
class Runner:
    """The built test-runner, its configuration for one cluster and protocol, and the tools that its cases call."""

    source: Path
    folder: Path
    cluster: Cluster
    protocol: str
    mechanism: str
    scenario: str
    stores: Stores
    issuer: TokenIssuer | None
    """Of the tokens that cases log in with; None: they sign none."""

    def prepare(self) -> None:
        (self.folder / "bin").mkdir(parents=True)
        libs = self.folder / "libs"
        libs.symlink_to(jars(ORACLE))
        login = self.folder / "tools.properties"
        login.write_text(self._login_of_tools())
        for name, main_class in TOOLS.items():
            script = self.folder / "bin" / name
            command = shlex.join(java(main_class))
            script.write_text(f'#!/bin/sh\nexec {command} "$@" --command-config {login}\n')
            script.chmod(0o755)
        (self.folder / "test.conf").write_text(self._configuration())

    def run(self, case: str, log: Path, limit_s: float, *, quick: bool) -> dict[str, str]:
        """How each test of the case ended. Blocks."""
        number, _, part = case.partition(":")
        command = ["./test-runner", "-p1", "-L", "-K", *(["-Q"] if quick else [])]
        with log.open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=self.source / "tests",
                env={**os.environ, **self._environment(), "TESTS": number, **({"SUBTESTS": part} if part else {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return {case: "TOO LATE"}
        found = {test: end.upper() for test, end in _ENDED.findall(log.read_text(errors="replace"))}
        if process.returncode and "FAILED" not in found.values():
            found[case] = "FAILED"
        return found or {case: "SKIPPED"}

    def _configuration(self) -> str:
        lines = {
            "broker.address.family": "v4",
            "test.timeout.multiplier": str(PATIENCE),
            "bootstrap.servers": ",".join(self.cluster.addresses(self.protocol).values()),
            "security.protocol": self.protocol,
        }
        if self.protocol.endswith("SSL"):
            lines |= {
                "ssl.ca.location": str(self.stores.ca_pem),
                "ssl.certificate.location": str(self.stores.chain_pem),
                "ssl.key.location": str(self.stores.encrypted_pem),
                "ssl.key.password": STORE_PASSWORD,
            }
        if self.mechanism:
            lines["sasl.mechanisms"] = self.mechanism
        if self.issuer is not None:
            lines |= self.issuer.client()
        elif self.mechanism == "OAUTHBEARER":
            lines |= {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={USER}"}
        elif self.mechanism:
            lines |= {"sasl.username": USER, "sasl.password": PASSWORD}
        return "".join(f"{key}={value}\n" for key, value in lines.items())

    def _login_of_tools(self) -> str:
        lines = {"security.protocol": self.protocol}
        if self.protocol.endswith("SSL"):
            lines |= {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.stores.ca_pem),
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self.stores.keystore_pem),
            }
        if self.mechanism:
            own = f'username="{SUPER_USER}" password="{PASSWORD}"'
            lines |= {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f"{SCRAM_MODULE} required {own};"}
        return "".join(f"{key}={value}\n" for key, value in lines.items())

    def _environment(self) -> dict[str, str]:
        """As librdkafka's own clusters give it; `SSL_client_auth` says what a wrong certificate must come to."""
        addresses = self.cluster.addresses(self.protocol)
        return {
            "LD_LIBRARY_PATH": "../src:../src-cpp",
            "TEST_KAFKA_VERSION": VERSION,
            "TEST_SCENARIO": self.scenario,
            "RDKAFKA_TEST_CONF": str(self.folder / "test.conf"),
            "KAFKA_PATH": str(self.folder),
            "ZK_ADDRESS": self.cluster.zookeeper,
            "BROKERS": ",".join(addresses.values()),
            **{f"BROKER_ADDRESS_{broker_id}": address for broker_id, address in addresses.items()},
            **(self.issuer.environment() if self.issuer else {}),
            "SSL_client_auth": "required",
            "SSL_password": STORE_PASSWORD,
            "SSL_pkcs": str(self.stores.keystore_p12.with_name("with-authority.p12")),
            "SSL_pub_pem": str(self.stores.chain_pem),
            "SSL_pub_der": str(self.stores.chain_pem.with_suffix(".der")),
            "SSL_priv_pem": str(self.stores.encrypted_pem),
            "SSL_priv_der": str(self.stores.key_pem.with_suffix(".der")),
            "SSL_all_cas_pem": str(self.stores.ca_pem),
            "SSL_ca_pem": str(self.stores.ca_pem),
            "SSL_ca_der": str(self.stores.ca_pem.with_suffix(".der")),
        }


def write_other_encodings(stores: Stores) -> None:
    """DER beside PEM, and a PKCS12 store that holds the authority, too: what the cases about certificates read."""
    for path in (stores.chain_pem, stores.ca_pem):
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        path.with_suffix(".der").write_bytes(certificate.public_bytes(Encoding.DER))
    key = load_pem_private_key(stores.key_pem.read_bytes(), None)
    der = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    stores.key_pem.with_suffix(".der").write_bytes(der)
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-inkey", stores.key_pem, "-in", stores.chain_pem, "-certfile", stores.ca_pem,
         "-passout", f"pass:{STORE_PASSWORD}", "-out", stores.keystore_p12.with_name("with-authority.p12")],
        check=True,
    )  # fmt: skip


def cases_of(source: Path) -> list[str]:
    """The numbers of all cases that need a broker and nothing that only their authors have."""
    text = (source / "tests" / "test.c").read_text()
    found = {number for number, flags in _ENTRY.findall(text) if "LOCAL" not in flags and "MANUAL" not in flags}
    # Shared groups need a broker of 4.2.
    return sorted(number for number in found if number < "0170")


@contextmanager
def both_kinds(
    folder: Path, stores: Stores, options: argparse.Namespace, issuer: TokenIssuer
) -> Iterator[dict[str, Cluster]]:
    with ExitStack() as stack:
        stack.callback(issuer.stop)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
        stack.callback(zookeeper.stop)
        zookeeper.start()
        clusters: dict[str, Cluster] = {}
        kinds: dict[str, type[ApacheBroker | OurBroker]] = {"apache": ApacheBroker, "ours": OurBroker}
        for name, kind in kinds.items():
            clusters[name] = Cluster(kind, folder / name, f"{zookeeper.connect}/{name}", stores, options, issuer)
            stack.callback(clusters[name].stop)
            clusters[name].start()
        yield clusters


def run_at_both(
    case: str, runners: Mapping[str, Runner], folder: Path, limit_s: float, *, quick: bool
) -> dict[str, dict[str, str]]:
    """At the same time: most of a case is waiting."""
    stem = case.replace(":", "-")
    with ThreadPoolExecutor(len(runners)) as threads:
        running = {
            name: threads.submit(runner.run, case, folder / f"{stem}-{name}.log", limit_s, quick=quick)
            for name, runner in runners.items()
        }
        return {name: each.result() for name, each in running.items()}


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--protocol", choices=MECHANISMS, default="SASL_SSL")
    parser.add_argument("--mechanism", help="another one than the protocol's usual")
    parser.add_argument("--issuer", action="store_true", help="log in with tokens of an issuer, as 0126 does")
    parser.add_argument("--limit-s", type=float, default=600.0, help="a case that takes longer is ended")
    parser.add_argument("--scenario", choices=["default", "noautocreate"], default="default")
    parser.add_argument("--session-ms", type=int, default=10_000, help="how long a login is good: some cases run on")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--to", type=Path, help="where the cases' outputs stay")
    arguments = parser.parse_intermixed_args()
    source = arguments.source.resolve()
    only_apaches = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.to or Path(temporary)).resolve()
        stores = CertificateAuthority().issue("broker", folder / "stores", key_bits=2048)
        write_other_encodings(stores)
        issuer = TokenIssuer(folder / "issuer")
        with both_kinds(folder, stores, arguments, issuer) as clusters:
            mechanism = "OAUTHBEARER" if arguments.issuer else arguments.mechanism or MECHANISMS[arguments.protocol]
            runners = {
                name: Runner(
                    source,
                    folder / f"kafka-{name}",
                    cluster,
                    arguments.protocol,
                    mechanism,
                    arguments.scenario,
                    stores,
                    issuer if arguments.issuer else None,
                )
                for name, cluster in clusters.items()
            }
            for runner in runners.values():
                runner.prepare()
            for case in arguments.cases or cases_of(source):
                ends = run_at_both(case, runners, folder, arguments.limit_s, quick=arguments.quick)
                for test in sorted(set(ends["apache"]) | set(ends["ours"])):
                    apaches, ours = (ends[name].get(test, "NOT RUN") for name in runners)
                    only_apaches += apaches == "PASSED" != ours
                    print(f"{test:45} {apaches:9} {ours:9} {'' if apaches == ours else '<' * 8}", flush=True)
    return 1 if only_apaches else 0


if __name__ == "__main__":
    sys.exit(main())
