"""librdkafka's consumer and administrator on our broker: every way to choose a position, and every question."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_STORED,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import ConfigResource, NewPartitions, NewTopic, OffsetSpec

from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written, poll_until, take
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

T0 = 1_700_000_000_000
RECORDS = [Written(b"%d" % number, timestamp_ms=T0 + 10 * number) for number in range(100)]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("reading"), fresh_chroot(zookeeper, "reading")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def numbers(broker: OurBroker) -> str:
    """A topic of two partitions; record n of partition 0 has offset n and time T0 + 10 n, partition 1 is empty."""
    clients = Librdkafka(broker.bootstrap)
    name = clients.topic(partitions=2)
    clients.write(name, RECORDS, partition=0, batch_num_messages=7)
    return name


def first_value(kafka: Librdkafka, where: TopicPartition) -> bytes | None:
    consumer = kafka.consumer()
    consumer.assign([where])
    return take(consumer, 1)[0].value()


def test_a_consumer_begins_where_it_is_told(kafka: Librdkafka, numbers: str) -> None:
    assert first_value(kafka, TopicPartition(numbers, 0, OFFSET_BEGINNING)) == b"0"
    assert first_value(kafka, TopicPartition(numbers, 0, 42)) == b"42"
    assert first_value(kafka, TopicPartition(numbers, 0, OFFSET_STORED)) == b"0"
    assert first_value(kafka, TopicPartition(numbers, 0, -2001)) == b"99"  # librdkafka's "one before the end"


def test_seek_moves_a_consumer_forth_and_back(kafka: Librdkafka, numbers: str) -> None:
    consumer = kafka.consumer()
    consumer.assign([TopicPartition(numbers, 0, OFFSET_BEGINNING)])
    take(consumer, 1)
    for offset in (90, 3, 50):
        consumer.seek(TopicPartition(numbers, 0, offset))
        assert [message.offset() for message in take(consumer, 2)] == [offset, offset + 1]
    assert consumer.position([TopicPartition(numbers, 0)])[0].offset == 52


def test_offsets_are_found_by_time(kafka: Librdkafka, numbers: str) -> None:
    consumer = kafka.consumer()

    def found(time_ms: int, partition: int = 0) -> int:
        (answer,) = consumer.offsets_for_times([TopicPartition(numbers, partition, time_ms)], timeout=PATIENCE_S)
        assert answer.error is None
        return int(answer.offset)

    assert [found(T0 - 1), found(T0), found(T0 + 1), found(T0 + 505), found(T0 + 990)] == [0, 0, 1, 51, 99]
    assert (found(T0 + 991), found(T0, partition=1)) == (OFFSET_END, OFFSET_END)


def test_watermarks_are_those_of_the_log(kafka: Librdkafka, numbers: str) -> None:
    consumer = kafka.consumer()
    assert consumer.get_watermark_offsets(TopicPartition(numbers, 0), timeout=PATIENCE_S) == (0, 100)
    assert consumer.get_watermark_offsets(TopicPartition(numbers, 1), timeout=PATIENCE_S) == (0, 0)
    consumer.assign([TopicPartition(numbers, 0, OFFSET_BEGINNING)])
    take(consumer, 1)
    assert consumer.get_watermark_offsets(TopicPartition(numbers, 0), cached=True) == (0, 100)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("min_bytes", [1, 100_000])
def test_all_is_read_at_each_isolation_level_and_minimum(
    kafka: Librdkafka, numbers: str, isolation: str, min_bytes: int
) -> None:
    messages = kafka.read(numbers, len(RECORDS), isolation_level=isolation, fetch_min_bytes=min_bytes)
    assert [message.value() for message in messages] == [record.value for record in RECORDS]


def test_a_consumer_reads_through_the_smallest_fetches(kafka: Librdkafka, numbers: str) -> None:
    messages = kafka.read(
        numbers, len(RECORDS), max_partition_fetch_bytes=50, fetch_max_bytes=1_000, message_max_bytes=1_000
    )
    assert [message.offset() for message in messages] == list(range(len(RECORDS)))


def test_the_end_of_a_partition_is_told_once_until_more_comes(kafka: Librdkafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, RECORDS[:3])
    consumer = kafka.consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    for end in (3, 6):
        take(consumer, 3)
        eof = consumer.poll(PATIENCE_S)
        assert (eof.error().code(), eof.offset()) == (KafkaError._PARTITION_EOF, end)
        kafka.write(topic, RECORDS[:3])


def test_a_fetch_that_waits_is_answered_as_soon_as_a_record_comes(kafka: Librdkafka) -> None:
    topic = kafka.topic()
    consumer = kafka.consumer(fetch_wait_max_ms=60_000)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert consumer.poll(1) is None
    kafka.write(topic, [Written(b"now")])
    message = consumer.poll(PATIENCE_S)
    assert message is not None and message.value() == b"now"


def test_a_paused_partition_rests_while_the_others_are_read(kafka: Librdkafka) -> None:
    topic = kafka.topic(partitions=2)
    for partition in range(2):
        kafka.write(topic, RECORDS[:10], partition=partition)
    consumer = kafka.consumer()
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(2)])
    consumer.pause([TopicPartition(topic, 0)])
    assert {message.partition() for message in take(consumer, 10)} == {1}
    consumer.resume([TopicPartition(topic, 0)])
    assert {message.partition() for message in take(consumer, 10)} == {0}


def test_partitions_are_added_to_and_taken_from_an_assignment(kafka: Librdkafka) -> None:
    topic = kafka.topic(partitions=3)
    for partition in range(3):
        kafka.write(topic, RECORDS[:5], partition=partition)
    consumer = kafka.consumer()
    for partition in range(3):
        consumer.incremental_assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        assert {message.partition() for message in take(consumer, 5)} == {partition}
    consumer.incremental_unassign([TopicPartition(topic, 0), TopicPartition(topic, 2)])
    assert [each.partition for each in consumer.assignment()] == [1]
    kafka.write(topic, RECORDS[:1], partition=1)
    assert take(consumer, 1)[0].partition() == 1


def test_a_position_outside_the_log_is_an_error_or_the_reset(kafka: Librdkafka, numbers: str) -> None:
    strict = kafka.consumer(auto_offset_reset="error")
    strict.assign([TopicPartition(numbers, 0, 5_000)])
    assert strict.poll(PATIENCE_S).error().code() == KafkaError._AUTO_OFFSET_RESET
    lenient = kafka.consumer(auto_offset_reset="earliest")
    lenient.assign([TopicPartition(numbers, 0, 5_000)])
    assert take(lenient, 1)[0].offset() == 0


def test_commits_of_either_kind_are_where_the_next_member_begins(kafka: Librdkafka, numbers: str) -> None:
    told: list[object] = []
    group = {"group_id": "commits", "on_commit": lambda error, _: told.append(error)}
    for asynchronous, upto in ((False, 30), (True, 70)):
        consumer = kafka.consumer(**group)
        consumer.subscribe([numbers])
        take(consumer, upto - (0 if upto == 30 else 30))
        consumer.commit(asynchronous=asynchronous)
        if asynchronous:
            consumer.pause(consumer.assignment())
            poll_until([consumer], lambda: told)
            assert told == [None]
        (committed,) = kafka.consumer(group_id="commits").committed([TopicPartition(numbers, 0)], PATIENCE_S)
        assert (committed.offset, committed.error) == (upto, None)
        kafka.leave(consumer)


def test_rule_79_metadata_travels_with_a_committed_offset(kafka: Librdkafka, numbers: str) -> None:
    consumer = kafka.consumer(group_id="with-metadata")
    note = TopicPartition(numbers, 1, 0, "f\u00fcr sp\u00e4ter", 0)
    consumer.commit(offsets=[note], asynchronous=False)
    (found,) = consumer.committed([TopicPartition(numbers, 1)], PATIENCE_S)
    assert (found.offset, found.metadata) == (0, "f\u00fcr sp\u00e4ter")


def test_a_pattern_finds_the_topics_that_come_later(kafka: Librdkafka) -> None:
    first = kafka.topic()  # librdkafka reports a pattern that nothing matches as an error
    later = f"{first}-later"
    consumer = kafka.consumer(group_id=first, topic_metadata_refresh_interval_ms=200, enable_auto_commit=True)
    consumer.subscribe([f"^{first}(-later)?$"])
    kafka.write(first, [Written(b"first")])
    assert take(consumer, 1)[0].value() == b"first"
    kafka.admin.create_topics([NewTopic(later, 1, 1)], operation_timeout=PATIENCE_S)[later].result(PATIENCE_S)
    kafka.write(later, [Written(b"later")])
    assert take(consumer, 1)[0].value() == b"later"


def test_topics_are_made_grown_and_deleted(kafka: Librdkafka) -> None:
    admin = kafka.admin
    topic = kafka.topic(partitions=2, retention_ms=86_400_000)
    assert len(admin.list_topics(topic, PATIENCE_S).topics[topic].partitions) == 2
    with pytest.raises(KafkaException) as twice:
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(PATIENCE_S)
    assert twice.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    admin.create_partitions([NewPartitions(topic, 5)], operation_timeout=PATIENCE_S)[topic].result(PATIENCE_S)
    assert len(admin.list_topics(topic, PATIENCE_S).topics[topic].partitions) == 5
    kafka.write(topic, RECORDS[:1], partition=4)
    with pytest.raises(KafkaException) as fewer:
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE_S)
    assert fewer.value.args[0].code() == KafkaError.INVALID_PARTITIONS
    admin.delete_topics([topic], operation_timeout=PATIENCE_S)[topic].result(PATIENCE_S)
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


def test_a_topic_made_again_begins_empty(kafka: Librdkafka) -> None:
    name = "again"

    def is_made() -> bool:
        """As with Apache, the deletion is answered when clients no longer see the topic, a moment before its end."""
        created = kafka.admin.create_topics([NewTopic(name, 1, 1)], operation_timeout=PATIENCE_S)[name]
        refusal = created.exception(PATIENCE_S)
        if refusal is not None:
            assert "marked for deletion" in str(refusal)
        return refusal is None

    for _ in range(3):
        wait_until(is_made, "the topic is made")
        (report,) = kafka.write(name, RECORDS[:1])
        assert report.offset() == 0
        kafka.admin.delete_topics([name], operation_timeout=PATIENCE_S)[name].result(PATIENCE_S)


def test_bad_requests_are_refused_with_kafkas_codes(kafka: Librdkafka) -> None:
    for new, code in (
        (NewTopic("bad name", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("too-many-replicas", 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("bad-config", 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
        (NewTopic("by-hand", 1, replica_assignment=[[0, 0]]), KafkaError.INVALID_REPLICA_ASSIGNMENT),
    ):
        with pytest.raises(KafkaException) as refused:
            kafka.admin.create_topics([new])[new.topic].result(PATIENCE_S)
        assert refused.value.args[0].code() == code
    with pytest.raises(KafkaException) as refused:
        kafka.admin.delete_topics(["nowhere"])["nowhere"].result(PATIENCE_S)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_configs_of_topics_and_brokers_are_told(kafka: Librdkafka) -> None:
    topic = kafka.topic(retention_ms=86_400_000)
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic), ConfigResource(ConfigResource.Type.BROKER, "0")]
    answers = kafka.admin.describe_configs(resources)
    of_topic, of_broker = (answers[resource].result(PATIENCE_S) for resource in resources)
    assert (of_topic["retention.ms"].value, of_topic["retention.ms"].is_default) == ("86400000", False)
    assert (of_topic["cleanup.policy"].value, of_topic["cleanup.policy"].is_default) == ("delete", True)
    assert of_broker["broker.id"].value == "0" and of_broker["broker.id"].is_read_only


def test_topics_and_the_cluster_are_described(kafka: Librdkafka, numbers: str) -> None:
    cluster = kafka.admin.describe_cluster().result(PATIENCE_S)
    assert ([node.id for node in cluster.nodes], cluster.controller.id) == ([0], 0)
    described = kafka.admin.describe_topics(TopicCollection([numbers]))[numbers].result(PATIENCE_S)
    assert [(each.id, each.leader.id, len(each.isr)) for each in described.partitions] == [(0, 0, 1), (1, 0, 1)]
    metadata = kafka.admin.list_topics(timeout=PATIENCE_S)
    assert (metadata.controller_id, list(metadata.brokers)) == (0, [0])
    assert metadata.cluster_id == cluster.cluster_id


@pytest.mark.parametrize("isolation", [IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED])
def test_offsets_are_listed_by_their_names(kafka: Librdkafka, numbers: str, isolation: IsolationLevel) -> None:
    where = TopicPartition(numbers, 0)

    def listed(spec: OffsetSpec) -> tuple[int, int]:
        found = kafka.admin.list_offsets({where: spec}, isolation_level=isolation)[where].result(PATIENCE_S)
        return found.offset, found.timestamp

    assert listed(OffsetSpec.earliest()) == (0, -1)
    assert listed(OffsetSpec.latest()) == (100, -1)
    assert listed(OffsetSpec.max_timestamp()) == (99, T0 + 990)
    assert listed(OffsetSpec.for_timestamp(T0 + 15)) == (2, T0 + 20)


def test_records_before_an_offset_are_deleted(kafka: Librdkafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, RECORDS)
    where = TopicPartition(topic, 0, 60)
    assert kafka.admin.delete_records([where])[where].result(PATIENCE_S).low_watermark == 60
    assert [message.offset() for message in kafka.read(topic, 40)] == list(range(60, 100))


def test_groups_are_listed_described_moved_and_deleted(kafka: Librdkafka, numbers: str) -> None:
    admin, name = kafka.admin, "administered"
    consumer = kafka.consumer(group_id=name, client_id="worker")
    consumer.subscribe([numbers])
    take(consumer, 10)
    consumer.commit(asynchronous=False)
    found = {group.group_id: group.state for group in admin.list_consumer_groups().result(PATIENCE_S).valid}
    assert found[name] == ConsumerGroupState.STABLE
    group = admin.describe_consumer_groups([name])[name].result(PATIENCE_S)
    (member,) = group.members
    assert (member.client_id, member.host, group.partition_assignor) == ("worker", "/127.0.0.1", "range")
    assert sorted(each.partition for each in member.assignment.topic_partitions) == [0, 1]
    with pytest.raises(KafkaException) as in_use:
        admin.delete_consumer_groups([name])[name].result(PATIENCE_S)
    assert in_use.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    kafka.leave(consumer)

    moved = ConsumerGroupTopicPartitions(name, [TopicPartition(numbers, 0, 77)])
    admin.alter_consumer_group_offsets([moved])[name].result(PATIENCE_S)
    listed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name].result(PATIENCE_S)
    assert {(each.partition, each.offset) for each in listed.topic_partitions} >= {(0, 77)}
    back = kafka.consumer(group_id=name)
    back.subscribe([numbers])
    assert take(back, 1)[0].offset() == 77
    kafka.leave(back)
    admin.delete_consumer_groups([name])[name].result(PATIENCE_S)
    assert name not in {group.group_id for group in admin.list_consumer_groups().result(PATIENCE_S).valid}
