"""What a producer does with its records, against a broker that says what a test wants."""

from __future__ import annotations

import contextlib
import logging
import threading
import zlib
from collections.abc import Callable
from typing import Any, cast

import pytest

from kafka_zk.client.errors import (
    IllegalArgumentException,
    IllegalStateException,
    KafkaException,
    SerializationException,
    TimeoutException,
    java_name,
)
from kafka_zk.client.producer.errors import BufferExhaustedException
from kafka_zk.client.producer.futures import RecordMetadata
from kafka_zk.client.producer.interceptors import ProducerRecord
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.client.producer.produce_calls import ProduceOutcome, errors_of, send_batches
from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.config.values import ConfigType
from kafka_zk.protocol.errors import (
    ErrorCode,
    InvalidRecord,
    InvalidTopicException,
    MessageTooLarge,
    TopicAuthorizationFailed,
    is_retriable,
)
from kafka_zk.protocol.messages.produce import BatchIndexAndErrorMessage, PartitionProduceResponse
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.producer.conftest import (
    INIT_PRODUCER_ID_KEY,
    PATIENCE_S,
    Produce,
    TakingBroker,
    hanging_up,
    refusing,
)


def test_records_arrive_as_they_were_given(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker)
    future = producer.send("t", b"value", key=b"key", timestamp_ms=5, headers=[("a", b"1"), ("n", None)])
    assert future.result(PATIENCE_S) == RecordMetadata("t", 0, 0, 5, 3, 5)
    ((header, (record,)),) = broker.taken[0]
    assert record == (0, 5, b"key", b"value", (("a", b"1"), ("n", None)))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 0, 0)
    assert producer.send("t", None).result(PATIENCE_S).serialized_value_size == -1


def test_records_that_wait_go_together(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, linger_ms=600_000, delivery_timeout_ms=700_000)
    futures = [producer.send("t", b"%d" % number) for number in range(50)]
    producer.flush(PATIENCE_S)
    assert [future.result(0).offset for future in futures] == list(range(50))
    assert len(broker.taken[0]) == 1


def test_a_full_batch_does_not_wait_for_linger(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, linger_ms=600_000, delivery_timeout_ms=700_000, batch_size=1000)
    first = producer.send("t", b"x" * 600)
    producer.send("t", b"x" * 600)
    assert first.result(PATIENCE_S).offset == 0


@pytest.mark.parametrize(
    "error",
    [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT,
     ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR],
)  # fmt: skip
@pytest.mark.parametrize("idempotent", [True, False])
def test_what_may_pass_is_sent_again(
    broker: TakingBroker, produce: Produce, error: ErrorCode, idempotent: bool
) -> None:
    broker.verdicts = [refusing(error), refusing(error)]
    producer = produce(broker, enable_idempotence=idempotent)
    assert producer.send("t", b"v").result(PATIENCE_S).offset == 0
    assert broker.values() == [b"v"]


def test_a_connection_lost_on_the_way_is_no_loss(broker: TakingBroker, produce: Produce) -> None:
    broker.verdicts = [hanging_up, hanging_up]
    assert produce(broker).send("t", b"v").result(PATIENCE_S).offset == 0


def test_a_duplicate_was_taken_before_and_has_no_offset(broker: TakingBroker, produce: Produce) -> None:
    broker.verdicts = [refusing(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)]
    assert produce(broker).send("t", b"v").result(PATIENCE_S).offset == -1


def test_what_cannot_pass_fails_with_the_broker_s_words(broker: TakingBroker, produce: Produce) -> None:
    broker.verdicts = [refusing(ErrorCode.POLICY_VIOLATION, error_message="not this")]
    error = produce(broker).send("t", b"v").exception(PATIENCE_S)
    assert java_name(error or KeyError()) == "org.apache.kafka.common.errors.PolicyViolationException"
    assert str(error) == "not this"


def test_a_topic_that_may_not_be_written_is_named(broker: TakingBroker, produce: Produce) -> None:
    broker.verdicts = [refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(TopicAuthorizationFailed, match=r"^Not authorized to access topics: \[t\]$"):
        produce(broker).send("t", b"v").result(PATIENCE_S)


def test_after_a_refusal_later_records_begin_a_new_epoch(broker: TakingBroker, produce: Produce) -> None:
    broker.verdicts = [refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    producer = produce(broker)
    assert producer.send("t", b"v").exception(PATIENCE_S)
    assert producer.send("t", b"w").result(PATIENCE_S).offset == 0
    ((header, _),) = broker.taken[0]
    assert (header.producer_epoch, header.base_sequence) == (1, 0)


def test_single_records_at_fault_are_told_apart(broker: TakingBroker, produce: Produce) -> None:
    wrong = BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="too old")
    broker.verdicts = [refusing(ErrorCode.INVALID_RECORD, record_errors=[wrong])]
    producer = produce(broker, linger_ms=600_000, delivery_timeout_ms=700_000)
    futures = [producer.send("t", b"v") for _ in range(3)]
    producer.flush(PATIENCE_S)
    errors = [future.exception(0) for future in futures]
    assert [type(error) for error in errors] == [KafkaException, InvalidRecord, KafkaException]
    assert str(errors[1]) == "too old"


def test_a_batch_too_large_for_the_broker_is_split_and_keeps_its_order(broker: TakingBroker, produce: Produce) -> None:
    def at_most_two(_: Any, records: list[Any]) -> PartitionProduceResponse:
        code = ErrorCode.MESSAGE_TOO_LARGE if len(records) > 2 else ErrorCode.NONE
        return PartitionProduceResponse(error_code=code)

    broker.verdicts = [at_most_two] * 40
    told: list[int] = []
    producer = produce(broker, linger_ms=600_000, delivery_timeout_ms=700_000, max_in_flight_requests_per_connection=1)
    futures = [
        producer.send("t", b"%d" % number, callback=lambda metadata, error: told.append(metadata.offset))
        for number in range(8)
    ]
    producer.flush(PATIENCE_S)
    assert broker.values() == [b"%d" % number for number in range(8)]
    assert [future.result(0).offset for future in futures] == told == list(range(8))
    sequences = [(header.producer_epoch, header.base_sequence) for header, _ in broker.taken[0]]
    assert sequences == sorted(sequences)


def test_with_one_request_in_flight_order_is_kept_without_idempotence(broker: TakingBroker, produce: Produce) -> None:
    broker.verdicts = [refusing(ErrorCode.NOT_ENOUGH_REPLICAS)] * 3
    producer = produce(
        broker, enable_idempotence=False, max_in_flight_requests_per_connection=1, batch_size=1, linger_ms=0
    )
    for number in range(5):
        producer.send("t", b"%d" % number)
    producer.flush(PATIENCE_S)
    assert broker.values() == [b"0", b"1", b"2", b"3", b"4"]


def test_idempotence_keeps_the_order_with_five_in_flight(broker: TakingBroker, produce: Produce) -> None:
    expected = {"sequence": 0}

    def in_sequence(header: Any, records: list[Any]) -> PartitionProduceResponse:
        if header.base_sequence != expected["sequence"]:
            return PartitionProduceResponse(error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        expected["sequence"] += len(records)
        return PartitionProduceResponse()

    broker.verdicts = [refusing(ErrorCode.NOT_LEADER_OR_FOLLOWER), *[in_sequence] * 200]
    producer = produce(broker, batch_size=1)
    for number in range(20):
        producer.send("t", b"%d" % number)
    producer.flush(PATIENCE_S)
    assert broker.values() == [b"%d" % number for number in range(20)]


def test_delivery_timeout_ends_what_nobody_answers(broker: TakingBroker, produce: Produce) -> None:
    broker.may_answer.clear()
    producer = produce(broker, delivery_timeout_ms=300, request_timeout_ms=300, linger_ms=0)
    error = producer.send("t", b"v").exception(PATIENCE_S)
    # Whichever is looked at first, the request's time or the record's: it is the same class in Java.
    assert java_name(error or KeyError()) == "org.apache.kafka.common.errors.TimeoutException"


def test_delivery_timeout_ends_what_could_not_be_sent(broker: TakingBroker, produce: Produce) -> None:
    broker.handlers[INIT_PRODUCER_ID_KEY] = lambda *_: None
    producer = produce(broker, delivery_timeout_ms=200, request_timeout_ms=200, linger_ms=0)
    error = producer.send("t", b"v").exception(PATIENCE_S)
    assert isinstance(error, TimeoutException)
    assert str(error).startswith("Expiring 1 record(s) for t-0:")
    assert str(error).endswith(" ms has passed since batch creation")


def test_full_memory_makes_send_wait_and_then_gives_up(broker: TakingBroker, produce: Produce) -> None:
    broker.may_answer.clear()
    producer = produce(broker, buffer_memory=4000, batch_size=2000, max_block_ms=200)
    _know_the_topic(producer)
    taken = [producer.send("t", b"x" * 1900) for _ in range(2)]
    error = producer.send("t", b"x" * 1900).exception(0)
    assert isinstance(error, BufferExhaustedException)
    assert java_name(error) == "org.apache.kafka.clients.producer.BufferExhaustedException"
    broker.may_answer.set()
    assert [future.result(PATIENCE_S).offset for future in taken] == [0, 1]


def test_send_goes_on_as_soon_as_memory_is_free(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, buffer_memory=4000, batch_size=2000, linger_ms=600_000, delivery_timeout_ms=700_000)
    futures = [producer.send("t", b"x" * 1000) for _ in range(40)]
    producer.flush(PATIENCE_S)
    assert [future.result(0).offset for future in futures] == list(range(40))
    assert _metric(producer, "buffer-available-bytes") == 4000


def test_a_batch_larger_than_all_memory_is_refused_and_waits_for_nothing(
    broker: TakingBroker, produce: Produce
) -> None:
    producer = produce(broker, buffer_memory=1000, batch_size=2000)
    with pytest.raises(IllegalArgumentException) as refused:
        producer.send("t", b"x")
    assert java_name(refused.value) == "java.lang.IllegalArgumentException"
    assert str(refused.value) == (
        "Attempt to allocate 2000 bytes, but there is a hard limit of 1000 on memory allocations."
    )


@pytest.mark.parametrize("max_in_flight", [1, 5])
def test_records_that_cannot_be_compressed_fail_and_those_after_them_go_on(
    broker: TakingBroker, produce: Produce, monkeypatch: pytest.MonkeyPatch, max_in_flight: int
) -> None:
    producer = produce(broker, compression_type="gzip", max_in_flight_requests_per_connection=max_in_flight)
    assert producer.send("t", b"before").result(PATIENCE_S).offset == 0
    told: list[Exception | None] = []
    with monkeypatch.context() as patched:
        patched.setattr(zlib, "compressobj", _no_memory)
        future = producer.send("t", b"lost", callback=lambda _, error: told.append(error))
        error = future.exception(PATIENCE_S)
    assert isinstance(error, KafkaException) and isinstance(error.__cause__, MemoryError)
    assert told == [error]
    assert producer.send("t", b"after").result(PATIENCE_S).offset == 1
    producer.flush(PATIENCE_S)
    assert broker.values() == [b"before", b"after"]


def test_a_batch_that_cannot_be_compressed_again_in_parts_fails_whole(
    broker: TakingBroker, produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_and_lose_the_memory(*_: Any) -> PartitionProduceResponse:
        monkeypatch.setattr(zlib, "compressobj", _no_memory)
        return refusing(ErrorCode.MESSAGE_TOO_LARGE)(*_)

    broker.verdicts = [refuse_and_lose_the_memory]
    producer = produce(broker, compression_type="gzip", linger_ms=600_000, delivery_timeout_ms=700_000)
    futures = [producer.send("t", b"x") for _ in range(3)]
    producer.flush(PATIENCE_S)
    assert [str(future.exception(0)) for future in futures] == ["MemoryError: none left"] * 3


def test_a_request_that_cannot_be_made_is_not_tried_again() -> None:
    class Network:
        def send(self, *arguments: Any) -> None:
            arguments[-1](MemoryError("none left"))

    batch = ProducerBatch(TopicPartition("t", 0), 0, 0)
    outcomes: list[ProduceOutcome] = []
    send_batches(
        cast(Any, Network()), 1, [batch], -1, 1000, None, lambda found, _: outcomes.extend(o for _, o in found)
    )
    (outcome,) = outcomes
    assert not is_retriable(outcome.error)
    assert str(errors_of(outcome)(0)) == "MemoryError: none left"


def _no_memory(*_: Any) -> Any:
    raise MemoryError("none left")


def test_a_record_larger_than_a_request_may_be_fails_at_once(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, max_request_size=1000)
    error = producer.send("t", b"x" * 1000).exception(0)
    assert isinstance(error, MessageTooLarge)
    assert java_name(error) == "org.apache.kafka.common.errors.RecordTooLargeException"
    assert str(error) == (
        "The message is 1086 bytes when serialized which is larger than 1000, "
        "which is the value of the max.request.size configuration."
    )


def test_every_time_may_be_for_ever(broker: TakingBroker, produce: Produce) -> None:
    numbers = {ConfigType.INT: 2**31 - 1, ConfigType.LONG: 2**63 - 1}
    times = [key for key in PRODUCER_KEYS.values() if key.name.endswith(".ms")]
    for_ever = {key.name.replace(".", "_"): numbers[key.type] for key in times}
    producer = produce(broker, buffer_memory=4000, batch_size=2000, **for_ever)
    futures = [producer.send("t", b"x" * 1000) for _ in range(10)]
    producer.flush(2**60)
    assert [future.result(2**60).offset for future in futures] == list(range(10))
    producer.close(2**60)


def test_a_topic_that_never_comes_fails_after_max_block(broker: TakingBroker, produce: Produce) -> None:
    broker.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = produce(broker, max_block_ms=200).send("t", b"v").exception(0)
    assert str(error) == "Topic t not present in metadata after 200 ms."
    broker.topic_error = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert isinstance(produce(broker).send("t", b"v").exception(0), InvalidTopicException)


def test_a_partition_that_is_not_there_fails_after_max_block(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, max_block_ms=200)
    _know_the_topic(producer)
    error = producer.send("t", b"v", partition=3).exception(0)
    assert str(error) == "Partition 3 of topic t with partition count 1 is not present in metadata after 200 ms."


def test_acks_0_asks_for_no_answer(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, acks=0)
    assert producer.send("t", b"v").result(PATIENCE_S).offset == -1
    producer.close(PATIENCE_S)
    assert broker.asked.acquire(timeout=PATIENCE_S)


def test_closing_sends_what_there_is(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker, linger_ms=600_000, delivery_timeout_ms=700_000)
    future = producer.send("t", b"v")
    producer.close()
    assert future.result(0).offset == 0
    with pytest.raises(IllegalStateException):
        producer.send("t", b"v")
    producer.close()


def test_closing_in_no_time_fails_what_is_not_done(broker: TakingBroker, produce: Produce) -> None:
    broker.may_answer.clear()
    producer = produce(broker)
    future = producer.send("t", b"v")
    producer.close(0)
    assert str(future.exception(0)) == "Producer is closed forcefully."
    assert not [thread for thread in threading.enumerate() if thread is producer._sender.thread]


def test_closing_from_a_callback_does_not_wait_for_itself(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker)
    producer.send("t", b"v", callback=lambda *_: producer.close()).result(PATIENCE_S)
    producer.close(PATIENCE_S)


def test_closing_lets_nobody_wait_for_memory(broker: TakingBroker, produce: Produce) -> None:
    broker.may_answer.clear()
    producer = produce(broker, buffer_memory=2000, batch_size=2000)
    producer.send("t", b"x" * 1900)
    failures: list[Exception] = []

    def wait() -> None:
        try:
            producer.send("t", b"x" * 1900)
        except KafkaException as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    _until(lambda: _metric(producer, "waiting-threads") == 1)
    producer.close(0)
    waiting.join(PATIENCE_S)
    assert [str(error) for error in failures] == ["Producer closed while allocating memory"]


def test_callbacks_come_before_the_future_and_may_fail(broker: TakingBroker, produce: Produce) -> None:
    told: list[Any] = []

    def tell(metadata: RecordMetadata, error: Exception | None) -> None:
        told.append((metadata.offset, error))
        raise ValueError("mine")

    producer = produce(broker)
    producer.send("t", b"v", callback=tell).result(PATIENCE_S)
    assert told == [(0, None)]
    assert producer.send("t", b"w").result(PATIENCE_S).offset == 1


class Marking:
    """Adds to each value, and notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=record.value + b"!")

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        self.told.append((metadata.offset, error))


class Failing:
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise ValueError("mine")


def test_interceptors_change_records_and_are_told_of_their_fate(broker: TakingBroker, produce: Produce) -> None:
    marking = Marking()
    producer = produce(broker, interceptor_classes=[Failing, marking, marking])
    producer.send("t", b"v").result(PATIENCE_S)
    assert broker.values() == [b"v!!"]
    assert marking.told == [(0, None), (0, None)]


class ByLength:
    def partition(self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: Any) -> int:
        return len(value) % (cluster.partition_count(topic) or 1)


@pytest.mark.parametrize("partitioner", [ByLength, ByLength(), f"{__name__}.ByLength"])
def test_a_partitioner_of_ones_own_is_asked(produce: Produce, partitioner: object) -> None:
    with TakingBroker(partition_count=3) as broker:
        producer = produce(broker, partitioner_class=partitioner)
        assert [producer.send("t", b"x" * size).result(PATIENCE_S).partition for size in range(4)] == [0, 1, 2, 0]
        producer.close(PATIENCE_S)


def test_keys_go_where_java_sends_them_unless_told_otherwise(produce: Produce) -> None:
    with TakingBroker(partition_count=3) as broker:
        producer = produce(broker)
        hashes = {b"21": -973932308, b"foobar": -790332482, b"abc": 479470107}
        for key, hashed in hashes.items():
            assert producer.send("t", b"", key=key).result(PATIENCE_S).partition == (hashed & 0x7FFFFFFF) % 3
        assert producer.send("t", b"", key=b"21", partition=2).result(PATIENCE_S).partition == 2
        assert len(producer.partitions_for("t")) == 3
        producer.close(PATIENCE_S)


class Faulty(ByLength):
    def partition(self, *_: Any) -> int:
        raise AttributeError("a bug of the program")


def test_a_bug_of_a_partitioner_is_not_told_as_one_of_the_record(broker: TakingBroker, produce: Produce) -> None:
    with pytest.raises(AttributeError, match="a bug of the program"):
        produce(broker, partitioner_class=Faulty).send("t", b"v")


@pytest.mark.parametrize(
    ("serializer", "record"),
    [
        ("StringSerializer", {"value": 5}),
        ("ByteArraySerializer", {"value": memoryview(b"abcd")[::2]}),
        ("ByteArraySerializer", {"value": b"v", "headers": [(None, b"h")]}),
    ],
)
def test_what_a_serializer_cannot_take_is_refused_as_such(
    broker: TakingBroker, produce: Produce, serializer: str, record: dict[str, Any]
) -> None:
    with pytest.raises(SerializationException):
        produce(broker, value_serializer=serializer).send("t", **record)


def test_what_is_not_bytes_needs_a_serializer(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker)
    with pytest.raises(SerializationException):
        producer.send("t", "text")
    with pytest.raises(ValueError, match="Invalid timestamp: -1"):
        producer.send("t", b"v", timestamp_ms=-1)
    assert produce(broker, value_serializer="StringSerializer").send("t", "ü").result(PATIENCE_S)
    assert broker.values() == ["ü".encode()]


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"transactional.id": "a", "enable.idempotence": False}, ConfigException, "without also enabling idempotence"),
        ({"transactional.id": "a", "acks": 1}, ConfigException, "Cannot set a transactional.id without also enabling"),
        ({"transactional.id": "a", "retries": 0}, ConfigException, "Cannot set a transactional.id without also"),
        ({"transactional.id": ""}, ConfigException, "String must be non-empty"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/nowhere"}, KafkaException, "Failed to construct"),
        ({"enable.idempotence": True, "acks": 1}, ConfigException, "Must set acks to all"),
        ({"enable.idempotence": True, "retries": 0}, ConfigException, "Must set retries to non-zero"),
        ({"enable.idempotence": True, "max.in.flight.requests.per.connection": 6}, ConfigException, "at most 5"),
        ({"delivery.timeout.ms": 100}, ConfigException, "should be equal to or larger than linger.ms"),
        ({"acks": "2"}, ConfigException, "Invalid value 2 for configuration acks"),
        ({"value.serializer": None}, ConfigException, 'Missing required configuration "value.serializer"'),
        ({"bootstrap.servers": "nowhere.invalid:9"}, KafkaException, "Failed to construct kafka producer"),
    ],
)
def test_configurations_that_cannot_be_are_refused_in_a_sentence(
    config: dict[str, object], error: type[Exception], message: str
) -> None:
    serializer = "ByteArraySerializer"
    least = {"bootstrap.servers": "127.0.0.1:1", "key.serializer": serializer, "value.serializer": serializer}
    with pytest.raises(error, match=message):
        KafkaProducer({**least, **config})


def test_unknown_keys_are_named_and_not_warned_about(
    broker: TakingBroker, produce: Produce, caplog: pytest.LogCaptureFixture
) -> None:
    """An application may keep settings of its own among them: Java's clients name them at INFO."""
    caplog.set_level(logging.INFO)
    produce(broker, no_such_key="1")
    assert "These configurations '[no.such.key]' were supplied but are not used yet." in caplog.text
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def test_metrics_have_java_s_names(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker)
    producer.send("t", b"v").result(PATIENCE_S)
    producer.flush(PATIENCE_S)
    assert _metric(producer, "record-send-total") == 1
    assert _metric(producer, "record-error-total") == 0
    assert _metric(producer, "batch-size-avg") == 61 + 8


def _metric(producer: KafkaProducer, name: str) -> float:
    found = [value for key, value in producer.metrics().items() if key[:2] == (name, "producer-metrics")]
    assert len(found) == 1, f"{name} is there once"
    return found[0]


def _know_the_topic(producer: KafkaProducer) -> None:
    """However short max.block.ms is, and however slow the machine."""

    def is_known() -> bool:
        with contextlib.suppress(TimeoutException):
            return bool(producer.partitions_for("t"))
        return False

    _until(is_known)


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(PATIENCE_S * 100):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("not in time")
