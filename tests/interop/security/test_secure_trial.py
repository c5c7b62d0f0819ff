"""scripts/secure-cluster.sh: what it prints works for each kind of client, and lets them do nothing else.

One cluster for all of it. What it refuses and what it leaves behind: tests/integration/test_secure_cluster.py.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka
import pytest
from kafka import KafkaConsumer as KafkaPythonConsumer
from kafka.errors import GroupAuthorizationFailedError

from kafka_zk.client import KafkaConsumer, KafkaProducer
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.errors import SaslAuthenticationException, SslAuthenticationException, java_name
from kafka_zk.config.properties import parse_properties
from kafka_zk.protocol.errors import GroupAuthorizationFailed, TopicAuthorizationFailed
from kafka_zk.protocol.types import TopicPartition
from tests.support.apache import ToolRun, run_tool
from tests.support.certificates import CertificateAuthority

SCRIPTS = Path(__file__).parents[3] / "scripts"
SCRIPT = SCRIPTS / "secure_cluster.py"
ENVIRONMENT = {**os.environ, "PYTHON": sys.executable}
JAVA = Path(__file__).parents[1] / "java"
TOPIC, FOREIGN, DESCRIBED = "app-events", "foreign", "app-described"
PATIENCE_S = 30
TEXT = {
    f"{kind}.{what}": f"String{what.capitalize()}"
    for kind in ("key", "value")
    for what in ("serializer", "deserializer")
}
REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
NO_GROUP = f"Not authorized to access group: {FOREIGN}"
_SECTION = re.compile(r"^(.+): (/.+)\n((?:  .+\n|\n(?=  ))+)", re.M)


@dataclass(frozen=True)
class Trial:
    folder: Path
    printed: str

    def section(self, name: str) -> str:
        """What was printed under the name of a file."""
        found = {Path(path).name: textwrap.dedent(text) for _, path, text in _SECTION.findall(self.printed)}
        return found[name]

    def properties(self, name: str) -> dict[str, str]:
        return parse_properties(self.section(name))

    def command(self, script: str) -> str:
        """The line that was printed to be typed."""
        return next(line.strip() for line in self.printed.splitlines() if f"/{script} " in line)

    @property
    def how(self) -> str:
        """How clients connect."""
        return self.printed[self.printed.index("\nA broker serves") :]

    @property
    def password(self) -> str:
        return self.properties("app-librdkafka.conf")["sasl.password"]


def trial_run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--dir", str(folder), *options]
    return subprocess.run(command, env=ENVIRONMENT, cwd=folder.parent, capture_output=True, text=True, timeout=180)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    folder = tmp_path_factory.mktemp("trial") / "a secure trial"
    started = trial_run(folder)
    assert (started.returncode, started.stderr) == (0, "")
    yield Trial(folder, started.stdout)
    stopped = trial_run(folder, "--stop")
    assert stopped.returncode == 0, stopped.stderr
    log = (folder / "broker.log").read_text()
    assert "Traceback" not in log and "Config " not in log, "each key of its configuration has an effect"


def test_what_is_printed_is_in_the_files(trial: Trial) -> None:
    names = [Path(path).name for _, path, _ in _SECTION.findall(trial.printed)]
    assert names == [
        "app.properties", "app-certificate.properties", "app-librdkafka.conf", "app-certificate-librdkafka.conf",
        "app_client.py", "app_kafka_python.py",
    ]  # fmt: skip
    assert {name: (trial.folder / name).read_text() for name in names} == {name: trial.section(name) for name in names}


@pytest.mark.parametrize("login", ["app-librdkafka.conf", "app-certificate-librdkafka.conf"])
def test_librdkafka_writes_and_reads_what_it_may_and_nothing_else(trial: Trial, login: str) -> None:
    errors: list[object] = []
    producer = confluent_kafka.Producer(trial.properties(login))
    for topic in (TOPIC, FOREIGN):
        try:
            producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error and error.name()))
        except confluent_kafka.KafkaException as refused:
            # The metadata may be there before the record.
            errors.append(refused.args[0].name())
        producer.flush(PATIENCE_S)
    assert errors == [None, "TOPIC_AUTHORIZATION_FAILED"]
    outcomes = []
    for group in (f"app-{login}", FOREIGN):
        consumer = confluent_kafka.Consumer(
            trial.properties(login) | {"group.id": group, "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([TOPIC])
        (message,) = consumer.consume(1, PATIENCE_S)
        outcomes.append(message.error() and message.error().name())
        consumer.close()
    assert outcomes == [None, "GROUP_AUTHORIZATION_FAILED"]


@pytest.mark.parametrize("program", ["app_client.py", "app_kafka_python.py"])
def test_the_python_programs_write_and_read(trial: Trial, program: str) -> None:
    ran = subprocess.run([sys.executable, "-c", trial.section(program)], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert ran.stdout.count("\n") == 2


@pytest.mark.parametrize("login", ["app.properties", "app-certificate.properties"])
def test_our_clients_are_told_what_they_may_not_use(trial: Trial, login: str) -> None:
    config = {**trial.properties(login), **TEXT}
    with KafkaProducer({key: value for key, value in config.items() if "deserializer" not in key}) as producer:
        assert producer.send(TOPIC, "ours").result(PATIENCE_S).topic == TOPIC
        with pytest.raises(TopicAuthorizationFailed, match=rf"^Not authorized to access topics: \[{FOREIGN}\]$"):
            producer.send(FOREIGN, "ours").result(PATIENCE_S)
    config = {key: value for key, value in config.items() if ".serializer" not in key} | {"group.id": FOREIGN}
    with KafkaConsumer(config) as consumer:
        consumer.subscribe([TOPIC])
        with pytest.raises(GroupAuthorizationFailed, match=f"^{NO_GROUP}$"):
            consumer.poll(PATIENCE_S)


def test_kafka_python_is_told_that_it_may_not_use_a_group(trial: Trial) -> None:
    consumer = KafkaPythonConsumer(
        TOPIC,
        group_id=FOREIGN,
        bootstrap_servers=trial.properties("app.properties")["bootstrap.servers"],
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username="app",
        sasl_plain_password=trial.password,
        ssl_cafile=trial.properties("app-librdkafka.conf")["ssl.ca.location"],
    )
    with pytest.raises(GroupAuthorizationFailedError):
        consumer.poll(PATIENCE_S * 1000)
    consumer.close()


def java_producer(trial: Trial, config: Path, topic: str = TOPIC) -> ToolRun:
    at = parse_properties(config.read_text())["bootstrap.servers"]
    return run_tool("kafka.tools.ConsoleProducer", "--bootstrap-server", at, "--topic", topic,
                    "--producer.config", str(config), stdin="of java\n")  # fmt: skip


def java_consumer(trial: Trial, config: Path, group: str) -> ToolRun:
    at = parse_properties(config.read_text())["bootstrap.servers"]
    return run_tool("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", at, "--topic", TOPIC,
                    "--consumer.config", str(config), "--group", group, "--from-beginning",
                    "--max-messages", "1", "--timeout-ms", "60000")  # fmt: skip


def test_java_writes_with_a_password_and_reads_with_a_certificate(trial: Trial) -> None:
    wrote = java_producer(trial, trial.folder / "app.properties")
    assert (wrote.exit_code, wrote.stderr) == (0, "")
    read = java_consumer(trial, trial.folder / "app-certificate.properties", "app-java")
    assert (read.exit_code, read.stdout.count("\n")) == (0, 1), read


def as_admin(trial: Trial, script: str, *arguments: str) -> None:
    at = parse_properties((trial.folder / "admin.properties").read_text())["bootstrap.servers"]
    config = ("--bootstrap-server", at, "--command-config", str(trial.folder / "admin.properties"))
    done = subprocess.run([str(SCRIPTS / script), *config, *arguments], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_java_is_told_the_same_of_what_it_may_not_use(trial: Trial) -> None:
    """Of groups and topics that it may not describe, and of those that it may describe and no more."""
    as_admin(trial, "kafka-topics.sh", "--create", "--topic", DESCRIBED, "--partitions", "1")
    deny = ("--add", "--deny-principal", "User:app", "--operation")
    as_admin(trial, "kafka-acls.sh", *deny, "Read", "--group", DESCRIBED)
    as_admin(trial, "kafka-acls.sh", *deny, "Write", "--topic", DESCRIBED)
    config = trial.folder / "app.properties"
    java = run_tool(str(JAVA / "Denied.java"), str(config), TOPIC, FOREIGN, "app-1", DESCRIBED)
    assert java.exit_code == 0, java
    assert ours_denied(trial.properties("app.properties")) == java.stdout.splitlines()
    assert f"find: org.apache.kafka.common.errors.GroupAuthorizationException: {NO_GROUP}" in java.stdout


def ours_denied(login: dict[str, str]) -> list[str]:
    """The calls of Denied.java, and how they end here."""
    lines: list[str] = []
    own, other = TopicPartition(TOPIC, 0), TopicPartition(FOREIGN, 0)
    at_one = OffsetAndMetadata(1, "", None)

    def attempt(name: str, call: Callable[[], object]) -> None:
        try:
            call()
            lines.append(f"{name}: nothing")
        except Exception as error:
            lines.append(f"{name}: {java_name(error)}: {error}")

    def consumer(group: str) -> KafkaConsumer:
        text = {key: value for key, value in TEXT.items() if ".deserializer" in key}
        return KafkaConsumer(login | text | {"group.id": group, "enable.auto.commit": "false"})

    with consumer(FOREIGN) as ours:
        ours.subscribe([TOPIC])
        attempt("find", lambda: ours.poll(20))
        ours.unsubscribe()
        attempt("commit of a foreign group", lambda: ours.commit_sync({own: at_one}))
        attempt("committed of a foreign group", lambda: ours.committed([own]))
    with consumer(DESCRIBED) as ours:
        ours.subscribe([TOPIC])
        attempt("join", lambda: ours.poll(20))
        ours.unsubscribe()
        attempt("commit", lambda: ours.commit_sync({own: at_one}))
    with consumer("app-1") as ours:
        attempt("commit of a topic", lambda: ours.commit_sync({other: at_one}))
        attempt("committed of a topic", lambda: ours.committed([other]))
        attempt("partitions", lambda: ours.partitions_for(FOREIGN))
        attempt("ends", lambda: ours.end_offsets([other]))
        ours.assign([other])
        attempt("poll", lambda: ours.poll(20))
    with KafkaProducer(login | {key: value for key, value in TEXT.items() if ".serializer" in key}) as producer:
        attempt("send", lambda: producer.send(FOREIGN, "x").result(PATIENCE_S))
        attempt("send to what may be described", lambda: producer.send(DESCRIBED, "x").result(PATIENCE_S))
    return lines


def test_a_wrong_password_is_refused_at_once(trial: Trial, tmp_path: Path) -> None:
    wrong = trial.section("app.properties").replace(trial.password, "guessed")
    (tmp_path / "wrong.properties").write_text(wrong)
    java = java_producer(trial, tmp_path / "wrong.properties")
    assert f"org.apache.kafka.common.errors.SaslAuthenticationException: {REFUSED}\n" in java.stderr
    ours = {key: value for key, value in TEXT.items() if ".serializer" in key}
    with (
        KafkaProducer(parse_properties(wrong) | ours) as producer,
        pytest.raises(SaslAuthenticationException, match=REFUSED),
    ):
        producer.send(TOPIC, "x").result(PATIENCE_S)
    told: list[str] = []
    config = trial.properties("app-librdkafka.conf") | {"sasl.password": "guessed", "log_level": "0"}
    librdkafka = confluent_kafka.Producer(config, error_cb=lambda error: told.append(error.name()))
    while "_AUTHENTICATION" not in told:
        assert librdkafka.poll(PATIENCE_S), "librdkafka says nothing"


@pytest.mark.parametrize("shown", ["none", "of another authority"])
def test_a_client_without_a_certificate_of_the_cluster_is_refused(trial: Trial, tmp_path: Path, shown: str) -> None:
    config = trial.properties("app-certificate.properties")
    del config["ssl.keystore.location"], config["ssl.keystore.type"]
    if shown != "none":
        stranger = CertificateAuthority().issue("app", tmp_path)
        config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(stranger.keystore_pem)}
    ours = {key: value for key, value in TEXT.items() if ".serializer" in key}
    with KafkaProducer(config | ours) as producer, pytest.raises(SslAuthenticationException):
        producer.send(TOPIC, "x").result(PATIENCE_S)


def test_the_commands_that_are_printed_work(trial: Trial) -> None:
    def typed(script: str, more: str = "", stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", f"{trial.command(script)} {more}"]
        return subprocess.run(
            command, input=stdin, env=ENVIRONMENT, cwd=trial.folder.parent, capture_output=True, text=True, timeout=60
        )

    wrote = typed("kafka-console-producer.sh", stdin="typed\n")
    assert (wrote.returncode, wrote.stderr) == (0, "")
    read = typed("kafka-console-consumer.sh", "--max-messages 1 --timeout-ms 30000")
    assert (read.returncode, read.stderr) == (0, "Processed a total of 1 messages\n")
    acls = typed("kafka-acls.sh")
    assert (acls.returncode, acls.stderr) == (0, "") and acls.stdout.count("permissionType=ALLOW") == 5
    command = shlex.split(trial.command("secure-cluster.sh"))
    assert command[1:] == ["--status", "--dir", trial.folder.name], "as it is typed from where it was started"
    status = trial_run(trial.folder, "--status")
    assert status.returncode == 0 and trial.how in status.stdout


def test_secrets_are_for_the_owner_alone(trial: Trial) -> None:
    assert stat.S_IMODE(trial.folder.stat().st_mode) == 0o700
    paths = [path for path in trial.folder.rglob("*") if path.is_file()]
    assert [path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_zookeeper_lets_nobody_else_in(trial: Trial) -> None:
    port = parse_properties((trial.folder / "zookeeper.properties").read_text())["clientPort"]
    shell = [str(SCRIPTS / "zookeeper-shell.sh"), f"127.0.0.1:{port}", "ls", "/config/users"]
    stranger = subprocess.run(shell, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert "app" not in stranger.stdout, stranger
    options = shlex.quote(f"-Djava.security.auth.login.config={trial.folder}/client.jaas")
    environment = {**ENVIRONMENT, "KAFKA_OPTS": options}
    owner = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=60)
    assert "[admin, app, broker]" in owner.stdout, owner


def test_it_goes_on_with_what_is_there_after_a_stop(trial: Trial) -> None:
    assert trial_run(trial.folder, "--stop").returncode == 0
    again = trial_run(trial.folder)
    assert again.returncode == 0 and "Add the users" not in again.stdout
    assert trial.how in again.stdout
    consumer = confluent_kafka.Consumer(
        trial.properties("app-librdkafka.conf") | {"group.id": "app-again", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])
    assert [message.error() for message in consumer.consume(1, PATIENCE_S)] == [None]
    consumer.close()
