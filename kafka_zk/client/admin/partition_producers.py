"""Describes the producers that partitions remember, and aborts a transaction in one partition.

Role        Acts, through `Calls`. Leaders are asked, or one replica by its broker's id.
Source      KafkaAdminClient.describeProducers, abortTransaction; DescribeProducersHandler, StaticBrokerStrategy,
            AbortTransactionHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.admin.coordinators import value_of
from kafka_zk.client.admin.leaders import LeaderCall, LookUp, ask_leaders
from kafka_zk.client.admin.transaction_results import AbortTransactionSpec, ProducerState
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnknownTopicOrPartition, error_class_for
from kafka_zk.protocol.messages import describe_producers as producer_messages
from kafka_zk.protocol.messages import write_txn_markers as marker_messages
from kafka_zk.protocol.types import TopicPartition

DESCRIBE_NAME, ABORT_NAME = "describeProducers", "abortTransaction"
DESCRIBE_API = f"{DESCRIBE_NAME}(api=DESCRIBE_PRODUCERS)"
_HANDLERS = "org.apache.kafka.clients.admin.internals."
_ABORT_AGAIN = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)

Producers: TypeAlias = list[ProducerState]
Described: TypeAlias = dict[TopicPartition, Producers | BrokerError | KafkaException]


# --- describing ------------------------------------------------------------------------------------------------------


def describe_producers(calls: Calls, look_up: LookUp, partitions: Collection[TopicPartition]) -> Described:
    """Blocks. Asks leaders. The producers of each partition, in the response's order, or its error."""

    def ask(leader_id: int, led: list[TopicPartition], deadline_s: float) -> Described:
        answer = calls.to_node_once(leader_id, _describe_call(led), deadline_s)
        may_pass = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return {
            partition: _outcome(calls, partition, found)
            for partition, found in _by_partition(answer).items()
            if found.error_code not in may_pass
        }

    return ask_leaders(calls, look_up, partitions, LeaderCall(DESCRIBE_NAME, ask, waits_for_topics=True))


def describe_producers_of_replica(calls: Calls, broker_id: int, partitions: Collection[TopicPartition]) -> Described:
    """Blocks. Asks one broker, which need not lead. It is asked again while it does not know a partition."""

    def check(answer: producer_messages.DescribeProducersResponse) -> None:
        codes = {found.error_code for found in _by_partition(answer).values()}
        if ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in codes:
            raise UnknownTopicOrPartition

    if not partitions:
        return {}
    try:
        answer = calls.to_node(broker_id, _describe_call(partitions, check))
    except (BrokerError, KafkaException) as error:
        return dict.fromkeys(partitions, error)
    found = _by_partition(answer)
    return {partition: _outcome(calls, partition, found[partition], broker_id) for partition in partitions}


def _describe_call(
    partitions: Collection[TopicPartition],
    check: Callable[[producer_messages.DescribeProducersResponse], None] = lambda _: None,
) -> Call[producer_messages.DescribeProducersRequest, producer_messages.DescribeProducersResponse]:
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    topics = [producer_messages.TopicRequest(name=name, partition_indexes=each) for name, each in by_topic.items()]
    return Call(
        DESCRIBE_API,
        producer_messages.DESCRIBE_PRODUCERS_REQUEST,
        producer_messages.DESCRIBE_PRODUCERS_RESPONSE,
        lambda _: producer_messages.DescribeProducersRequest(topics=topics),
        check,
        (UnknownTopicOrPartition,),
    )


def _by_partition(
    answer: producer_messages.DescribeProducersResponse,
) -> dict[TopicPartition, producer_messages.PartitionResponse]:
    return {
        TopicPartition(topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions
    }


def _outcome(
    calls: Calls,
    partition: TopicPartition,
    found: producer_messages.PartitionResponse,
    broker_id: int | None = None,
) -> Producers | BrokerError:
    if found.error_code != ErrorCode.NONE:
        return _refused(calls, partition, found, broker_id)
    return [
        ProducerState(
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.last_timestamp,
            None if each.coordinator_epoch < 0 else each.coordinator_epoch,
            None if each.current_txn_start_offset < 0 else each.current_txn_start_offset,
        )
        for each in found.active_producers
    ]


def _refused(
    calls: Calls, partition: TopicPartition, found: producer_messages.PartitionResponse, broker_id: int | None
) -> BrokerError:
    """The error of a partition, also logged as Java's handler does."""
    error = error_class_for(found.error_code)(found.error_message)
    failed = f"Failed to describe active producers for partition {partition}"
    match error.code:
        case ErrorCode.NOT_LEADER_OR_FOLLOWER:
            received = f"Not leader error in `DescribeProducers` response for partition {partition} "
            received += f"for brokerId {broker_id} set in options"
            reason = f"{failed} on brokerId {broker_id}"
        case ErrorCode.INVALID_TOPIC_EXCEPTION:
            received = f"Invalid topic in `DescribeProducers` response for partition {partition}"
            reason = f"Failed to fetch metadata for partition {partition} due to invalid topic error: {error}"
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            received = f"Authorization failed in `DescribeProducers` response for partition {partition}"
            reason = f"{failed} due to authorization failure on topic `{partition.topic}`"
        case _:
            received = f"Unexpected error in `DescribeProducers` response for partition {partition}"
            reason = f"{failed} due to unexpected error"
    logging.getLogger(_HANDLERS + "DescribeProducersHandler").error("%s", calls.log_text(received), exc_info=error)
    return type(error)(reason)


# --- aborting --------------------------------------------------------------------------------------------------------


def abort_transaction(calls: Calls, look_up: LookUp, spec: AbortTransactionSpec) -> None:
    """Blocks. Let the partition's leader write an abort marker. Raises InvalidProducerEpoch ..."""

    def ask(
        leader_id: int, _: list[TopicPartition], deadline_s: float
    ) -> Mapping[TopicPartition, BrokerError | KafkaException | None]:
        request, response = marker_messages.WRITE_TXN_MARKERS_REQUEST, marker_messages.WRITE_TXN_MARKERS_RESPONSE
        call = Call(f"{ABORT_NAME}(api=WRITE_TXN_MARKERS)", request, response, lambda _: _abort_request(spec))
        error_code = _marker_error_code(calls.to_node_once(leader_id, call, deadline_s), spec)
        if error_code in _ABORT_AGAIN:
            return {}
        return {spec.partition: None if error_code == ErrorCode.NONE else _not_aborted(calls, spec, error_code)}

    call: LeaderCall[None] = LeaderCall(ABORT_NAME, ask, waits_for_topics=True)
    outcomes: dict[TopicPartition, BrokerError | KafkaException | None] = ask_leaders(
        calls, look_up, [spec.partition], call
    )
    value_of(outcomes, spec.partition)


def _abort_request(spec: AbortTransactionSpec) -> marker_messages.WriteTxnMarkersRequest:
    topic, number = spec.partition
    marker = marker_messages.WritableTxnMarker(
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        transaction_result=False,
        topics=[marker_messages.WritableTxnMarkerTopic(name=topic, partition_indexes=[number])],
        coordinator_epoch=spec.coordinator_epoch,
    )
    return marker_messages.WriteTxnMarkersRequest(markers=[marker])


def _marker_error_code(answer: marker_messages.WriteTxnMarkersResponse, spec: AbortTransactionSpec) -> int:
    """Raises KafkaException for an answer about something else."""
    found = [
        (marker.producer_id, TopicPartition(topic.name, each.partition_index), each.error_code)
        for marker in answer.markers
        for topic in marker.topics
        for each in topic.partitions
    ]
    if len(found) != 1 or found[0][:2] != (spec.producer_id, spec.partition):
        raise KafkaException(
            f"WriteTxnMarkers response included unexpected entries: {found} "
            f"(expected to find exactly one entry with producerId {spec.producer_id} and {spec.partition})"
        )
    return found[0][2]


def _not_aborted(calls: Calls, spec: AbortTransactionSpec, error_code: int) -> BrokerError:
    error = error_class_for(error_code)()
    match error.code:
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            received, reason = "failed cluster authorization", "failed due to cluster authorization error"
        case ErrorCode.INVALID_PRODUCER_EPOCH:
            received = "failed due to an invalid producer epoch"
            reason = "failed due an invalid producer epoch"
        case ErrorCode.TRANSACTION_COORDINATOR_FENCED:
            received = "failed because the coordinator epoch is fenced"
            reason = (
                f"failed since the provided coordinator epoch {spec.coordinator_epoch} "
                "has been fenced by the active coordinator"
            )
        case code:
            received = f"failed due to an unexpected error {code.name}"
            reason = f"failed due to unexpected error: {error}"
    logging.getLogger(_HANDLERS + "AbortTransactionHandler").error(
        "%s", calls.log_text(f"WriteTxnMarkers request for abort spec {spec} {received}")
    )
    return type(error)(f"WriteTxnMarkers request with {spec} {reason}")
