"""Our consumer beside Java's, on Apache's broker: the same records, and groups that both are members of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_zk.client.consumer.assignors import assignors_by_class_name
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.timestamp_type import TimestampType
from tests.support.apache import ApacheBroker, java, run_tool
from tests.support.assignor_rounds import rounds
from tests.support.names import fresh
from tests.support.our_consumer import ASSIGNORS, PATIENCE_S, Consumers, poll_until, read
from tests.support.processes import ChildProcess, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROGRAMS = Path(__file__).parent / "java"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 4


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    running = ApacheBroker(
        tmp_path_factory.mktemp("apache"), fresh_chroot(zookeeper, "apache"), overrides={"num.partitions": "4"}
    ).start()
    yield running
    running.process.stop()


@pytest.fixture(scope="module")
def written(broker: ApacheBroker) -> None:
    """Topics full of what Java's producer writes."""
    ran = run_tool(str(PROGRAMS / "Written.java"), broker.bootstrap)
    assert ran.exit_code == 0, ran.stderr


@pytest.fixture
def consumers(broker: ApacheBroker) -> Iterator[Consumers]:
    with Consumers(broker.bootstrap) as made:
        yield made


def as_written(number: int) -> tuple[object, ...]:
    key = None if number % 4 == 0 else b"key %d" % number
    value = None if number % 5 == 0 else "value " * number
    headers = (("h", None), ("h", "é".encode()))[: number % 3]
    return number, 1000 + number, TimestampType.CREATE_TIME, key, value, headers


@pytest.mark.parametrize("codec", CODECS)
def test_what_javas_producer_wrote_is_read_as_it_was_given(written: None, consumers: Consumers, codec: str) -> None:
    consumer = consumers()
    consumer.assign([TopicPartition(f"codec-{codec}", 0)])
    found = [
        (record.offset, record.timestamp, record.timestamp_type, record.key, record.value, record.headers)
        for record in read(consumer, 20)
    ]
    assert found == [as_written(number) for number in range(20)]


def test_aborted_transactions_are_left_out_under_read_committed(written: None, consumers: Consumers) -> None:
    everything = [str(number) for number in range(27)]
    committed = [value for value in everything if int(value) // 3 % 3 != 1]
    for isolation, expected in (("read_uncommitted", everything), ("read_committed", committed)):
        partition = TopicPartition("transactions", 0)
        consumer = consumers(isolation_level=isolation, max_poll_records=4)
        consumer.assign([partition])
        assert [record.value for record in read(consumer, len(expected))] == expected
        poll_until([consumer], lambda of=consumer, at=partition: of.position(at) == 36)  # type: ignore[misc]
        assert consumer.end_offsets([partition]) == {partition: 36}


class JavaMember:
    """The program GroupMember.java."""

    def __init__(self, folder: Path, broker: ApacheBroker, topic: str, group: str, assignor: str) -> None:
        command = java(str(PROGRAMS / "GroupMember.java"), broker.bootstrap, topic, group, ASSIGNORS + assignor)
        self.process = ChildProcess(command, folder / "member.log")

    def __enter__(self) -> JavaMember:
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()

    def _said(self, word: str) -> list[str]:
        lines = self.process.output().splitlines()
        return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]

    @property
    def owned(self) -> set[str]:
        said = self._said("owns")
        return set(filter(None, said[-1].split(","))) if said else set()

    @property
    def values(self) -> set[str]:
        return set(self._said("read"))


def names(consumer: KafkaConsumer) -> set[str]:
    return {str(partition) for partition in consumer.assignment()}


@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
@pytest.mark.parametrize("first", ["ours", "java"])
def test_java_and_ours_share_a_group(
    broker: ApacheBroker, consumers: Consumers, tmp_path: Path, assignor: str, first: str
) -> None:
    topic = fresh(f"group-{assignor}-{first}")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    everything = {f"{topic}-{number}" for number in range(PARTITIONS)}
    ours = consumers(group_id=topic, partition_assignment_strategy=ASSIGNORS + assignor)
    with JavaMember(tmp_path, broker, topic, topic, assignor) as theirs:
        if first == "java":
            wait_until(lambda: theirs.owned == everything, "Java owns all")
        ours.subscribe([topic])
        found: list[ConsumerRecord] = poll_until(
            [ours], lambda: len(names(ours)) == 2 and theirs.owned == everything - names(ours)
        )
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(40):
            producer.produce(topic, str(number), partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        seen = {record.value for record in found}
        deadline_s = time.monotonic() + PATIENCE_S
        while len(seen | theirs.values) < 40:
            assert time.monotonic() < deadline_s, f"ours {len(seen)}, Java's {len(theirs.values)}"
            seen |= {record.value for record in ours.poll(0.05)}
        ours.commit_sync()
        theirs.process.stop()
        poll_until([ours], lambda: names(ours) == everything)
        committed = ours.committed(ours.assignment())
        assert sum(offset.offset for offset in committed.values() if offset is not None) <= 40


@pytest.mark.parametrize("racks", [(), ("racks",)])
def test_our_assignors_and_javas_decide_the_same(racks: Sequence[str]) -> None:
    ran = run_tool(str(PROGRAMS / "Assignors.java"), "25", "7001", *racks)
    assert ran.exit_code == 0, ran.stderr
    assignors = {
        assignor.name: assignor
        for assignor in assignors_by_class_name(
            [f"{ASSIGNORS}{kind}Assignor" for kind in ("Range", "RoundRobin", "Sticky", "CooperativeSticky")]
        )
    }
    compared = 0
    for row in rounds(ran.stdout.splitlines()):
        if not row.gives_what_nobody_asked_for and not row.gives_what_another_has_still:
            made = assignors[row.assignor].assign(row.counts, row.members, row.racks)
            assert {member: sorted(owned) for member, owned in made.items()} == {
                member: sorted(owned) for member, owned in row.answer.items()
            }, row
            compared += 1
    assert compared > (250 if racks else 450)
