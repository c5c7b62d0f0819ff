"""Which partition a record goes to: by its key as in Java, without one as evenly as batching allows."""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_zk.client.addresses import Address
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot, Node, PartitionMetadata, TopicMetadata
from kafka_zk.client.producer.murmur2 import murmur2, partition_for_key
from kafka_zk.client.producer.node_latencies import NodeLatencies
from kafka_zk.client.producer.partitioners import RoundRobinPartitioner, StickyPartitioner


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_java_s(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF
    assert partition_for_key(memoryview(key), 12) == (hashed & 0x7FFFFFFF) % 12


def cluster(leaders: list[int | None]) -> ClusterSnapshot:
    partitions = {number: PartitionMetadata("t", number, leader, 0) for number, leader in enumerate(leaders)}
    nodes = {1: Node(1, Address("host", 1))}
    return ClusterSnapshot(nodes, topics={"t": TopicMetadata("t", partitions=partitions)})


def test_round_robin_takes_partitions_with_a_leader_in_turn_whatever_the_key() -> None:
    partitioner = RoundRobinPartitioner()
    chosen = [partitioner.partition("t", b"k", b"k", None, None, cluster([1, None, 1])) for _ in range(4)]
    assert chosen == [0, 2, 0, 2]
    nobody = cluster([None, None])
    assert [partitioner.partition("u", None, None, None, None, nobody) for _ in range(2)] == [0, 0]


def chances(*values: float) -> StickyPartitioner:
    given = iter(values)
    return StickyPartitioner(1000, lambda: next(given))


def test_the_choice_stays_until_a_batch_s_worth_went_there_and_a_batch_is_over() -> None:
    sticky = chances(0.0, 0.9, 0.5)
    assert sticky.current([0, 1, 2]) == 0
    sticky.took(999, True)
    assert sticky.current([0, 1, 2]) == 0, "not a batch's worth yet"
    sticky.took(1, False)
    assert sticky.current([0, 1, 2]) == 0, "in the middle of a batch"
    sticky.took(0, True)
    assert sticky.current([0, 1, 2]) == 2
    sticky.took(2000, False)
    assert sticky.current([0, 1, 2]) == 1, "two batches' worth are enough in any case"


def test_shorter_queues_are_likelier_and_the_longest_still_gets_something() -> None:
    steps = 12
    given = iter((step + 0.5) / steps for step in range(steps))
    sticky = StickyPartitioner(1, lambda: next(given))
    sticky.learn_loads([0, 3, 7], [0, 3, 1])
    chosen: Counter[int] = Counter()
    for _ in range(steps):
        chosen[sticky.current([0, 3, 7])] += 1
        sticky.took(1, True)
    # Weights are the longest queue plus one, less the own: 4, 1 and 3 of 8.
    assert chosen == {0: 6, 3: 1, 7: 5}


def test_queues_of_one_length_and_a_single_partition_leave_it_to_chance() -> None:
    sticky = chances(0.99)
    sticky.learn_loads([0, 1], [2, 2])
    assert sticky.current([5, 6]) == 6
    sticky = chances(0.0)
    sticky.learn_loads([3], [7])
    assert sticky.current([4]) == 4


def test_a_node_that_took_nothing_for_the_timeout_is_slow_until_it_takes_something() -> None:
    latencies = NodeLatencies(100)
    latencies.ready(1, 0)
    latencies.not_ready(1, 100)
    assert not latencies.is_slow(1)
    latencies.not_ready(1, 101)
    assert latencies.is_slow(1)
    latencies.ready(1, 102)
    assert not latencies.is_slow(1)


def test_without_a_timeout_nobody_is_slow() -> None:
    latencies = NodeLatencies(0)
    latencies.ready(1, 0)
    latencies.not_ready(1, 10_000)
    assert not latencies.is_slow(1)
