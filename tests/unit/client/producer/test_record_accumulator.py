"""The deques of batches: who stands where, and what memory they hold."""

from __future__ import annotations

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.producer.record_accumulator import RecordAccumulator
from kafka_zk.client.producer.settings import producer_settings
from kafka_zk.config.tables.producer import PRODUCER_KEYS

SERIALIZERS = {"key.serializer": "VoidSerializer", "value.serializer": "ByteArraySerializer"}


def accumulator_of(**changes: object) -> RecordAccumulator:
    given = {**SERIALIZERS, **{name.replace("_", "."): value for name, value in changes.items()}}
    return RecordAccumulator(producer_settings(ClientConfig(PRODUCER_KEYS, given)), lambda: None)


def append(accumulator: RecordAccumulator, value: bytes) -> None:
    topic = accumulator.topic_queues("t")
    accumulator.append(topic, 0, 0, None, value, (), None, len(value) + 100, 0.0)


def test_batches_sent_again_stand_before_new_ones_in_the_order_of_their_sequences() -> None:
    accumulator = accumulator_of(batch_size=1)
    for value in (b"a", b"b", b"c"):
        append(accumulator, value)
    queue = accumulator.topic_queues("t").queue(0)
    with accumulator.lock:
        first, second = accumulator.take_first(queue, 0), accumulator.take_first(queue, 0)
        first.stamp(7, 0, 0)
        second.stamp(7, 0, 1)
        accumulator.put_back([second])
        accumulator.put_back([first])
    assert [batch.base_sequence for batch in queue.batches] == [0, 1, -1]


def test_memory_is_free_again_once_a_batch_is_done() -> None:
    accumulator = accumulator_of(buffer_memory=1000, batch_size=400)
    append(accumulator, b"a")
    assert accumulator.pool.available_bytes == 600
    queue = accumulator.topic_queues("t").queue(0)
    with accumulator.lock:
        batch = accumulator.take_first(queue, 0)
    accumulator.done(batch)
    assert accumulator.pool.available_bytes == 1000
