"""The clock of one broker is set an hour ahead and back, under load: ours beside Apache's, and all ours.

Waits and sessions are measured on clocks that nobody sets: no acknowledged record, no registration, no ISR and no
member of a group is lost. What is stored with a time of day goes by that: times of append, and retention.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import take
from tests.support.names import fresh
from tests.support.numbered import NumberReader, NumberWriter, check_numbers
from tests.support.processes import wait_until
from tests.support.shifted_clock import ShiftedClock
from tests.support.three_brokers import ThreeBrokers
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

HOUR_S = 3_600
JUMPER = 0
"""The broker whose clock is set."""

KINDS = {
    "ours of all ours": (OurBroker, OurBroker, OurBroker),
    "ours beside Apache": (OurBroker, ApacheBroker, OurBroker),
    "Apache beside ours": (ApacheBroker, OurBroker, OurBroker),
}
PARTITIONS = 6
NUMBERS, STAMPED, KEPT, OUTLIVED, LIMITED = "numbers", "stamped", "kept", "outlived", "limited"
LED_BY_THE_JUMPER, LED_BY_ANOTHER = [[JUMPER, 1, 2]], [[2, 1, JUMPER]]
CONFIGS = {
    STAMPED: {"message.timestamp.type": "LogAppendTime"},
    KEPT: {"retention.ms": str(2 * HOUR_S * 1_000)},
    OUTLIVED: {"retention.ms": str(HOUR_S * 1_000 // 2)},
}
SETTINGS = {
    "log.retention.check.interval.ms": "1000",
    # Long enough for a busy machine, and an hour is far beyond it. ISRs are looked at after half of it.
    "replica.lag.time.max.ms": "20000",
}
STAY_S = 15
"""How long the clock stays where it was set."""

RECORDS = 20
LOW, HIGH = 2_000, 1_000_000
CHANGES = 10


@pytest.fixture
def clock(tmp_path: Path) -> ShiftedClock:
    return ShiftedClock(tmp_path / "clock")


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest, tmp_path: Path, zookeeper: ZooKeeperServer, clock: ShiftedClock
) -> Iterator[ThreeBrokers]:
    def wrapped(number: int, command: Sequence[str]) -> Sequence[str]:
        return clock.command(command) if number == JUMPER else command

    connect = fresh_chroot(zookeeper, "jumped")
    made = ThreeBrokers(
        tmp_path, connect, KINDS[request.param], {NUMBERS: PARTITIONS}, settings=SETTINGS, wrapped=wrapped
    )
    yield made
    made.close()


def write(cluster: ThreeBrokers, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(60) == 0


def read(cluster: ThreeBrokers, topic: str, count: int) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "look", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = take(consumer, count)
    consumer.close()
    return found


def offsets(cluster: ThreeBrokers, topic: str) -> tuple[int, int]:
    """Where the partition begins and ends."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "look"})
    first, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    consumer.close()
    return first, end


def offset_at(cluster: ThreeBrokers, topic: str, moment_ms: int) -> int:
    """The first offset with that time or a later one; -1: the end."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "look"})
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, moment_ms)], timeout=30)
    consumer.close()
    return found.offset


def set_limit(cluster: ThreeBrokers, limit: int) -> None:
    """The topic's max.message.bytes, changed through ZooKeeper and a notice for every broker."""
    change = ConfigEntry("max.message.bytes", str(limit), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, LIMITED, incremental_configs=[change])
    for done in cluster.admin.incremental_alter_configs([resource]).values():
        done.result(60)


def is_taken(cluster: ThreeBrokers) -> bool:
    """Whether the leader takes a record that only the higher limit allows."""
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    producer.produce(LIMITED, bytes(LOW * 2), partition=0, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    (error,) = errors
    assert error is None or error.code() == KafkaError.MSG_SIZE_TOO_LARGE, error
    return error is None


@pytest.mark.slow
@pytest.mark.parametrize("cluster", KINDS, indirect=True)
def test_a_clock_that_is_set_an_hour_ahead_and_back_costs_nothing_that_waits(
    cluster: ThreeBrokers, clock: ShiftedClock
) -> None:
    is_ours = isinstance(cluster.brokers[JUMPER], OurBroker)
    wanted = [NewTopic(name, 1, replica_assignment=LED_BY_THE_JUMPER, config=CONFIGS[name]) for name in CONFIGS]
    wanted.append(NewTopic(LIMITED, 1, replica_assignment=LED_BY_ANOTHER))
    for created in cluster.admin.create_topics(wanted).values():
        created.result(60)
    cluster.topics |= dict.fromkeys((*CONFIGS, LIMITED), 1)
    cluster.wait_in_sync()
    writer = NumberWriter(cluster.bootstrap, {NUMBERS: PARTITIONS})
    reader = NumberReader(cluster.bootstrap, NUMBERS, group=fresh("readers"))
    try:
        writer.goes_on()
        reader.is_reading()
        cluster.wait_settled()
        registered, states, assignments = cluster.broker_epochs(), cluster.partition_epochs(), reader.assignments
        for topic in CONFIGS:
            write(cluster, topic)
        moment_ms = int(time.time() * 1_000)

        clock.set(HOUR_S)
        write(cluster, STAMPED)
        stay(writer)
        # Its retention goes by the time of day: half an hour is over, two hours are not.
        wait_until(lambda: offsets(cluster, OUTLIVED) == (RECORDS, RECORDS), "what half an hour keeps is gone")
        assert offsets(cluster, KEPT) == (0, RECORDS)
        if is_ours:
            # Apache's broker deletes notices by the wall clock, also those that others have not read.
            for limit in (LOW, HIGH) * CHANGES:
                set_limit(cluster, limit)
                wait_until(lambda limit=limit: is_taken(cluster) == (limit == HIGH), f"{limit} is the limit", 20)

        clock.set(0)
        write(cluster, STAMPED)
        stay(writer)

        stamps = [message.timestamp() for message in read(cluster, STAMPED, 3 * RECORDS)]
        assert {kind for kind, _ in stamps} == {TIMESTAMP_LOG_APPEND_TIME}
        hours = [round((stamp_ms - moment_ms) / (HOUR_S * 1_000)) for _, stamp_ms in stamps]
        assert hours == [0] * RECORDS + [1] * RECORDS + [0] * RECORDS
        assert offset_at(cluster, STAMPED, moment_ms + HOUR_S * 500) == RECORDS
        assert offsets(cluster, KEPT) == (0, RECORDS)

        cluster.wait_settled()
        assert cluster.broker_epochs() == registered, "a session has ended"
        assert reader.assignments == assignments, "the member of a group was taken for dead"
        if is_ours:
            # Apache measures by the wall clock how long a follower has lagged.
            assert cluster.partition_epochs() == states, "an ISR has shrunk, or a leader was elected"
        writer.stop()
        reader.has(writer.acknowledged)
    finally:
        writer.stop()
        reader.stop()
    cluster.wait_settled()
    assert not writer.failures, writer.failures[:5]
    # A follower keeps its one segment; its clock is right.
    del cluster.topics[OUTLIVED]
    cluster.wait_equal()
    check_numbers(cluster.bootstrap, writer.acknowledged)
    assert not cluster.unexplained_errors()


def stay(writer: NumberWriter) -> None:
    """While records are acknowledged all the time."""
    until_s = time.monotonic() + STAY_S
    while time.monotonic() < until_s:
        writer.goes_on()
