"""A cluster of brokers with everything around them: machines, network, ZooKeeper, operators. What happens is drawn from
one chance, so that a seed repeats a history.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.controller import events
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import PartitionReplicas, TopicAssignment, TopicPartitionStateZNode, TopicZNode
from tests.crash.forgetful_disk import Fate, ForgetfulDisk
from tests.simulation.whole_members import Member
from tests.simulation.whole_network import Network
from tests.simulation.whole_processes import Process, Processes
from tests.simulation.whole_zookeeper import OPERATOR, Ensemble

TOPIC = "t"
TOPIC_ID = UUID(int=77)
SESSION_TURNS = (5, 30, 80)
"""How long a session may outlive its process."""


class WholeCluster:
    def __init__(self, folder: Path, seed: int, *, broker_ids: Sequence[int], min_isr: int, unclean: bool) -> None:
        self.chance = random.Random(seed)
        self.broker_ids = tuple(broker_ids)
        self.processes = Processes()
        self.network = Network(self.chance, self.processes)
        self.zookeeper = Ensemble().with_kafka_paths()
        self.clock = SimClock()
        """Of clients, and of those who wait for something to happen."""
        self.members: dict[int, Member] = {}
        self.look: Callable[[], None] = lambda: None
        """What looks at all that there is, after each turn and at the end of a process."""
        self.turn = 0
        self._folder = folder
        self._disks: dict[int, ForgetfulDisk] = {}
        self._overrides = {"min.insync.replicas": str(min_isr)}
        self._unclean = unclean
        self._ensemble = Process("ZooKeeper")
        self._ids = iter(range(1_000, 1 << 30))
        folder.mkdir(parents=True)

    # --- brokers -----------------------------------------------------------------------------------------------------

    def start(self, broker_id: int) -> None:
        folder = self._folder / str(broker_id)
        disk = self._disks.get(broker_id)
        if disk is None:
            folder.mkdir()
            disk = ForgetfulDisk(folder)
        member = Member(
            broker_id,
            folder=folder,
            disk=disk,
            network=self.network,
            processes=self.processes,
            zookeeper=self.zookeeper,
            chance=self.chance,
            overrides=self._overrides,
            new_topic_id=lambda: UUID(int=next(self._ids)),
        )
        self._end_sessions_of(broker_id)
        self.members[broker_id] = self.network.members[broker_id] = member
        member.spawn(member.boot)

    def kill(self, broker_id: int) -> None:
        """Blocks. kill -9: the machine lives, and with it what was written."""
        self._end(broker_id, Fate.KEPT)

    def cut_power(self, broker_id: int) -> None:
        """Blocks. What was not synced is lost, or a part of it."""
        self._end(broker_id, self.chance.choice((Fate.LOST, Fate.MIXED, Fate.MIXED)))

    def _end(self, broker_id: int, fate: Fate) -> None:
        member = self.members[broker_id]
        self.zookeeper.disarm(member.zk)
        member.kill()
        if not member.has_left:
            # Until its greenlets were killed it may have answered a reader, and nobody has looked since.
            self.look()
        del self.members[broker_id], self.network.members[broker_id]
        member.leave_disk()
        disk = member.disk
        kept = disk.in_next_process() if fate is Fate.KEPT else disk.after_power_cut(fate, self.chance)
        self._disks[broker_id] = kept
        self.processes.spawn(self._ensemble, self._end_session_late, member.zk.session_id)

    def bury_the_stopped(self) -> None:
        """Those that have stopped in order are gone."""
        for broker_id in [broker_id for broker_id, member in self.members.items() if member.has_left]:
            self.kill(broker_id)

    def _end_session_late(self, session_id: int) -> None:
        """Blocks."""
        for _ in range(self.chance.randrange(self.chance.choice(SESSION_TURNS))):
            gevent.sleep(0)
        self.zookeeper.end_session(session_id)

    def _end_sessions_of(self, broker_id: int) -> None:
        """A start ends the session that its predecessor left."""
        node = self.zookeeper.nodes.get(f"/brokers/ids/{broker_id}")
        if node is not None and node.owner:
            self.zookeeper.end_session(node.owner)

    # --- ZooKeeper and the controller --------------------------------------------------------------------------------

    def expire(self, broker_id: int) -> None:
        """Its session ends; it hears of that at once or later."""
        member = self.members[broker_id]
        member.zk.is_cut = True
        self.zookeeper.disarm(member.zk)
        self.zookeeper.end_session(member.zk.session_id)

    def heal_zookeeper(self, broker_id: int) -> None:
        member = self.members[broker_id]
        if member.zk.is_cut:
            member.spawn(member.zk.heal)

    def depose(self) -> None:
        """An operator deletes /controller."""
        node = self.zookeeper.nodes.get("/controller")
        if node is not None:
            node.owner = OPERATOR
            self.zookeeper.client().delete("/controller")

    def create_topic(self, assignment: dict[int, Sequence[int]]) -> None:
        partitions = {index: PartitionReplicas(tuple(replicas)) for index, replicas in assignment.items()}
        value = b"true" if self._unclean else b"false"
        config = b'{"version":1,"config":{"unclean.leader.election.enable":"%s"}}' % value
        self.zookeeper.ensure(f"/config/topics/{TOPIC}", config)
        self.zookeeper.ensure(TopicZNode.path(TOPIC), TopicZNode.encode(TopicAssignment(partitions, TOPIC_ID)))

    def assignment(self) -> dict[int, PartitionReplicas]:
        node = self.zookeeper.nodes[TopicZNode.path(TOPIC)]
        return dict(TopicZNode.decode(node.data, node.stat(), TOPIC).partitions)

    def state(self, partition: TopicPartition) -> object | None:
        node = self.zookeeper.nodes.get(TopicPartitionStateZNode.path(partition))
        return None if node is None else TopicPartitionStateZNode.decode(node.data, node.stat(), partition)

    def ask_controller(self, event: events.Event) -> None:
        """Of one of those that take themselves for it. Nobody waits for the answer."""
        active = [member for _, member in sorted(self.members.items()) if member.controller.is_active]
        if active:
            member = self.chance.choice(active)
            member.spawn(member.controller.submit, event)

    # --- time --------------------------------------------------------------------------------------------------------

    def run(self, turns: int, *, ms: int) -> None:
        """Let everybody run; time goes on by `ms` each turn, but for who is frozen."""
        for _ in range(turns):
            self.turn += 1
            gevent.sleep(0)
            if ms:
                self.clock.advance(ms)
                for _, member in sorted(self.members.items()):
                    if not member.is_frozen:
                        member.advance(ms)
            self.bury_the_stopped()
            self.look()

    def close(self) -> None:
        self.look = lambda: None
        for broker_id in list(self.members):
            self.kill(broker_id)
        self.processes.kill(self._ensemble)
        self.network.close()
        self.processes.close()
