"""Our transactional producer, and our consumer under read_committed, on our broker and Apache's: all, or nothing."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.client.consumer.records import ConsumerRecord, OffsetAndMetadata
from kafka_zk.client.errors import IllegalStateException, TimeoutException, java_name
from kafka_zk.client.group_offsets import ConsumerGroupMetadata
from kafka_zk.client.producer.futures import RecordFuture
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.errors import ProducerFenced
from kafka_zk.protocol.types import TopicPartition
from tests.support.apache import ApacheBroker, run_tool, topics
from tests.support.broker import OurBroker
from tests.support.known_topics import wait_until_led
from tests.support.librdkafka import PATIENCE_S
from tests.support.markers import wait_for_markers
from tests.support.names import fresh
from tests.support.our_consumer import Consumers, poll_until, read
from tests.support.processes import ChildProcess
from tests.support.znodes import end_session
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROGRAM = Path(__file__).parent / "java" / "Transactions.java"
Broker = ApacheBroker | OurBroker
KINDS = [ApacheBroker, OurBroker]
QUICK = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.min.session.timeout.ms": "500",
}
COPIED = 3000

Produce = Callable[..., KafkaProducer]


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> type[Broker]:
    chosen: type[Broker] = request.param
    return chosen


@pytest.fixture(scope="module")
def chroot(zookeeper: ZooKeeperServer, kind: type[Broker]) -> str:
    return fresh_chroot(zookeeper, f"transactions-{kind.__name__}")


@pytest.fixture(scope="module")
def broker(kind: type[Broker], chroot: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    running = kind(tmp_path_factory.mktemp("transactions"), chroot, overrides=QUICK).start()
    yield running
    running.stop()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = fresh(request.node.originalname[-60:])
    created = topics(broker.bootstrap, "--create", "--topic", name, "--partitions", "3")
    assert created.exit_code == 0, created
    wait_until_led(broker.bootstrap, topics=(name,), partitions=3)
    return name


@pytest.fixture
def produce(broker: Broker) -> Iterator[Produce]:
    made: list[KafkaProducer] = []
    this_try = fresh("try")

    def make(transactional_id: str | None, **more: object) -> KafkaProducer:
        own = None if transactional_id is None else f"{transactional_id}-{this_try}"
        made.append(producer_of(broker.bootstrap, own, **more))
        return made[-1]

    yield make
    for producer in made:
        producer.close(0)


@pytest.fixture
def consumers(broker: Broker) -> Iterator[Consumers]:
    with Consumers(broker.bootstrap) as made:
        yield made


def producer_of(bootstrap: str, transactional_id: str | None, **more: object) -> KafkaProducer:
    return KafkaProducer(
        {
            "bootstrap.servers": bootstrap,
            "key.serializer": "StringSerializer",
            "value.serializer": "StringSerializer",
            **({} if transactional_id is None else {"transactional.id": transactional_id}),
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )


def committed_values(broker: Broker, consumers: Consumers, topic: str, count: int) -> list[str]:
    """What is there up to the last stable offset of its three partitions, which is `count` records."""
    wait_for_markers(broker.bootstrap)
    partitions = [TopicPartition(topic, number) for number in range(3)]
    consumer = consumers(isolation_level="read_committed")
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    found = poll_until([consumer], lambda: all(consumer.position(each) >= ends[each] for each in partitions))
    assert len(found) == count, found
    return [record.value for record in sorted(found, key=lambda record: record.value)]


def test_what_is_committed_is_read_and_what_is_aborted_is_not(
    broker: Broker, produce: Produce, consumers: Consumers, topic: str
) -> None:
    producer = produce("commits", linger_ms=1000, batch_size=100)
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        futures = [producer.send(topic, f"{number} {each:02}", partition=each % 3) for each in range(30)]
        if number % 2:
            producer.flush()
            producer.abort_transaction()
        else:
            producer.commit_transaction()
        assert all(future.result(0).offset >= 0 for future in futures)
    expected = [f"{number} {each:02}" for number in (0, 2) for each in range(30)]
    assert committed_values(broker, consumers, topic, 60) == expected
    consumer = consumers(isolation_level="read_uncommitted")
    consumer.assign([TopicPartition(topic, number) for number in range(3)])
    assert len(read(consumer, 120)) == 120


def test_records_that_were_never_sent_fail_when_their_transaction_is_aborted(produce: Produce, topic: str) -> None:
    producer = produce("unsent", linger_ms=60_000)
    producer.init_transactions()
    producer.begin_transaction()
    future = producer.send(topic, "v", partition=0)
    producer.abort_transaction()
    error = future.exception(0)
    assert error is not None
    assert str(error) == "Failing batch since transaction was aborted"
    assert java_name(error) == "org.apache.kafka.common.errors.TransactionAbortedException"
    producer.begin_transaction()
    producer.send(topic, "w", partition=0)
    producer.commit_transaction()


def test_a_close_aborts_what_is_open(broker: Broker, produce: Produce, consumers: Consumers, topic: str) -> None:
    with produce("closes") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        future = producer.send(topic, "v", partition=0)
    assert future.result(0).offset == 0
    # Nothing holds the last stable offset back.
    assert committed_values(broker, consumers, topic, 0) == []


def test_offsets_are_committed_with_the_transaction(produce: Produce, consumers: Consumers, topic: str) -> None:
    p0, group = TopicPartition(topic, 0), fresh("offsets")
    reader = consumers(group_id=group)
    producer = produce("offsets")
    producer.init_transactions()
    for offset, ends in ((5, producer.abort_transaction), (7, producer.commit_transaction)):
        producer.begin_transaction()
        producer.send_offsets_to_transaction({p0: OffsetAndMetadata(offset, "m", 0)}, ConsumerGroupMetadata(group))
        ends()
    assert reader.committed([p0]) == {p0: OffsetAndMetadata(7, "m", 0)}


def test_an_older_producer_of_the_same_id_is_fenced(
    broker: Broker, produce: Produce, consumers: Consumers, topic: str
) -> None:
    older, newer = produce("twins"), produce("twins")
    older.init_transactions()
    older.begin_transaction()
    older.send(topic, "older", partition=0).result(PATIENCE_S)
    newer.init_transactions()
    with pytest.raises(ProducerFenced):
        older.commit_transaction()
    newer.begin_transaction()
    newer.send(topic, "newer", partition=0)
    newer.commit_transaction()
    assert committed_values(broker, consumers, topic, 1) == ["newer"]


def test_a_transaction_that_takes_too_long_is_over(
    broker: Broker, produce: Produce, consumers: Consumers, topic: str
) -> None:
    # Long enough for one record on a busy machine.
    producer = produce("slow", transaction_timeout_ms=2000)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, "late", partition=0).result(PATIENCE_S)
    waits = consumers(isolation_level="read_committed")
    p0 = TopicPartition(topic, 0)
    poll_until([], lambda: waits.end_offsets([p0])[p0] == 2)
    with pytest.raises(ProducerFenced):
        producer.commit_transaction()
    again = produce("slow")
    again.init_transactions()
    again.begin_transaction()
    again.send(topic, "in time", partition=0)
    again.commit_transaction()
    assert committed_values(broker, consumers, topic, 1) == ["in time"]


def test_a_call_whose_time_is_over_goes_on_when_it_is_made_again(
    broker: Broker, chroot: str, produce: Produce, consumers: Consumers, topic: str
) -> None:
    producer = produce("patient", max_block_ms=200, reconnect_backoff_max_ms=100)
    _until_in_time(producer.init_transactions)
    _until_in_time(lambda: producer.partitions_for(topic))
    producer.begin_transaction()
    producer.send(topic, "v", partition=0).result(PATIENCE_S)
    broker.kill()
    with pytest.raises(TimeoutException, match=r"Timeout expired after 200ms while awaiting EndTxn\(true\)"):
        producer.commit_transaction()
    with pytest.raises(IllegalStateException, match="previous call to `commitTransaction` timed out and must be retr"):
        producer.abort_transaction()
    end_session(chroot)
    broker.start()
    _until_in_time(producer.commit_transaction)
    assert committed_values(broker, consumers, topic, 1) == ["v"]


def _until_in_time(call: Callable[[], object]) -> None:
    for _ in range(int(PATIENCE_S / 0.2)):
        try:
            call()
            return
        except TimeoutException:
            continue
    raise AssertionError(f"{call} is never done")


def test_a_coordinator_that_dies_in_between_costs_no_transaction(
    broker: Broker, chroot: str, produce: Produce, consumers: Consumers, topic: str
) -> None:
    # What times out meanwhile is another test's: a JVM that starts on a busy machine may take a minute.
    patience_ms = 600_000
    producer = produce(
        "survives",
        reconnect_backoff_max_ms=100,
        transaction_timeout_ms=patience_ms,
        delivery_timeout_ms=patience_ms,
        max_block_ms=patience_ms,
    )
    producer.init_transactions()
    for number in range(2):
        producer.begin_transaction()
        producer.send(topic, f"{number} a", partition=0).result(PATIENCE_S)
        broker.kill()
        last = producer.send(topic, f"{number} b", partition=1)
        end_session(chroot)
        broker.start()
        producer.commit_transaction()
        assert last.done()
    assert committed_values(broker, consumers, topic, 4) == [f"{number} {each}" for number in range(2) for each in "ab"]


def test_a_copy_is_exact_however_often_its_members_are_killed(
    broker: Broker, consumers: Consumers, topic: str, tmp_path: Path, chance: random.Random
) -> None:
    target = f"{topic}-copied"
    assert topics(broker.bootstrap, "--create", "--topic", target, "--partitions", "3").exit_code == 0
    wait_until_led(broker.bootstrap, topics=(target,), partitions=3)
    with producer_of(broker.bootstrap, None, linger_ms=5) as producer:
        for number in range(COPIED):
            producer.send(topic, f"{number:06}", partition=number % 3)
    program = [sys.executable, "-m", "tests.support.transactional_copy", broker.bootstrap, topic, target]
    members = [ChildProcess([*program, f"copy-{name}-{topic}"], tmp_path / f"{name}.log") for name in range(2)]
    partitions = [TopicPartition(target, number) for number in range(3)]
    follower = consumers(isolation_level="read_committed")
    follower.assign(partitions)
    found: list[ConsumerRecord] = []
    kills_at = sorted(chance.sample(range(COPIED // 20, COPIED * 9 // 10), 5))
    try:
        for member in members:
            member.start()
        deadline_s = time.monotonic() + 6 * PATIENCE_S
        while len(found) < COPIED:
            assert time.monotonic() < deadline_s, [len(found), *(member.output() for member in members)]
            found += follower.poll(0.1)
            if kills_at and len(found) >= kills_at[0]:
                kills_at.pop(0)
                victim = chance.choice(members)
                victim.kill()
                victim.start()
        assert all(member.is_running for member in members), [member.output() for member in members]
    finally:
        for member in members:
            member.kill()
    for partition in range(3):
        values = [record.value for record in found if record.partition == partition]
        assert values == [f"{number:06}" for number in range(partition, COPIED, 3)]


def said(call: Callable[[], Any]) -> str:
    """As Transactions.java puts it."""
    try:
        outcome = call()
        error = outcome.exception(PATIENCE_S) if isinstance(outcome, RecordFuture) else None
        prefix = "future "
    except Exception as raised:
        error, prefix = raised, ""
    if error is None:
        return "-"
    return f"{prefix}{_text(error)}" + (f" <- {_text(error.__cause__)}" if error.__cause__ else "")


def _text(error: BaseException) -> str:
    return f"{java_name(error)}: {error}"


def wrong_calls(produce: Produce, topic: str) -> Mapping[str, str]:
    """What Transactions.java does."""
    found: dict[str, str] = {}
    offsets = {TopicPartition(topic, 0): OffsetAndMetadata(1)}
    found["idempotent init"] = said(produce(None).init_transactions)
    found["plain begin"] = said(produce(None, enable_idempotence=False).begin_transaction)
    found["no idempotence"] = said(lambda: produce("x", enable_idempotence=False))
    found["acks"] = said(lambda: produce("x", acks=1))
    found["too long"] = said(produce("our-long", transaction_timeout_ms=1_000_000).init_transactions)
    first = produce("our-wrong")
    found["begin before init"] = said(first.begin_transaction)
    found["send before init"] = said(lambda: first.send(topic, "v", partition=0))
    first.init_transactions()
    found["init again"] = said(first.init_transactions)
    found["send outside"] = said(lambda: first.send(topic, "v", partition=0))
    found["commit outside"] = said(first.commit_transaction)
    found["abort outside"] = said(first.abort_transaction)
    found["offsets outside"] = said(lambda: first.send_offsets_to_transaction(offsets, ConsumerGroupMetadata("g")))
    first.begin_transaction()
    found["begin again"] = said(first.begin_transaction)
    found["a large record"] = said(lambda: first.send(topic, "v" * 2_000_000, partition=0))
    found["commit after it"] = said(first.commit_transaction)
    first.abort_transaction()
    first.begin_transaction()
    stranger = ConsumerGroupMetadata("g", 1, "nobody")
    found["a stranger's offsets"] = said(lambda: first.send_offsets_to_transaction(offsets, stranger))
    first.abort_transaction()
    first.begin_transaction()
    first.send(topic, "v", partition=0).result(PATIENCE_S)
    second = produce("our-wrong")
    second.init_transactions()
    found["send when fenced"] = said(lambda: first.send(topic, "v", partition=0))
    found["abort when fenced"] = said(first.abort_transaction)
    found["after the end"] = said(first.begin_transaction)
    found["send after the end"] = said(lambda: first.send(topic, "v", partition=0))
    first.close()
    found["closed"] = said(first.begin_transaction)
    return found


def test_what_may_not_be_is_refused_as_java_s_producer_refuses_it(broker: Broker, produce: Produce, topic: str) -> None:
    ran = run_tool(str(PROGRAM), broker.bootstrap, topic)
    assert ran.exit_code == 0, ran.stderr
    ours = "".join(f"{call}: {text}\n" for call, text in wrong_calls(produce, topic).items())
    assert _without_names(ours) == _without_names(ran.stdout)


def _without_names(text: str) -> list[str]:
    return re.sub(r"(java|our)-wrong(-try-\d+)?|(?<=producerId=)\d+", "*", text).splitlines()


def test_the_performance_tool_commits_what_it_sends(broker: Broker, consumers: Consumers, topic: str) -> None:
    arguments = ["--topic", topic, "--num-records", "2000", "--payload-monotonic", "--throughput", "2000"]
    ran = subprocess.run(
        [sys.executable, "-m", "kafka_zk.tools.producer_perf_test", *arguments, "--transaction-duration-ms", "100",
         "--producer-props", f"bootstrap.servers={broker.bootstrap}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "2000 records sent" in ran.stdout, ran
    assert sorted(map(int, committed_values(broker, consumers, topic, 2000))) == list(range(2000))
