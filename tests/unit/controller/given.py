"""The vocabulary of the controller's tests: a small cluster in memory."""

from __future__ import annotations

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import Broker, ControllerContext, Leadership
from kafka_zk.protocol.types import TopicPartition


def tp(topic: str = "t", partition: int = 0) -> TopicPartition:
    return TopicPartition(topic, partition)


def broker(broker_id: int, epoch: int = 100) -> Broker:
    return Broker(
        broker_id, (EndPoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9000 + broker_id),), epoch=epoch + broker_id
    )


def state(
    leader: int, isr: tuple[int, ...], *, leader_epoch: int = 5, partition_epoch: int = 7, recovery_state: int = 0
) -> Leadership:
    return Leadership(
        leader=leader,
        leader_epoch=leader_epoch,
        isr=isr,
        controller_epoch=3,
        recovery_state=recovery_state,
        partition_epoch=partition_epoch,
    )


def cluster(
    assignments: dict[TopicPartition, tuple[int, ...]],
    *,
    live: tuple[int, ...],
    leadership: dict[TopicPartition, Leadership] | None = None,
    shutting_down: tuple[int, ...] = (),
) -> ControllerContext:
    context = ControllerContext(epoch=4, epoch_zk_version=4)
    context.brokers = {broker_id: broker(broker_id) for broker_id in live}
    context.shutting_down = set(shutting_down)
    for partition, replicas in assignments.items():
        context.set_assignment(partition, ReplicaAssignment(replicas))
    context.leadership.update(leadership or {})
    return context
