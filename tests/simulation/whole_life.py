"""One random history of a whole cluster: clients run by themselves, what goes wrong is drawn, one step after another.

The five kinds of lives (plain, power loss, cuts, moves, unclean elections) are this one with steps of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import gevent

from kafka_zk import supervision
from kafka_zk.controller import events
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import PartitionLeadership
from tests.crash.greenlets import Greenlets
from tests.simulation.whole_clients import CarelessProducer, Client, Producer, Reader
from tests.simulation.whole_cluster import TOPIC, WholeCluster
from tests.simulation.whole_ledger import Observer, entries_of
from tests.simulation.whole_network import FIRST_CLIENT, TIMEOUT_MS

STEPS = 45
TURN_MS = 20
MOST_TURNS = 3_000
"""A minute of the brokers' time: every timeout and retry is over by then."""
PARTITION_COUNT = 2
HOUR_MS = 3_600_000

Steps = Mapping[Callable[[], None], int]


class WholeLife:
    """`told` is what happened, for whoever has to understand a failure; `trace` is all that ZooKeeper was told, too."""

    broker_ids: ClassVar[tuple[int, ...]] = (1, 2, 3)
    min_isr: ClassVar[int] = 2
    unclean: ClassVar[bool] = False

    def __init__(self, folder: Path, seed: int) -> None:
        self.cluster = WholeCluster(
            folder, seed, broker_ids=self.broker_ids, min_isr=self.min_isr, unclean=self.unclean
        )
        self.chance = self.cluster.chance
        self.partitions = [TopicPartition(TOPIC, index) for index in range(PARTITION_COUNT)]
        self.observer = Observer(self.cluster.zookeeper, self.cluster.members, self.partitions, unclean=self.unclean)
        self.cluster.look = self._look
        self.told: list[str] = []
        self._goes_on = True
        self._client_ids = iter(range(FIRST_CLIENT, 1 << 30))
        self._clients: list[gevent.Greenlet[..., None]] = []
        self._producers: list[Producer] = []
        self._sending: list[gevent.Greenlet[..., None]] = []
        """Of all producers."""
        self._readers: list[Reader] = []

    @property
    def trace(self) -> list[str]:
        """All that must be the same when a seed is lived again."""
        return [*self.told, *map(repr, self.cluster.zookeeper.writes), *map(repr, self.observer.accounts.values())]

    def go(self) -> None:
        """Live, and check. Raises AssertionError with what happened."""
        greenlets = Greenlets()
        before = Counter(supervision.unexpected_errors)
        try:
            self._go()
            unexpected = supervision.unexpected_errors - before
            assert not unexpected, f"unexpected errors in {dict(unexpected)}"
        except BaseException as error:
            error.add_note(self.describe())
            raise
        finally:
            gevent.killall(self._clients)
            self.cluster.close()
            greenlets.end()

    def _go(self) -> None:
        for broker_id in self.broker_ids:
            self.cluster.start(broker_id)
        self.run(15, ms=TURN_MS)
        first = self.broker_ids[:3]
        self.cluster.create_topic({index: first[index:] + first[:index] for index in range(PARTITION_COUNT)})
        self.run(30, ms=TURN_MS)
        for partition in self.partitions:
            self._begin_client(Producer, partition, goes_on=lambda: self._goes_on, may_lose=self.unclean)
            self._begin_client(CarelessProducer, partition, goes_on=lambda: self._goes_on)
            self._begin_client(Reader, partition, may_lose=self.unclean)
        steps, weights = zip(*self.steps().items(), strict=True)
        for _ in range(STEPS):
            step: Callable[[], None] = self.chance.choices(steps, weights)[0]
            step()
            self.run(self.chance.choice((0, 1, 3, 10)), ms=self.chance.choice((1, TURN_MS)))
        self.come_to_rest()
        self.check()

    def steps(self) -> Steps:
        """What may happen, and how often beside the rest."""
        raise NotImplementedError

    def run(self, turns: int, *, ms: int) -> None:
        self.cluster.run(turns, ms=ms)

    def _look(self) -> None:
        self.observer.look()
        for client in self._clients:
            if client.exception is not None:
                raise client.exception

    def _begin_client(self, kind: type[Client], partition: TopicPartition, **how: Any) -> None:
        client: Any = kind(
            next(self._client_ids), partition, self.cluster.network, self.cluster.clock, observer=self.observer, **how
        )
        greenlet = gevent.spawn(client.live)
        self._clients.append(greenlet)
        if isinstance(client, Reader):
            self._readers.append(client)
        else:
            self._sending.append(greenlet)
        if isinstance(client, Producer):
            self._producers.append(client)

    def tell(self, what: str) -> None:
        self.told.append(f"{self.cluster.turn}: {what}")

    # --- what may happen ---------------------------------------------------------------------------------------------

    def pause(self) -> None:
        self.run(self.chance.randrange(60), ms=self.chance.choice((1, TURN_MS)))

    def some_member(self) -> int | None:
        return self.chance.choice(sorted(self.cluster.members)) if self.cluster.members else None

    def kill(self) -> None:
        broker_id = self.some_member()
        if broker_id is not None:
            self.tell(f"kill {broker_id}")
            self.cluster.kill(broker_id)

    def stop(self) -> None:
        broker_id = self.some_member()
        if broker_id is not None:
            self.tell(f"stop {broker_id}")
            member = self.cluster.members[broker_id]
            member.is_leaving = True
            member.spawn(member.stop_in_order)

    def start(self) -> None:
        down = sorted(set(self.broker_ids) - set(self.cluster.members))
        if down:
            broker_id = self.chance.choice(down)
            self.tell(f"start {broker_id}")
            self.cluster.start(broker_id)

    def expire(self) -> None:
        broker_id = self.some_member()
        if broker_id is not None:
            self.tell(f"the session of {broker_id} expires")
            self.cluster.expire(broker_id)

    def heal_zookeeper(self) -> None:
        for broker_id, member in sorted(self.cluster.members.items()):
            if member.zk.is_cut:
                self.tell(f"{broker_id} reaches ZooKeeper")
                self.cluster.heal_zookeeper(broker_id)

    def cut_from_zookeeper(self) -> None:
        broker_id = self.some_member()
        if broker_id is not None:
            self.tell(f"{broker_id} is cut from ZooKeeper")
            self.cluster.members[broker_id].zk.is_cut = True

    def freeze(self) -> None:
        """SIGSTOP."""
        broker_id = self.some_member()
        if broker_id is not None:
            self.tell(f"freeze {broker_id}")
            self.cluster.members[broker_id].is_frozen = True

    def thaw(self) -> None:
        """SIGCONT: its clock jumps by the time that it missed."""
        for broker_id, member in sorted(self.cluster.members.items()):
            if member.is_frozen:
                self.tell(f"thaw {broker_id}")
                member.is_frozen = False
                missed_ms = self.cluster.clock.monotonic_ms() - member.clock.monotonic_ms()
                if missed_ms > 0:
                    member.advance(missed_ms)

    def set_wall_clock(self) -> None:
        broker_id = self.some_member()
        if broker_id is not None:
            ms = self.chance.choice((-HOUR_MS, HOUR_MS))
            self.tell(f"the wall clock of {broker_id} jumps by {ms}")
            self.cluster.members[broker_id].clock.set_wall(ms)

    def depose(self) -> None:
        self.tell("depose the controller")
        self.cluster.depose()

    def depose_in_the_middle(self) -> None:
        """A controller stands still while it deals with a broker's end, and is another one's predecessor after that."""
        active = [broker_id for broker_id, each in sorted(self.cluster.members.items()) if each.controller.is_active]
        others = [broker_id for broker_id in sorted(self.cluster.members) if broker_id not in active]
        if not active or not others:
            return
        broker_id, other = active[0], self.chance.choice(others)
        self.tell(f"kill {other}, and depose {broker_id} that stands still")
        self.cluster.kill(other)
        self.run(self.chance.randrange(100), ms=1)
        if broker_id in self.cluster.members:
            self.cluster.members[broker_id].is_frozen = True
            self.cluster.depose()
            self.run(30, ms=TURN_MS)
            self.thaw()

    def elect_preferred(self) -> None:
        self.tell("preferred election")
        self.cluster.ask_controller(events.ReplicaLeaderElection(None, events.ElectionType.PREFERRED))

    def cut_one_way(self) -> None:
        one, other = self.chance.sample(self.broker_ids, 2)
        self.tell(f"cut {one} to {other}")
        self.cluster.network.cuts.add((one, other))

    def cut_both_ways(self) -> None:
        one, other = self.chance.sample(self.broker_ids, 2)
        self.tell(f"cut {one} and {other}")
        self.cluster.network.cuts |= {(one, other), (other, one)}

    def isolate_a_leader(self) -> None:
        """Clients reach it, and no other broker does; another one is elected before it hears of that."""
        leader = self.some_leader()
        if leader is None:
            return
        self.tell(f"isolate {leader}, and let its session expire")
        others = [broker_id for broker_id in self.broker_ids if broker_id != leader]
        self.cluster.network.cuts |= {way for other in others for way in ((other, leader), (leader, other))}
        self.run(self.chance.randrange(1, 15), ms=TURN_MS)
        if self.chance.random() < 0.5:
            self.heal()
        if leader in self.cluster.members:
            self.cluster.expire(leader)
        self.run(self.chance.randrange(3, 15), ms=self.chance.choice((1, TURN_MS)))
        self.heal()
        self.heal_zookeeper()

    def lose_the_answer_to_an_expansion(self) -> None:
        """A follower joins an ISR, and stands still before its leader is told that it is a member."""
        if not self._is_somebody_out():
            return
        self.heal()
        self.thaw()
        for _ in range(TIMEOUT_MS // TURN_MS):
            self.run(1, ms=TURN_MS)
            joining = self._joining()
            if joining is not None:
                break
        else:
            return
        leader, follower = joining
        self.tell(f"{leader} is not told that {follower} has joined, which freezes")
        self.cluster.network.lost_answers.add((leader, "AlterPartitionRequest"))
        self.run(self.chance.randrange(1, 4), ms=1)
        if follower in self.cluster.members:
            self.cluster.members[follower].is_frozen = True
        self.run(TIMEOUT_MS // TURN_MS, ms=TURN_MS)
        self.cluster.network.lost_answers.clear()
        self.thaw()

    def _is_somebody_out(self) -> bool:
        """Whether a broker that could be in an ISR is not."""
        there = {broker_id for broker_id, member in self.cluster.members.items() if member.is_listening}
        states = [account.state for account in self.observer.accounts.values()]
        return any(state is not None and not there <= set(state.isr) for state in states)

    def _joining(self) -> tuple[int, int] | None:
        """A leader, and who is about to join its ISR and is not the controller, who has to write that."""
        for broker_id, member in sorted(self.cluster.members.items()):
            for replica in member.broker.manager.hosted:
                proposed = set(replica.isr.proposed or ()) - set(replica.isr.committed)
                proposed.discard(member.broker.cache.controller_id)
                if replica.is_leader and proposed:
                    return broker_id, min(proposed)
        return None

    def some_leader(self) -> int | None:
        """Of one of the partitions, as ZooKeeper knows it."""
        state = self.observer.accounts[self.chance.choice(self.partitions)].state
        return None if state is None or state.leader not in self.cluster.members else state.leader

    def heal(self) -> None:
        self.tell("heal")
        self.cluster.network.cuts.clear()

    # --- at rest -----------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Everything works again; producers end what they began, and all comes in sync."""
        self.tell("at rest")
        self.cluster.network.is_troubled = False
        self.heal()
        self.thaw()
        self.heal_zookeeper()
        for _ in range(MOST_TURNS):
            for broker_id in self.broker_ids:
                if broker_id not in self.cluster.members:
                    self.cluster.start(broker_id)
            self.run(1, ms=TURN_MS)
            self.heal_zookeeper()
            self._goes_on = False
            if self.cluster.turn % 10 == 0 and self.is_whole():
                return
        raise AssertionError("it does not come to rest")

    def is_whole(self) -> bool:
        """All replicas are in sync and know it, nothing is under way, and readers are at the end."""
        if any(not greenlet.ready() for greenlet in self._sending):
            return False
        for index, assigned in self.cluster.assignment().items():
            partition = TopicPartition(TOPIC, index)
            state = self.cluster.state(partition)
            if assigned.adding or assigned.removing or not isinstance(state, PartitionLeadership):
                return False
            if set(state.isr) != set(assigned.replicas):
                return False
            ends = set()
            for broker_id in assigned.replicas:
                member = self.cluster.members[broker_id]
                found = member.broker.manager.hosted.find(*partition)
                if found is None or found.log is None or found.leader_epoch != state.leader_epoch:
                    return False
                ends |= {found.log.log_end_offset, found.log.high_watermark}
            if len(ends) > 1:
                return False
            if any(reader.position not in ends for reader in self._readers if reader.partition == partition):
                return False
        return True

    def check(self) -> None:
        """Replicas are equal; what was acknowledged is there, and nothing twice."""
        for partition, account in self.observer.accounts.items():
            logs = {}
            for broker_id in self.cluster.assignment()[partition.partition].replicas:
                found = self.cluster.members[broker_id].broker.manager.hosted.find(*partition)
                assert found is not None and found.log is not None
                logs[broker_id] = entries_of(found.log, 0, found.log.log_end_offset)
            first, *others = logs.values()
            for other in others:
                assert other == first, f"replicas of {partition} differ: {logs}"
            values = [entry.value for entry in first]
            assert len(values) == len(set(values)), f"{partition} has a record twice: {first}"
            for offset, value in account.acknowledged.items():
                assert values[offset : offset + 1] == [value], f"{partition}: {value!r} at {offset} is lost"

    def describe(self) -> str:
        lines = [*self.told[-40:], *map(repr, self.observer.accounts.values())]
        for broker_id, member in sorted(self.cluster.members.items()):
            replicas = [member.broker.manager.hosted.find(*partition) for partition in self.partitions]
            lines.append(
                f"{member} {replicas} {'controller' if member.controller.is_active else ''}"
                f"{' frozen' if member.is_frozen else ''}{' cut' if member.zk.is_cut else ''} {broker_id}"
            )
        lines += [f"producer of {each.partition}: {each.acknowledged_count}" for each in self._producers]
        lines += [f"reader of {each.partition} at {each.position}" for each in self._readers]
        return "\n".join(lines)
