"""Three brokers' replicas of one partition, over the real classes; the controller is a model, the wires are calls.

Everything runs in one gevent loop on simulated clocks. What the machine would decide (who runs first, how long a wire
takes, which answer is lost) is drawn from one chance, so that a seed repeats a history.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gevent
from gevent.queue import Queue

from kafka_zk.log.files.disk import Disk
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from kafka_zk.protocol.types import TopicPartition
from tests.crash.inline_pools import InlinePools
from tests.unit.replication.broker import Broker, topic_id

TOPIC = "t"
PARTITION = TopicPartition(TOPIC, 0)
BROKERS = (1, 2, 3)
NOBODY = -1
APIS = {f"{api.name}Request": api for api in API_TABLE.values()}


class Wire:
    """One connection between two brokers; either end may cut it, and what is on its way takes turns of the loop."""

    def __init__(self, cluster: Cluster, to: int, sender: int) -> None:
        self._cluster = cluster
        self._ends = {to, sender}
        self._to = to
        self._is_cut = False
        self._waiting: Pending[Any] | None = None

    def send(self, request: Any, api_version: int) -> Any:
        """Blocks."""
        self._pass()
        api = APIS[type(request).__name__]
        received = api.request.decode(memoryview(api.request.encode(request, api_version)), api_version)
        answer: Pending[Any] = Pending()
        self._waiting = answer
        # Over there: whoever asked may go away while it is worked in.
        self._cluster.member_at(self._to).spawn(self._serve, received, api_version, answer)
        response = answer.result(None)
        parts = api.response.encode_parts(response, api_version)
        data = b"".join(part if isinstance(part, bytes) else part.read() for part in parts)
        self._pass()
        return api.response.decode(memoryview(data), api_version)

    def _serve(self, request: Any, api_version: int, answer: Pending[Any]) -> None:
        """Blocks."""
        response = self._cluster.member_at(self._to).broker.call(request, api_version)
        if isinstance(response, Pending):
            response.on_complete(lambda done: answer.complete(done.value))
        else:
            answer.complete(response)

    def _pass(self) -> None:
        self._cluster.let_others()
        if self._is_cut or self._cluster.is_parted(self._ends):
            raise NetworkError("the wire is cut")

    def parted(self) -> None:
        """Whoever waits on it learns now that it is cut."""
        if self._cluster.is_parted(self._ends):
            self.close()

    def close(self) -> None:
        self._is_cut = True
        if self._waiting is not None and not self._waiting.is_done:
            self._waiting.fail(NetworkError("closed"))


class Proposals:
    """A leader's channel to the controller. An answer may be lost before or after what it answers was done."""

    def __init__(self, cluster: Cluster, broker_id: int) -> None:
        self._cluster = cluster
        self._broker_id = broker_id

    def send(self, request: Any) -> Pending[Any]:
        assert isinstance(request, AlterPartitionRequest)
        pending: Pending[Any] = Pending()
        self._cluster.members[self._broker_id].spawn(self._ask, request, pending)
        return pending

    def _ask(self, request: AlterPartitionRequest, pending: Pending[Any]) -> None:
        lost = self._cluster.lost_reply()
        self._cluster.let_others()
        if lost == "before":
            pending.fail(NetworkError("the request was lost"))
            return
        answer = self._cluster.alter(self._broker_id, request)
        self._cluster.let_others()
        if lost == "after":
            pending.fail(NetworkError("the answer was lost"))
        else:
            pending.complete(answer)


@dataclass
class Controller:
    """A partition's state as ZooKeeper has it, and the orders that follow from what happens. Kafka's rules."""

    cluster: Cluster
    partition: TopicPartition = PARTITION
    leader: int = 1
    leader_epoch: int = 0
    partition_epoch: int = 0
    isr: list[int] = field(default_factory=lambda: list(BROKERS))
    alive: set[int] = field(default_factory=set)
    offline: set[int] = field(default_factory=set)
    """Brokers whose replica is in a failed directory."""
    leaving: set[int] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    """Brokers that have made the replica: it is new to the others only, and not made again where a disk failed."""
    was_unclean: bool = False
    replicas: tuple[int, ...] = BROKERS
    target: tuple[int, ...] = BROKERS
    """Where the replicas shall be; `replicas` until a reassignment ends."""
    adding: tuple[int, ...] = ()

    def joined(self, broker_id: int) -> None:
        self.alive.add(broker_id)
        self.offline.discard(broker_id)
        self.tell_metadata()
        if self.leader == NOBODY:
            self.elect()
        self.order([broker_id])

    def left(self, broker_id: int) -> None:
        self.alive.discard(broker_id)
        self.leaving.discard(broker_id)
        self.tell_metadata()
        self._lost_replica(broker_id)

    def directory_failed(self, broker_id: int) -> None:
        if broker_id in self.alive and broker_id not in self.offline:
            self.offline.add(broker_id)
            self._lost_replica(broker_id)

    def reassign(self, target: tuple[int, ...]) -> None:
        """The replicas shall be on these brokers; replaces a reassignment under way. Not if its leader would go."""
        before = tuple(each for each in self.replicas if each not in self.adding)
        dropped = set(self.replicas) - {*before, *target}
        if self.leader == NOBODY or self.leader in dropped:
            return
        self.target = target
        self.adding = tuple(each for each in target if each not in before)
        self.replicas = (*target, *(each for each in before if each not in target))
        self.isr = [each for each in self.isr if each not in dropped]
        self._changed()
        self._remove(dropped)
        if not self._try_to_end_reassignment():
            self.order(self.replicas)
            self.tell_metadata()

    def _try_to_end_reassignment(self) -> bool:
        """Whether one ended: all that shall have replicas are in sync, and the others go."""
        if self.replicas == self.target or not set(self.target) <= set(self.isr):
            return False
        if self.leader not in self.target:
            usable = [each for each in self.target if each in self._usable() - self.leaving]
            if not usable:
                return False
            self.leader = usable[0]
        gone = set(self.replicas) - set(self.target)
        self.replicas, self.adding = self.target, ()
        self.isr = [each for each in self.isr if each in self.target]
        self._changed()
        self.order(self.replicas)
        self.tell_metadata()
        self._remove(gone)
        return True

    def _remove(self, broker_ids: set[int]) -> None:
        """The replica there is stopped, and then deleted."""
        epoch = self.leader_epoch
        self.made -= broker_ids
        for broker_id in sorted(broker_ids):
            for delete in (False, True):
                self._send(broker_id, partial(_stop_replica, partition=self.partition, epoch=epoch, delete=delete))

    def stops(self, broker_id: int) -> None:
        """A controlled shutdown was asked for: its leadership goes first, then the replica is stopped."""
        self.leaving.add(broker_id)
        others = [each for each in self.isr if each != broker_id and each in self._usable()]
        if not others or broker_id not in self.isr:
            return
        if self.leader == broker_id:
            self.leader = others[0]
        self.isr = others
        self._changed()
        self.order(BROKERS)
        self.tell_metadata()

    def prefer(self, broker_id: int) -> None:
        """The leadership goes to another member of the ISR."""
        if broker_id in self.isr and broker_id in self._usable() and broker_id != self.leader != NOBODY:
            self.leader = broker_id
            self._changed()
            self.order(BROKERS)
            self.tell_metadata()

    def next_epoch(self) -> None:
        """The leader goes on leading, in another epoch: as after any change of the replicas or a new controller."""
        if self.leader != NOBODY:
            self._changed()
            self.order(BROKERS)
            self.tell_metadata()

    def elect(self, *, unclean: bool = False) -> None:
        usable = [each for each in BROKERS if each in self._usable() and each in self.replicas]
        clean = [each for each in usable if each in self.isr]
        if clean:
            self.leader, self.isr = clean[0], clean
        elif unclean and usable:
            self.leader, self.isr = usable[0], usable[:1]
            self.was_unclean = True
        elif self.leader == NOBODY:
            return
        else:
            self.leader = NOBODY
        self._changed()
        self.order(BROKERS)
        self.tell_metadata()

    def alter(self, broker_id: int, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """AlterPartition, as KafkaController.tryProcessAlterPartition decides it."""
        asked = request.topics[0].partitions[0]
        members = [each.broker_id for each in asked.new_isr_with_epochs]
        code = ErrorCode.NONE
        if broker_id != self.leader or asked.leader_epoch != self.leader_epoch:
            code = ErrorCode.FENCED_LEADER_EPOCH
        elif members != self.isr:
            if asked.partition_epoch < self.partition_epoch:
                code = ErrorCode.INVALID_UPDATE_VERSION
            elif any(each not in self._usable() or each in self.leaving for each in members):
                code = ErrorCode.INELIGIBLE_REPLICA
            else:
                self.isr = members
                self.partition_epoch += 1
                self.tell_metadata()
                answer = self._answer(code)
                self._try_to_end_reassignment()
                return answer
        return self._answer(code)

    def _answer(self, code: ErrorCode) -> AlterPartitionResponse:
        topic, index = self.partition
        data = ResponsePartitionData(partition_index=index, error_code=code)
        if code is ErrorCode.NONE:
            data.leader_id, data.leader_epoch = self.leader, self.leader_epoch
            data.isr, data.partition_epoch = list(self.isr), self.partition_epoch
        return AlterPartitionResponse(topics=[ResponseTopicData(topic_id=topic_id(topic), partitions=[data])])

    def order(self, broker_ids: Any) -> None:
        """LeaderAndIsr to those that live."""
        leader, epoch, partition_epoch, isr = self.leader, self.leader_epoch, self.partition_epoch, tuple(self.isr)
        replicas, adding = self.replicas, self.adding
        removing = tuple(each for each in replicas if each not in self.target)

        def carry_out(member: Member) -> None:
            code = member.broker.order(
                *self.partition,
                is_new=member.broker_id not in self.made,
                replicas=replicas,
                isr=isr,
                leader=leader,
                epoch=epoch,
                partition_epoch=partition_epoch,
                adding=adding,
                removing=removing,
            )
            if code == ErrorCode.NONE:
                self.made.add(member.broker_id)
            elif code == ErrorCode.KAFKA_STORAGE_ERROR:
                self.directory_failed(member.broker_id)

        for broker_id in broker_ids:
            if broker_id in replicas:
                self._send(broker_id, carry_out)

    def tell_metadata(self) -> None:
        (topic, index), leader, alive = self.partition, self.leader, tuple(sorted(self.alive))
        for broker_id in alive:
            self._send(broker_id, lambda member: member.broker.update_metadata({topic: {index: leader}}, alive=alive))

    def _send(self, broker_id: int, order: Callable[[Member], None]) -> None:
        """To one that lives. Who has just died still counts as alive for a moment, and hears nothing."""
        if broker_id in self.alive and broker_id in self.cluster.members:
            self.cluster.members[broker_id].orders.put(order)

    def _lost_replica(self, broker_id: int) -> None:
        if self.leader == broker_id:
            self.elect()
        elif broker_id in self.isr and len(self.isr) > 1:
            self.isr.remove(broker_id)
            self._changed()
            self.order(BROKERS)
            self.tell_metadata()

    def _usable(self) -> set[int]:
        return self.alive - self.offline

    def _changed(self) -> None:
        self.isr = list(self.isr)
        self.leader_epoch += 1
        self.partition_epoch += 1


def _stop_replica(member: Member, *, partition: TopicPartition, epoch: int, delete: bool) -> None:
    member.broker.stop_replica(*partition, epoch=epoch, delete=delete)


class UnsyncedDisk(Disk):
    """These brokers are killed, and their machines are not: what was written stays, synced or not."""

    fsync = staticmethod(lambda descriptor: None)

    def sync_path(self, path: str | Path) -> None: ...

    def can_sync_at_once(self, path: Path) -> bool:
        return False


class Member:
    """One broker of the cluster in one of its lives, with the greenlets that end with it."""

    def __init__(
        self, cluster: Cluster, broker_id: int, folder: Path, properties: Mapping[str, str] | None = None
    ) -> None:
        self.broker_id = broker_id
        self.orders: Queue[Callable[[Member], None]] = Queue()
        self._cluster = cluster
        self._greenlets: list[gevent.Greenlet[..., Any]] = []
        directories = [folder / str(broker_id) / name for name in ("a", "b")]
        self.broker = Broker(
            folder,
            {
                "log.dirs": ",".join(map(str, directories)),
                "replica.fetch.backoff.ms": "100",
                "replica.lag.time.max.ms": "3000",
                "log.cleaner.enable": "false",
                **(properties or {}),
            },
            {"segment.bytes": "600", "retention.ms": "-1"},
            broker_id=broker_id,
            connect=self._connect,
            disk=UnsyncedDisk(),
            pools=InlinePools(cluster.chance),
            on_log_dir_failure=lambda _: cluster.directory_failed(broker_id),
        )
        self.broker.controller = self.broker.manager._isr_changes._controller = Proposals(cluster, broker_id)
        self.directories = [str(each) for each in directories]
        self._greenlets.append(gevent.spawn(self._carry_out))

    def _connect(self, node: Node, client_id: str) -> Wire:
        """Blocks: a connection takes its time, and may fail."""
        self._cluster.let_others()
        if node.id not in self._cluster.members or self._cluster.is_parted({node.id, self.broker_id}):
            raise NetworkError("nobody answers")
        wire = Wire(self._cluster, node.id, self.broker_id)
        self._cluster.wires.append(wire)
        return wire

    def _carry_out(self) -> None:
        """The controller's orders, one after the other, as over one connection."""
        while True:
            order = self.orders.get()
            self._cluster.let_others()
            order(self)

    def spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        self._greenlets.append(gevent.spawn(work, *arguments))

    def stop(self) -> None:
        """Blocks. In order."""
        self._end_greenlets()
        self.broker.close()

    def kill(self) -> None:
        """Blocks. Nothing is written down any more; what was written is there."""
        self._end_greenlets()
        manager = self.broker.manager
        manager.checkpoint_high_watermarks = lambda: None  # type: ignore[method-assign]
        manager.shutdown()
        self.broker.log_manager.release()

    def _end_greenlets(self) -> None:
        gevent.killall(self._greenlets)
        errors = [each.exception for each in self._greenlets if each.exception is not None]
        if errors:
            raise errors[0]


class Cluster:
    """Three brokers, their wires, their controller, and what their clients were promised."""

    def __init__(self, folder: Path, seed: int, partitions: Sequence[TopicPartition] = (PARTITION,)) -> None:
        self.chance = random.Random(seed)
        self.members: dict[int, Member] = {}
        self.wires: list[Wire] = []
        self.parted: set[frozenset[int]] = set()
        self.acknowledged: dict[int, bytes] = {}
        """By offset: what a producer with acks=all was told is there."""
        self.loses_replies = True
        self._folder = folder
        self.controllers = {partition: Controller(self, partition) for partition in partitions}

    @property
    def controller(self) -> Controller:
        """Of the only partition."""
        (controller,) = self.controllers.values()
        return controller

    # --- what the brokers see --------------------------------------------------------------------------------------

    def let_others(self) -> None:
        """Blocks now and then: somebody else runs first."""
        for _ in range(self.chance.choice((0, 0, 1, 2, 8))):
            gevent.sleep(0)

    def lost_reply(self) -> str:
        return self.chance.choice(("before", "after", "", "", "", "")) if self.loses_replies else ""

    def is_parted(self, ends: set[int]) -> bool:
        return not ends <= self.members.keys() or frozenset(ends) in self.parted

    def alter(self, broker_id: int, request: AlterPartitionRequest) -> AlterPartitionResponse:
        return self.controller.alter(broker_id, request)

    def member_at(self, broker_id: int) -> Member:
        if broker_id not in self.members:
            raise NetworkError("nobody listens")
        return self.members[broker_id]

    # --- what happens to them --------------------------------------------------------------------------------------

    def start(self, broker_id: int) -> None:
        self.members[broker_id] = self._make_member(broker_id, self._folder)
        for controller in self.controllers.values():
            controller.joined(broker_id)

    def _make_member(self, broker_id: int, folder: Path) -> Member:
        return Member(self, broker_id, folder)

    def end(self, broker_id: int, *, in_order: bool) -> None:
        member = self.members[broker_id]
        if in_order:
            member.broker.manager.about_to_stop()
            for controller in self.controllers.values():
                controller.stops(broker_id)
            self.run(self.chance.randrange(60))
        del self.members[broker_id]
        self._cut_wires()
        if in_order:
            member.stop()
        else:
            member.kill()
        for controller in self.controllers.values():
            controller.left(broker_id)

    def directory_failed(self, broker_id: int) -> None:
        for controller in self.controllers.values():
            controller.directory_failed(broker_id)

    def part(self, one: int, other: int) -> None:
        self.parted.add(frozenset((one, other)))
        self._cut_wires()

    def heal(self) -> None:
        self.parted.clear()

    def _cut_wires(self) -> None:
        for wire in self.wires:
            wire.parted()

    def run(self, turns: int, *, ms: int = 0) -> None:
        """Let everybody run; time goes on by `ms` each turn."""
        for _ in range(turns):
            gevent.sleep(0)
            for member in list(self.members.values()):
                if ms:
                    member.broker.clock.advance(ms)

    def close(self) -> None:
        for broker_id in list(self.members):
            member = self.members.pop(broker_id)
            self._cut_wires()
            member.kill()
