"""Elects leaders of partitions over the wire.

Role        Acts, through `Calls`. The controller is asked.
Source      KafkaAdminClient.electLeaders, ElectLeadersResponse.electLeadersResult; ElectionType.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import elect_leaders as messages
from kafka_zk.protocol.types import TopicPartition


class ElectionType(IntEnum):
    """Who is elected: the first assigned replica if it is in sync, or any that lives where nobody leads."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(
    calls: Calls, election_type: ElectionType, partitions: Collection[TopicPartition] | None, *, timeout_ms: int
) -> dict[TopicPartition, BrokerError | None]:
    """Blocks. Elect leaders of `partitions` (None: of all).

    Returns None or an error for each, in the order of the answer: ElectionNotNeeded ... With None, the
    controller leaves out those that need no election. Raises ClusterAuthorizationFailed, TimeoutException ...
    """

    def build(_: int) -> messages.ElectLeadersRequest:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions or ():
            by_topic.setdefault(topic, []).append(partition)
        wanted = [messages.TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()]
        return messages.ElectLeadersRequest(
            election_type=election_type,
            topic_partitions=None if partitions is None else wanted,
            timeout_ms=timeout_ms,
        )

    def check(answer: messages.ElectLeadersResponse) -> None:
        raise_for(answer.error_code, None)

    call = Call("electLeaders", messages.ELECT_LEADERS_REQUEST, messages.ELECT_LEADERS_RESPONSE, build, check)
    answer = calls.to_controller(call)
    return {
        TopicPartition(result.topic, each.partition_id): None
        if each.error_code == ErrorCode.NONE
        else error_class_for(each.error_code)(each.error_message)
        for result in answer.replica_election_results
        for each in result.partition_result
    }
