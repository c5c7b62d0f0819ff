"""Replica placement: the arithmetic of AdminUtils, checked against cases worked out from its rules."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.admin.assignment import BrokerRack, InconsistentRacks, assign_replicas
from kafka_zk.protocol.errors import InvalidPartitions, InvalidReplicationFactor


def brokers(*ids: int) -> list[BrokerRack]:
    return [BrokerRack(broker_id) for broker_id in ids]


def test_leaders_go_round_and_followers_shift_after_each_round():
    assignment = assign_replicas(
        brokers(0, 1, 2, 3, 4), partition_count=10, replication_factor=3, start_index=0, shift=0
    )
    assert assignment == {
        0: [0, 1, 2],
        1: [1, 2, 3],
        2: [2, 3, 4],
        3: [3, 4, 0],
        4: [4, 0, 1],
        5: [0, 2, 3],
        6: [1, 3, 4],
        7: [2, 4, 0],
        8: [3, 0, 1],
        9: [4, 1, 2],
    }


def test_new_partitions_continue_the_pattern_of_the_old_ones():
    whole = assign_replicas(brokers(1, 2, 3), partition_count=7, replication_factor=2, start_index=1, shift=1)
    old = assign_replicas(brokers(1, 2, 3), partition_count=3, replication_factor=2, start_index=1, shift=1)
    new = assign_replicas(
        brokers(1, 2, 3), partition_count=4, replication_factor=2, start_index=1, shift=1, first_partition=3
    )
    assert old | new == whole


def test_replicas_are_spread_over_racks_before_a_rack_gets_a_second_one():
    racks = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}
    assignment = assign_replicas(
        [BrokerRack(b, r) for b, r in racks.items()],
        partition_count=6,
        replication_factor=3,
        start_index=0,
        shift=0,
    )
    assert [assignment[p][0] for p in range(6)] == [0, 3, 1, 5, 4, 2]
    for replicas in assignment.values():
        assert {racks[b] for b in replicas} == {"r1", "r2", "r3"}


@given(
    count=st.integers(1, 8),
    partitions=st.integers(1, 40),
    racks=st.sampled_from([None, 1, 2, 3]),
    data=st.data(),
)
def test_replicas_differ_and_leaders_are_even(count, partitions, racks, data):
    factor = data.draw(st.integers(1, count))
    start, shift = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    members = [BrokerRack(b, None if racks is None else f"r{b % racks}") for b in range(count)]
    assignment = assign_replicas(
        members, partition_count=partitions, replication_factor=factor, start_index=start, shift=shift
    )
    assert all(len(set(replicas)) == factor for replicas in assignment.values())
    leaders = Counter(replicas[0] for replicas in assignment.values())
    assert max(leaders.values()) - min(leaders.get(b.broker_id, 0) for b in members) <= 1


def test_impossible_wishes_are_refused_with_kafkas_words():
    with pytest.raises(InvalidPartitions, match="Number of partitions must be larger than 0"):
        assign_replicas(brokers(1), partition_count=0, replication_factor=1, start_index=0, shift=0)
    with pytest.raises(InvalidReplicationFactor, match="larger than available brokers: 1"):
        assign_replicas(brokers(1), partition_count=1, replication_factor=2, start_index=0, shift=0)
    with pytest.raises(InvalidReplicationFactor, match="must be larger than 0"):
        assign_replicas(brokers(1), partition_count=1, replication_factor=0, start_index=0, shift=0)


def test_racks_on_some_brokers_only_are_refused():
    with pytest.raises(InconsistentRacks):
        assign_replicas(
            [BrokerRack(0, "r"), BrokerRack(1)], partition_count=1, replication_factor=1, start_index=0, shift=0
        )
