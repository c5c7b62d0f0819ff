"""What an error of a coordinator means for the transaction: a table.

Role        Pure.
Invariants  Every code of every request has exactly one verdict.
Source      Kafka 3.9 TransactionManager, handleResponse of each handler.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from kafka_zk.client.errors import CommitFailed, IllegalStateException, KafkaException
from kafka_zk.client.refusals import error_about_group, error_about_topics
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import (
    ErrorCode,
    InvalidProducerEpoch,
    ProducerFenced,
    error_class_for,
    is_retriable,
    message_of,
)
from kafka_zk.protocol.types import TopicPartition


class Verdict(Enum):
    """What follows."""

    DONE = "the request has done its work"
    RETRY = "ask again after a pause"
    LOOK_UP = "find the coordinator, then ask again"
    PARTITION = "abortable, but errors of other partitions decide first"
    ABORTABLE = "the transaction can only be aborted"
    MISMATCH = "abortable: the consumer is not the member any more that it was"
    NEW_EPOCH = "abortable under a new epoch; fatal where the coordinator cannot give one"
    DENIED = "no producer id: the program may ask again"
    FENCED = "fatal: another producer uses the transactional id"
    FATAL = "the producer can only be closed"
    UNEXPECTED = "fatal, and the text says in which answer it came"


_E = ErrorCode
_SHARED: Final[dict[ErrorCode, Verdict]] = {
    _E.NONE: Verdict.DONE,
    _E.COORDINATOR_NOT_AVAILABLE: Verdict.LOOK_UP,
    _E.NOT_COORDINATOR: Verdict.LOOK_UP,
    _E.INVALID_PRODUCER_EPOCH: Verdict.FENCED,
    _E.PRODUCER_FENCED: Verdict.FENCED,
    _E.TRANSACTION_ABORTABLE: Verdict.ABORTABLE,
    _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.FATAL,
}
_OF_A_TRANSACTION: Final[dict[ErrorCode, Verdict]] = {
    _E.INVALID_TXN_STATE: Verdict.FATAL,
    _E.UNKNOWN_PRODUCER_ID: Verdict.NEW_EPOCH,
    _E.INVALID_PRODUCER_ID_MAPPING: Verdict.NEW_EPOCH,
}
VERDICTS: Final[dict[str, Mapping[ErrorCode, Verdict]]] = {
    "FindCoordinator": {
        _E.NONE: Verdict.DONE,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.FATAL,
        _E.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
        _E.TRANSACTION_ABORTABLE: Verdict.ABORTABLE,
    },
    "InitProducerId": {
        **_SHARED,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.DENIED,
        _E.CLUSTER_AUTHORIZATION_FAILED: Verdict.DENIED,
    },
    "AddPartitionsToTxn": {**_SHARED, **_OF_A_TRANSACTION},
    "AddOffsetsToTxn": {**_SHARED, **_OF_A_TRANSACTION, _E.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE},
    "TxnOffsetCommit": {
        **_SHARED,
        _E.REQUEST_TIMED_OUT: Verdict.LOOK_UP,
        _E.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
        _E.FENCED_INSTANCE_ID: Verdict.ABORTABLE,
        _E.UNKNOWN_MEMBER_ID: Verdict.MISMATCH,
        _E.ILLEGAL_GENERATION: Verdict.MISMATCH,
        _E.UNSUPPORTED_FOR_MESSAGE_FORMAT: Verdict.FATAL,
    },
    "EndTxn": {**_SHARED, **_OF_A_TRANSACTION},
}
_UNEXPECTED: Final = {
    "InitProducerId": "Unexpected error in InitProducerIdResponse; {}",
    "AddOffsetsToTxn": "Unexpected error in AddOffsetsToTxnResponse: {}",
    "TxnOffsetCommit": "Unexpected error in TxnOffsetCommitResponse: {}",
    "EndTxn": "Unhandled error in EndTxnResponse: {}",
}


def verdict_of(api: str, code: ErrorCode) -> Verdict:
    """What `code` in an answer of `api` means."""
    verdict = VERDICTS[api].get(code)
    if verdict is not None:
        return verdict
    if is_retriable(code):
        return Verdict.RETRY
    return Verdict.PARTITION if api == "AddPartitionsToTxn" else Verdict.UNEXPECTED


def error_of(api: str, code: ErrorCode, group_id: str = "") -> Exception:
    """The exception that the program gets for an error that is not retried."""
    verdict = verdict_of(api, code)
    if verdict is Verdict.FENCED:
        return ProducerFenced()
    if verdict is Verdict.MISMATCH:
        return CommitFailed(
            f"Transaction offset Commit failed due to consumer group metadata mismatch: {message_of(code)}"
        )
    if verdict is Verdict.UNEXPECTED and api in _UNEXPECTED:
        return KafkaException(_UNEXPECTED[api].format(message_of(code)))
    return error_about_group(code, group_id)


def error_of_partitions(codes: Mapping[TopicPartition, ErrorCode], denied_topics: set[str]) -> Exception:
    """What is wrong with partitions of which none could be added."""
    if denied_topics:
        return error_about_topics(ErrorCode.TOPIC_AUTHORIZATION_FAILED, denied_topics)
    named = ", ".join(f"{partition}={code.name}" for partition, code in codes.items())
    return KafkaException(f"Could not add partitions to transaction due to errors: {{{named}}}")


def error_of_lookup(kind: str, key: str, code: ErrorCode, message: str | None) -> Exception:
    """Of a FindCoordinator that is not retried."""
    if verdict_of("FindCoordinator", code) is Verdict.UNEXPECTED:
        return KafkaException(
            f"Could not find a coordinator with type {kind} with key {key} due to unexpected error: {message}"
        )
    return error_class_for(code)() if kind == "TRANSACTION" else error_about_group(code, key)


def error_for_program(error: Exception, transactional_id: str, producer: str) -> Exception:
    """What the next call of a producer that failed with `error` raises."""
    who = f"Producer with transactionalId '{transactional_id}' and {producer}"
    if isinstance(error, ProducerFenced):
        return ProducerFenced(f"{who} has been fenced by another producer with the same transactionalId")
    if isinstance(error, InvalidProducerEpoch):
        return InvalidProducerEpoch(f"{who} attempted to produce with an old epoch")
    if isinstance(error, IllegalStateException):
        text = f"{who} cannot execute transactional method because of previous invalid state transition attempt"
        return caused_by(IllegalStateException(text), error)
    return caused_by(KafkaException("Cannot execute transactional method because we are in an error state"), error)
