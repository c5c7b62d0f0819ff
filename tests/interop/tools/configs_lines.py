"""Command lines of kafka-configs.sh, and how Apache's answers to them were written down.

`python -m tests.interop.tools.configs_lines` starts ZooKeeper and an Apache broker, runs Apache's tool again and writes
tests/golden/tools/kafka-configs.jsonl anew.

`WRONG` need no broker. `LIFE` is one life of a cluster of one broker (id 1) with the topics t1 and t2, part by part: a
broker hears of its changes a moment later, so each part begins when it has. `STOPPED` follows when that broker is down.
B stands for the broker, Z for ZooKeeper, F for a folder with `FILES`.
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)
from kafka_zk.tools.common.options import usage_of
from tests.interop.replay.scenario import World
from tests.interop.tools.runs import Arguments, comparable, run_apache
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.masks import Mask, masked
from tests.support.processes import wait_until
from tests.support.zookeeper import EmbeddedZooKeeper, fresh_chroot

COMMAND = "kafka.admin.ConfigCommand"
GOLDEN = Path(__file__).parents[2] / "golden" / "tools" / "kafka-configs.jsonl"
MARK = "log.flush.interval.messages"
"""A config of a broker that no command line is about."""
SECRET = {"password.encoder.secret": "a secret of the broker"}
FILES = {
    "topic.properties": "flush.ms=7\nsegment.bytes = 2097152\n",
    "impatient.properties": "default.api.timeout.ms=500\nrequest.timeout.ms=400\n",
}

WRONG = r"""

--help
--version
--bogus
--client-metrics x
--describe
--alter
--describe --alter --topic t
--bootstrap-server B
--bootstrap-server B --describe
--bootstrap-server B --alter
--bootstrap-server B --describe --add-config a=b --topic t
--bootstrap-server B --describe --delete-config a --topic t
--bootstrap-server B --describe --add-config-file a --entity-type bogus
--bootstrap-server B --describe --entity-type bogus
--bootstrap-server B --describe --entity-type topics --entity-type topics
--bootstrap-server B --describe --entity-type topics --entity-type users
--bootstrap-server B --describe --entity-type users --topic t
--bootstrap-server B --describe --topic t --topic u
--bootstrap-server B --describe --entity-name t
--bootstrap-server B --zookeeper Z --describe --topic t
--bootstrap-server B --zookeeper Z --describe --user t
--bootstrap-server B --bootstrap-controller B --describe --topic t
--describe --entity-type users
--describe --entity-type topics
--zookeeper Z --describe --entity-type topics
--zookeeper Z --describe --entity-type clients --entity-name c
--zookeeper Z --describe --entity-type bogus
--zookeeper Z --describe --entity-type users --all
--bootstrap-server B --describe --entity-type users --zk-tls-config-file F/topic.properties
--bootstrap-server B --describe --broker one
--bootstrap-server B --describe --broker-logger one
--bootstrap-server B --describe --entity-type brokers --entity-name one
--bootstrap-server B --describe --entity-type broker-loggers
--bootstrap-server B --describe --ip not-an-ip..
--bootstrap-server B --alter --ip not-an-ip.. --add-config connection_creation_rate=1
--bootstrap-server B --alter --topic t
--bootstrap-server B --alter --entity-type topics --add-config a=b
--bootstrap-server B --alter --entity-type users --add-config a=b
--bootstrap-server B --alter --entity-type broker-loggers --add-config a=b
--bootstrap-server B --alter --topic t --add-config a=b --add-config-file F/topic.properties
--bootstrap-server B --alter --entity-type users --entity-name a --entity-type clients --add-config producer_byte_rate=1
--bootstrap-server B --alter --topic t --add-config a
--bootstrap-server B --alter --topic t --add-config a=b=c
--bootstrap-server B --alter --topic t --add-config "bad key=1"
--bootstrap-server B --alter --topic t --add-config-file /no/such/file
--bootstrap-server B --alter --user u --add-config bogus=1
--bootstrap-server B --alter --user u --delete-config bogus
--bootstrap-server B --alter --client c --add-config SCRAM-SHA-256=[password=x]
--bootstrap-server B --alter --client c --delete-config bogus
--bootstrap-server B --alter --user u --add-config producer_byte_rate=1,SCRAM-SHA-256=[password=x]
--bootstrap-server B --alter --user-defaults --add-config SCRAM-SHA-256=[password=x]
--bootstrap-server B --alter --user u --add-config SCRAM-SHA-256=[iterations=100,password=x]
--bootstrap-server B --alter --user u --add-config SCRAM-SHA-256=x
--bootstrap-server B --alter --ip 10.0.0.1 --add-config producer_byte_rate=1
--bootstrap-server foo --describe --topic t
--bootstrap-server B --describe --topic "il legal"
--bootstrap-server B --describe --topic t --command-config /no/such/file
"""

LIFE = (
    r"""
--describe --topic t1
--describe --entity-type topics --entity-name t1 --all
--describe --entity-type topics
--alter --entity-type topics --entity-name t1 --add-config retention.ms=1000,cleanup.policy=[compact,delete]
--describe --entity-type topics --entity-name t1
--alter --topic t1 --delete-config retention.ms,no.such
--alter --topic t1 --delete-config retention.ms
--alter --topic t1 --delete-config retention.ms
--alter --topic t1 --add-config retention.ms=abc
--alter --topic t1 --add-config no.such=1
--alter --topic t1 --add-config message.format.version=2.8
--alter --topic t1 --add-config-file F/topic.properties
--alter --topic t1 --add-config "segment.bytes = 1048576 , flush.ms=5" --force
--alter --topic t1 --add-config segment.bytes=
--alter --topic nope --add-config retention.ms=1
--alter --topic nope --delete-config retention.ms
--describe --topic nope
--describe --topic t1
--describe --topic t1 --all
--alter --topic t1 --delete-config flush.ms,segment.bytes --add-config retention.bytes=77
--describe --entity-type topics
--describe --broker 1
--describe --broker-defaults
--describe --entity-type brokers
--alter --broker 1 --add-config num.io.threads=100
--alter --broker 1 --add-config zookeeper.connect=x
--alter --broker 1 --add-config log.retention.ms=x
--alter --broker 1 --delete-config log.retention.ms
--alter --broker 7 --add-config log.retention.ms=1 --command-config F/impatient.properties
--alter --broker-defaults --add-config listeners=PLAINTEXT://:1
--alter --broker 1 --add-config log.cleaner.threads=2,log.retention.ms=123456
--alter --entity-type brokers --entity-default --add-config log.retention.ms=5000000
""",
    r"""
--describe --broker 1
--describe --entity-type brokers --entity-default
--describe --entity-type brokers
--describe --topic t1 --all
--alter --broker 1 --add-config log.retention.ms=234567 --delete-config log.cleaner.threads
--alter --broker-defaults --delete-config log.retention.ms
""",
    r"""
--describe --entity-type brokers
--alter --broker 1 --add-config listener.name.plaintext.ssl.key.password=secret
""",
    r"""
--describe --broker 1
--alter --broker 1 --add-config log.retention.ms=345678
--alter --broker 1 --delete-config listener.name.plaintext.ssl.key.password
""",
    r"""
--describe --broker 1
--alter --broker-logger 1 --add-config kafka.log.LogCleaner=DEBUG
--alter --broker-logger 1 --add-config kafka.log.LogCleaner=LOUD
--alter --broker-logger 1 --add-config no.such.logger=INFO
--alter --broker-logger 1 --delete-config no.such.logger
--alter --broker-logger 1 --delete-config kafka.log.LogCleaner
--alter --broker-logger 1 --delete-config root
--alter --user alice --add-config producer_byte_rate=1024,consumer_byte_rate=2048.5
--alter --entity-type users --entity-name bob --add-config request_percentage=50
--alter --user-defaults --add-config controller_mutation_rate=3
--alter --client c1 --add-config producer_byte_rate=1
--alter --client-defaults --add-config producer_byte_rate=10000000
--alter --user alice --client c1 --add-config producer_byte_rate=5
--alter --entity-type clients --entity-name c2 --entity-type users --entity-default --add-config producer_byte_rate=6
--alter --ip 10.0.0.1 --add-config connection_creation_rate=10
--alter --ip-defaults --add-config connection_creation_rate=20
--alter --user alice --add-config producer_byte_rate=abc
--alter --user alice --delete-config request_percentage
--alter --user alice --add-config SCRAM-SHA-256=[iterations=8192,password=alice-secret]
--alter --user alice --add-config SCRAM-SHA-512=[password=alice-secret]
--alter --user carol --add-config SCRAM-SHA-512=[iterations=-1,password=carol]
""",
    r"""
--describe --user alice
--describe --user bob
--describe --user nobody
--describe --user-defaults
--describe --entity-type users
--describe --entity-type clients
--describe --client c1
--describe --client-defaults
--describe --user alice --client c1
--describe --entity-type users --entity-type clients
--describe --entity-type users --entity-name alice --entity-type clients
--describe --entity-type users --entity-default --entity-type clients --entity-name c2
--describe --ip 10.0.0.1
--describe --ip-defaults
--describe --entity-type ips
--alter --user alice --delete-config SCRAM-SHA-512
--alter --user alice --delete-config SCRAM-SHA-512
--alter --user alice --delete-config producer_byte_rate --add-config request_percentage=5
--alter --user-defaults --delete-config controller_mutation_rate
--alter --ip 10.0.0.1 --delete-config connection_creation_rate
""",
    r"""
--describe --entity-type users
--describe --entity-type ips
--describe --entity-type client-metrics --entity-name x
--describe --entity-type client-metrics
--alter --entity-type client-metrics --entity-name x --add-config interval.ms=100
""",
)

BESIDE = r"""
--describe --entity-type users --entity-name alice
--describe --entity-type users
--describe --entity-type users --entity-name carol --entity-type clients
--describe --entity-type users --entity-type clients
--describe --entity-type brokers
--describe --entity-type brokers --entity-name 1
--alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=1
--alter --entity-type brokers --entity-default --add-config log.retention.ms=1
--alter --entity-type users --entity-name alice --add-config producer_byte_rate=1
--alter --entity-type users --entity-name alice --delete-config producer_byte_rate
--alter --user dora --add-config SCRAM-SHA-256=[iterations=5000,password=dora]
--alter --user dora --add-config SCRAM-SHA-256=[iterations=10,password=dora]
--alter --user dora --add-config SCRAM-SHA-256=dora
--alter --user dora --delete-config SCRAM-SHA-512
--describe --user dora
--alter --user dora --delete-config SCRAM-SHA-256
--describe --user dora
--describe --entity-type brokers --entity-name 2
--alter --broker 2 --add-config log.retention.ms=7,log.cleaner.threads=2
--describe --broker 2
--alter --broker 2 --delete-config log.retention.ms
--alter --broker 2 --delete-config log.retention.ms
--describe --entity-type brokers --entity-name 2
--alter --broker 2 --add-config listener.name.plaintext.ssl.key.password=x
--alter --broker 2 --add-config listener.name.plaintext.ssl.key.password=x,password.encoder.secret=y
--alter --broker 2 --add-config zookeeper.connect=x
--alter --broker 2 --add-config log.retention.ms=x
"""
"""With --zookeeper Z, while the broker runs."""

STOPPED = r"""
--describe --entity-type brokers
--describe --entity-type brokers --entity-default
--alter --entity-type brokers --entity-default --add-config log.retention.ms=1
--alter --broker-defaults --add-config listeners=PLAINTEXT://:1
--describe --entity-type brokers --entity-default
--alter --broker 1 --add-config log.retention.ms=1
"""
"""With --zookeeper Z."""


def lines_of(table: str, *always: str, places: dict[str, str]) -> list[Arguments]:
    """The lines of a table as arguments."""
    words = [[*always, *shlex.split(line)] for line in table.removeprefix("\n").splitlines()]
    folder = places["F"]
    return [[places.get(word, word).replace("F/", f"{folder}/") for word in line] for line in words]


MASKS = (Mask(re.compile(r"(salt|stored_key|server_key)=[^,\n]*"), r"\1=<chance>", allowed("random-secrets")),)


def plain(run: ToolRun, places: dict[str, str]) -> ToolRun:
    """The run without addresses, folders and secrets."""
    found = comparable(run)

    def clean(text: str) -> str:
        for name, value in sorted(places.items(), key=lambda item: -len(item[1])):
            text = text.replace(value, f"<{name}>")
        return masked(text.replace(usage_of("configs"), "<usage text>\n"), MASKS)

    return ToolRun(found.exit_code, clean(found.stdout), clean(found.stderr))


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)


def create_topics(bootstrap: str) -> None:
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_topics([NewTopic("t1", 1, 1), NewTopic("t2", 1, 1)])


def wait_until_heard(bootstrap: str) -> None:
    """Until broker 1 has heard of all changes before this call: it hears of them in their order, and of one more."""
    broker = ConfigResource(ResourceType.BROKER, "1")
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:

        def is_set() -> bool:
            entries = admin.describe_configs([broker])[broker]
            return any(each.name == MARK and each.source == ConfigSource.DYNAMIC_BROKER_CONFIG for each in entries)

        admin.incremental_alter_configs({broker: [ConfigChange(MARK, ConfigOperation.SET, "1")]})
        wait_until(is_set, f"{MARK} is set")
        admin.incremental_alter_configs({broker: [ConfigChange(MARK, ConfigOperation.DELETE)]})
        wait_until(lambda: not is_set(), f"{MARK} is no longer set")


def write_golden(folder: Path, zookeeper: str) -> None:
    """Blocks for half a minute. Run Apache's tool against Apache's broker with every line."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder)
    broker = ApacheBroker(folder / "broker", zookeeper, broker_id=1, overrides=SECRET).start()
    places = {"B": broker.bootstrap, "Z": zookeeper, "F": str(folder)}
    rows: list[str] = []

    def play(part: str, lines: Sequence[Arguments]) -> None:
        for arguments, run in zip(lines, run_apache(COMMAND, lines, folder), strict=True):
            found = plain(run, places)
            shown = [next((f"<{n}>" for n, v in places.items() if v == word), word) for word in arguments]
            shown = [word.replace(str(folder), "<F>") for word in shown]
            row = {"part": part, "args": shown, "exit": found.exit_code, "out": found.stdout, "err": found.stderr}
            rows.append(json.dumps(row, ensure_ascii=False))
        GOLDEN.write_text("\n".join(rows) + "\n")

    try:
        World(broker.bootstrap).wait_until_known()
        create_topics(broker.bootstrap)
        play("wrong", lines_of(WRONG, places=places))
        for number, table in enumerate(LIFE):
            play(f"life {number}", lines_of(table, "--bootstrap-server", broker.bootstrap, places=places))
            wait_until_heard(broker.bootstrap)
        play("beside", lines_of(BESIDE, "--zookeeper", zookeeper, places=places))
    finally:
        broker.stop()
    play("stopped", lines_of(STOPPED, "--zookeeper", zookeeper, places=places))


def _write(folder: Path) -> None:
    zookeeper = EmbeddedZooKeeper(folder / "zookeeper")
    zookeeper.start()
    try:
        write_golden(folder / "lines", fresh_chroot(zookeeper, "golden"))
    finally:
        zookeeper.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        _write(Path(scratch))
