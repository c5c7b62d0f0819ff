"""Sends batches to one broker as a Produce request, and maps its response to each batch.

Role        Acts through `NetworkClient` only.
Source      Kafka 3.9 Sender.sendProduceRequest, handleProduceResponse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_zk.client.errors import (
    AuthenticationException,
    DisconnectException,
    KafkaException,
    TimeoutException,
    wrapped,
)
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.client.refusals import error_about_topics
from kafka_zk.protocol.errors import BrokerError, ErrorCode, RecordsError, code_of, error_class_for
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)


@dataclass(frozen=True, slots=True)
class ProduceOutcome:
    """The broker's result for one batch, or the error if there was no response."""

    error: ErrorCode
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    message: str | None = None
    record_errors: Sequence[tuple[int, str | None]] = ()
    exception: Exception | None = None


Outcomes = Iterable[tuple[ProducerBatch, ProduceOutcome]]


def send_batches(
    client: NetworkClient,
    node_id: int,
    batches: Sequence[ProducerBatch],
    acks: int,
    timeout_ms: int,
    transactional_id: str | None,
    on_outcomes: Callable[[Outcomes, int], None],
) -> None:
    """Send one request; `on_outcomes(outcomes, throttle_ms)` is called once, within a poll, for all batches."""

    def build(_: int) -> ProduceRequest:
        by_topic: dict[str, list[Any]] = {}
        for batch in batches:
            topic, partition = batch.topic_partition
            data = PartitionProduceData(index=partition, records=batch.to_bytes())
            by_topic.setdefault(topic, []).append(data)
        topics = [TopicProduceData(name=topic, partition_data=data) for topic, data in by_topic.items()]
        return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=topics)

    def take(answer: ProduceResponse) -> None:
        answered: dict[tuple[str, int], PartitionProduceResponse] = {
            (topic.name, partition.index): partition
            for topic in answer.responses
            for partition in topic.partition_responses
        }
        on_outcomes(
            [(batch, _outcome(answered.get(batch.topic_partition), batch.topic_partition.topic)) for batch in batches],
            answer.throttle_time_ms,
        )

    def fail(error: Exception) -> None:
        outcome = _no_answer(error, node_id)
        on_outcomes([(batch, outcome) for batch in batches], 0)

    if acks == 0:
        sent = ProduceOutcome(ErrorCode.NONE)
        client.send_unanswered(
            node_id, PRODUCE_REQUEST, build, lambda: on_outcomes([(batch, sent) for batch in batches], 0), fail
        )
    else:
        client.send(node_id, PRODUCE_REQUEST, PRODUCE_RESPONSE, build, take, fail)


def _outcome(answer: PartitionProduceResponse | None, topic: str) -> ProduceOutcome:
    if answer is None:
        return ProduceOutcome(
            ErrorCode.UNKNOWN_SERVER_ERROR, message="The broker's response does not contain the partition"
        )
    if answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return ProduceOutcome(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED, exception=error_about_topics(answer.error_code, [topic])
        )
    return ProduceOutcome(
        code_of(answer.error_code),
        answer.base_offset,
        answer.log_append_time_ms,
        answer.log_start_offset,
        answer.error_message,
        [(error.batch_index, error.batch_index_error_message) for error in answer.record_errors],
    )


def _no_answer(error: Exception, node_id: int) -> ProduceOutcome:
    if isinstance(error, BrokerError):
        return ProduceOutcome(error.code, exception=error)
    if isinstance(error, TimeoutException):
        message = f"Disconnected from node {node_id} due to timeout"
        return ProduceOutcome(ErrorCode.REQUEST_TIMED_OUT, message=message)
    if isinstance(error, DisconnectException | AuthenticationException):
        return ProduceOutcome(ErrorCode.NETWORK_EXCEPTION, message=f"Disconnected from node {node_id}")
    # The request could not be built (out of memory, say): nothing was sent, and a retry does not help.
    return ProduceOutcome(ErrorCode.UNKNOWN_SERVER_ERROR, exception=wrapped(error))


def errors_of(outcome: ProduceOutcome) -> Callable[[int], Exception]:
    """Each record's error: if the broker named single records, the others failed only because of them."""
    error_class: type[BrokerError] = error_class_for(outcome.error)
    if not outcome.record_errors:
        error = outcome.exception or error_class(outcome.message)
        return lambda _: error
    named = dict(outcome.record_errors)
    invalid = error_class_for(ErrorCode.INVALID_RECORD)
    assert issubclass(invalid, RecordsError)

    def error_of(index: int) -> Exception:
        if index in named:
            return invalid(named[index] or outcome.message)
        if len(named) == 1 and outcome.message:
            return KafkaException(outcome.message)
        return KafkaException(
            "Failed to append record because it was part of a batch which had one more more invalid records"
        )

    return error_of
