"""Our consumers in groups: who reads what when members come, go, die, and what is committed."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence

import confluent_kafka
import pytest

from kafka_zk.client.consumer.errors import CommitFailed
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.errors import IllegalStateException, KafkaException
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import FencedInstanceId
from kafka_zk.protocol.types import TopicPartition
from tests.integration.consumer.conftest import PARTITIONS, MakeTopic, produce
from tests.support.broker import OurBroker
from tests.support.our_consumer import ASSIGNORS, PATIENCE_S, Consumers, Heard, poll_until, read
from tests.support.processes import wait_until

COOPERATIVE = ASSIGNORS + "CooperativeStickyAssignor"


def all_of(topic: str) -> set[TopicPartition]:
    return {TopicPartition(topic, number) for number in range(PARTITIONS)}


def shared(members: list[KafkaConsumer], topic: str) -> bool:
    """Whether the members have all partitions, each one, and about the same."""
    owned = [partition for member in members for partition in member.assignment()]
    sizes = [len(member.assignment()) for member in members]
    return set(owned) == all_of(topic) and len(owned) == PARTITIONS and max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("assignor", ["Range", "RoundRobin", "Sticky", "CooperativeSticky"])
def test_members_share_a_topic_and_take_over_from_one_that_leaves(
    consumers: Consumers, topic: MakeTopic, assignor: str
) -> None:
    name = topic(100)
    strategy = f"{ASSIGNORS}{assignor}Assignor"
    members = [consumers(group_id=f"share-{assignor}", partition_assignment_strategy=strategy) for _ in range(3)]
    for member in members:
        member.subscribe([name])
    found = poll_until(members, lambda: shared(members, name))
    for member in members:
        member.commit_sync()
    last = members.pop()
    last.close()
    seen = {record.value for record in found}
    deadline_s = time.monotonic() + PATIENCE_S
    while len(seen) < 100 or not shared(members, name):
        assert time.monotonic() < deadline_s, f"only {len(seen)} records"
        seen |= {record.value for member in members for record in member.poll(0.02)}
    assert seen == {str(number) for number in range(100)}


def test_the_next_member_goes_on_where_the_group_committed(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(20, 1)
    partition = TopicPartition(name, 0)
    first = consumers(group_id="place", max_poll_records=5)
    first.subscribe([name])
    read(first, 5)
    first.commit_sync({partition: OffsetAndMetadata(5, "so far", 0)})
    assert first.committed([partition]) == {partition: OffsetAndMetadata(5, "so far", 0)}
    first.close()
    second = consumers(group_id="place")
    second.subscribe([name])
    assert [record.offset for record in read(second, 15)] == list(range(5, 20))


def test_a_closing_consumer_commits_by_itself_when_it_is_told_to(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(20, 1)
    first = consumers(group_id="auto", enable_auto_commit=True, max_poll_records=5)
    first.subscribe([name])
    read(first, 10)
    first.close()
    second = consumers(group_id="auto")
    assert second.committed([TopicPartition(name, 0)]) == {TopicPartition(name, 0): OffsetAndMetadata(10, "", 0)}


def test_a_listener_commits_while_its_consumer_is_closed(consumers: Consumers, topic: MakeTopic) -> None:
    """Else the next member reads all that once more."""
    name = topic(20, 1)
    first = consumers(group_id="last-words", max_poll_records=5)

    class Commits(ConsumerRebalanceListener):
        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            first.commit_sync()
            first.close()

    first.subscribe([name], Commits())
    read(first, 10)
    first.close()
    with pytest.raises(IllegalStateException):
        first.poll(0)
    second = consumers(group_id="last-words")
    assert second.committed([TopicPartition(name, 0)]) == {TopicPartition(name, 0): OffsetAndMetadata(10, "", 0)}


def test_positions_are_committed_by_the_clock(consumers: Consumers, topic: MakeTopic) -> None:
    name, partition = topic(20, 1), None
    member = consumers(group_id="clock", enable_auto_commit=True, auto_commit_interval_ms=50)
    member.subscribe([name])
    read(member, 20)
    partition = TopicPartition(name, 0)
    watcher = consumers(group_id="clock")
    poll_until([member], lambda: watcher.committed([partition])[partition] == OffsetAndMetadata(20, "", 0))


def test_callbacks_of_commits_come_in_their_order(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(20, 1)
    partition = TopicPartition(name, 0)
    consumer = consumers(group_id="order")
    consumer.assign([partition])
    told: list[tuple[int, Exception | None]] = []

    def note(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
        told.append((offsets[partition].offset, error))

    for offset in range(10):
        consumer.commit_async({partition: OffsetAndMetadata(offset)}, note)
    assert told == []
    consumer.commit_sync({partition: OffsetAndMetadata(10)})
    assert told == [(offset, None) for offset in range(10)]
    assert consumer.committed([partition]) == {partition: OffsetAndMetadata(10)}


def test_an_eager_member_gives_up_everything_and_a_cooperative_one_only_what_moves(
    consumers: Consumers, topic: MakeTopic
) -> None:
    for strategy, kept in ((ASSIGNORS + "StickyAssignor", 0), (COOPERATIVE, 2)):
        name, heard = topic(8), Heard()
        old = consumers(group_id="listener" + name, partition_assignment_strategy=strategy)
        old.subscribe([name], heard)
        poll_until([old], lambda old=old, name=name: old.assignment() == all_of(name))  # type: ignore[misc]
        assert heard.told == [("assigned", sorted(all_of(name)))]
        new = consumers(group_id="listener" + name, partition_assignment_strategy=strategy)
        new.subscribe([name])
        poll_until([old, new], lambda old=old, new=new, name=name: shared([old, new], name))  # type: ignore[misc]
        assert len(all_of(name) - heard.partitions("revoked")) == kept
        assert heard.partitions("lost") == set()
        old.close()
        assert old.assignment() <= heard.partitions("revoked")


def test_a_static_member_comes_back_to_what_it_had(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(8)
    members = [consumers(group_id="static", group_instance_id=f"i{index}") for index in range(2)]
    for member in members:
        member.subscribe([name])
    poll_until(members, lambda: shared(members, name))
    before, generation = members[1].assignment(), members[0].group_metadata()[1]
    members[1].close()
    again = consumers(group_id="static", group_instance_id="i1")
    again.subscribe([name])
    poll_until([members[0], again], lambda: again.assignment() == before)
    assert members[0].group_metadata()[1] == generation


def test_of_two_static_members_of_one_name_the_older_is_fenced(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(8)
    old, new = (consumers(group_id="fenced", group_instance_id="same") for _ in range(2))
    old.subscribe([name])
    poll_until([old], lambda: old.assignment() == all_of(name))
    new.subscribe([name])
    with pytest.raises(FencedInstanceId):
        poll_until([old, new], lambda: False)


def test_a_pattern_takes_in_topics_that_are_made_later(consumers: Consumers, topic: MakeTopic) -> None:
    one = topic(4, name="pattern-one")
    member = consumers(group_id="pattern", metadata_max_age_ms=100)
    member.subscribe(re.compile("pattern-.*"))
    poll_until([member], lambda: member.assignment() == all_of(one))
    two = topic(4, name="pattern-two")
    poll_until([member], lambda: member.assignment() == all_of(one) | all_of(two))


def test_a_subscription_may_change(consumers: Consumers, topic: MakeTopic) -> None:
    one, two = topic(4), topic(4)
    member = consumers(group_id="change")
    member.subscribe([one])
    poll_until([member], lambda: member.assignment() == all_of(one))
    member.subscribe([one, two])
    poll_until([member], lambda: member.assignment() == all_of(one) | all_of(two))
    member.subscribe([two])
    poll_until([member], lambda: member.assignment() == all_of(two))
    member.unsubscribe()
    assert member.assignment() == set()
    member.subscribe([one])
    poll_until([member], lambda: member.assignment() == all_of(one))


def test_a_member_that_does_not_poll_loses_its_partitions_and_joins_again(
    consumers: Consumers, topic: MakeTopic
) -> None:
    name, heard = topic(8), Heard()
    slow = consumers(group_id="slow", max_poll_interval_ms=1000, session_timeout_ms=60000)
    quick = consumers(group_id="slow")
    slow.subscribe([name], heard)
    poll_until([slow], lambda: slow.assignment() == all_of(name))
    quick.subscribe([name])
    poll_until([quick], lambda: quick.assignment() == all_of(name))
    with pytest.raises(CommitFailed):
        slow.commit_sync({TopicPartition(name, 0): OffsetAndMetadata(1)})
    poll_until([slow, quick], lambda: shared([slow, quick], name))
    assert heard.partitions("lost") == all_of(name)


def test_heartbeats_go_on_while_a_program_works(consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(8)
    worker = consumers(group_id="work", heartbeat_interval_ms=20)
    worker.subscribe([name])
    poll_until([worker], lambda: worker.assignment() == all_of(name))
    before = heartbeats(worker)
    wait_until(lambda: heartbeats(worker) >= before + 5, "heartbeats without a poll")


def heartbeats(consumer: KafkaConsumer) -> float:
    return next(value for key, value in consumer.metrics().items() if key.name == "heartbeat-total")


def test_librdkafka_and_ours_share_a_group(broker: OurBroker, consumers: Consumers, topic: MakeTopic) -> None:
    name = topic(100)
    ours = consumers(group_id="mixed", partition_assignment_strategy=COOPERATIVE)
    theirs = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "mixed",
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
        }
    )
    try:
        ours.subscribe([name])
        seen = {record.value for record in poll_until([ours], lambda: ours.assignment() == all_of(name))}
        theirs.subscribe([name])

        def is_shared() -> bool:
            message = theirs.poll(0.02)
            if message is not None and message.error() is None:
                seen.add(message.value().decode())
            sizes = len(ours.assignment()), len(theirs.assignment())
            return sizes == (2, 2)

        seen |= {record.value for record in poll_until([ours], is_shared)}
        produce(broker, name, range(100, 120))
        wanted = {str(number) for number in range(120)}

        def all_seen() -> bool:
            is_shared()
            return seen >= wanted

        deadline_s = time.monotonic() + 60
        while not all_seen():
            assert time.monotonic() < deadline_s, f"missing {sorted(wanted - seen)}"
            seen |= {record.value for record in ours.poll(0.02)}
    finally:
        theirs.close()
    poll_until([ours], lambda: ours.assignment() == all_of(name))


WRONG: list[tuple[str, dict[str, object]]] = [
    ("Heartbeat must be set lower than the session timeout", {"heartbeat_interval_ms": 20_000}),
    ("used in more than one assignor", {"partition_assignment_strategy": [ASSIGNORS + "RangeAssignor"] * 2}),
    (r"group\.protocol=CONSUMER", {"group_protocol": "CONSUMER"}),
]


@pytest.mark.parametrize(("words", "wrong"), WRONG)
def test_wrong_settings_are_refused(consumers: Consumers, words: str, wrong: dict[str, object]) -> None:
    with pytest.raises((ConfigException, KafkaException)) as refused:
        consumers(group_id="g", **wrong)
    assert re.search(words, f"{refused.value} {refused.value.__cause__}")


def test_settings_that_mean_nothing_are_named(consumers: Consumers, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    consumers(no_such_key="1")
    assert "These configurations '[no.such.key]' were supplied but are not used yet." in caplog.text
