"""Brokers that only listen: they take the controller's requests, keep what Kafka's brokers would keep, and answer.

Several controllers (ours) may run beside each other; all meet in one `ModelZooKeeper`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller.decisions.context import Leadership
from kafka_zk.controller.loop import KafkaController
from kafka_zk.controller.settings import ControllerSettings
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_zk.protocol.messages.stop_replica import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.zk.registration import register_broker
from kafka_zk.zk.znodes import (
    BrokerRegistration,
    PartitionReplicas,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
)
from tests.simulation.model_zookeeper import ModelZkClient, ModelZooKeeper

EPOCH_DURING_DELETE, NO_EPOCH, LEADER_DURING_DELETE = -2, -1, -2


@dataclass
class FakeBroker:
    """What one broker was told. `hosted`: partition -> (leader, leader epoch)."""

    broker_id: int
    epoch: int = -1
    is_up: bool = False
    controller_epoch: int = 0
    hosted: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    metadata: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    live_brokers: list[int] = field(default_factory=list)
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    failed_dirs: set[TopicPartition] = field(default_factory=set)
    requests: list[Any] = field(default_factory=list)

    def receive(self, request: Any) -> Any:
        self.requests.append(request)
        if request.broker_epoch < self.epoch:
            return _refusal(request, ErrorCode.STALE_BROKER_EPOCH)
        if request.controller_epoch < self.controller_epoch:
            return _refusal(request, ErrorCode.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = request.controller_epoch
        if isinstance(request, LeaderAndIsrRequest):
            return self._lead_or_follow(request)
        if isinstance(request, StopReplicaRequest):
            return self._stop(request)
        return self._learn(request)

    def _lead_or_follow(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        topics = []
        for topic in request.topic_states:
            self._set_aside_others(topic.topic_name, topic.topic_id)
            errors = []
            for state in topic.partition_states:
                code = self._adopt(TopicPartition(topic.topic_name, state.partition_index), state)
                errors.append(LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=code))
            topics.append(LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=errors))
        return LeaderAndIsrResponse(topics=topics)

    def _set_aside_others(self, topic: str, topic_id: UUID) -> None:
        """As a broker does with replicas of an earlier topic of the name, which a move or a deletion left behind."""
        if self.topic_ids.get(topic, topic_id) != topic_id:
            self.hosted = {each: leader for each, leader in self.hosted.items() if each.topic != topic}
        self.topic_ids[topic] = topic_id

    def _adopt(self, partition: TopicPartition, state: Any) -> int:
        if partition in self.failed_dirs:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if state.leader_epoch <= self.hosted.get(partition, (-1, -1))[1]:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        assert self.broker_id in state.replicas
        self.hosted[partition] = (state.leader, state.leader_epoch)
        return ErrorCode.NONE

    def _stop(self, request: StopReplicaRequest) -> StopReplicaResponse:
        errors = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                code = ErrorCode.NONE
                if partition in self.failed_dirs:
                    code = ErrorCode.KAFKA_STORAGE_ERROR
                elif state.leader_epoch >= 0 and state.leader_epoch < self.hosted.get(partition, (-1, -1))[1]:
                    code = ErrorCode.FENCED_LEADER_EPOCH
                elif state.delete_partition:
                    self.hosted.pop(partition, None)
                errors.append(
                    StopReplicaPartitionError(
                        topic_name=partition.topic, partition_index=partition.partition, error_code=code
                    )
                )
        return StopReplicaResponse(partition_errors=errors)

    def _learn(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        self.live_brokers = [broker.id for broker in request.live_brokers]
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = TopicPartition(topic.topic_name, state.partition_index)
                if state.leader == LEADER_DURING_DELETE:
                    self.metadata.pop(partition, None)
                else:
                    self.metadata[partition] = (state.leader, state.leader_epoch)
        return UpdateMetadataResponse()


def _refusal(request: Any, code: int) -> Any:
    if isinstance(request, LeaderAndIsrRequest):
        return LeaderAndIsrResponse(error_code=code)
    if isinstance(request, StopReplicaRequest):
        return StopReplicaResponse(error_code=code)
    return UpdateMetadataResponse(error_code=code)


APIS = {f"{api.name}Request": api for api in API_TABLE.values()}


class FakeLink:
    def __init__(self, cluster: FakeCluster, broker_id: int) -> None:
        self._cluster = cluster
        self._broker_id = broker_id

    def send(self, request: Any, api_version: int, *, body: bytes | None = None) -> Any:
        if body is not None:
            # What is sent is what was meant for this broker, whoever else gets nearly the same.
            assert body == APIS[type(request).__name__].request.encode(request, api_version)
        self._cluster.zookeeper.switch()
        broker = self._cluster.brokers[self._broker_id]
        if not broker.is_up:
            raise NetworkError("connection refused")
        self._cluster.sent.append((self._broker_id, request))
        return broker.receive(request)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Member:
    """A broker process with its session and its controller."""

    zk: ModelZkClient
    controller: KafkaController
    metrics: MetricsRegistry


class FakeCluster:
    """Brokers, their ZooKeeper and their controllers, driven by a simulated clock."""

    def __init__(self, broker_ids: list[int], *, switch: Callable[[], None] = lambda: None, **settings: Any) -> None:
        self.zookeeper = ModelZooKeeper(switch).with_kafka_paths()
        self.clock = SimClock()
        self.brokers = {broker_id: FakeBroker(broker_id) for broker_id in broker_ids}
        self.members: dict[int, Member] = {}
        self.sent: list[tuple[int, Any]] = []
        self._settings = settings
        self.describe: Callable[[int], BrokerRegistration] = lambda broker_id: BrokerRegistration(
            broker_id, (EndPoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9000 + broker_id),)
        )

    def start(self, *broker_ids: int) -> None:
        for broker_id in broker_ids or sorted(self.brokers):
            self._join(broker_id)
            self.members[broker_id].controller.startup()
            self.settle()

    def start_together(self, *broker_ids: int) -> None:
        """All register, in rising order, before any competes; they do so in the given order."""
        for broker_id in sorted(broker_ids):
            self._join(broker_id)
        for broker_id in broker_ids:
            self.members[broker_id].controller.startup()
            self.settle()

    def _join(self, broker_id: int) -> None:
        zk = self.zookeeper.client()
        self._register(broker_id, zk, 1)
        metrics = MetricsRegistry(self.clock)
        controller = KafkaController(
            settings=ControllerSettings(broker_id=broker_id, listener="PLAINTEXT", **self._settings),
            zk=zk,  # type: ignore[arg-type]
            clock=self.clock,
            metrics=metrics,
            connect=lambda endpoint, to: FakeLink(self, to),
            register_broker=lambda generation: self._register(broker_id, zk, generation),
        )
        self.members[broker_id] = Member(zk, controller, metrics)

    def _register(self, broker_id: int, zk: ModelZkClient, generation: int) -> None:
        broker = self.brokers[broker_id]
        broker.epoch = register_broker(zk, self.describe(broker_id), generation=generation)  # type: ignore[arg-type]
        broker.is_up = True

    def crash(self, broker_id: int) -> None:
        """kill -9: what the broker was told is forgotten, its session ends."""
        member = self.members.pop(broker_id)
        member.controller._greenlet.kill()
        if member.controller.active_controller is not None:
            member.controller.active_controller.stop()
        broker = self.brokers[broker_id]
        broker.is_up = False
        broker.hosted.clear()
        broker.metadata.clear()
        broker.controller_epoch = 0
        member.zk.close()

    def stop(self) -> None:
        for member in self.members.values():
            member.controller.shutdown()
            member.zk.close()
        self.members.clear()

    def settle(self, rounds: int = 200) -> None:
        """Let all greenlets run until nothing moves any more."""
        quiet = 0
        for _ in range(rounds * 50):
            before = (self.zookeeper.zxid, len(self.sent))
            gevent.sleep(0)
            quiet = quiet + 1 if before == (self.zookeeper.zxid, len(self.sent)) else 0
            if quiet > 60:
                return
        raise AssertionError("the cluster does not come to rest")

    @property
    def controller(self) -> KafkaController:
        """The active one; there must be exactly one."""
        (active,) = [member.controller for member in self.members.values() if member.controller.is_active]
        return active

    # Wishes

    def create_topic(self, topic: str, assignment: dict[int, list[int]], topic_id: Any = None) -> None:
        partitions = {index: PartitionReplicas(tuple(replicas)) for index, replicas in assignment.items()}
        self.zookeeper.ensure(f"/config/topics/{topic}", b'{"version":1,"config":{}}')
        self.zookeeper.ensure(TopicZNode.path(topic), TopicZNode.encode(TopicAssignment(partitions, topic_id)))

    def delete_topic(self, topic: str) -> None:
        self.zookeeper.ensure(f"/admin/delete_topics/{topic}")

    def state(self, topic: str, partition: int = 0) -> Leadership:
        topic_partition = TopicPartition(topic, partition)
        node = self.zookeeper.nodes[TopicPartitionStateZNode.path(topic_partition)]
        return TopicPartitionStateZNode.decode(node.data, node.stat(), topic_partition)

    def assignment(self, topic: str) -> dict[int, tuple[int, ...]]:
        """The replicas of each partition in ZooKeeper, those that are added or removed included; {}: no such topic."""
        node = self.zookeeper.nodes.get(TopicZNode.path(topic))
        return {} if node is None else {i: p.replicas for i, p in TopicZNode.decode(node.data).partitions.items()}

    def exists(self, path: str) -> bool:
        return path in self.zookeeper.nodes


__all__ = ["NULL_UUID", "FakeBroker", "FakeCluster"]
