"""The requests of a transactional producer over all versions, and the codes in their answers.

Role        Pure.
Source      Kafka 3.9 InitProducerIdRequest, AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, TxnOffsetCommitRequest,
            EndTxnRequest and their builders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kafka_zk.client.producer.idempotence import ProducerState
from kafka_zk.client.producer.transactions.steps import (
    AddOffsets,
    AddPartitions,
    CommitOffsets,
    EndTransaction,
    InitProducerId,
    Step,
)
from kafka_zk.client.producer.transactions.transaction_manager import TransactionManager
from kafka_zk.client.producer.transactions.verdicts import Verdict
from kafka_zk.protocol.errors import ErrorCode, UnsupportedVersion, code_of
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
    txn_offset_commit,
)
from kafka_zk.protocol.types import TopicPartition

EPOCH_RAISING_VERSION: Final = 3
"""The InitProducerId that takes a producer id and its epoch (KIP-360)."""


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One step as a request; `take` tells the manager the answer."""

    request: Message[Any]
    response: Message[Any]
    build: Callable[[int], Any]
    take: Callable[[Any], Verdict]
    max_version: int | None = None


def request_of(step: Step, manager: TransactionManager, timeout_ms: int) -> StepRequest:
    """`timeout_ms` is transaction.timeout.ms. `build` raises UnsupportedVersion."""
    if isinstance(step, InitProducerId):
        return _init_producer_id(step, manager, timeout_ms)
    if isinstance(step, AddPartitions):
        return _add_partitions(step, manager)
    if isinstance(step, AddOffsets):
        return _add_offsets(step, manager)
    if isinstance(step, CommitOffsets):
        return _commit_offsets(step, manager)
    assert isinstance(step, EndTransaction), step
    return _end(step, manager)


def _init_producer_id(step: InitProducerId, manager: TransactionManager, timeout_ms: int) -> StepRequest:
    def build(version: int) -> Any:
        manager.can_raise_epoch = version >= EPOCH_RAISING_VERSION
        if step.raises_epoch and not manager.can_raise_epoch:
            raise UnsupportedVersion("The coordinator cannot raise the epoch of a producer")
        producer_id, epoch = manager.producer if step.raises_epoch else (-1, -1)
        return init_producer_id.InitProducerIdRequest(
            transactional_id=manager.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )

    def take(answer: init_producer_id.InitProducerIdResponse) -> Verdict:
        producer = ProducerState(answer.producer_id, answer.producer_epoch)
        return manager.took_producer(step, code_of(answer.error_code), producer)

    return StepRequest(
        init_producer_id.INIT_PRODUCER_ID_REQUEST, init_producer_id.INIT_PRODUCER_ID_RESPONSE, build, take
    )


def _add_partitions(step: AddPartitions, manager: TransactionManager) -> StepRequest:
    def build(_: int) -> Any:
        producer_id, epoch = manager.producer
        topics = [
            add_partitions_to_txn.AddPartitionsToTxnTopic(name=name, partitions=[each for each, _ in partitions])
            for name, partitions in _by_topic(dict.fromkeys(sorted(step.partitions))).items()
        ]
        return add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=manager.transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )

    def take(answer: add_partitions_to_txn.AddPartitionsToTxnResponse) -> Verdict:
        codes = {
            TopicPartition(topic.name, each.partition_index): code_of(each.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        }
        return manager.took_partitions(step, codes)

    return StepRequest(
        add_partitions_to_txn.ADD_PARTITIONS_TO_TXN_REQUEST,
        add_partitions_to_txn.ADD_PARTITIONS_TO_TXN_RESPONSE,
        build,
        take,
        # Later ones are for brokers.
        max_version=3,
    )


def _add_offsets(step: AddOffsets, manager: TransactionManager) -> StepRequest:
    def build(_: int) -> Any:
        producer_id, epoch = manager.producer
        return add_offsets_to_txn.AddOffsetsToTxnRequest(
            transactional_id=manager.transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=step.group.group_id,
        )

    return StepRequest(
        add_offsets_to_txn.ADD_OFFSETS_TO_TXN_REQUEST,
        add_offsets_to_txn.ADD_OFFSETS_TO_TXN_RESPONSE,
        build,
        lambda answer: manager.took_group(step, code_of(answer.error_code)),
    )


def _commit_offsets(step: CommitOffsets, manager: TransactionManager) -> StepRequest:
    def build(version: int) -> Any:
        producer_id, epoch = manager.producer
        group = step.group
        if version < 3 and (group.member_id or group.generation >= 0 or group.group_instance_id is not None):
            raise UnsupportedVersion(
                f"Broker doesn't support group metadata commit API on version {version}, minimum supported request "
                "version is 3 which requires brokers to be on version 2.5 or above."
            )
        topics = [
            txn_offset_commit.TxnOffsetCommitRequestTopic(
                name=name,
                partitions=[
                    txn_offset_commit.TxnOffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset.offset,
                        committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                        committed_metadata=offset.metadata,
                    )
                    for index, offset in partitions
                ],
            )
            for name, partitions in _by_topic(step.offsets).items()
        ]
        return txn_offset_commit.TxnOffsetCommitRequest(
            transactional_id=manager.transactional_id,
            group_id=group.group_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=group.generation,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=topics,
        )

    def take(answer: txn_offset_commit.TxnOffsetCommitResponse) -> Verdict:
        codes: dict[TopicPartition, ErrorCode] = {
            TopicPartition(topic.name, each.partition_index): code_of(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }
        return manager.took_offsets(step, codes)

    return StepRequest(
        txn_offset_commit.TXN_OFFSET_COMMIT_REQUEST, txn_offset_commit.TXN_OFFSET_COMMIT_RESPONSE, build, take
    )


def _end(step: EndTransaction, manager: TransactionManager) -> StepRequest:
    def build(_: int) -> Any:
        producer_id, epoch = manager.producer
        return end_txn.EndTxnRequest(
            transactional_id=manager.transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=step.committed,
        )

    return StepRequest(
        end_txn.END_TXN_REQUEST,
        end_txn.END_TXN_RESPONSE,
        build,
        lambda answer: manager.took_end(step, code_of(answer.error_code)),
    )


def _by_topic(values: Any) -> dict[str, list[tuple[int, Any]]]:
    """What is known of each partition, by its topic."""
    topics: dict[str, list[tuple[int, Any]]] = {}
    for partition, value in values.items():
        topics.setdefault(partition.topic, []).append((partition.partition, value))
    return topics
