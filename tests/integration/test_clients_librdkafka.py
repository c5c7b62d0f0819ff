"""librdkafka, unmodified, writes to our broker and reads from it: what goes in comes out."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, TopicPartition

from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, as_written
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

T0 = 1_700_000_000_000
SEED = 20261121
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(
        tmp_path_factory.mktemp("librdkafka"),
        fresh_chroot(zookeeper, "librdkafka"),
        overrides={"message.max.bytes": str(3 * MEGABYTE), "auto.create.topics.enable": "true"},
    ).start()
    yield running
    running.stop()


def every_shape() -> list[Written]:
    """Null, empty and full keys, values and headers; names twice; bytes that are no text."""
    return [
        Written(b"value", b"key"),
        Written(None, b"deleted"),
        Written(b"no key", None),
        Written(None, None),
        Written(b"", b""),
        Written(bytes(range(256)), bytes(range(255, -1, -1))),
        Written(b"h", b"h", (("null", None), ("empty", b""), ("binary", bytes(range(256))))),
        Written(b"h", b"h", (("twice", b"1"), ("twice", b"2"), ("twice", b"1"))),
        Written(b"h", b"h", (("n\u00e4me \u2713", "w\u00f6rt".encode()), ("", b"nameless"))),
        Written(None, None, tuple((f"h{number}", b"x" * number) for number in range(100))),
    ]


def half_random_records(count: int) -> list[Written]:
    """Records that compress, but not to nothing."""
    chance = random.Random(SEED)
    words = [chance.randbytes(7) for _ in range(50)]
    return [
        Written(b"".join(chance.choices(words, k=20)), b"%d" % number, timestamp_ms=T0 + number)
        for number in range(count)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_every_shape_come_back_with_each_codec(kafka: Librdkafka, codec: str) -> None:
    topic = kafka.topic()
    kafka.write(topic, every_shape(), compression_type=codec)
    assert [as_written(message) for message in kafka.read(topic, len(every_shape()))] == every_shape()


@pytest.mark.parametrize("codec", CODECS)
def test_large_batches_come_back_with_each_codec(kafka: Librdkafka, codec: str) -> None:
    topic = kafka.topic()
    records = half_random_records(5_000)
    kafka.write(topic, records, compression_type=codec, linger_ms=50, batch_size=MEGABYTE)
    assert [as_written(message, with_timestamp=True) for message in kafka.read(topic, len(records))] == records


@pytest.mark.parametrize("of_topic", CODECS[1:])
def test_a_topic_with_a_codec_of_its_own_recompresses_what_comes(kafka: Librdkafka, of_topic: str) -> None:
    topic = kafka.topic(compression_type=of_topic)
    records = half_random_records(500)
    for codec in CODECS:
        kafka.write(topic, records, compression_type=codec, linger_ms=50)
    messages = kafka.read(topic, len(CODECS) * len(records))
    assert [as_written(message, with_timestamp=True) for message in messages] == len(CODECS) * records


@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_offsets_are_given_in_order_whatever_the_acks(kafka: Librdkafka, acks: str, idempotent: bool) -> None:
    if idempotent and acks != "all":
        with pytest.raises(KafkaException, match="acks"):
            kafka.producer(acks=acks, enable_idempotence=True)
        return
    topic = kafka.topic()
    records = [Written(b"%d" % number) for number in range(1_000)]
    reports = kafka.write(topic, records, acks=acks, enable_idempotence=idempotent)
    assert len(reports) == len(records)
    if acks != "0":
        assert [report.offset() for report in reports] == list(range(len(records)))
    messages = kafka.read(topic, len(records))
    assert [(message.offset(), as_written(message)) for message in messages] == list(enumerate(records))


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_of_a_megabyte_come_back(kafka: Librdkafka, codec: str) -> None:
    topic = kafka.topic()
    chance = random.Random(SEED)
    records = [Written(chance.randbytes(MEGABYTE), b"%d" % number) for number in range(12)]
    kafka.write(topic, records, compression_type=codec, message_max_bytes=3 * MEGABYTE)
    read = kafka.read(topic, len(records), fetch_message_max_bytes=MEGABYTE // 2)
    assert [as_written(message) for message in read] == records


def test_twenty_thousand_tiny_records_come_back_in_order(kafka: Librdkafka) -> None:
    topic = kafka.topic(partitions=3)
    records = [Written(b"%d" % number, b"%d" % (number % 3)) for number in range(20_000)]
    reports = kafka.write(topic, records, enable_idempotence=True)
    by_partition: dict[int, list[Written]] = {partition: [] for partition in range(3)}
    for report in reports:
        by_partition[report.partition()].append(as_written(report))
    for partition, wanted in by_partition.items():
        read = kafka.read(topic, len(wanted), partition=partition) if wanted else []
        assert [as_written(message) for message in read] == wanted
    assert sum(map(len, by_partition.values())) == len(records)


def test_one_record_a_request_is_as_good_as_many(kafka: Librdkafka) -> None:
    topic = kafka.topic()
    records = [Written(b"%d" % number) for number in range(2_000)]
    kafka.write(topic, records, batch_num_messages=1, linger_ms=0)
    assert [as_written(message) for message in kafka.read(topic, len(records))] == records


def test_create_time_is_the_clients_and_log_append_time_is_ours(kafka: Librdkafka) -> None:
    records = [Written(b"", timestamp_ms=T0 - number * 1_000) for number in range(3)]
    mine, yours = kafka.topic(), kafka.topic(message_timestamp_type="LogAppendTime")
    for topic in (mine, yours):
        kafka.write(topic, records)
    kept = [message.timestamp() for message in kafka.read(mine, 3)]
    assert kept == [(TIMESTAMP_CREATE_TIME, record.timestamp_ms) for record in records]
    stamped = [message.timestamp() for message in kafka.read(yours, 3)]
    assert {kind for kind, _ in stamped} == {TIMESTAMP_LOG_APPEND_TIME}
    assert all(time_ms > T0 + 1_000_000 for _, time_ms in stamped)


def test_a_record_larger_than_the_topic_allows_is_refused_and_the_others_are_not(kafka: Librdkafka) -> None:
    topic = kafka.topic(max_message_bytes=2_000)
    records = [Written(b"small"), Written(bytes(5_000)), Written(b"small")]
    reports = kafka.try_to_write(topic, records, batch_num_messages=1)
    codes = {len(report.value()): report.error() and report.error().code() for report in reports}
    assert codes == {5: None, 5_000: KafkaError.MSG_SIZE_TOO_LARGE}
    assert [message.value() for message in kafka.read(topic, 2)] == [b"small", b"small"]


def test_a_compacted_topic_refuses_a_record_without_a_key(kafka: Librdkafka) -> None:
    topic = kafka.topic(cleanup_policy="compact")
    (report,) = kafka.try_to_write(topic, [Written(b"no key")])
    assert report.error().code() == KafkaError.INVALID_RECORD
    kafka.write(topic, [Written(b"value", b"key")])


def test_rule_75_a_topic_is_made_by_writing_to_it(kafka: Librdkafka) -> None:
    (report,) = kafka.write("made-by-writing", [Written(b"first")])
    assert report.offset() == 0
    assert [message.value() for message in kafka.read("made-by-writing", 1)] == [b"first"]


def test_the_partitioner_of_the_client_decides_and_the_broker_keeps(kafka: Librdkafka) -> None:
    topic = kafka.topic(partitions=4)
    for partition in range(4):
        kafka.write(topic, [Written(b"%d" % partition)], partition=partition)
        assert [message.value() for message in kafka.read(topic, 1, partition=partition)] == [b"%d" % partition]


def test_readers_of_committed_data_see_what_transactions_commit(kafka: Librdkafka) -> None:
    topic = kafka.topic(partitions=2)
    producer = kafka.producer(transactional_id="t", transaction_timeout_ms=30_000)
    producer.init_transactions(PATIENCE_S)
    for number in range(6):
        producer.begin_transaction()
        for partition in range(2):
            producer.produce(topic, b"%d" % number, partition=partition)
        if number % 2:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    for partition in range(2):
        seen = kafka.read(topic, 3, partition=partition, isolation_level="read_committed")
        assert [message.value() for message in seen] == [b"0", b"2", b"4"]


def test_offsets_count_when_the_transaction_that_has_them_is_committed(kafka: Librdkafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, [Written(b"a"), Written(b"b")])
    consumer = kafka.consumer(group_id="copies")
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = kafka.producer(transactional_id="copier", transaction_timeout_ms=30_000)
    producer.init_transactions(PATIENCE_S)
    for offset, is_commit in ((1, True), (2, False)):
        producer.begin_transaction()
        group = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, offset)], group, PATIENCE_S)
        if is_commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
        (committed,) = consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)
        assert committed.offset == 1
