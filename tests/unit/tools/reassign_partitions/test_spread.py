"""Plans of --drain and --balance over random clusters."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.reassign_partitions import spread
from kafka_zk.tools.reassign_partitions.cluster_load import BrokerLoad, ClusterLoad, Directory

Assignment = dict[TopicPartition, tuple[int, ...]]


def partition(number: int) -> TopicPartition:
    return TopicPartition(f"t{number // 3}", number % 3)


@st.composite
def clusters(draw: st.DrawFn, *, rack_count: int = 3) -> ClusterLoad:
    """Three to seven brokers in up to `rack_count` racks, or without racks; replicas, sizes, directories by chance."""
    count = draw(st.integers(3, 7))
    racks = draw(st.one_of(st.none(), st.lists(st.integers(1, rack_count), min_size=count, max_size=count)))
    ids = range(1, count + 1)
    replicas = st.lists(st.sampled_from(ids), min_size=1, max_size=min(3, count - 1), unique=True)
    assigned = draw(st.lists(replicas, min_size=1, max_size=40))
    sizes = draw(st.lists(st.integers(0, 1000), min_size=len(assigned), max_size=len(assigned)))
    brokers = [
        BrokerLoad(
            broker_id,
            None if racks is None else f"rack-{racks[broker_id - 1]}",
            [Directory(f"/{name}", 0) for name in "ab"[: draw(st.integers(1, 2))]],
        )
        for broker_id in ids
    ]
    assignment = {partition(number): tuple(each) for number, each in enumerate(assigned)}
    return ClusterLoad(brokers, assignment, {partition(number): size for number, size in enumerate(sizes)})


def moves_of(before: Assignment, load: ClusterLoad) -> int:
    return sum(len(set(load.assignment[each]) - set(replicas)) for each, replicas in before.items())


def check_sums(load: ClusterLoad) -> None:
    """What `replace` and `prefer` kept is what counting anew gives."""
    kept = {broker_id: (broker.replicas, broker.leaders, broker.bytes) for broker_id, broker in load.brokers.items()}
    load._count()
    assert kept == {
        broker_id: (broker.replicas, broker.leaders, broker.bytes) for broker_id, broker in load.brokers.items()
    }


def check_racks_and_brokers(before: Assignment, load: ClusterLoad) -> None:
    for each, replicas in before.items():
        after = load.assignment[each]
        assert len(set(after)) == len(after) == len(replicas)
        assert load.racks(after) >= load.racks(replicas), "a partition is in fewer racks than before"


@given(clusters(), st.data())
@settings(max_examples=100)
def test_nothing_is_left_on_a_drained_broker_and_nothing_else_moves(load: ClusterLoad, data: st.DataObject) -> None:
    before = dict(load.assignment)
    drained = data.draw(st.lists(st.sampled_from(sorted(load.brokers)), min_size=1, max_size=2, unique=True))
    fewest = sum(len(set(drained) & set(replicas)) for replicas in before.values())
    try:
        spread.drain(load, drained)
    except spread.NoPlaceLeft:
        left = len(load.brokers) - len(drained)
        assert any(len(replicas) > left for replicas in before.values()), "there was room"
        return
    assert moves_of(before, load) == fewest
    for each, replicas in before.items():
        after = load.assignment[each]
        assert len(set(after)) == len(after)
        assert not set(drained) & set(after)
        staying = [broker for broker in load.brokers if broker not in drained]
        possible = len({load.brokers[broker].rack or broker for broker in staying})
        wanted = min(load.racks(replicas), possible, len(after))
        assert load.racks(after) >= wanted or _no_free_rack(load, after, staying)
        if not set(drained) & set(replicas):
            assert after == replicas, "it had nothing to do with it"
    check_sums(load)


def _no_free_rack(load: ClusterLoad, after: tuple[int, ...], staying: list[int]) -> bool:
    """Whether no other broker could have brought a partition to one more rack."""
    racks = {load.brokers[broker].rack or broker for broker in after}
    return all((load.brokers[broker].rack or broker) in racks for broker in staying if broker not in after)


@given(clusters())
@settings(max_examples=100)
def test_what_is_balanced_keeps_brokers_and_racks_and_is_not_moved_again(load: ClusterLoad) -> None:
    before = dict(load.assignment)
    worst = [max(each(broker) for broker in load.brokers.values()) for each in (_count, _bytes)]
    spread.balance(load)
    check_racks_and_brokers(before, load)
    check_sums(load)
    assert max(map(_count, load.brokers.values())) <= max(worst[0], math.ceil(1.1 * _mean(load)) + 1)
    again = dict(load.assignment)
    fresh = ClusterLoad(
        [BrokerLoad(each.broker_id, each.rack, each.directories) for each in load.brokers.values()], again, load.sizes
    )
    spread.balance(fresh)
    assert moves_of(again, fresh) <= moves_of(before, load), "it never comes to rest"


def _count(broker: BrokerLoad) -> int:
    return broker.replica_count


def _bytes(broker: BrokerLoad) -> int:
    return broker.bytes


def _mean(load: ClusterLoad) -> float:
    return sum(map(_count, load.brokers.values())) / len(load.brokers)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=60), st.integers(0, 1))
@settings(max_examples=100)
def test_equal_replicas_are_levelled_by_the_fewest_moves(places: list[int], size: int) -> None:
    assignment = {partition(number): (broker,) for number, broker in enumerate(places)}
    load = ClusterLoad([BrokerLoad(each) for each in range(1, 6)], assignment, dict.fromkeys(assignment, size))
    mean = len(places) / 5
    # A move that brings a broker below the limit and none above it; what is within one replica of its taker stays.
    needed = _fewest([places.count(each) for each in range(1, 6)], mean)
    spread.balance(load)
    assert moves_of(assignment, load) == needed
    assert max(map(_count, load.brokers.values())) <= max(math.ceil(mean), mean * 1.1)


def _fewest(counts: list[int], mean: float) -> int:
    """The moves of one replica each, from the fullest to the emptiest, while one of them is far from the mean."""
    moved = 0
    while (max(counts) > mean * 1.1 or min(counts) < mean * 0.9) and max(counts) - min(counts) > 1:
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(min(counts))] += 1
        moved += 1
    return moved


def test_bytes_are_levelled_by_the_largest_that_fits() -> None:
    sizes = {partition(number): size for number, size in enumerate((900, 500, 100, 10, 10, 10))}
    load = ClusterLoad([BrokerLoad(1), BrokerLoad(2)], dict.fromkeys(sizes, (1,)), sizes)
    spread.balance(load, tolerance=0.2)
    assert load.brokers[1].bytes <= 1530 / 2 * 1.25
    assert load.assignment[partition(0)] != load.assignment[partition(1)]


def test_a_drained_brokers_bytes_are_spread() -> None:
    sizes = {partition(number): 100 for number in range(12)}
    load = ClusterLoad([BrokerLoad(each) for each in (1, 2, 3, 4)], dict.fromkeys(sizes, (1,)), sizes)
    spread.drain(load, [1])
    assert [load.brokers[each].bytes for each in (2, 3, 4)] == [400, 400, 400]
    assert [load.brokers[each].leaders for each in (2, 3, 4)] == [4, 4, 4]


def test_replicas_go_to_the_emptiest_directory_that_has_room() -> None:
    sizes = {partition(number): 100 for number in range(4)}
    directories = [Directory("/full", 0, free_bytes=50), Directory("/a", 300, 10_000), Directory("/b", 100, 10_000)]
    load = ClusterLoad([BrokerLoad(1), BrokerLoad(2, None, directories)], dict.fromkeys(sizes, (1,)), sizes)
    spread.drain(load, [1])
    assert sorted(load.places.values()) == ["/a", "/b", "/b", "/b"]


def test_a_broker_without_room_takes_nothing() -> None:
    one = partition(0)
    load = ClusterLoad([BrokerLoad(1), BrokerLoad(2, None, [Directory("/a", 0, 10)])], {one: (1,)}, {one: 11})
    with pytest.raises(spread.NoPlaceLeft, match=r"t0-0 \(1 replicas, 11 bytes\) that broker 1 has"):
        spread.drain(load, [1])


def test_leaders_are_levelled_without_a_move() -> None:
    assignment = {partition(number): (1, 2, 3) for number in range(30)}
    load = ClusterLoad([BrokerLoad(each) for each in (1, 2, 3)], assignment, {})
    spread.balance(load)
    assert moves_of(assignment, load) == 0
    assert max(broker.leaders for broker in load.brokers.values()) <= 11


def test_a_dead_broker_gets_nothing_and_loses_nothing() -> None:
    assignment = {partition(number): (1, 9) for number in range(9)}
    load = ClusterLoad([BrokerLoad(each) for each in (1, 2, 3)], assignment, {})
    spread.balance(load)
    assert all(9 in replicas for replicas in load.assignment.values())
    assert {broker.replica_count for broker in load.brokers.values()} == {3, 9}


def test_what_cannot_move_is_not_looked_at_for_each_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one replica of a partition has gone to the new broker, the other cannot: more and more of the largest."""
    seen = 0

    def counted(load: ClusterLoad, sized: tuple[int, TopicPartition], leaving: int, taker: BrokerLoad) -> bool:
        nonlocal seen
        seen += 1
        return may_move(load, sized, leaving, taker)

    may_move = spread.may_move
    monkeypatch.setattr(spread, "may_move", counted)
    assignment = {TopicPartition("t", number): (1, 2) for number in range(3000)}
    sizes = {each: 1 + each.partition for each in assignment}
    load = ClusterLoad([BrokerLoad(each) for each in (1, 2, 3)], assignment, sizes)
    spread.balance(load)
    assert load.brokers[3].bytes > 0.85 * sum(sizes.values()) * 2 / 3
    assert seen <= 4 * moves_of(assignment, load) + 2 * spread.TRIES


def test_a_new_broker_gets_its_share() -> None:
    assignment = {partition(number): (1 + number % 9, 1 + (number + 1) % 9) for number in range(180)}
    load = ClusterLoad([BrokerLoad(each) for each in range(1, 11)], assignment, dict.fromkeys(assignment, 10))
    spread.balance(load)
    assert load.brokers[10].replica_count >= 36 * 0.9
    assert load.brokers[10].leaders >= 18 * 0.9 - 1
    assert moves_of(assignment, load) == load.brokers[10].replica_count
