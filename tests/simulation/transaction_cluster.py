"""Brokers that coordinate transactions and lead their partitions, over the real classes: a cluster of replicas whose
members have a transaction coordinator, its markers and its verifications besides.

Only the controller, the wires, the producer ids and the time are models. A wire keeps the order of its own requests and
no other: what it carries may be late, or lost before it arrives, or lost after it was served. A Produce may arrive when
its client has long given it up. Any other request whose wire is cut before it arrives never does: no protocol before
KIP-890's second part can tell a late EndTxn, or a late marker, from that of the producer's next transaction
(docs/architecture.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent

from kafka_zk.coordinator.transaction.coordinator import TransactionCoordinator
from kafka_zk.metadata.peer_channels import PeerChannels
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafka_zk.protocol.messages.produce import ProduceRequest
from kafka_zk.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.serving.transaction_verifier import TransactionVerifier
from tests.simulation.replication_cluster import APIS, NOBODY, Cluster, Member
from tests.unit.replication.broker import LISTENER, topic_id

STATE = TopicPartition(TRANSACTION_STATE_TOPIC, 0)
DATA = (TopicPartition("t", 0), TopicPartition("t", 1))
PARTITIONS = (STATE, *DATA)
FIRST_CLIENT = 100
"""Ends of wires below it are brokers."""
PROPERTIES = {
    "transaction.partition.verification.enable": "true",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "request.timeout.ms": "6000",
}
LATE = 0.05
"""How often something on a wire takes long."""
MOST_LATE_TURNS = 150
LOST = 0.05
"""How often a client's connection ends in the middle of a request."""


class LateWire:
    """A connection to a broker: one request at a time, each late by chance; closed by either end, or by a cut."""

    def __init__(self, cluster: TransactionCluster, to: int, sender: int) -> None:
        self._cluster = cluster
        self._to = to
        self._ends = {to, sender}
        self._waiting: Pending[Any] | None = None
        self._carried: type | None = None
        self.is_closed = False
        self.is_stalled = False

    def send(self, request: Any, api_version: int) -> Any:
        """Blocks. Raises NetworkError, and what the broker answered to the request as a whole: BrokerError."""
        self._carried = type(request)
        loses = self._cluster.loses_replies and min(self._ends) != max(self._ends) >= FIRST_CLIENT
        lost = self._cluster.chance.random() if loses else 1.0
        self._pass()
        if lost < LOST / 2:
            self.close()
            raise NetworkError("lost before it arrived")
        api = APIS[type(request).__name__]
        received = api.request.decode(memoryview(api.request.encode(request, api_version)), api_version)
        answer: Pending[Any] = Pending()
        self._waiting = answer
        if lost < LOST and isinstance(request, ProduceRequest):
            self._cluster.member_at(self._to).spawn(self._serve_late, received, api_version)
            self.close()
            raise NetworkError("given up, and still on its way")
        self._cluster.member_at(self._to).spawn(self._serve, received, api_version, answer)
        if lost < LOST:
            # Its client gives up; the broker works on.
            self._cluster.let_others()
            gevent.sleep(0)
            self.close()
            raise NetworkError("lost while it was served")
        response = answer.result(None)
        parts = api.response.encode_parts(response, api_version)
        data = b"".join(part if isinstance(part, bytes) else part.read() for part in parts)
        self._pass()
        return api.response.decode(memoryview(data), api_version)

    def _serve_late(self, request: Any, api_version: int) -> None:
        """Blocks."""
        for _ in range(self._cluster.chance.randrange(MOST_LATE_TURNS)):
            gevent.sleep(0)
        self._serve(request, api_version, Pending())

    def _serve(self, request: Any, api_version: int, answer: Pending[Any]) -> None:
        """Blocks."""
        try:
            response = self._cluster.member_at(self._to).broker.call(request, api_version)
        except BrokerError as error:
            answer.fail(error)
            return
        if isinstance(response, Pending):
            response.on_complete(
                lambda done: answer.complete(done.value) if done.error is None else answer.fail(done.error)
            )
        else:
            answer.complete(response)

    def _pass(self) -> None:
        self._cluster.travel()
        while self._carried is WriteTxnMarkersRequest and frozenset(self._ends) in self._cluster.stalled:
            self.is_stalled = True
            gevent.sleep(0)
        self.is_stalled = False
        if self.is_closed or self._cluster.is_parted(self._ends):
            self.is_closed = True
            raise NetworkError("the wire is cut")

    def parted(self) -> None:
        """Whoever waits on it learns now that it is cut."""
        if self._cluster.is_parted(self._ends):
            self.close()

    def close(self) -> None:
        self.is_closed = True
        if self._waiting is not None:
            self._waiting.fail(NetworkError("closed"))


class TransactionMember(Member):
    """A broker that coordinates transactions wherever it leads their log."""

    def __init__(self, cluster: TransactionCluster, broker_id: int, folder: Path) -> None:
        super().__init__(cluster, broker_id, folder, PROPERTIES)
        self._transactions = cluster
        broker = self.broker
        broker.clock.set_wall(cluster.elapsed_ms)
        self._peers = [self._make_peers("markers"), self._make_peers("verifications")]
        self.coordinator = TransactionCoordinator(
            config=broker.config,
            clock=broker.clock,
            replica_manager=broker.manager,
            metadata_cache=broker.cache,
            metrics=broker.metrics,
            peers=self._peers[0],
            broker_id=broker_id,
            marker_writer=broker.services.marker_writer,
            producer_ids=SimpleNamespace(next_producer_id=cluster.next_producer_id),  # type: ignore[arg-type]
            state_partition_count=lambda: 1,
            gone_partitions=lambda partitions: (),
        )
        broker.services.transaction_coordinator = self.coordinator
        broker.services.transaction_verifier = TransactionVerifier(
            broker_id=broker_id,
            own_coordinator=self.coordinator.verify_here,
            hosted=broker.manager.hosted,
            peers=self._peers[1],
            metadata_cache=broker.cache,
            partition_for=self.coordinator.partition_for,
            is_enabled=lambda: True,
            clock=broker.clock,
            metrics=broker.metrics,
        )
        self.coordinator.startup()

    def _make_peers(self, client_id: str) -> PeerChannels:
        broker = self.broker
        return PeerChannels(
            client_id=client_id,
            metadata_cache=broker.cache,
            listener_name=LISTENER,
            connect=lambda node, _: self._connect_late(node),
            clock=broker.clock,
        )

    def _connect_late(self, node: Node) -> LateWire:
        """Blocks. Raises NetworkError."""
        return self._transactions.connect(node.id, self.broker_id)

    def _carry_out(self) -> None:
        """One that is deaf hears of nothing, and takes itself for what it was."""
        while True:
            order = self.orders.get()
            self._cluster.let_others()
            while self.broker_id in self._transactions.deaf:
                gevent.sleep(0)
            order(self)

    def _end_greenlets(self) -> None:
        try:
            super()._end_greenlets()
        finally:
            self.coordinator.shutdown()
            for peers in self._peers:
                peers.shutdown()


class TransactionCluster(Cluster):
    """`deaf` brokers do not hear the controller. Markers between `stalled` brokers stay on their way meanwhile."""

    members: dict[int, TransactionMember]  # type: ignore[assignment]

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed, PARTITIONS)
        self.deaf: set[int] = set()
        self.stalled: set[frozenset[int]] = set()
        self.elapsed_ms = 0
        self._producer_ids = itertools.count(1_000)
        self._client_ids = itertools.count(FIRST_CLIENT)

    def _make_member(self, broker_id: int, folder: Path) -> TransactionMember:
        return TransactionMember(self, broker_id, folder)

    # --- what brokers and clients see --------------------------------------------------------------------------------

    def travel(self) -> None:
        """Blocks for as long as something is on its way."""
        self.let_others()
        if self.loses_replies and self.chance.random() < LATE:
            for _ in range(self.chance.randrange(MOST_LATE_TURNS)):
                gevent.sleep(0)

    def connect(self, to: int, sender: int) -> LateWire:
        """Blocks. Raises NetworkError."""
        self.travel()
        if self.is_parted({to, sender}):
            raise NetworkError("nobody answers")
        wire = LateWire(self, to, sender)
        self.wires.append(wire)  # type: ignore[arg-type]
        return wire

    def new_client_id(self) -> int:
        return next(self._client_ids)

    def is_parted(self, ends: set[int]) -> bool:
        return super().is_parted({end for end in ends if end < FIRST_CLIENT})

    def next_producer_id(self) -> Pending[int]:
        return completed(next(self._producer_ids))

    def alter(self, broker_id: int, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Each partition by itself, as the controller does; one answer."""
        answers = AlterPartitionResponse()
        for topic in request.topics:
            for asked in topic.partitions:
                (controller,) = (
                    each
                    for partition, each in self.controllers.items()
                    if (topic_id(partition.topic), partition.partition) == (topic.topic_id, asked.partition_index)
                )
                of_one = AlterPartitionRequest(
                    broker_id=request.broker_id,
                    broker_epoch=request.broker_epoch,
                    topics=[type(topic)(topic_id=topic.topic_id, partitions=[asked])],
                )
                answers.topics += controller.alter(broker_id, of_one).topics
        return answers

    def leader_of(self, partition: TopicPartition) -> tuple[TransactionMember, Partition] | None:
        """The one that ZooKeeper names, once it has heard of it and while its replica is there."""
        controller = self.controllers[partition]
        member = self.members.get(controller.leader) if controller.leader != NOBODY else None
        if member is None:
            return None
        found = member.broker.manager.hosted.find(*partition)
        if found is None or found.log is None or found.leader_epoch != controller.leader_epoch or not found.is_leader:
            return None
        return member, found

    # --- what happens to them --------------------------------------------------------------------------------------

    def end(self, broker_id: int, *, in_order: bool) -> None:
        self.deaf.discard(broker_id)
        super().end(broker_id, in_order=in_order)
        self.wires = [wire for wire in self.wires if not getattr(wire, "is_closed", False)]

    def heal(self) -> None:
        super().heal()
        self.deaf.clear()
        self.stalled.clear()

    def run(self, turns: int, *, ms: int = 0, after_each: Callable[[], None] | None = None) -> None:
        for _ in range(turns):
            super().run(1, ms=ms)
            self.elapsed_ms += ms
            if after_each is not None:
                after_each()
