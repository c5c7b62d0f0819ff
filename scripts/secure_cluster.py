"""A secured cluster to try things on, in a folder of its own: certificates, users, rights, ZooKeeper and one broker.

Everything goes through the scripts beside this one, as an operator would type it. A second run starts what is there.
Files with secrets can be read by their owner only.
"""

from __future__ import annotations

import argparse
import datetime
import ipaddress
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SCRIPTS = Path(__file__).resolve().parent
USERS = ("broker", "admin", "app")
PREFIX = "app-"
"""What the user `app` may do it may do with topics and groups whose names begin like this."""
TOPIC = "app-events"
START_S = 60
STOP_S = 30
LIFE = datetime.timedelta(days=365)
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"


class TrialError(Exception):
    """Something a person must know: one sentence, no traceback."""


@dataclass
class State:
    """What a run leaves for the next one: ports, passwords, and the processes that are running."""

    zookeeper_port: int
    broker_port: int
    passwords: dict[str, str]
    pids: dict[str, int]
    is_set_up: bool = False
    """Whether users, rights and topic are there."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="secure-cluster.sh", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--dir", type=Path, default=Path("secure-trial"), help="its folder (default: ./%(default)s)")
    parser.add_argument("--stop", action="store_true", help="stop the broker and ZooKeeper; the data stay")
    options = parser.parse_args(arguments)
    folder = options.dir.absolute()
    try:
        if options.stop:
            stop(folder)
        else:
            start(folder)
    except (TrialError, OSError) as error:
        print(f"secure-cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nsecure-cluster: interrupted; stop what was started with --stop", file=sys.stderr)
        return 130
    return 0


def start(folder: Path) -> None:
    os.umask(0o077)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = load(folder) or State(free_port(), free_port(), {}, {})
    running = [name for name, pid in state.pids.items() if is_ours(pid, folder)]
    if running:
        raise TrialError(f"it is running already ({' and '.join(running)}): stop it first with --stop")
    for name in (*USERS, "zookeeper"):
        state.passwords.setdefault(name, secrets.token_urlsafe(18))
    state.pids.clear()
    save(folder, state)
    if not (folder / "keys" / "broker.pem").exists():
        say("Make a certificate authority, and a certificate for the broker")
        make_certificates(folder / "keys")
    write_files(folder, state)
    say("Start ZooKeeper, which lets only its own users in")
    launch(folder, state, "zookeeper", ["zookeeper-server-start.sh", str(folder / "zookeeper.properties")], "server")
    wait_until(lambda: answers(state.zookeeper_port), "ZooKeeper answers", folder)
    if not state.is_set_up:
        say(f"Add the users {', '.join(USERS)}")
        for user in USERS:
            # In a file: everybody may read the arguments of a process.
            write(folder / f"{user}.credential", f"SCRAM-SHA-512=password={state.passwords[user]}\n")
            run(folder, "kafka-configs.sh", "--zookeeper", f"127.0.0.1:{state.zookeeper_port}", "--alter",
                "--entity-type", "users", "--entity-name", user, "--add-config-file",
                str(folder / f"{user}.credential"))  # fmt: skip
    say("Start the broker: SASL_SSL, SCRAM-SHA-512, ACLs")
    launch(folder, state, "broker", ["kafka-server-start.sh", str(folder / "server.properties")], "client")
    wait_until(lambda: answers(state.broker_port), "the broker serves", folder)
    if not state.is_set_up:
        at = (
            "--bootstrap-server",
            f"localhost:{state.broker_port}",
            "--command-config",
            str(folder / "admin.properties"),
        )
        say(f"Create the topic {TOPIC}, and let the user app use topics and groups that begin with {PREFIX}")
        run(folder, "kafka-topics.sh", *at, "--create", "--if-not-exists", "--topic", TOPIC, "--partitions", "3")
        run(folder, "kafka-acls.sh", *at, "--add", "--allow-principal", "User:app", "--producer", "--consumer",
            "--topic", PREFIX, "--group", PREFIX, "--resource-pattern-type", "prefixed")  # fmt: skip
        state.is_set_up = True
        save(folder, state)
    print(shown(folder, state))


def stop(folder: Path) -> None:
    state = load(folder)
    running = {} if state is None else {name: pid for name, pid in state.pids.items() if is_ours(pid, folder)}
    if state is None or not running:
        raise TrialError(f"nothing is running in {folder}")
    for name in ("broker", "zookeeper"):
        if name in running:
            say(f"Stop {name}")
            os.kill(running[name], signal.SIGTERM)
            deadline = time.monotonic() + STOP_S
            while is_ours(running[name], folder) and time.monotonic() < deadline:
                time.sleep(0.05)
            if is_ours(running[name], folder):
                os.kill(running[name], signal.SIGKILL)
    state.pids.clear()
    save(folder, state)


# --- certificates ----------------------------------------------------------------------------------------------------


def make_certificates(folder: Path) -> None:
    """An authority and the broker's certificate, which is good as a client's among brokers, too."""
    folder.mkdir(exist_ok=True)
    authority_key, broker_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name, broker_name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("Trial CA", "localhost")
    )
    authority = (
        certificate(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    names = [
        x509.DNSName("localhost"),
        x509.DNSName(socket.gethostname()),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    broker = (
        certificate(broker_name, authority_name, broker_key)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(authority.public_bytes(Encoding.PEM))
    (folder / "ca-key.pem").write_bytes(pem(authority_key))
    (folder / "broker.pem").write_bytes(pem(broker_key) + broker.public_bytes(Encoding.PEM))


def certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFE)
    )


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


# --- files -----------------------------------------------------------------------------------------------------------


def write_files(folder: Path, state: State) -> None:
    password = state.passwords["zookeeper"]
    write(folder / "server.jaas", f'Server {{ {DIGEST} required user_kafka="{password}"; }};\n')
    write(folder / "client.jaas", f'Client {{ {DIGEST} required username="kafka" password="{password}"; }};\n')
    write_properties(
        folder / "zookeeper.properties",
        {
            "dataDir": str(folder / "zookeeper"),
            "clientPort": str(state.zookeeper_port),
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        },
    )
    own = scram("broker", state)
    write_properties(
        folder / "server.properties",
        {
            "broker.id": "0",
            "listeners": f"SASL_SSL://127.0.0.1:{state.broker_port}",
            "advertised.listeners": f"SASL_SSL://localhost:{state.broker_port}",
            "security.inter.broker.protocol": "SASL_SSL",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": own,
            "connections.max.reauth.ms": "3600000",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "keys" / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "keys" / "ca.pem"),
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:broker;User:admin",
            "zookeeper.connect": f"127.0.0.1:{state.zookeeper_port}",
            "zookeeper.set.acl": "true",
            "log.dirs": str(folder / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        },
    )
    for user in ("admin", "app"):
        write_properties(folder / f"{user}.properties", java_client(folder, state, user))
    write_properties(folder / "app-librdkafka.conf", librdkafka_client(folder, state))
    write(folder / "app_client.py", PYTHON_CLIENT.format(password=state.passwords["app"], **places(folder, state)))


def java_client(folder: Path, state: State, user: str) -> dict[str, str]:
    """For Java's clients, and for ours and all tools."""
    return {
        "bootstrap.servers": f"localhost:{state.broker_port}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": scram(user, state),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "keys" / "ca.pem"),
    }


def librdkafka_client(folder: Path, state: State) -> dict[str, str]:
    return {
        "bootstrap.servers": f"localhost:{state.broker_port}",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "app",
        "sasl.password": state.passwords["app"],
        "ssl.ca.location": str(folder / "keys" / "ca.pem"),
    }


def places(folder: Path, state: State) -> dict[str, object]:
    return {"port": state.broker_port, "ca": folder / "keys" / "ca.pem", "topic": TOPIC}


PYTHON_CLIENT = '''"""Sends and reads one record with kafka-python, as the user app."""

from kafka import KafkaConsumer, KafkaProducer

login = {{
    "bootstrap_servers": "localhost:{port}",
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "app",
    "sasl_plain_password": "{password}",
    "ssl_cafile": "{ca}",
}}
producer = KafkaProducer(**login)
producer.send("{topic}", b"hello").get(20)
producer.close()
consumer = KafkaConsumer("{topic}", group_id="app-python", auto_offset_reset="earliest", **login)
print(next(iter(consumer)).value)
consumer.close()
'''


def scram(user: str, state: State) -> str:
    return f'{SCRAM} required username="{user}" password="{state.passwords[user]}";'


def write_properties(path: Path, values: Mapping[str, str]) -> None:
    write(path, "".join(f"{key}={value}\n" for key, value in values.items()))


def write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)


def load(folder: Path) -> State | None:
    try:
        return State(**json.loads((folder / "state.json").read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise TrialError(f"{folder / 'state.json'} cannot be read: {error}") from None


def save(folder: Path, state: State) -> None:
    write(folder / "state.json", json.dumps(asdict(state), indent=1))


# --- processes -------------------------------------------------------------------------------------------------------


def launch(folder: Path, state: State, name: str, command: Sequence[str], jaas: str) -> None:
    """Start a server in a session of its own; its output goes to <name>.log."""
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(SCRIPTS / command[0]), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(folder, jaas),
            start_new_session=True,
        )
    state.pids[name] = process.pid
    save(folder, state)


def run(folder: Path, script: str, *arguments: str) -> None:
    """Blocks. Raises TrialError with what the tool said."""
    done = subprocess.run(
        [str(SCRIPTS / script), *arguments], env=environment(folder, "client"), capture_output=True, text=True
    )
    if done.returncode:
        raise TrialError(f"{script} failed: {(done.stderr or done.stdout).strip()}")


def environment(folder: Path, jaas: str) -> dict[str, str]:
    options = f"-Djava.security.auth.login.config={folder / jaas}.jaas"
    return {**os.environ, "KAFKA_OPTS": options, "LOG_DIR": str(folder / "logs")}


def is_ours(pid: int, folder: Path) -> bool:
    """Whether the process still runs and works on this folder: a pid may be somebody else's by now."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return str(folder).encode() in words


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(condition: Callable[[], bool], what: str, folder: Path) -> None:
    deadline = time.monotonic() + START_S
    while not condition():
        if time.monotonic() > deadline:
            raise TrialError(f"still not so after {START_S} s: {what}; the logs are in {folder}")
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def shown(folder: Path, state: State) -> str:
    def listed(values: Mapping[str, str]) -> str:
        return "".join(f"  {key}={value}\n" for key, value in values.items())

    at = f"localhost:{state.broker_port}"
    return f"""
A broker serves at {at}. The user app may write and read topics that begin with {PREFIX}, in groups
that begin with {PREFIX}; the user admin may do everything.

Java, and all tools here ({folder}/app.properties):
{listed(java_client(folder, state, "app"))}
librdkafka ({folder}/app-librdkafka.conf):
{listed(librdkafka_client(folder, state))}
Python: {folder}/app_client.py

  scripts/kafka-console-producer.sh --bootstrap-server {at} \\
    --producer.config {folder}/app.properties --topic {TOPIC}
  scripts/kafka-acls.sh --bootstrap-server {at} --command-config {folder}/admin.properties --list
  scripts/secure-cluster.sh --stop --dir {folder}
"""


if __name__ == "__main__":
    sys.exit(main())
