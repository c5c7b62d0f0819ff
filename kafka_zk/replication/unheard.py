"""Changes to hosted partitions that only an UpdateMetadata reveals.

Role        Pure. `Leadership` acts on it.
Invariants  Only what is newer counts: a larger leader epoch, or another topic id (a controller tells of a topic's next
            id after its requests for it, or after the broker was away).
Source      None: Kafka leads on until a LeaderAndIsr or StopReplica comes, which the controller need not send to a
            broker that is no longer a replica.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from kafka_zk.metadata.snapshot import LEADER_DURING_DELETE, listed_topics
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.partition import Partition


class Unheard(NamedTuple):
    """`led_elsewhere`: by another broker, or by none. `of_earlier_topics`: the name has been given to another topic."""

    led_elsewhere: list[Partition]
    of_earlier_topics: list[Partition]


def unheard(hosted: HostedPartitions, request: UpdateMetadataRequest) -> Unheard:
    """The partitions that are led here no longer, and those that exist no longer. Costs the size of the request."""
    found = Unheard([], [])
    for name, topic_id, states in listed_topics(request):
        partitions = hosted.by_topic.get(name)
        if partitions is None:
            continue
        earlier = [each for each in partitions.values() if is_of_another_topic(each, topic_id)]
        found.of_earlier_topics.extend(earlier)
        if earlier:
            continue
        for state in states:
            partition = partitions.get(state.partition_index)
            if (
                partition is not None
                and partition.is_leader
                and state.leader_epoch > partition.leader_epoch
                and state.leader not in (partition.context.broker_id, LEADER_DURING_DELETE)
            ):
                found.led_elsewhere.append(partition)
    return found


def is_of_another_topic(partition: Partition | None, topic_id: UUID) -> bool:
    """Whether it is known to belong to a topic of that name with another id."""
    log = None if partition is None else partition.log
    return log is not None and topic_id != NULL_UUID and log.topic_id not in (None, topic_id)
