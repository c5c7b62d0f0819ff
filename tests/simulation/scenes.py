"""What the scenes of the controller have in common: what is asked of it, and what it sent."""

import uuid

from kafka_zk.controller import events
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.types import TopicPartition

TOPIC_ID = uuid.UUID(int=77)


def tp(topic="t", partition=0):
    return TopicPartition(topic, partition)


def requests_since(cluster, mark, kind=object):
    return [(broker, request) for broker, request in cluster.sent[mark:] if isinstance(request, kind)]


def partition_states(request):
    return [state for topic in request.topic_states for state in topic.partition_states]


def outcome(cluster, pending):
    cluster.settle()
    assert pending.is_done
    return pending.value


def alter_partition(cluster, isr, *, leader=2, topic="t", index=0, topic_id=TOPIC_ID, **changes):
    state = cluster.state(topic, index)
    data = RequestPartitionData(
        partition_index=index,
        leader_epoch=state.leader_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=member) for member in isr],
        partition_epoch=state.partition_epoch,
    )
    request = AlterPartitionRequest(
        broker_id=leader,
        broker_epoch=changes.get("broker_epoch", cluster.brokers[leader].epoch),
        topics=[RequestTopicData(topic_id=topic_id, partitions=[data])],
    )
    return outcome(cluster, cluster.controller.submit(events.AlterPartitionReceived(request, 3)))


def start_move(cluster, target, partition=None):
    event = events.ApiPartitionReassignment({partition or tp(): target})
    return outcome(cluster, cluster.controller.submit(event))
