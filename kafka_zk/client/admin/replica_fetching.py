"""Fetches records from one replica, leader or not, to look at them.

Role        Acts, through `Calls`. Outside of any fetch session, as a debugging consumer: up to the replica's log end.
Source      ReplicaVerificationTool.ReplicaFetcher; FetchRequest.DEBUGGING_CONSUMER_ID.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.messages import fetch as messages
from kafka_zk.protocol.types import TopicPartition

DEBUGGING_CONSUMER_ID = -2
BY_TOPIC_ID = 13
REPLICA_STATE_FROM = 15
WHOLE_ANSWER_BYTES = 2**31 - 1


class Fetched(NamedTuple):
    """What a replica has from an offset on: whole batches and maybe a part of one; -1 where it does not say."""

    high_watermark: int
    records: memoryview


NOTHING = Fetched(-1, memoryview(b""))


def fetch_from_replica(
    calls: Calls,
    broker_id: int,
    offsets: Mapping[TopicPartition, int],
    topic_ids: Mapping[str, UUID],
    *,
    max_wait_ms: int,
    partition_max_bytes: int,
) -> dict[TopicPartition, Fetched]:
    """Blocks. The records of a broker's replicas from `offsets` on. A partition with an error has none.

    Raises TimeoutException, DisconnectException ...
    """
    names = {topic_id: name for name, topic_id in topic_ids.items()}

    def build(version: int) -> messages.FetchRequest:
        by_topic: dict[str, list[messages.FetchPartition]] = {}
        for partition, offset in offsets.items():
            wanted = messages.FetchPartition(
                partition=partition.partition,
                current_leader_epoch=-1,
                fetch_offset=offset,
                log_start_offset=0,
                partition_max_bytes=partition_max_bytes,
            )
            by_topic.setdefault(partition.topic, []).append(wanted)
        state = messages.ReplicaState(replica_id=DEBUGGING_CONSUMER_ID, replica_epoch=-1)
        return messages.FetchRequest(
            replica_id=DEBUGGING_CONSUMER_ID if version < REPLICA_STATE_FROM else -1,
            replica_state=state if version >= REPLICA_STATE_FROM else messages.ReplicaState(),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=WHOLE_ANSWER_BYTES,
            session_epoch=-1,
            topics=[
                messages.FetchTopic(topic_id=topic_ids[name], partitions=wanted)
                if version >= BY_TOPIC_ID
                else messages.FetchTopic(topic=name, partitions=wanted)
                for name, wanted in by_topic.items()
            ],
        )

    def check(answer: messages.FetchResponse) -> None:
        raise_for(answer.error_code, None)

    answer = calls.to_node(broker_id, Call("fetch", messages.FETCH_REQUEST, messages.FETCH_RESPONSE, build, check))
    found = dict.fromkeys(offsets, NOTHING)
    for topic in answer.responses:
        for each in topic.partitions:
            partition = TopicPartition(topic.topic or names.get(topic.topic_id, ""), each.partition_index)
            if partition in found:
                # What is decoded is a view into the frame.
                records = each.records if isinstance(each.records, memoryview) else memoryview(b"")
                found[partition] = Fetched(each.high_watermark, records)
    return found
