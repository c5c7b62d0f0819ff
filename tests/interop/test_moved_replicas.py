"""Replicas moved between the log directories of a broker (AlterReplicaLogDirs), of Apache's brokers and of ours.

The same requests get the same answers, and a move loses nothing, whatever happens meanwhile. A move that must be under
way is held up by a throttle: it copies one chunk and then, for many seconds, nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import NewTopic

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from tests.interop.replay import moved_replicas
from tests.interop.replay.scenario import World, needless, play
from tests.support import log_dirs, wire
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.chaos import IdempotentWriter, Worker
from tests.support.librdkafka import Librdkafka, Written
from tests.support.names import fresh
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.znodes import end_session
from tests.support.zookeeper import ZooKeeperServer

Broker = ApacheBroker | OurBroker
APACHE, OURS = "apache", "ours"
BOTH = (APACHE, OURS)
OURS_AND_IN_FULL_APACHE = (OURS, pytest.param(APACHE, marks=pytest.mark.slow))

SETTINGS = {
    "log.retention.ms": "-1",
    "replica.fetch.max.bytes": "262144",
    "replica.fetch.backoff.ms": "100",
    "replica.fetch.wait.max.ms": "100",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "log.flush.offset.checkpoint.interval.ms": "300",
    # What was copied is forgotten after two seconds: the next move that is held up begins the sooner.
    "alter.log.dirs.replication.quota.window.num": "2",
}
SEGMENTS = {"segment.bytes": "1048576"}
NEARLY_NOTHING = 1
"""Bytes a second: the first chunk of a move exceeds it, and no other is copied before the chunk is forgotten."""
WHILE_WRITTEN = 200
"""Records that are acknowledged while a move is held up, and once more behind it."""


class Hosts:
    """Brokers with three log directories each, a kind started when it is first asked for."""

    def __init__(self, folder: Path, zookeeper_connect: str) -> None:
        self._folder, self._zookeeper_connect = folder, zookeeper_connect
        self._running: dict[str, Broker] = {}

    def __getitem__(self, kind: str) -> Broker:
        return self.all(kind)[0]

    def all(self, *kinds: str) -> list[Broker]:
        """Those that do not run, for the first time or because a test failed, start beside each other."""
        for kind in {*kinds} - self._running.keys():
            self._running[kind] = three_directories(kind, self._folder / kind, self._connect(kind))
        resting = [self._running[kind] for kind in kinds if not self._running[kind].process.is_running]
        for broker in resting:
            broker.launch()
        for broker in resting:
            broker.wait_ready()
        return [self._running[kind] for kind in kinds]

    def kill_and_start(self, broker: Broker) -> None:
        """As kill -9 does. Apache's does not start before its last session has ended; ours ends it by itself."""
        broker.kill()
        if isinstance(broker, ApacheBroker):
            end_session(self._connect(APACHE))
        broker.start()

    def close(self) -> None:
        for broker in self._running.values():
            broker.kill()

    def _connect(self, kind: str) -> str:
        return f"{self._zookeeper_connect}-{kind}"


def three_directories(kind: str, folder: Path, connect: str, broker_id: int = 0, **more: str) -> Broker:
    """A broker that is not started yet; `more` are further settings, `_` for a dot."""
    make = ApacheBroker if kind == APACHE else OurBroker
    directories = ",".join(f"{folder}/data/{name}" for name in moved_replicas.DIRECTORIES)
    settings = SETTINGS | {"log.dirs": directories} | {name.replace("_", "."): value for name, value in more.items()}
    return make(folder, connect, broker_id=broker_id, overrides=settings)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZooKeeperServer) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("moved")
    built = Hosts(folder, f"{zookeeper.connect}/{folder.name}")
    yield built
    built.close()


@pytest.fixture
def broker(hosts: Hosts, request: pytest.FixtureRequest) -> Broker:
    """Of the kind that the test is parametrized with. It moves nothing, and is free to move at any rate."""
    found = hosts[request.param]
    with RawClient(found.bootstrap) as client:
        wire.wait_for_brokers(client)
        log_dirs.throttle(client, found.broker_id, None)
    return found


def other_than(directory: Path) -> Path:
    """The directory behind this one."""
    known = moved_replicas.DIRECTORIES
    return directory.parent / known[(known.index(directory.name) + 1) % len(known)]


class GroupReader(Worker):
    """The only member of a group: what it reads, in its order."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__("reader")
        self.read: list[Message] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"of-{topic}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": True,
                "auto.commit.interval.ms": 100,
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 200,
                "broker.address.family": "v4",
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])

    def turn(self) -> None:
        self.read += [message for message in self._consumer.consume(500, 0.05) if message.error() is None]

    def end(self) -> None:
        self._consumer.close()


class Scene:
    """A topic of one partition and three segments, of which a writer goes on writing and a group reading."""

    def __init__(self, bootstrap: str, topic: str, configs: dict[str, str] = SEGMENTS, replicas: Sequence[int] = ()):
        self.bootstrap, self.topic = bootstrap, topic
        self.clients = Librdkafka(bootstrap)
        new = NewTopic(topic, 1, config=configs, **({"replica_assignment": [list(replicas)]} if replicas else {}))
        self.clients.admin.create_topics([new])[topic].result(30)
        self._written: list[bytes] = []
        self.writer = IdempotentWriter(bootstrap, 1, topic, 1, seed=3)
        self.reader = GroupReader(bootstrap, topic)

    def fill(self, size_bytes: int = 2 << 20, *, codecs: Sequence[str] = ("none", "lz4")) -> None:
        """So much for each codec, in batches of an idempotent producer each."""
        chance = random.Random(1)
        for codec in codecs:
            values = [chance.randbytes(900) + bytes(100) for _ in range(size_bytes // 1000)]
            self.clients.write(
                self.topic,
                [Written(value, b"%d" % number) for number, value in enumerate(values)],
                compression_type=codec,
                enable_idempotence=True,
                linger_ms=5,
                batch_size=60_000,
            )
            self._written += values

    def begin(self) -> None:
        self.writer.start()
        self.reader.start()

    def wait_until_more_is_written(self, count: int = WHILE_WRITTEN) -> None:
        wanted = len(self.acknowledged) + count

        def is_there() -> bool:
            assert not (self.writer.has_failed or self.reader.has_failed)
            return len(self.acknowledged) >= wanted

        wait_until(is_there, f"{count} more records are acknowledged")

    @property
    def acknowledged(self) -> Sequence[int]:
        return self.writer.acknowledged[0]

    def end(self) -> None:
        """Nothing more is written; the group has read all."""
        self.writer.stop()
        assert self.writer.refused == []
        wait_until(lambda: len(self.reader.read) >= self.count or self.reader.has_failed, "the group reads all")
        self.reader.stop()
        assert [message.offset() for message in self.reader.read] == list(range(self.count))
        self.check(self.reader.read)

    @property
    def count(self) -> int:
        return len(self._written) + len(self.acknowledged)

    def check_all(self) -> None:
        """All that was acknowledged is there, once, in order, and nothing else."""
        found = self.clients.read(self.topic, self.count)
        assert [message.offset() for message in found] == list(range(self.count))
        self.check(found)
        ends = self.clients.consumer().get_watermark_offsets(Partition(self.topic, 0), 30)
        assert ends == (0, self.count)

    def check(self, found: Sequence[Message]) -> None:
        values = [message.value() for message in found]
        assert values[: len(self._written)] == self._written
        heads = [value.split(b":")[:2] for value in values[len(self._written) :]]
        assert heads == [[b"1", b"%d" % sequence] for sequence in self.acknowledged]
        assert all(earlier < later for earlier, later in pairwise(self.acknowledged))

    def close(self) -> None:
        for worker in (self.writer, self.reader):
            worker.stopping.set()
        self.clients.close()


@pytest.fixture
def scene(broker: Broker, request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(broker.bootstrap, fresh(request.node.originalname[:40].replace("_", "-")))
    yield made
    made.close()


def marked(directory: Path, topic: str, kind: names.DirKind) -> list[Path]:
    """The directories of partition 0 that are on their way to be deleted, or being filled."""
    return sorted(directory.glob(f"{topic}-0.*{kind.value}"))


def assert_left(source: Path, target: Path, topic: str) -> None:
    """After a move: what it has left is about to be deleted, and no checkpoint of that directory knows it."""
    assert_lies_only_in(target, topic)
    assert len(marked(source, topic, names.DirKind.DELETED)) == 1
    wait_until(lambda: offsets_of(source, topic) == NOTHING, "the checkpoints of what was left forget it")
    wait_until(lambda: None not in offsets_of(target, topic).values(), "those of the other directory know it")


def assert_lies_only_in(directory: Path, topic: str) -> None:
    """Nothing is left of the move but what it has put away to be deleted."""
    lying = sorted(path.parent for path in directory.parent.glob(f"*/{topic}-0"))
    assert lying == [directory]
    assert not [path for each in directory.parent.iterdir() for path in marked(each, topic, names.DirKind.FUTURE)]


NOTHING: dict[str, int | None] = dict.fromkeys((names.RECOVERY_POINTS, names.HIGH_WATERMARKS))


def offsets_of(directory: Path, topic: str) -> dict[str, int | None]:
    """What the checkpoints of a directory say of partition 0."""
    partition = TopicPartition(topic, 0)
    return {file: read_offsets(directory / file).get(partition) for file in NOTHING}


def test_answers_are_equal(hosts: Hosts) -> None:
    played, left_out = {}, {}
    for kind, each in zip(BOTH, hosts.all(*BOTH), strict=True):
        world = World(each.bootstrap, {str(each.log_dir): "<log dir>"})
        played[kind] = play(world, moved_replicas.EXCHANGES)
        left_out[kind] = world.left_out
    different = [
        f"{name} v{version}:\n  Apache: {answer}\n  ours:   {played[OURS][name, version]}"
        for (name, version), answer in played[APACHE].items()
        if answer != played[OURS][name, version]
    ]
    assert not different, f"{len(different)} answers differ:\n" + "\n".join(different)
    assert needless(moved_replicas.EXCHANGES, left_out[APACHE], left_out[OURS]) == []


@pytest.mark.parametrize("broker", OURS_AND_IN_FULL_APACHE, indirect=True)
def test_it_moves_while_it_is_written_and_read(broker: Broker, scene: Scene) -> None:
    topic = scene.topic
    scene.fill()
    with RawClient(broker.bootstrap) as client:
        source = log_dirs.home(client, topic)
        assert len(list((source / f"{topic}-0").glob("*.log"))) > 3
        scene.begin()
        scene.wait_until_more_is_written()
        target = other_than(source)
        log_dirs.throttle(client, broker.broker_id, NEARLY_NOTHING)
        assert log_dirs.move(client, target, topic) is ErrorCode.NONE
        copied = log_dirs.wait_until_under_way(client, topic)
        assert copied.directory == target
        assert len(marked(target, topic, names.DirKind.FUTURE)) == 1
        scene.wait_until_more_is_written()
        assert log_dirs.future(client, topic) is not None
        log_dirs.throttle(client, broker.broker_id, None)
        log_dirs.wait_until_home(client, target, topic)
        assert_left(source, target, topic)
        scene.wait_until_more_is_written()
        assert log_dirs.move(client, source, topic) is ErrorCode.NONE
        log_dirs.wait_until_home(client, source, topic)
        assert_left(target, source, topic)
        scene.wait_until_more_is_written()
    scene.end()
    scene.check_all()


@pytest.mark.parametrize("broker", OURS_AND_IN_FULL_APACHE, indirect=True)
def test_a_start_after_a_move_has_nothing_to_recover(broker: Broker, scene: Scene) -> None:
    topic = scene.topic
    scene.fill()
    with RawClient(broker.bootstrap) as client:
        source = log_dirs.home(client, topic)
        target = other_than(source)
        assert log_dirs.move(client, target, topic) is ErrorCode.NONE
        log_dirs.wait_until_home(client, target, topic)
    broker.stop()
    assert all((directory / names.CLEAN_SHUTDOWN).exists() for directory in source.parent.iterdir())
    assert offsets_of(target, topic) == dict.fromkeys(NOTHING, scene.count)
    assert offsets_of(source, topic) == NOTHING
    said = len(broker.process.output())
    broker.start()
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, topic)
        assert log_dirs.home(client, topic) == target
    scene.check_all()
    assert "Recovering" not in broker.process.output()[said:]


@pytest.mark.parametrize("broker", BOTH, indirect=True)
def test_it_stays_when_its_own_directory_is_named(broker: Broker, scene: Scene) -> None:
    topic = scene.topic
    scene.fill(codecs=["none"])
    with RawClient(broker.bootstrap) as client:
        source = log_dirs.home(client, topic)
        first, second = other_than(source), other_than(other_than(source))
        log_dirs.throttle(client, broker.broker_id, NEARLY_NOTHING)
        assert log_dirs.move(client, first, topic) is ErrorCode.NONE
        assert log_dirs.wait_until_under_way(client, topic).directory == first
        # Another word while it goes on: elsewhere, and then where it is.
        assert log_dirs.move(client, second, topic) is ErrorCode.NONE
        moving = log_dirs.future(client, topic)
        assert moving is not None and moving.directory == second
        assert log_dirs.move(client, source, topic) is ErrorCode.NONE
        log_dirs.wait_until_home(client, source, topic)
        assert_lies_only_in(source, topic)
        assert [len(marked(each, topic, names.DirKind.DELETED)) for each in (source, first, second)] == [0, 1, 1]
        log_dirs.throttle(client, broker.broker_id, None)
        scene.check_all()
        assert log_dirs.move(client, first, topic) is ErrorCode.NONE
        log_dirs.wait_until_home(client, first, topic)
    scene.check_all()


@pytest.mark.parametrize("broker", BOTH, indirect=True)
def test_it_is_deleted_while_it_moves(broker: Broker, scene: Scene) -> None:
    topic = scene.topic
    scene.fill(codecs=["none"])
    with RawClient(broker.bootstrap) as client:
        source = log_dirs.home(client, topic)
        target = other_than(source)
        log_dirs.throttle(client, broker.broker_id, NEARLY_NOTHING)
        assert log_dirs.move(client, target, topic) is ErrorCode.NONE
        log_dirs.wait_until_under_way(client, topic)
        assert wire.delete_topic(client, topic) is ErrorCode.NONE
        wait_until(lambda: log_dirs.copies(client, topic) == [], "both copies are gone")
        # Neither is shown any more; their names change one after the other.
        wait_until(lambda: not marked(target, topic, names.DirKind.FUTURE), "the copy has another name")
        wait_until(lambda: len(marked(source, topic, names.DirKind.DELETED)) == 1, "the log has another name")
        assert len(marked(target, topic, names.DirKind.DELETED)) == 1
        # Made anew it knows nothing of the move: it lies where the fewest are.
        log_dirs.throttle(client, broker.broker_id, None)
        counts = log_dirs.counts(client)
        wait_until(
            lambda: wire.try_create_topic(client, topic)[0] is ErrorCode.NONE, "the name of the topic is free again"
        )
        wire.wait_for_topic(client, topic)
        assert log_dirs.home(client, topic) == min(counts, key=lambda path: counts[path])
        assert wire.write(client, topic, [b"the first"], acks=-1) == 0


@pytest.mark.parametrize("broker", OURS_AND_IN_FULL_APACHE, indirect=True)
def test_a_move_goes_on_after_a_kill(hosts: Hosts, broker: Broker, scene: Scene) -> None:
    topic = scene.topic
    scene.fill()
    with RawClient(broker.bootstrap) as client:
        source = log_dirs.home(client, topic)
        target = other_than(source)
        log_dirs.throttle(client, broker.broker_id, NEARLY_NOTHING)
        assert log_dirs.move(client, target, topic) is ErrorCode.NONE
        copied = log_dirs.wait_until_under_way(client, topic)
    (filled,) = marked(target, topic, names.DirKind.FUTURE)
    hosts.kill_and_start(broker)
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, topic)
        assert marked(target, topic, names.DirKind.FUTURE) == [filled]
        again = log_dirs.wait_until_under_way(client, topic)
        assert (again.directory, again.size_bytes >= copied.size_bytes) == (target, True)
        scene.begin()
        scene.wait_until_more_is_written()
        log_dirs.throttle(client, broker.broker_id, None)
        log_dirs.wait_until_home(client, target, topic)
    scene.end()
    assert_lies_only_in(target, topic)
    hosts.kill_and_start(broker)
    scene.check_all()
    with RawClient(broker.bootstrap) as client:
        assert log_dirs.home(client, topic) == target


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[list[Broker]]:
    """Brokers 1 and 2 of a cluster, both of one kind."""
    brokers = [three_directories(request.param, tmp_path / str(each), zookeeper_connect, each) for each in (1, 2)]
    try:
        for each in brokers:
            each.launch()
        for each in brokers:
            each.wait_ready()
        for each in brokers:
            with RawClient(each.bootstrap) as client:
                wire.wait_for_brokers(client, 2)
        yield brokers
    finally:
        for each in brokers:
            each.kill()


@pytest.mark.slow
@pytest.mark.parametrize("pair", BOTH, indirect=True)
def test_a_follower_moves_while_it_follows(pair: list[Broker]) -> None:
    leader, follower = pair
    topic = "followed"
    scene = Scene(f"{leader.bootstrap},{follower.bootstrap}", topic, replicas=[1, 2])
    try:
        scene.fill()
        with RawClient(follower.bootstrap) as client:
            source = log_dirs.home(client, topic)
            target = other_than(source)
            log_dirs.throttle(client, follower.broker_id, NEARLY_NOTHING)
            scene.begin()
            assert log_dirs.move(client, target, topic) is ErrorCode.NONE
            assert log_dirs.wait_until_under_way(client, topic).directory == target
            scene.wait_until_more_is_written()
            log_dirs.throttle(client, follower.broker_id, None)
            log_dirs.wait_until_home(client, target, topic)
            scene.wait_until_more_is_written()
            # What moves next is the leader's own copy; then the one that moved first leads.
            with RawClient(leader.bootstrap) as other:
                there = other_than(log_dirs.home(other, topic))
                assert log_dirs.move(other, there, topic) is ErrorCode.NONE
                log_dirs.wait_until_home(other, there, topic)
            scene.wait_until_more_is_written()
        assert scene.clients.admin.list_topics(topic, 10).topics[topic].partitions[0].isrs == [1, 2]
        leader.stop()
        scene.wait_until_more_is_written()
        scene.end()
        scene.check_all()
        assert_lies_only_in(target, topic)
    finally:
        scene.close()


KILLS = 5
PARTITIONS = 4


@pytest.mark.slow
@pytest.mark.parametrize("broker", [OURS], indirect=True)
def test_moves_and_kills_at_random(broker: Broker, chance: random.Random) -> None:
    """Each partition is sent from directory to directory, called back and killed; all that was acknowledged stays."""
    topic = "tossed"
    directories = [broker.log_dir / name for name in moved_replicas.DIRECTORIES]
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, topic, PARTITIONS, {"segment.bytes": "100000"})
    writer = IdempotentWriter(broker.bootstrap, 1, topic, PARTITIONS, seed=chance.randrange(1 << 32))
    writer.start()
    try:
        for kill in range(KILLS):
            with RawClient(broker.bootstrap) as client:
                wire.wait_for_topic(client, topic)
                log_dirs.throttle(client, broker.broker_id, chance.choice([None, 100_000, 1_000_000]))
                for _ in range(chance.randrange(5, 40)):
                    code = log_dirs.move(client, chance.choice(directories), topic, chance.randrange(PARTITIONS))
                    assert code is ErrorCode.NONE
                    if chance.random() < 0.5:
                        _wait_for_more(writer, chance.randrange(1, 300))
            if kill % 2:
                broker.stop()
            else:
                broker.kill()
            broker.start()
        _wait_for_more(writer, 10)
    finally:
        writer.stopping.set()
    writer.stop()
    assert writer.refused == []
    with RawClient(broker.bootstrap) as client:
        log_dirs.throttle(client, broker.broker_id, None)
        for partition in range(PARTITIONS):
            wait_until(lambda partition=partition: log_dirs.future(client, topic, partition) is None, "the moves end")
            found = list(wire.read(client, topic, partition=partition))
            assert [record.offset for record in found] == list(range(len(found)))
            sequences = [int(bytes(record.value).split(b":")[1]) for record in found]
            assert sequences == sorted(writer.acknowledged[partition])


def _wait_for_more(writer: IdempotentWriter, count: int) -> None:
    def written() -> int:
        return sum(map(len, writer.acknowledged.values()))

    wanted = written() + count
    wait_until(lambda: written() >= wanted or writer.has_failed, f"{count} more records are acknowledged")
