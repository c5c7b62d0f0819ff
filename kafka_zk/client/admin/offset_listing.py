"""Lists offsets of partitions by time or position, through their leaders.

Role        Acts, through `Calls`.
Invariants  A partition that fails does not affect the others.
Source      KafkaAdminClient.listOffsets, ListOffsetsHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.admin.leaders import MAY_PASS, LeaderCall, LookUp, ask_leaders
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnsupportedVersion, error_class_for
from kafka_zk.protocol.messages import list_offsets as messages
from kafka_zk.protocol.types import TopicPartition

NAME = "listOffsets"
_LOGGER = "org.apache.kafka.clients.admin.internals.ListOffsetsHandler"


class OffsetSpec(IntEnum):
    """Special values in place of a timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


# Brokers older than these versions would take the number for a time.
_SINCE_VERSION = {OffsetSpec.MAX_TIMESTAMP: 7, OffsetSpec.EARLIEST_LOCAL: 8, OffsetSpec.LATEST_TIERED: 9}


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """A listed offset; -1 if no record is that late."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


Listed = dict[TopicPartition, ListedOffset | BrokerError | KafkaException]


def list_offsets(
    calls: Calls, look_up: LookUp, wanted: Mapping[TopicPartition, int], *, isolation_level: int
) -> Listed:
    """Blocks. An offset or an error for each of `wanted`, whose values are times in ms or an OffsetSpec."""

    def ask(
        leader_id: int, partitions: list[TopicPartition], deadline_s: float
    ) -> Mapping[TopicPartition, ListedOffset | BrokerError | KafkaException]:
        def build(version: int) -> messages.ListOffsetsRequest:
            return _request(version, {partition: wanted[partition] for partition in partitions}, isolation_level)

        request, response = messages.LIST_OFFSETS_REQUEST, messages.LIST_OFFSETS_RESPONSE
        call = Call(f"{NAME}(api=LIST_OFFSETS)", request, response, build)
        return _outcomes(calls, calls.to_node_once(leader_id, call, deadline_s))

    return ask_leaders(calls, look_up, wanted, LeaderCall(NAME, ask, waits_for_topics=False))


def _request(version: int, wanted: Mapping[TopicPartition, int], isolation_level: int) -> messages.ListOffsetsRequest:
    by_topic: dict[str, list[messages.ListOffsetsPartition]] = {}
    for partition, timestamp in wanted.items():
        if version < max(1, _SINCE_VERSION.get(timestamp, 0)):  # type: ignore[call-overload]  # other numbers are times
            raise UnsupportedVersion(f"Broker does not support the offset spec {timestamp}")
        by_topic.setdefault(partition.topic, []).append(
            messages.ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
        )
    topics = [messages.ListOffsetsTopic(name=name, partitions=asked) for name, asked in by_topic.items()]
    return messages.ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=topics)


def _outcomes(
    calls: Calls, answer: messages.ListOffsetsResponse
) -> dict[TopicPartition, ListedOffset | BrokerError | KafkaException]:
    outcomes: dict[TopicPartition, ListedOffset | BrokerError | KafkaException] = {}
    for topic in answer.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code == ErrorCode.NONE:
                outcomes[partition] = ListedOffset(each.offset, each.timestamp, each.leader_epoch)
            elif each.error_code not in MAY_PASS:
                code = error_class_for(each.error_code).code
                text = f"ListOffsets request for topic partition {partition} failed due to an unexpected error"
                logging.getLogger(_LOGGER).error("%s", calls.log_text(f"{text} {code.name}"))
                outcomes[partition] = error_class_for(code)()
    return outcomes
