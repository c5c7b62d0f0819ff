"""Assignors: equal to Java's on a table, and right whatever the group looks like."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.consumer.assignors import Assignment, Member, assignors_by_class_name
from kafka_zk.client.consumer.assignors.sticky import Memory, decode_memory, encode_memory
from kafka_zk.client.errors import KafkaException
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.types import TopicPartition
from tests.support.assignor_rounds import rounds

TABLE = Path(__file__).parents[3] / "golden" / "assignors" / "rounds.jsonl"
CLASSES = [
    "org.apache.kafka.clients.consumer.RangeAssignor",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "org.apache.kafka.clients.consumer.StickyAssignor",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
]
BY_NAME = {assignor.name: assignor for assignor in assignors_by_class_name(CLASSES)}
COUNTS = {"a": 5, "b": 3, "c": 1}


def in_order(assignment: Assignment) -> Assignment:
    return {member: sorted(owned) for member, owned in assignment.items()}


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_round_of_the_table_ends_as_it_did_with_java(name: str) -> None:
    rows = [row for row in rounds(TABLE.read_text().splitlines()) if row.assignor == name]
    assert len(rows) == 60
    for row in rows:
        assert in_order(BY_NAME[name].assign(row.counts, row.members)) == in_order(row.answer), row


@pytest.mark.parametrize("name", sorted(BY_NAME))
@given(subscriptions=st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=6))
def test_every_partition_somebody_reads_has_one_reader(name: str, subscriptions: list[set[str]]) -> None:
    members = [Member(f"m{index}", sorted(topics)) for index, topics in enumerate(subscriptions)]
    assignment = BY_NAME[name].assign(COUNTS, members)
    given_out = Counter(partition for owned in assignment.values() for partition in owned)
    read = set().union(*subscriptions)
    assert given_out == Counter(
        TopicPartition(topic, n) for topic in COUNTS if topic in read for n in range(COUNTS[topic])
    )
    assert all(partition.topic in member.topics for member in members for partition in assignment[member.member_id])


def test_static_members_stand_before_others_and_in_the_order_of_their_names() -> None:
    members = [Member("z", ["b"]), Member("y", ["b"], "2"), Member("x", ["b"], "1")]
    for name in ("range", "roundrobin"):
        assignment = BY_NAME[name].assign(COUNTS, members)
        assert {member: [p.partition for p in owned] for member, owned in assignment.items()} == {
            "x": [0],
            "y": [1],
            "z": [2],
        }


def test_a_cooperative_leader_holds_back_what_another_member_has_still() -> None:
    sticky = BY_NAME["cooperative-sticky"]
    everything = [TopicPartition("a", number) for number in range(5)]
    first = sticky.assign({"a": 5}, [Member("old", ["a"], owned=everything, generation=1), Member("new", ["a"])])
    assert first == {"old": everything[:3], "new": []}
    second = sticky.assign(
        {"a": 5}, [Member("old", ["a"], owned=first["old"], generation=2), Member("new", ["a"], generation=2)]
    )
    assert in_order(second) == {"old": everything[:3], "new": everything[3:]}


def test_a_partition_goes_back_to_a_former_owner_only_if_that_reads_its_topic() -> None:
    """Differs from Java, which gives `b` to a member that would not know what to do with it."""
    sticky = BY_NAME["sticky"]
    had = [TopicPartition("b", number) for number in range(3)]
    members = [
        Member("former", ["c"], user_data=encode_memory(had, 1)),
        Member("one", ["b"], user_data=encode_memory([], 2)),
        Member("two", ["b", "c"], user_data=encode_memory([], 2)),
    ]
    assert all(owned.topic == "c" for owned in sticky.assign({"b": 9, "c": 1}, members)["former"])


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(0, 9)), unique=True), st.integers(-1, 9))
def test_the_memory_of_a_sticky_member_is_read_as_it_was_written(named: list[tuple[str, int]], generation: int) -> None:
    partitions = [TopicPartition(*each) for each in named]
    memory = decode_memory(encode_memory(partitions, generation))
    assert sorted(memory.partitions) == sorted(partitions)
    assert memory.generation == generation


def test_a_memory_without_a_generation_is_one_of_the_oldest_clients() -> None:
    data = encode_memory([TopicPartition("t", 3)], 7)
    assert decode_memory(data[:-4]) == Memory([TopicPartition("t", 3)], None)


@given(st.binary(max_size=40))
def test_a_memory_that_nobody_can_read_is_none(data: bytes) -> None:
    decode_memory(data)
    assert decode_memory(encode_memory([TopicPartition("t", 3)], 7)[:9]) == Memory()


def test_an_assignor_is_named_by_javas_class_or_by_a_programs_own() -> None:
    (own,) = assignors_by_class_name(["kafka_zk.client.consumer.assignors.range:RangeAssignor"])
    assert own.name == "range"
    with pytest.raises(ConfigException, match=r"Class no\.such could not be found"):
        assignors_by_class_name(["no.such"])
    with pytest.raises(KafkaException, match=r"used in more than one assignor"):
        assignors_by_class_name([CLASSES[0], CLASSES[0]])
