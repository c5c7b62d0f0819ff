"""Deletes records of partitions before given offsets, through their leaders.

Role        Acts, through `Calls`.
Source      KafkaAdminClient.deleteRecords, DeleteRecordsHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.admin.leaders import MAY_PASS, LeaderCall, LookUp, ask_leaders
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import delete_records as messages
from kafka_zk.protocol.types import TopicPartition

NAME = "deleteRecords"
_LOGGER = "org.apache.kafka.clients.admin.internals.DeleteRecordsHandler"


def delete_records(
    calls: Calls, look_up: LookUp, wanted: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | BrokerError | KafkaException]:
    """Blocks. Returns the low watermark of each partition, or its error."""

    def ask(
        leader_id: int, partitions: list[TopicPartition], deadline_s: float
    ) -> Mapping[TopicPartition, int | BrokerError | KafkaException]:
        request, response = messages.DELETE_RECORDS_REQUEST, messages.DELETE_RECORDS_RESPONSE
        call = Call(
            f"{NAME}(api=DELETE_RECORDS)", request, response, lambda _: _request(calls.timeout_ms, partitions, wanted)
        )
        answer = calls.to_node_once(leader_id, call, deadline_s)
        return _outcomes(calls, answer)

    return ask_leaders(calls, look_up, wanted, LeaderCall(NAME, ask, waits_for_topics=True))


def _request(
    timeout_ms: int, partitions: list[TopicPartition], wanted: Mapping[TopicPartition, int]
) -> messages.DeleteRecordsRequest:
    by_topic: dict[str, list[messages.DeleteRecordsPartition]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(
            messages.DeleteRecordsPartition(partition_index=partition.partition, offset=wanted[partition])
        )
    topics = [messages.DeleteRecordsTopic(name=name, partitions=each) for name, each in by_topic.items()]
    return messages.DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)


def _outcomes(
    calls: Calls, answer: messages.DeleteRecordsResponse
) -> dict[TopicPartition, int | BrokerError | KafkaException]:
    outcomes: dict[TopicPartition, int | BrokerError | KafkaException] = {}
    for topic in answer.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code == ErrorCode.NONE:
                outcomes[partition] = each.low_watermark
            elif each.error_code not in MAY_PASS:
                code = error_class_for(each.error_code).code
                kind = "error" if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED else "unexpected error"
                logging.getLogger(_LOGGER).error(
                    "%s",
                    calls.log_text(
                        f"DeleteRecords request for topic partition {partition} failed due to an {kind} {code.name}"
                    ),
                )
                outcomes[partition] = error_class_for(code)()
    return outcomes
