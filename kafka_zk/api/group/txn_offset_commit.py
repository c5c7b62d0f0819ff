"""TxnOffsetCommit (key 28, v0-4): store offsets that count once the transaction is committed.

v2 leader epoch · v3 members of the group (KIP-447) · v4 TRANSACTION_ABORTABLE
Source      KafkaApis.handleTxnOffsetCommitRequest, GroupCoordinatorAdapter.commitTransactionalOffsets,
            GroupCoordinator.handleTxnCommitOffsets.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import PARTITIONS, Form, each_topic
from kafka_zk.api.group.refusals import Lines, answered, sort_out
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.offset_store import CommitCodes, Committer, Verify
from kafka_zk.coordinator.state_log import Producer
from kafka_zk.log.state.verification import VerificationGuard
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.messages.txn_offset_commit import (
    TXN_OFFSET_COMMIT_REQUEST,
    TXN_OFFSET_COMMIT_RESPONSE,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_zk.record.batch import NO_SEQUENCE
from kafka_zk.replication.serving.transaction_verifier import Transaction

LOADING_FROM = 2
"""From this version on clients know COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""

ABORTABLE_FROM = 4
"""From this version on clients know TRANSACTION_ABORTABLE."""


@api(TXN_OFFSET_COMMIT_REQUEST, TXN_OFFSET_COMMIT_RESPONSE, errors=Form(each_topic(PARTITIONS)))
def txn_offset_commit(
    request: TxnOffsetCommitRequest, ctx: RequestContext
) -> TxnOffsetCommitResponse | Pending[TxnOffsetCommitResponse]:
    """Blocks while the transaction is verified and the offsets are written."""
    authorize(ctx, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    authorize(ctx, Operation.READ, ResourceType.GROUP, request.group_id)
    refused, accepted = sort_out(request.topics, ctx)
    if not accepted:
        return _response(refused, {}, ctx.api_version)
    now_ms = ctx.services.clock.wall_ms()
    offsets = {
        partition: OffsetAndMetadata(
            wanted.committed_offset, wanted.committed_leader_epoch, wanted.committed_metadata or "", now_ms
        )
        for partition, wanted in accepted.items()
    }
    committed = ctx.services.group_coordinator.commit_transaction_offsets(
        request.group_id,
        Committer(request.member_id, request.group_instance_id, request.generation_id),
        Producer(request.producer_id, request.producer_epoch),
        offsets,
        _verify(request, ctx),
    )
    return then_apart(committed, lambda codes: _response(refused, codes, ctx.api_version))


def _verify(request: TxnOffsetCommitRequest, ctx: RequestContext) -> Verify:
    def verify(partition: int) -> tuple[ErrorCode, VerificationGuard | None]:
        where = GROUP_METADATA_TOPIC, partition
        verified = ctx.services.transaction_verifier.verify(
            Transaction(request.transactional_id, request.producer_id, request.producer_epoch),
            {where: NO_SEQUENCE},
            knows_abortable=ctx.api_version >= ABORTABLE_FROM,
        )
        return verified.errors.get(where, ErrorCode.NONE), verified.guards.get(where)

    return verify


def _response(refused: Lines, codes: CommitCodes, api_version: int) -> TxnOffsetCommitResponse:
    """Yields to other greenlets."""

    def line(index: int, code: ErrorCode) -> TxnOffsetCommitResponsePartition:
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and api_version < LOADING_FROM:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return TxnOffsetCommitResponsePartition(partition_index=index, error_code=code)

    return TxnOffsetCommitResponse(
        topics=answered(
            refused,
            codes,
            lambda name, lines: TxnOffsetCommitResponseTopic(name=name, partitions=lines),
            line,
            gives_way=True,
        )
    )
