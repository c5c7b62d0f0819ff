"""The files of secure_cluster.py: the servers' configuration, what clients need, and the text that shows it.

Needs nothing but Python itself.
"""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from secure_cluster_servers import SCRIPTS, Tool
from secure_cluster_state import State, write

USERS = ("broker", "admin", "app")
TOPIC, PREFIX = "app-events", "app-"
"""What the user `app` may do it may do with topics and groups whose names begin with `PREFIX`."""
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"
# CN=app,O=... is the user app. A certificate without a name of this kind is refused.
USER_OF_CERTIFICATE = r"RULE:^CN=([a-zA-Z0-9._-]+)(,.*)?$/$1/"


class ClientFile(NamedTuple):
    """What one kind of client needs."""

    clients: str
    name: str
    text: str


def write_files(folder: Path, state: State) -> None:
    """All but the certificates; an earlier run's are replaced."""
    password = state.password_of("zookeeper")
    write(folder / "server.jaas", f'Server {{ {DIGEST} required user_kafka="{password}"; }};\n')
    write(folder / "client.jaas", f'Client {{ {DIGEST} required username="kafka" password="{password}"; }};\n')
    write(folder / "zookeeper.properties", _properties(_zookeeper(folder, state)))
    write(folder / "server.properties", _properties(_broker(folder, state)))
    write(folder / "admin.properties", _properties(_login(folder, state, "admin")))
    for user in USERS:
        write(folder / f"{user}.credential", f"SCRAM-SHA-512=password={state.password_of(user)}\n")
    for file in client_files(folder, state):
        write(folder / file.name, file.text)


def _zookeeper(folder: Path, state: State) -> dict[str, object]:
    return {
        "dataDir": folder / "zookeeper",
        "clientPort": state.ports.zookeeper,
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
        "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        # Who has not logged in may do nothing at all.
        "enforce.auth.enabled": "true",
        "enforce.auth.schemes": "sasl",
    }


def _broker(folder: Path, state: State) -> dict[str, object]:
    ports = state.ports
    return {
        "broker.id": 0,
        "listeners": f"SASL_SSL://127.0.0.1:{ports.broker},SSL://127.0.0.1:{ports.ssl}",
        "advertised.listeners": f"SASL_SSL://localhost:{ports.broker},SSL://localhost:{ports.ssl}",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": _scram("broker", state),
        "connections.max.reauth.ms": 3_600_000,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": folder / "keys" / "broker.pem",
        **_trust(folder),
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.ssl.ssl.principal.mapping.rules": USER_OF_CERTIFICATE,
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:broker;User:admin",
        "zookeeper.connect": f"127.0.0.1:{ports.zookeeper}",
        "zookeeper.set.acl": "true",
        "log.dirs": folder / "data",
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
    }


def client_files(folder: Path, state: State) -> list[ClientFile]:
    """What the user app needs, by kind of client."""
    login = _login(folder, state, "app")
    certificate = {
        "bootstrap.servers": f"localhost:{state.ports.ssl}",
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": folder / "keys" / "app.pem",
        **_trust(folder),
    }
    rdkafka = {
        "bootstrap.servers": f"localhost:{state.ports.broker}",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "app",
        "sasl.password": state.password_of("app"),
        "ssl.ca.location": folder / "keys" / "ca.pem",
    }
    rdkafka_certificate = {
        "bootstrap.servers": f"localhost:{state.ports.ssl}",
        "security.protocol": "ssl",
        "ssl.certificate.location": folder / "keys" / "app.pem",
        "ssl.key.location": folder / "keys" / "app.pem",
        "ssl.ca.location": folder / "keys" / "ca.pem",
    }
    own = OWN_CLIENT.format(properties=str(folder / "app.properties"), topic=TOPIC, group=f"{PREFIX}kafka-zk")
    kafka_python = KAFKA_PYTHON.format(
        port=state.ports.broker, password=state.password_of("app"), ca=str(folder / "keys" / "ca.pem"),
        topic=TOPIC, group=f"{PREFIX}kafka-python",
    )  # fmt: skip
    return [
        ClientFile("Java, kafka_zk and all tools", "app.properties", _properties(login)),
        ClientFile("the same with a certificate", "app-certificate.properties", _properties(certificate)),
        ClientFile("librdkafka", "app-librdkafka.conf", _properties(rdkafka)),
        ClientFile("the same with a certificate", "app-certificate-librdkafka.conf", _properties(rdkafka_certificate)),
        ClientFile("Python, with kafka_zk's clients", "app_client.py", own),
        ClientFile("Python, with kafka-python", "app_kafka_python.py", kafka_python),
    ]


OWN_CLIENT = '''"""Sends and reads one record with kafka_zk's own clients, as the user app."""

from kafka_zk.client import KafkaConsumer, KafkaProducer
from kafka_zk.config.properties import read_file

login = read_file({properties!r})
text = {{"key.serializer": "StringSerializer", "value.serializer": "StringSerializer"}}
with KafkaProducer(login | text) as producer:
    print(producer.send({topic!r}, "hello").result(20))
text = {{"key.deserializer": "StringDeserializer", "value.deserializer": "StringDeserializer"}}
group = {{"group.id": {group!r}, "auto.offset.reset": "earliest"}}
with KafkaConsumer(login | text | group) as consumer:
    consumer.subscribe([{topic!r}])
    print([record.value for record in consumer.poll(20)])
'''
KAFKA_PYTHON = '''"""Sends and reads one record with kafka-python, as the user app."""

from kafka import KafkaConsumer, KafkaProducer

login = {{
    "bootstrap_servers": "localhost:{port}",
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "app",
    "sasl_plain_password": {password!r},
    "ssl_cafile": {ca!r},
}}
producer = KafkaProducer(**login)
print(producer.send({topic!r}, b"hello").get(20))
producer.close()
consumer = KafkaConsumer({topic!r}, group_id={group!r}, auto_offset_reset="earliest", **login)
print(next(iter(consumer)).value)
consumer.close()
'''


def _login(folder: Path, state: State, user: str) -> dict[str, object]:
    """For Java's clients, and for ours and all tools."""
    return {
        "bootstrap.servers": f"localhost:{state.ports.broker}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": _scram(user, state),
        **_trust(folder),
    }


def _trust(folder: Path) -> dict[str, object]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": folder / "keys" / "ca.pem"}


def _scram(user: str, state: State) -> str:
    return f'{SCRAM} required username="{user}" password="{state.password_of(user)}";'


def _properties(values: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


# --- what is done once ------------------------------------------------------------------------------------------------


def add_user(folder: Path, state: State, user: str) -> Tool:
    # The password is in a file: everybody may read the arguments of a process.
    return Tool("kafka-configs.sh", ("--zookeeper", f"127.0.0.1:{state.ports.zookeeper}", "--alter",
                "--entity-type", "users", "--entity-name", user, "--add-config-file",
                str(folder / f"{user}.credential")))  # fmt: skip


def make_topic(folder: Path, state: State) -> Tool:
    return Tool("kafka-topics.sh", (*_as_admin(folder, state), "--create", "--if-not-exists", "--topic", TOPIC,
                "--partitions", "3"))  # fmt: skip


def give_rights(folder: Path, state: State) -> Tool:
    return Tool("kafka-acls.sh", (*_as_admin(folder, state), "--add", "--allow-principal", "User:app", "--producer",
                "--consumer", "--topic", PREFIX, "--group", PREFIX, "--resource-pattern-type", "prefixed"))  # fmt: skip


def _as_admin(folder: Path, state: State) -> tuple[str, ...]:
    config = str(folder / "admin.properties")
    return ("--bootstrap-server", f"localhost:{state.ports.broker}", "--command-config", config)


# --- what is shown ----------------------------------------------------------------------------------------------------


def shown(folder: Path, state: State) -> str:
    """How clients connect, and what to try."""
    ports, at = state.ports, f"--bootstrap-server localhost:{state.ports.broker}"
    files = "".join(
        f"\n{file.clients}: {folder / file.name}\n{textwrap.indent(file.text, '  ')}"
        for file in client_files(folder, state)
    )
    app, admin = (_near(folder / f"{user}.properties") for user in ("app", "admin"))
    commands = (
        f"kafka-console-producer.sh {at} --producer.config {app} --topic {TOPIC}",
        f"kafka-console-consumer.sh {at} --consumer.config {app} --topic {TOPIC} --group {PREFIX}1 --from-beginning",
        f"kafka-acls.sh {at} --command-config {admin} --list",
        f"secure-cluster.sh --status --dir {_near(folder)}",
        f"secure-cluster.sh --stop --dir {_near(folder)}",
    )
    return f"""
A broker serves on localhost: port {ports.broker} for users with passwords (SASL_SSL, SCRAM-SHA-512), port {ports.ssl}
for clients with certificates (SSL). The user app may write and read topics that begin with {PREFIX}, in groups that
begin with {PREFIX}; the user admin may do everything. Keys, passwords, logs and data are in
{folder}
{files}
Try it:
""" + "\n".join(f"  {_near(SCRIPTS)}/{command}" for command in commands)


def _near(path: Path) -> str:
    """The path as one types it from here."""
    here = Path(os.getcwd())
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
