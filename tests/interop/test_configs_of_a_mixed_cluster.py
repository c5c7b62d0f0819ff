"""Dynamic configs in a cluster of both: whichever broker is told of a change, both follow it, whoever is controller."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from kafka_zk.config.password_encoder import PasswordEncoder
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import alter_client_quotas as quotas
from kafka_zk.protocol.messages import alter_user_scram_credentials as scram
from kafka_zk.protocol.messages import describe_configs as described
from kafka_zk.protocol.messages import describe_user_scram_credentials as scram_described
from kafka_zk.protocol.messages import incremental_alter_configs as incremental
from kafka_zk.protocol.messages.produce import PRODUCE_REQUEST
from kafka_zk.tools.configs.__main__ import main as our_kafka_configs
from tests.interop.test_cluster_with_apache import APACHE, OURS, Cluster
from tests.interop.tools.runs import run_once
from tests.support import wire
from tests.support.apache import ApacheBroker, ToolRun, run_tool
from tests.support.broker import OurBroker
from tests.support.processes import free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.znodes import as_json, create_topic, set_topic_config
from tests.support.zookeeper import ZooKeeperServer, eventually, fresh_chroot

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, OF_NOBODY = 1, 2, 3, 5
"""Where DescribeConfigs says that a value comes from."""
SCRAM_SHA_256 = 1
SECRET = "one-for-both-brokers"
PASSWORD_KEY = "listener.name.plaintext.ssl.key.password"
QUICK = {
    "password.encoder.secret": SECRET,
    "log.retention.check.interval.ms": "100",
    "log.initial.task.delay.ms": "0",
    "log.segment.delete.delay.ms": "0",
}


class ApacheWithLogin(ApacheBroker):
    """Apache's broker with a second listener, for who has SCRAM credentials."""

    def __init__(self, folder: Path, connect: str, *, broker_id: int, overrides: Mapping[str, str]) -> None:
        super().__init__(folder, connect, broker_id=broker_id, overrides={**overrides, **QUICK})
        self.login_port = free_port()
        self._properties |= {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},SASL_PLAINTEXT://127.0.0.1:{self.login_port}",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }


def ours(folder: Path, connect: str, *, broker_id: int, overrides: Mapping[str, str]) -> OurBroker:
    return OurBroker(folder, connect, broker_id=broker_id, overrides={**overrides, **QUICK})


class Side:
    """One of the brokers, asked and told directly: nobody sends its requests on."""

    def __init__(self, broker: ApacheBroker | OurBroker) -> None:
        self.broker = broker
        self.id = broker.broker_id

    def send(self, message: Any, request: Any, version: int, client_id: str = "side") -> Any:
        with RawClient(self.broker.bootstrap, client_id) as client:
            return client.send(message, request, version)

    def alter(self, kind: int, name: str, **values: str | None) -> None:
        """Give keys values, or take them away with None."""
        changes = [
            incremental.AlterableConfig(
                name=key.replace("_", "."), config_operation=DELETE if value is None else SET, value=value
            )
            for key, value in values.items()
        ]
        resource = incremental.AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
        request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
        result = self.send(incremental.INCREMENTAL_ALTER_CONFIGS_REQUEST, request, 1).responses[0]
        assert result.error_code == 0, result

    def configs(self, kind: int, name: str, keys: list[str] | None = None) -> dict[str, tuple[str | None, int]]:
        """Values and sources."""
        resource = described.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        request = described.DescribeConfigsRequest(resources=[resource])
        result = self.send(described.DESCRIBE_CONFIGS_REQUEST, request, 1).results[0]
        assert result.error_code == 0, result
        return {entry.name: (entry.value, entry.config_source) for entry in result.configs}

    def wait_for(self, kind: int, name: str, key: str, source: int, value: str | None = None) -> None:
        def is_so() -> bool:
            found = self.configs(kind, name, [key]).get(key)
            return found is not None and found[1] == source and value in (None, found[0])

        wait_until(is_so, f"broker {self.id} has {key}={value} of {name} from source {source}")

    def takes(self, topic: str, size_bytes: int) -> ErrorCode:
        with RawClient(self.broker.bootstrap) as client:
            return wire.try_produce(client, topic, [b"x" * size_bytes], acks=-1)[0]

    def wait_takes(self, topic: str, size_bytes: int, expected: ErrorCode) -> None:
        wait_until(lambda: self.takes(topic, size_bytes) is expected, f"{size_bytes} bytes to {topic}: {expected!r}")

    def output(self) -> str:
        return (self.broker.folder / "broker.log").read_text()

    def log_start(self, topic: str) -> int:
        with RawClient(self.broker.bootstrap) as client:
            return wire.offset_at(client, topic, list_offsets_timestamp=-2)


class Mixed:
    """The cluster, and a hand in its ZooKeeper."""

    def __init__(self, folder: Path, connect: str) -> None:
        self.connect = connect
        self.cluster = Cluster(folder, connect, controller=APACHE, apache=ApacheWithLogin, ours=ours)
        self.sides = {broker_id: Side(broker) for broker_id, broker in self.cluster.brokers.items()}
        self._topic_count = 0

    @property
    def zk(self) -> KazooClient:
        return self.cluster.zk

    def let_control(self, broker_id: int) -> None:
        """Elections are races: again until it wins."""
        while self.cluster.controller != broker_id:
            self.zk.delete("/controller")
            eventually(lambda: self.cluster.controller is not None)

    def topic(self, leader: int, *followers: int) -> str:
        self._topic_count += 1
        name = f"t-{self._topic_count}"
        # Through ZooKeeper, because clients would have to learn first who is controller now.
        create_topic(self.connect, name, {0: [leader, *followers]})
        self.cluster.wait_for(name, leader, {leader, *followers})
        with RawClient(self.sides[leader].broker.bootstrap) as client:
            wire.wait_for_topic(client, name)
        return name

    def write_broker_configs(self, broker_id: int, values: Mapping[str, str]) -> None:
        """As another tool or broker does that may write there."""
        path = f"/config/brokers/{broker_id}"
        self.zk.ensure_path(path)
        self.zk.set(path, as_json({"version": 1, "config": dict(values)}))
        notice = as_json({"version": 2, "entity_path": f"brokers/{broker_id}"})
        self.zk.create("/config/changes/config_change_", notice, sequence=True)

    def stored(self, broker_id: int) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.zk.get(f"/config/brokers/{broker_id}")[0])["config"]
        return found

    def may_log_in(self, user: str, password: str) -> bool:
        """To Apache's broker, which knows of credentials what the notices in ZooKeeper tell it."""
        broker = self.cluster.brokers[APACHE]
        assert isinstance(broker, ApacheWithLogin)
        client = AdminClient(
            {
                "bootstrap.servers": f"127.0.0.1:{broker.login_port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": user,
                "sasl.password": password,
                "log_level": 0,
            }
        )
        try:
            return bool(client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False


@pytest.fixture(scope="module")
def mixed(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    made = Mixed(tmp_path_factory.mktemp("mixed"), fresh_chroot(zookeeper, "mixed-configs"))
    yield made
    made.cluster.close()


@pytest.fixture(scope="module", params=[APACHE, OURS], ids=["apache-controls", "we-control"], autouse=True)
def controller(request: pytest.FixtureRequest, mixed: Mixed) -> int:
    mixed.let_control(request.param)
    return int(request.param)


@pytest.fixture(params=[OURS, APACHE], ids=["told-ours", "told-apache"])
def told(request: pytest.FixtureRequest, mixed: Mixed) -> Side:
    """The broker that clients ask to change something."""
    return mixed.sides[request.param]


@pytest.fixture
def other(mixed: Mixed, told: Side) -> Side:
    """The broker that hears of it through ZooKeeper alone."""
    return mixed.sides[APACHE + OURS - told.id]


def test_configs_of_a_topic_count_where_its_leader_is(mixed: Mixed, told: Side, other: Side) -> None:
    topic = mixed.topic(other.id)
    assert other.takes(topic, 2000) is ErrorCode.NONE
    told.alter(TOPIC, topic, max_message_bytes="1000", retention_ms="1")
    other.wait_takes(topic, 2000, ErrorCode.MESSAGE_TOO_LARGE)
    wait_until(lambda: other.log_start(topic) > 0, "what is older than a millisecond goes")
    assert other.configs(TOPIC, topic, ["max.message.bytes"]) == {"max.message.bytes": ("1000", OF_TOPIC)}
    told.alter(TOPIC, topic, max_message_bytes=None, retention_ms=None)
    other.wait_takes(topic, 2000, ErrorCode.NONE)
    assert other.configs(TOPIC, topic) == told.configs(TOPIC, topic)


def test_configs_of_all_brokers(mixed: Mixed, told: Side, other: Side) -> None:
    topic = mixed.topic(other.id)
    told.alter(BROKER, "", message_max_bytes="1000", background_threads="7")
    for side in (told, other):
        side.wait_for(BROKER, str(side.id), "message.max.bytes", OF_ALL_BROKERS, "1000")
        side.wait_for(BROKER, str(side.id), "background.threads", OF_ALL_BROKERS, "7")
    other.wait_takes(topic, 2000, ErrorCode.MESSAGE_TOO_LARGE)

    # A broker's own value is stronger, and the other broker's matter.
    other.alter(BROKER, str(other.id), message_max_bytes="3000")
    other.wait_for(BROKER, str(other.id), "message.max.bytes", OF_BROKER, "3000")
    other.wait_takes(topic, 2000, ErrorCode.NONE)
    told.wait_for(BROKER, str(told.id), "message.max.bytes", OF_ALL_BROKERS, "1000")

    told.alter(BROKER, "", message_max_bytes=None, background_threads=None)
    other.alter(BROKER, str(other.id), message_max_bytes=None)
    for side in (told, other):
        for key in ("message.max.bytes", "background.threads"):
            side.wait_for(BROKER, str(side.id), key, OF_NOBODY)


def test_fetchers_of_a_follower(mixed: Mixed, told: Side, other: Side) -> None:
    topics = [mixed.topic(other.id, told.id) for _ in range(3)]

    def resized_count() -> int:
        return told.output().count("Resizing fetcher thread pool size from ")

    for size in ("2", None):
        wanted = resized_count() + 1
        told.alter(BROKER, str(told.id), num_replica_fetchers=size)
        wait_until(lambda wanted=wanted: resized_count() == wanted, f"num.replica.fetchers={size} is followed")
        for topic in topics:
            # Acknowledged when the follower has it.
            assert other.takes(topic, 10) is ErrorCode.NONE


def test_each_reads_the_passwords_of_the_other(mixed: Mixed, told: Side, other: Side) -> None:
    told.alter(BROKER, str(told.id), **{PASSWORD_KEY: "a secret word"})
    told.wait_for(BROKER, str(told.id), PASSWORD_KEY, OF_BROKER)
    encoded = mixed.stored(told.id)[PASSWORD_KEY]
    assert PasswordEncoder(SECRET, random.randbytes).decode(encoded) == "a secret word"
    mixed.write_broker_configs(other.id, {PASSWORD_KEY: encoded})
    other.wait_for(BROKER, str(other.id), PASSWORD_KEY, OF_BROKER)

    # What cannot be read is not there: so it was read.
    unreadable = PasswordEncoder("another secret", random.randbytes).encode("a secret word")
    mixed.write_broker_configs(other.id, {PASSWORD_KEY: unreadable, "background.threads": "6"})
    other.wait_for(BROKER, str(other.id), "background.threads", OF_BROKER, "6")
    assert PASSWORD_KEY not in other.configs(BROKER, str(other.id))

    mixed.write_broker_configs(other.id, {})
    told.alter(BROKER, str(told.id), **{PASSWORD_KEY: None})
    other.wait_for(BROKER, str(other.id), "background.threads", OF_NOBODY)
    wait_until(lambda: PASSWORD_KEY not in told.configs(BROKER, str(told.id)), "the password is gone")


def test_quotas_of_clients(mixed: Mixed, told: Side, other: Side) -> None:
    topic, client_id = mixed.topic(other.id), f"limited-by-{told.id}"

    def throttle_ms() -> int:
        request = wire.produce_request(topic, [b"x" * 5000])
        return int(other.send(PRODUCE_REQUEST, request, 9, client_id).throttle_time_ms)

    def set_rate(*entities: tuple[str, str | None], bytes_per_second: float | None) -> None:
        entry = quotas.RequestEntryData(
            entity=[quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entities],
            ops=[
                quotas.OpData(key="producer_byte_rate", value=bytes_per_second or 0.0, remove=bytes_per_second is None)
            ],
        )
        request = quotas.AlterClientQuotasRequest(entries=[entry])
        answer = told.send(quotas.ALTER_CLIENT_QUOTAS_REQUEST, request, 1)
        assert answer.entries[0].error_code == 0, answer

    # The quota of one client; then those of all users and of all users' clients, weaker and stronger.
    assert throttle_ms() == 0
    set_rate(("client-id", client_id), bytes_per_second=1e4)
    wait_until(lambda: throttle_ms() > 0, "the client has to wait")
    set_rate(("user", None), bytes_per_second=1e9)
    wait_until(lambda: throttle_ms() == 0, "the quota of users is stronger")
    set_rate(("user", None), ("client-id", None), bytes_per_second=1e4)
    wait_until(lambda: throttle_ms() > 0, "that of users' clients is stronger still")
    for entities in ((("user", None), ("client-id", None)), (("user", None),), (("client-id", client_id),)):
        set_rate(*entities, bytes_per_second=None)
    wait_until(lambda: throttle_ms() == 0, "nobody has a quota")


def test_scram_credentials(mixed: Mixed, controller: int) -> None:
    told, other = mixed.sides[controller], mixed.sides[APACHE + OURS - controller]
    user = f"user-{controller}"
    salt, iterations = b"some salt", 4096
    upsertion = scram.ScramCredentialUpsertion(
        name=user,
        mechanism=SCRAM_SHA_256,
        iterations=iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac("sha256", b"word", salt, iterations),
    )
    deletion = scram.ScramCredentialDeletion(name=user, mechanism=SCRAM_SHA_256)

    def change(side: Side, **changes: Any) -> ErrorCode:
        request = scram.AlterUserScramCredentialsRequest(**changes)
        answer = side.send(scram.ALTER_USER_SCRAM_CREDENTIALS_REQUEST, request, 0)
        return ErrorCode(answer.results[0].error_code)

    def code_of_user(side: Side) -> ErrorCode:
        wanted = scram_described.DescribeUserScramCredentialsRequest(users=[scram_described.UserName(name=user)])
        answer = side.send(scram_described.DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST, wanted, 0)
        return ErrorCode(answer.results[0].error_code)

    # Only the controller changes them.
    assert change(other, upsertions=[upsertion]) is ErrorCode.NOT_CONTROLLER
    assert change(told, upsertions=[upsertion]) is ErrorCode.NONE
    assert code_of_user(other) is ErrorCode.NONE
    wait_until(lambda: mixed.may_log_in(user, "word"), "Apache's broker lets the user in")
    assert change(told, deletions=[deletion]) is ErrorCode.NONE
    assert code_of_user(other) is ErrorCode.RESOURCE_NOT_FOUND
    wait_until(lambda: not mixed.may_log_in(user, "word"), "and lets nobody of that name in")


def kafka_configs(tool: str, mixed: Mixed, *arguments: str) -> ToolRun:
    """One of both tools changes something in ZooKeeper."""
    line = ["--zookeeper", mixed.connect, "--alter", *arguments]
    return run_once(our_kafka_configs, line) if tool == "ours" else run_tool("kafka.admin.ConfigCommand", *line)


@pytest.mark.parametrize("tool", ["ours", "apache"])
def test_kafka_configs_with_zookeeper(mixed: Mixed, tool: str, controller: int) -> None:
    user = f"user-of-{tool}-{controller}"
    configs = "SCRAM-SHA-256=[iterations=4096,password=word]"
    run = kafka_configs(tool, mixed, "--entity-type", "users", "--entity-name", user, "--add-config", configs)
    assert run.exit_code == 0, run
    wait_until(lambda: mixed.may_log_in(user, "word"), "Apache's broker lets the user in")


def test_configs_of_topics_written_by_old_tools(mixed: Mixed) -> None:
    for side in mixed.sides.values():
        topic = mixed.topic(side.id)
        set_topic_config(mixed.connect, topic, {"max.message.bytes": "1000"})
        side.wait_takes(topic, 2000, ErrorCode.MESSAGE_TOO_LARGE)
        set_topic_config(mixed.connect, topic, {})
        side.wait_takes(topic, 2000, ErrorCode.NONE)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["ours", "apache"])
@pytest.mark.parametrize("broker_id", [APACHE, OURS])
def test_passwords_that_a_tool_writes_while_the_broker_is_down(mixed: Mixed, tool: str, broker_id: int) -> None:
    side = mixed.sides[broker_id]
    side.broker.stop()
    configs = f"{PASSWORD_KEY}=word,password.encoder.secret={SECRET},log.cleaner.backoff.ms=77"
    run = kafka_configs(
        tool, mixed, "--entity-type", "brokers", "--entity-name", str(broker_id), "--add-config", configs
    )
    assert run.exit_code == 0, run
    assert PasswordEncoder(SECRET, random.randbytes).decode(mixed.stored(broker_id)[PASSWORD_KEY]) == "word"
    side.broker.start()
    side.wait_for(BROKER, str(broker_id), PASSWORD_KEY, OF_BROKER)
    side.wait_for(BROKER, str(broker_id), "log.cleaner.backoff.ms", OF_BROKER, "77")
    side.alter(BROKER, str(broker_id), **{PASSWORD_KEY: None}, log_cleaner_backoff_ms=None)
    side.wait_for(BROKER, str(broker_id), "log.cleaner.backoff.ms", OF_NOBODY)
    mixed.cluster.wait_for_members(APACHE, OURS)


Layer = tuple[int, str]
POOLS: dict[int, dict[str, list[str]]] = {
    TOPIC: {
        "max.message.bytes": ["1000", "2000000"],
        "retention.ms": ["1000", "-1", "86400000"],
        "cleanup.policy": ["compact", "delete", "compact,delete"],
        "min.insync.replicas": ["1", "2"],
        "segment.bytes": ["1000000", "5000000"],
        "unclean.leader.election.enable": ["true", "false"],
    },
    BROKER: {
        "message.max.bytes": ["1000000", "2000000"],
        "log.retention.ms": ["1000000", "86400000"],
        "log.cleaner.backoff.ms": ["100", "1000"],
        "log.cleaner.delete.retention.ms": ["1", "100000"],
        "background.threads": ["8", "12", "15"],
        "num.io.threads": ["6", "8", "10"],
        "max.connections.per.ip": ["1000", "2000"],
        "min.insync.replicas": ["1", "2"],
        "unclean.leader.election.enable": ["true", "false"],
        "my.plugin.key": ["a", "b"],
    },
}


@pytest.mark.slow
def test_changes_by_chance(mixed: Mixed, chance: random.Random) -> None:
    """Of topics, of all brokers and of each, told to either: in the end both show what was said last."""
    topics = [mixed.topic(leader) for leader in (APACHE, OURS)]
    wanted: dict[Layer, dict[str, str]] = {}
    for _ in range(40):
        for _ in range(5):
            side = chance.choice(list(mixed.sides.values()))
            layer = chance.choice([*((TOPIC, topic) for topic in topics), (BROKER, ""), (BROKER, str(side.id))])
            values = wanted.setdefault(layer, {})
            key = chance.choice(list(POOLS[layer[0]]))
            if key in values and chance.random() < 0.4:
                del values[key]
                side.alter(*layer, **{key: None})
            else:
                values[key] = chance.choice(POOLS[layer[0]][key])
                side.alter(*layer, **{key: values[key]})
        wait_until(lambda: [each for each in mixed.sides.values() if not shows(each, wanted)] == [], f"{wanted}")
    for layer, values in wanted.items():
        side = mixed.sides.get(int(layer[1]) if layer[1].isdigit() else OURS, mixed.sides[OURS])
        side.alter(*layer, **dict.fromkeys(values))


def shows(side: Side, wanted: Mapping[Layer, Mapping[str, str]]) -> bool:
    """Whether a broker has these values and no others; of a key that nobody declared it shows no value."""
    for (kind, name), values in wanted.items():
        if kind == BROKER and name not in ("", str(side.id)):
            continue
        source = OF_TOPIC if kind == TOPIC else OF_BROKER if name else OF_ALL_BROKERS
        found = {key: value for key, (value, of) in side.configs(kind, name).items() if of == source}
        if found != {key: None if key.startswith("my.") else value for key, value in values.items()}:
            return False
    return True
