"""Our consumer by itself: positions, seeks, pauses, times, wakeups, errors."""

from __future__ import annotations

import signal
import threading

import pytest

from kafka_zk.client.consumer import consumer_loop
from kafka_zk.client.consumer.errors import (
    ConcurrentUse,
    IllegalState,
    InvalidGroupId,
    NoOffsetForPartition,
    OffsetOutOfRange,
    RecordDeserializationFailed,
    WakeupException,
)
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerInterceptor
from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.client.errors import IllegalStateException, TimeoutException
from kafka_zk.protocol.types import TopicPartition
from tests.integration.consumer.conftest import PARTITIONS, MakeTopic, produce
from tests.support.broker import OurBroker
from tests.support.our_consumer import Consumers, poll_until, read


def test_every_record_is_read_once_and_in_order(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(200)
    consumer = consumers(max_poll_records=7)
    partitions = [TopicPartition(name, number) for number in range(PARTITIONS)]
    consumer.assign(partitions)
    found = read(consumer, 200)
    for partition in partitions:
        values = [int(record.value) for record in found if record.partition == partition.partition]
        assert values == list(range(partition.partition, 200, PARTITIONS))
    assert {consumer.position(partition) for partition in partitions} == {50}
    assert {consumer.current_lag(partition) for partition in partitions} == {0}
    assert consumer.beginning_offsets(partitions) == dict.fromkeys(partitions, 0)
    assert consumer.end_offsets(partitions) == dict.fromkeys(partitions, 50)
    assert consumer.partitions_for(name) == list(range(PARTITIONS))
    assert consumer.list_topics()[name] == list(range(PARTITIONS))


def test_a_position_is_looked_for_again_when_that_is_due(
    consumers: Consumers, topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when the longest wait is over."""
    monkeypatch.setattr(consumer_loop, "LONGEST_WAIT_S", 3600.0)
    name = topic(4, 2)
    consumer = consumers(group_id="due", enable_auto_commit=False)
    partitions = [TopicPartition(name, number) for number in consumer.partitions_for(name)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(partitions)
    assert [consumer.position(partition, timeout_s=20) for partition in partitions] == [0, 0]


def test_a_poll_brings_no_more_than_max_poll_records(consumers: Consumers, topic: MakeTopic) -> None:
    consumer = consumers(max_poll_records=7)
    consumer.assign([TopicPartition(topic(40, 1), 0)])
    sizes: list[int] = []
    poll_until([], lambda: sizes.append(len(consumer.poll(1))) or sum(sizes) == 40)  # type: ignore[func-returns-value]
    assert max(sizes) == 7


def test_seeks_move_the_position_and_what_was_fetched_before_is_dropped(consumers: Consumers, topic: MakeTopic) -> None:
    partition = TopicPartition(topic(100, 1), 0)
    consumer = consumers(max_poll_records=5)
    consumer.assign([partition])
    assert [record.offset for record in read(consumer, 5)] == [0, 1, 2, 3, 4]
    consumer.seek(partition, 50)
    assert [record.offset for record in read(consumer, 5)] == [50, 51, 52, 53, 54]
    consumer.seek_to_beginning([partition])
    assert consumer.position(partition) == 0
    consumer.seek_to_end()
    assert consumer.position(partition) == 100
    consumer.seek(partition, OffsetAndMetadata(97, "", 0))
    assert [record.offset for record in read(consumer, 3)] == [97, 98, 99]


def test_a_paused_partition_waits_with_its_records(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(40, 2)
    one, two = TopicPartition(name, 0), TopicPartition(name, 1)
    consumer = consumers(max_poll_records=3)
    consumer.assign([one, two])
    first = read(consumer, 1)
    consumer.pause([one])
    assert consumer.paused() == {one}
    rest = read(consumer, 20 - sum(record.partition == 1 for record in first))
    assert {record.partition for record in rest} == {1}
    consumer.resume([one])
    more = read(consumer, 20 - sum(record.partition == 0 for record in first))
    assert {record.partition for record in more} == {0}


def test_offsets_are_found_by_time(consumers: Consumers, topic: MakeTopic) -> None:
    partition = TopicPartition(topic(10, 1), 0)
    consumer = consumers()
    consumer.assign([partition])
    records = read(consumer, 10)
    found = consumer.offsets_for_times({partition: records[0].timestamp})[partition]
    assert found is not None
    assert (found.offset, found.timestamp, found.leader_epoch) == (0, records[0].timestamp, 0)
    assert consumer.offsets_for_times({partition: records[-1].timestamp + 1}) == {partition: None}


def test_a_position_out_of_range_is_reset_or_reported(consumers: Consumers, topic: MakeTopic) -> None:
    partition = TopicPartition(topic(10, 1), 0)
    for policy, expected in (("earliest", 0), ("latest", 10)):
        consumer = consumers(auto_offset_reset=policy)
        consumer.assign([partition])
        consumer.seek(partition, 5000)
        poll_until([consumer], lambda consumer=consumer, expected=expected: consumer.position(partition) < 5000)  # type: ignore[misc]
        assert consumer.position(partition) in (expected, 10)
    strict = consumers(auto_offset_reset="none")
    strict.assign([partition])
    with pytest.raises(NoOffsetForPartition, match=r"Undefined offset with no reset policy for partitions: \[.*-0\]"):
        poll_until([strict], lambda: False)
    strict.seek(partition, 5000)
    with pytest.raises(OffsetOutOfRange, match="is out of range, and no reset policy is configured"):
        poll_until([strict], lambda: False)


def test_a_wakeup_ends_the_wait_of_a_poll(consumers: Consumers, topic: MakeTopic) -> None:
    consumer = consumers()
    consumer.assign([TopicPartition(topic(0, 1), 0)])
    waker = threading.Timer(0.01, consumer.wakeup)
    waker.start()
    with pytest.raises(WakeupException):
        consumer.poll(60)
    waker.join()
    consumer.poll(0)
    # Where it is now has to be asked.
    consumer.seek_to_end(consumer.assignment())
    consumer.wakeup()
    with pytest.raises(WakeupException):
        consumer.position(next(iter(consumer.assignment())))


def test_a_signal_handler_may_wake_it(consumers: Consumers, topic: MakeTopic) -> None:
    consumer = consumers()
    consumer.assign([TopicPartition(topic(0, 1), 0)])
    before = signal.signal(signal.SIGALRM, lambda *_: consumer.wakeup())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(WakeupException):
            consumer.poll(60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_record_that_cannot_be_deserialized_is_named_and_can_be_passed(
    broker: OurBroker, consumers: Consumers, topic: MakeTopic
) -> None:
    partition = TopicPartition(topic(3, 1), 0)

    def deserialize(data: bytes) -> int:
        if data == b"1":
            raise ValueError("odd")
        return int(data)

    consumer = consumers(value_deserializer=deserialize)
    consumer.assign([partition])
    assert [record.value for record in read(consumer, 1)] == [0]
    with pytest.raises(RecordDeserializationFailed, match=r"at offset 1\. If needed, please seek past"):
        poll_until([consumer], lambda: False)
    consumer.seek(partition, 2)
    assert [record.value for record in read(consumer, 1)] == [2]


def test_calls_that_do_not_fit_say_so(consumers: Consumers, topic: MakeTopic) -> None:
    consumer = consumers()
    with pytest.raises(IllegalState, match="not subscribed to any topics"):
        consumer.poll(0)
    with pytest.raises(InvalidGroupId, match=r"you must provide a valid group\.id"):
        consumer.subscribe(["t"])
    with pytest.raises(InvalidGroupId):
        consumer.commit_sync()
    consumer.close()
    consumer.close()
    with pytest.raises(IllegalStateException, match="already been closed"):
        consumer.poll(0)


class Intruder(ConsumerInterceptor):
    """Has another thread call the consumer while it is polled."""

    def __init__(self) -> None:
        self.refused: list[Exception] = []
        self.consumer: KafkaConsumer | None = None

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        thread = threading.Thread(target=self._poll)
        thread.start()
        thread.join()
        return records

    def _poll(self) -> None:
        assert self.consumer is not None
        try:
            self.consumer.poll(0)
        except ConcurrentUse as error:
            self.refused.append(error)


def test_two_threads_may_not_call_it_at_once(consumers: Consumers, topic: MakeTopic) -> None:
    intruder = Intruder()
    consumer = consumers(interceptor_classes=[intruder], max_poll_records=1)
    intruder.consumer = consumer
    consumer.assign([TopicPartition(topic(1, 1), 0)])
    read(consumer, 1)
    assert [str(error) for error in intruder.refused] == ["KafkaConsumer is not safe for multi-threaded access."]


def test_a_topic_that_does_not_exist_times_out_and_is_found_once_it_does(
    broker: OurBroker, consumers: Consumers, topic: MakeTopic
) -> None:
    consumer = consumers(metadata_max_age_ms=200, allow_auto_create_topics=False)
    partition = TopicPartition("later", 0)
    consumer.assign([partition])
    assert consumer.partitions_for("later") == []
    with pytest.raises(TimeoutException):
        consumer.position(partition, timeout_s=0.05)
    topic(5, 1, name="later")
    assert [int(record.value) for record in read(consumer, 5)] == [0, 1, 2, 3, 4]


def test_records_that_come_while_it_waits_are_handed_out(
    broker: OurBroker, consumers: Consumers, topic: MakeTopic
) -> None:
    name = topic(0, 1)
    consumer = consumers()
    consumer.assign([TopicPartition(name, 0)])
    consumer.poll(0)
    producing = threading.Thread(target=produce, args=(broker, name, range(5), 1))
    producing.start()
    assert len(read(consumer, 5)) == 5
    producing.join()


def test_metrics_have_javas_names(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(20, 1)
    consumer = consumers(client_id="me")
    consumer.assign([TopicPartition(name, 0)])
    read(consumer, 20)
    found = {(key.name, *key.tags): value for key, value in consumer.metrics().items()}
    assert found["records-consumed-total", ("client-id", "me")] == 20
    assert found["records-consumed-total", ("client-id", "me"), ("topic", name)] == 20
    assert found["records-lag", ("client-id", "me"), ("partition", "0"), ("topic", name)] == 0
    assert found["fetch-total", ("client-id", "me")] >= 1
    # To the bootstrap server, which is the leader, too.
    assert found["connection-count", ("client-id", "me")] >= 1
    assert found["incoming-byte-total", ("client-id", "me")] > found["bytes-consumed-total", ("client-id", "me")] > 0
    assert found["outgoing-byte-total", ("client-id", "me")] > 0
