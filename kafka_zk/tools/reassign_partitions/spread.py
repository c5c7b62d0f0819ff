"""Plans of --drain and --balance: which replicas move where, with as few moves as can be.

Role        Pure: decides, never acts. Works on a ClusterLoad, which afterwards is what the plan makes of it.
Invariants  No partition is twice on a broker, and none is in fewer racks than before where there is a choice.
            What is drained loses each of its replicas by one move. What is balanced already is not touched.
            Each move goes from a broker above the mean to one below it, or closer to it than before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.reassign_partitions.cluster_load import BrokerLoad, ClusterLoad, Sized

TOLERANCE = 0.1
"""How far from the mean a broker may be and count as balanced."""
TRIES = 1000
"""How many replicas in a row may be unable to move between two brokers before nothing is expected to."""


class NoPlaceLeft(Exception):
    """A replica has to leave, and no broker can take it."""


# --- drain -----------------------------------------------------------------------------------------------------------


def drain(load: ClusterLoad, drained: Collection[int]) -> None:
    """Move everything off the brokers `drained`: the largest first, each to the emptiest broker that may have it.

    Raises NoPlaceLeft, and then `load` is half changed.
    """
    for broker_id in drained:
        load.brokers[broker_id].may_receive = False
    targets = [broker for broker in load.brokers.values() if broker.may_receive]
    leaving = [(*each, broker_id) for broker_id in drained for each in load.brokers[broker_id].replicas]
    for size, partition, broker_id in sorted(leaving, key=lambda each: (-each[0], each[1], each[2])):
        target = _emptiest(load, partition, broker_id, size, targets)
        load.replace(partition, broker_id, target.broker_id)


def _emptiest(
    load: ClusterLoad, partition: TopicPartition, leaving: int, size: int, targets: Iterable[BrokerLoad]
) -> BrokerLoad:
    replicas = load.assignment[partition]
    others = [each for each in replicas if each != leaving]
    leads = replicas[0] == leaving
    possible = [each for each in targets if each.broker_id not in replicas and each.has_room(size)]
    if not possible:
        raise NoPlaceLeft(
            f"No broker can take the replica of {partition} ({len(replicas)} replicas, {size} bytes) that broker "
            f"{leaving} has: each one that stays has the partition already, or has no room in its directories."
        )

    def worth(broker: BrokerLoad) -> tuple[int, int, int, int, int]:
        spread = load.racks([*others, broker.broker_id])
        return -spread, broker.bytes, broker.leaders if leads else 0, broker.replica_count, broker.broker_id

    return min(possible, key=worth)


# --- balance ---------------------------------------------------------------------------------------------------------


def balance(load: ClusterLoad, tolerance: float = TOLERANCE) -> None:
    """Move replicas until each broker has the mean's bytes and replicas, within `tolerance`, as far as that can be.

    Then choose other preferred leaders, which moves nothing. Brokers that may not receive count as not there.
    """
    living = [broker for broker in load.brokers.values() if broker.may_receive]
    if len(living) < 2:
        return
    Levelling(load, living, tolerance, by_bytes=True).run()
    Levelling(load, living, tolerance, by_bytes=False).run()
    _level_leaders(load, living, tolerance)


@dataclass(slots=True)
class Levelling:
    """One thing that is levelled over `brokers`: their bytes, or else their replicas.

    `hopeless` are pairs of brokers between which nothing can move; `cursors` are how far the replicas of the first
    were looked at for the second: what cannot move there is not looked at again for each move.
    """

    load: ClusterLoad
    brokers: Collection[BrokerLoad]
    tolerance: float
    by_bytes: bool
    mean: float = 0
    hopeless: set[tuple[int, int]] = field(default_factory=set)
    cursors: dict[tuple[int, int], Sized] = field(default_factory=dict)

    def amount(self, broker: BrokerLoad) -> int:
        return broker.bytes if self.by_bytes else broker.replica_count

    def run(self) -> None:
        """Move from the fullest broker that can give to the emptiest that can take, until all are near the mean."""
        self.mean = sum(map(self.amount, self.brokers)) / len(self.brokers)
        limit, floor = self.mean * (1 + self.tolerance), self.mean * (1 - self.tolerance)
        exhausted: set[int] = set()
        while True:
            above = [each for each in self.brokers if self.amount(each) > self.mean and each.broker_id not in exhausted]
            if not above:
                return
            giver = max(above, key=lambda broker: (self.amount(broker), -broker.broker_id))
            # One that is near the mean itself gives only to those that are not.
            below = self.mean if self.amount(giver) > limit else floor
            takers = [broker for broker in self.brokers if self.amount(broker) < below]
            if not takers:
                return
            if not self._give_one(giver, takers):
                exhausted.add(giver.broker_id)

    def _give_one(self, giver: BrokerLoad, takers: Iterable[BrokerLoad]) -> bool:
        """Move one replica to the emptiest broker that can take one; False where none can."""
        for taker in sorted(takers, key=lambda broker: (self.amount(broker), broker.broker_id)):
            pair = giver.broker_id, taker.broker_id
            if pair in self.hopeless:
                continue
            found = self.best_move(giver, taker)
            if found is not None:
                self.load.replace(found, giver.broker_id, taker.broker_id)
                return True
            self.hopeless.add(pair)
        return False

    def best_move(self, giver: BrokerLoad, taker: BrokerLoad) -> TopicPartition | None:
        """The replica that brings two brokers closest to the mean by one move; None where none brings them closer.

        Of bytes, the largest that overshoots neither broker's mean, else the smallest that still brings them closer;
        of replicas, the smallest. Looks on where the last look ended, not at all replicas.
        """
        pair = giver.broker_id, taker.broker_id
        difference = self.amount(giver) - self.amount(taker)
        for sized in self._candidates(giver, taker):
            self.cursors[pair] = sized
            weight = sized[0] if self.by_bytes else 1
            if 0 < weight < difference and may_move(self.load, sized, giver.broker_id, taker):
                return sized[1]
        if self.by_bytes:
            for sized in self._larger(giver, taker):
                if sized[0] < difference and may_move(self.load, sized, giver.broker_id, taker):
                    return sized[1]
        return None

    def _candidates(self, giver: BrokerLoad, taker: BrokerLoad) -> Iterator[Sized]:
        replicas = giver.replicas
        last = self.cursors.get((giver.broker_id, taker.broker_id))
        if not self.by_bytes:
            start = 0 if last is None else bisect_right(replicas, last)
            return (replicas[index] for index in range(start, min(len(replicas), start + TRIES)))
        start = self._overshoot(giver, taker)
        if last is not None:
            start = min(start, bisect_left(replicas, last))
        return (replicas[index] for index in range(start - 1, max(-1, start - 1 - TRIES), -1))

    def _larger(self, giver: BrokerLoad, taker: BrokerLoad) -> Iterator[Sized]:
        start = self._overshoot(giver, taker)
        return (giver.replicas[index] for index in range(start, min(len(giver.replicas), start + TRIES)))

    def _overshoot(self, giver: BrokerLoad, taker: BrokerLoad) -> int:
        """Where the replicas begin that are larger than what one of two brokers is away from the mean."""
        wanted = min(self.amount(giver) - self.mean, self.mean - self.amount(taker))
        return bisect_right(giver.replicas, wanted, key=lambda sized: sized[0])


def may_move(load: ClusterLoad, sized: Sized, leaving: int, taker: BrokerLoad) -> bool:
    """Whether a replica may leave a broker for another: once per broker, not in fewer racks, with room for it."""
    size, partition = sized
    replicas = load.assignment[partition]
    if taker.broker_id in replicas:
        return False
    after = [taker.broker_id if each == leaving else each for each in replicas]
    return load.racks(after) >= load.racks(replicas) and taker.has_room(size)


def _level_leaders(load: ClusterLoad, brokers: Collection[BrokerLoad], tolerance: float) -> None:
    """Preferred leaders, each change between two replicas of one partition; walks over the partitions once."""
    living = {broker.broker_id for broker in brokers}
    mean = sum(broker.leaders for broker in brokers) / len(brokers)
    limit, floor = max(mean * (1 + tolerance), mean + 1), min(mean * (1 - tolerance), mean - 1)
    for partition, replicas in load.assignment.items():
        leader = load.brokers[replicas[0]]
        if leader.leaders <= mean or leader.broker_id not in living:
            continue
        others = [load.brokers[each] for each in replicas[1:] if each in living]
        fewest = min(others, key=lambda broker: (broker.leaders, broker.broker_id), default=None)
        if fewest is not None and fewest.leaders < (mean if leader.leaders > limit else floor):
            load.prefer(partition, fewest.broker_id)
