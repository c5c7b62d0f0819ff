"""Assignors where members and replicas stand in racks: nearness counts, but the balance counts more."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.addresses import Address
from kafka_zk.client.consumer.assignors import Assignment, Member, ReplicaRacks, assignors_by_class_name
from kafka_zk.client.consumer.assignors.sticky import encode_memory
from kafka_zk.client.consumer.group.led_topics import led_topics
from kafka_zk.client.consumer.group.subscription_protocol import decode_subscription, encode_subscription
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot, Node, PartitionMetadata, TopicMetadata
from kafka_zk.protocol.types import TopicPartition

PACKAGE = "org.apache.kafka.clients.consumer."
NEAR_BY = ("Range", "Sticky", "CooperativeSticky")
BY_NAME = {
    assignor.name: assignor
    for assignor in assignors_by_class_name([f"{PACKAGE}{kind}Assignor" for kind in (*NEAR_BY, "RoundRobin")])
}


def standing(**racks: str) -> ReplicaRacks:
    """`t="ab ab c"`: the first two partitions of t have replicas in racks a and b, the third in c."""
    return {
        TopicPartition(topic, number): frozenset(names)
        for topic, partitions in racks.items()
        for number, names in enumerate(partitions.split(" "))
    }


def members(**racks: str) -> list[Member]:
    return [Member(name, ["t"], rack=rack or None) for name, rack in racks.items()]


def numbers(assignment: Assignment) -> dict[str, list[int]]:
    return {member: sorted(partition.partition for partition in owned) for member, owned in assignment.items()}


@pytest.mark.parametrize("name", ["range", "sticky", "cooperative-sticky"])
def test_partitions_go_to_members_in_the_racks_of_their_replicas(name: str) -> None:
    assignor = BY_NAME[name]
    made = assignor.assign({"t": 4}, members(m1="a", m2="b"), standing(t="b a b a"))
    assert numbers(made) == {"m1": [1, 3], "m2": [0, 2]}


@pytest.mark.parametrize("name", ["range", "sticky", "cooperative-sticky"])
def test_the_balance_comes_before_the_racks(name: str) -> None:
    made = BY_NAME[name].assign({"t": 4}, members(m1="a", m2="b"), standing(t="a a a ab"))
    assert sorted(map(len, made.values())) == [2, 2]
    assert 3 in numbers(made)["m2"]


@pytest.mark.parametrize("name", sorted(BY_NAME))
@pytest.mark.parametrize("racks", [standing(t="ab ab ab"), standing(t="c d c")])
def test_racks_that_tell_nobody_apart_change_nothing(name: str, racks: ReplicaRacks) -> None:
    group = members(m1="a", m2="b")
    assert BY_NAME[name].assign({"t": 3}, group, racks) == BY_NAME[name].assign({"t": 3}, group, {})


def test_what_is_joined_by_key_stays_together_in_a_range() -> None:
    group = [Member(f"m{index}", ["t", "u"], rack=rack) for index, rack in enumerate("ab")]
    made = BY_NAME["range"].assign({"t": 2, "u": 2}, group, standing(t="b a", u="b a"))
    assert numbers(made) == {"m0": [1, 1], "m1": [0, 0]}
    apart = BY_NAME["range"].assign({"t": 2, "u": 2}, group, standing(t="b a", u="a b"))
    assert numbers(apart) == {"m0": [0, 0], "m1": [1, 1]}


def test_a_partition_far_away_does_not_stick() -> None:
    had = {"m1": [0, 1], "m2": [2, 3]}
    group = [
        Member(name, ["t"], user_data=encode_memory([TopicPartition("t", n) for n in had[name]], 1), rack=rack)
        for name, rack in (("m1", "a"), ("m2", "b"))
    ]
    made = BY_NAME["sticky"].assign({"t": 4}, group, standing(t="a b a b"))
    assert numbers(made) == {"m1": [0, 2], "m2": [1, 3]}


def test_a_cooperative_leader_holds_back_what_is_far_from_a_member_that_has_it_still() -> None:
    """Differs from Java, whose leader gives it away at once."""
    owned = {"m1": [0, 1], "m2": [2, 3]}
    group = [
        Member(name, ["t"], owned=[TopicPartition("t", n) for n in owned[name]], generation=1, rack=rack)
        for name, rack in (("m1", "a"), ("m2", "b"))
    ]
    made = BY_NAME["cooperative-sticky"].assign({"t": 4}, group, standing(t="a b a b"))
    assert numbers(made) == {"m1": [0], "m2": [3]}


@pytest.mark.parametrize("name", sorted(BY_NAME))
@given(seed=st.integers(0, 2**32))
def test_shares_are_as_large_with_racks_as_without(name: str, seed: int) -> None:
    chance = random.Random(seed)
    counts = {topic: chance.randint(1, 9) for topic in ("t" if name == "range" else "tu")}
    group = [
        Member(f"m{index}", list(counts), rack=chance.choice(["a", "b", "c", None]))
        for index in range(chance.randint(1, 7))
    ]
    racks = {
        TopicPartition(topic, number): frozenset(chance.sample("abcd", chance.randint(0, 3)))
        for topic, count in counts.items()
        for number in range(count)
    }
    near, far = BY_NAME[name].assign(counts, group, racks), BY_NAME[name].assign(counts, group, {})
    assert sorted(map(len, near.values())) == sorted(map(len, far.values()))
    assert sorted(each for owned in near.values() for each in owned) == sorted(racks)


def test_a_leader_knows_where_replicas_stand_and_a_member_says_where_it_does() -> None:
    nodes = {1: Node(1, Address("h", 1), "a"), 2: Node(2, Address("h", 2), None), 3: Node(3, Address("h", 3), "c")}
    partitions = {0: PartitionMetadata("t", 0, 1, 0, (1, 2)), 1: PartitionMetadata("t", 1, 1, 0, (1, 3, 9))}
    led = led_topics(ClusterSnapshot(nodes, topics={"t": TopicMetadata("t", partitions=partitions)}), ["t", "gone"])
    assert led.counts == {"t": 2}
    assert led.replica_racks == standing(t="a ac")
    nodes[3] = Node(3, Address("h", 3), "d")
    moved = led_topics(ClusterSnapshot(nodes, topics={"t": TopicMetadata("t", partitions=partitions)}), ["t"])
    assert led.means_another(moved, "a")
    assert not led.means_another(moved, None)
    told = encode_subscription(["t"], None, [], -1, "a")
    assert decode_subscription(told, "m", None).rack == "a"
