"""Controlled shutdown: moves the leaderships of a stopping broker.

Role        Acts, in the controller greenlet.
Source      KafkaController.doControlledShutdown; KIP-380 (the broker epoch).
"""

from __future__ import annotations

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.controller.decisions.election import Strategy
from kafka_zk.protocol.errors import BrokerNotAvailable, StaleBrokerEpoch, UnknownServerError
from kafka_zk.protocol.types import TopicPartition

UNKNOWN_BROKER_EPOCH = -1


def controlled_shutdown(controller: ActiveController, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
    """Blocks. Move leaderships away from the broker; the partitions with other replicas that it still leads.

    Raises StaleBrokerEpoch, BrokerNotAvailable, and UnknownServerError for an id that was never registered.
    """
    context = controller.context
    broker = context.brokers.get(broker_id)
    if broker is None:
        if broker_epoch == UNKNOWN_BROKER_EPOCH:
            raise BrokerNotAvailable(f"Broker id {broker_id} does not exist.")
        raise UnknownServerError
    if broker_epoch not in (UNKNOWN_BROKER_EPOCH, broker.epoch) and broker_epoch < broker.epoch:
        raise StaleBrokerEpoch(
            f"Received controlled shutdown request from an old broker epoch {broker_epoch} for broker {broker_id}. "
            f"Current broker epoch is {broker.epoch}."
        )
    controller.info(f"Shutting down broker {broker_id}")
    context.shutting_down.add(broker_id)
    hosted = [
        replica.partition
        for replica in context.replicas_on([broker_id])
        if len(context.assignment(replica.partition).replicas) > 1
        and replica.partition in context.leadership
        and replica.partition.topic not in context.topics_to_delete
    ]
    led = [topic_partition for topic_partition in hosted if context.leadership[topic_partition].leader == broker_id]
    followed = [
        topic_partition for topic_partition in hosted if context.leadership[topic_partition].leader != broker_id
    ]
    controller.partitions.move(led, PartitionState.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    with controller.outbox.batch() as batch:
        for partition in followed:
            batch.add_stop_replica([broker_id], partition, delete=False)
    controller.replicas.move(
        [PartitionReplica(topic_partition, broker_id) for topic_partition in followed], ReplicaState.OFFLINE
    )
    return [
        topic_partition
        for topic_partition in context.partitions_led_by(broker_id)
        if len(context.assignment(topic_partition).replicas) > 1
    ]
