"""Lists ongoing partition reassignments over the wire.

Role        Acts, through `Calls`.
Source      KafkaAdminClient.listPartitionReassignments.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.client.admin.admin_results import PartitionReassignment
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.messages import list_partition_reassignments as messages
from kafka_zk.protocol.types import TopicPartition


def list_partition_reassignments(
    calls: Calls, partitions: Sequence[TopicPartition] | None, *, timeout_ms: int
) -> dict[TopicPartition, PartitionReassignment]:
    """Blocks. Lists those of `partitions` (None: all). Raises ClusterAuthorizationFailed ..."""

    def build(_: int) -> messages.ListPartitionReassignmentsRequest:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions or ():
            by_topic.setdefault(topic, []).append(partition)
        wanted = [
            messages.ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes)
            for name, indexes in by_topic.items()
        ]
        return messages.ListPartitionReassignmentsRequest(
            timeout_ms=timeout_ms, topics=None if partitions is None else wanted
        )

    def check(answer: messages.ListPartitionReassignmentsResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    request, response = (
        messages.LIST_PARTITION_REASSIGNMENTS_REQUEST,
        messages.LIST_PARTITION_REASSIGNMENTS_RESPONSE,
    )
    answer = calls.to_controller(Call("listPartitionReassignments", request, response, build, check))
    return {
        TopicPartition(topic.name, partition.partition_index): PartitionReassignment(
            partition.replicas, partition.adding_replicas, partition.removing_replicas
        )
        for topic in answer.topics
        for partition in topic.partitions
    }
