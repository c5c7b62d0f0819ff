"""Lists ongoing partition reassignments, begins and cancels them, over the wire.

Role        Acts, through `Calls`. The controller is asked.
Source      KafkaAdminClient.listPartitionReassignments, alterPartitionReassignments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_zk.client.admin.admin_results import PartitionReassignment
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidTopicException, error_class_for
from kafka_zk.protocol.messages import alter_partition_reassignments as altering
from kafka_zk.protocol.messages import list_partition_reassignments as messages
from kafka_zk.protocol.types import TopicPartition


def list_partition_reassignments(
    calls: Calls, partitions: Sequence[TopicPartition] | None, *, timeout_ms: int
) -> dict[TopicPartition, PartitionReassignment]:
    """Blocks. Lists those of `partitions` (None: all). Raises ClusterAuthorizationFailed, InvalidTopicException ..."""
    for problem in filter(None, map(_why_not_sent, partitions or ())):
        raise problem

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


def alter_partition_reassignments(
    calls: Calls, wanted: Mapping[TopicPartition, Sequence[int] | None], *, timeout_ms: int
) -> dict[TopicPartition, BrokerError | None]:
    """Blocks. Begin moving partitions to these replicas, or cancel what moves them (None).

    Returns None or an error for each: NoReassignmentInProgress, InvalidReplicaAssignment ...
    Raises what concerns all of them: ClusterAuthorizationFailed, TimeoutException ...
    """
    outcomes: dict[TopicPartition, BrokerError | None] = {each: _why_not_sent(each) for each in wanted}
    sent = [partition for partition, problem in outcomes.items() if problem is None]
    if not sent:
        return outcomes

    def build(_: int) -> altering.AlterPartitionReassignmentsRequest:
        by_topic: dict[str, list[altering.ReassignablePartition]] = {}
        for partition in sent:
            replicas = wanted[partition]
            entry = altering.ReassignablePartition(
                partition_index=partition.partition, replicas=None if replicas is None else list(replicas)
            )
            by_topic.setdefault(partition.topic, []).append(entry)
        topics = [altering.ReassignableTopic(name=name, partitions=entries) for name, entries in by_topic.items()]
        return altering.AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics)

    def check(answer: altering.AlterPartitionReassignmentsResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    request, response = (
        altering.ALTER_PARTITION_REASSIGNMENTS_REQUEST,
        altering.ALTER_PARTITION_REASSIGNMENTS_RESPONSE,
    )
    answer = calls.to_controller(Call("alterPartitionReassignments", request, response, build, check))
    return outcomes | dict(_outcomes(answer))


def _outcomes(
    answer: altering.AlterPartitionReassignmentsResponse,
) -> Iterable[tuple[TopicPartition, BrokerError | None]]:
    for topic in answer.responses:
        for each in topic.partitions:
            failed = each.error_code != ErrorCode.NONE
            error = error_class_for(each.error_code)(each.error_message) if failed else None
            yield TopicPartition(topic.name, each.partition_index), error


def _why_not_sent(partition: TopicPartition) -> BrokerError | None:
    """The error of a partition that no request can name."""
    if not partition.topic:
        return InvalidTopicException(f"The given topic name '{partition.topic}' cannot be represented in a request.")
    if partition.partition < 0:
        return InvalidTopicException(f"The given partition index {partition.partition} is not valid.")
    return None
