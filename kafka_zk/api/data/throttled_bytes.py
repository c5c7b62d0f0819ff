"""The bytes of a fetch answer that count for the leader's replication throttle.

Source      KafkaApis.sizeOfThrottledPartitions, FetchResponse.sizeOf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from kafka_zk.network.parts import part_size
from kafka_zk.protocol.messages.fetch import FETCH_RESPONSE, FetchableTopicResponse, FetchResponse

LENGTH_BYTES = 4
"""The prefix counts as a part of an answer."""


def throttled_bytes(
    api_version: int, topics: Sequence[FetchableTopicResponse], is_throttled: Callable[[str, int], bool]
) -> int:
    """The size of an answer with only the partitions of `topics` that are throttled; without any, that of its frame.

    As Kafka counts: a throttle has something to count as soon as any follower fetches.
    """
    counted: list[FetchableTopicResponse] = []
    for topic in topics:
        partitions = [each for each in topic.partitions if is_throttled(topic.topic, each.partition_index)]
        if partitions:
            counted.append(FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=partitions))
    return answer_bytes(api_version, counted) if counted else _frame_bytes(api_version)


def answer_bytes(api_version: int, topics: list[FetchableTopicResponse]) -> int:
    """The size of an answer with these topics."""
    parts = FETCH_RESPONSE.encode_parts(FetchResponse(responses=topics), api_version)
    return LENGTH_BYTES + sum(part_size(part) for part in parts)


@cache
def _frame_bytes(api_version: int) -> int:
    return answer_bytes(api_version, [])
