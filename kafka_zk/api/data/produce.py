"""Produce (key 0, v0-11): append record batches to led partitions.

This is the hot path of the broker: one pass over the request, one list of results, one pass for the answer.
Source      Kafka 3.9 KafkaApis.handleProduceRequest, ProduceResponse.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.charge import Charge
from kafka_zk.api.data.current_leaders import CurrentLeaders
from kafka_zk.api.data.produced_records import NoBatchAtAll, TransactionalBatch, is_transactional, one_batch
from kafka_zk.api.data.produced_transactions import verify
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import give_way
from kafka_zk.log.unified_log import AppendInfo
from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    InvalidRecord,
    InvalidTimestamp,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PRODUCE_RESPONSE,
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_zk.replication.serving.append import AppendFailure, Entry, Guards

ADMIN_CLIENT_ID: Final = "__admin_client"
"""Only this client may write to internal topics."""

MANY: Final = 1_000
"""From so many partitions on a separate greenlet builds a delayed answer."""

LEADERS_FROM: Final = 10
"""From this version on an answer names the leaders of partitions led elsewhere."""

Result = AppendInfo | AppendFailure

# Shared by all answers: encoders only read them, and creating them costs time.
_NO_RECORD_ERRORS: Final[list[BatchIndexAndErrorMessage]] = []
_NO_LEADER: Final = LeaderIdAndEpoch()
_NO_ENDPOINTS: Final[list[NodeEndpoint]] = []


ERRORS = Form(
    (
        Each(
            "topic_data",
            "responses",
            inner=(Each("partition_data", "partition_responses", constants={"base_offset": -1}),),
        ),
    ),
    Text.OWN,
    may_be_silent=True,
)


@api(PRODUCE_REQUEST, PRODUCE_RESPONSE, errors=ERRORS, charge=Charge.PRODUCED, gives_way=False, lets_next_start=True)
def produce(request: ProduceRequest, ctx: RequestContext) -> ProduceResponse | Pending[ProduceResponse] | None:
    """Blocks while a transaction is verified and records are written. With acks=0 there is no answer; an error then
    closes the connection."""
    services = ctx.services
    api_version = ctx.api_version
    transactional_id = request.transactional_id
    is_in_transaction = False
    if transactional_id is not None or services.authorizer is not None:
        # Before any topic is asked about. The batch decides, whatever the request says (CVE-2018-17196).
        is_in_transaction = _has_transactional_batch(request, ctx)
        if is_in_transaction and not _may_use(ctx, transactional_id):
            raise TransactionalBatch
    topics = services.metadata_cache.snapshot.topics
    entries: list[Entry] = []
    refused: list[tuple[int, AppendFailure]] | None = None
    position = 0
    gives_way = ctx.gives_way
    for topic in request.topic_data:
        name = topic.name
        if gives_way:
            give_way()
        allowed = services.authorizer is None or ctx.may(Operation.WRITE, ResourceType.TOPIC, name)
        state = topics.get(name)
        for data in topic.partition_data:
            index = data.index
            if gives_way:
                give_way()
            try:
                if not allowed or state is None or index not in state.partitions:
                    if not is_in_transaction and is_transactional(data.records, api_version):
                        raise TransactionalBatch
                    raise TopicAuthorizationFailed if not allowed else UnknownTopicOrPartition
                records = one_batch(data.records, api_version, may_be_transactional=is_in_transaction)
                entries.append((name, index, records))
            except (NoBatchAtAll, TransactionalBatch):
                raise
            except BrokerError as error:
                if refused is None:
                    refused = []
                refused.append((position, AppendFailure(error)))
            position += 1
    required_acks = request.acks
    guards: Guards | None = None
    if is_in_transaction and transactional_id is not None:
        entries, guards, refused = verify(entries, transactional_id, refused or [], ctx)
    results = services.replica_manager.append_records(
        entries,
        required_acks=required_acks,
        timeout_ms=request.timeout_ms,
        internal_topics_allowed=ctx.client_id == ADMIN_CLIENT_ID,
        guards=guards,
    )
    if type(results) is list:
        if refused:
            results = _merged(results, refused)
        if required_acks == 0:
            _close_if_failed(results, ctx)
            return None
        return _response(request, ctx, results, gives_way)
    assert isinstance(results, Pending)
    return _later(request, ctx, results, refused, position)


def _may_use(ctx: RequestContext, transactional_id: str | None) -> bool:
    return transactional_id is not None and ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)


def _has_transactional_batch(request: ProduceRequest, ctx: RequestContext) -> bool:
    """Yields to other greenlets if the request is large."""
    api_version, gives_way = ctx.api_version, ctx.gives_way
    for topic in request.topic_data:
        for data in topic.partition_data:
            if gives_way:
                give_way()
            if is_transactional(data.records, api_version):
                return True
    return False


def _later(
    request: ProduceRequest,
    ctx: RequestContext,
    results: Pending[list[Result]],
    refused: list[tuple[int, AppendFailure]] | None,
    count: int,
) -> Pending[ProduceResponse]:
    """The answer once all records are acknowledged. Separate, so that only a waiting request pays for the closure.

    Blocks if many are settled already.
    """
    if count > MANY:
        # Not in the greenlet that acknowledges: that is a follower's.
        return then_apart(
            results, lambda acknowledged: _response(request, ctx, _merged(acknowledged, refused), ctx.gives_way)
        )
    answer = results.then(lambda acknowledged: _response(request, ctx, _merged(acknowledged, refused), False))
    answer.when_left(results.leave)
    return answer


def _merged(results: list[Result], refused: list[tuple[int, AppendFailure]] | None) -> list[Result]:
    """Yields to other greenlets. All results in the request's order."""
    if not refused:
        return results
    # Not by inserting: that would move most of many results repeatedly.
    merged: list[Result] = []
    taken = iter(results)
    refusals = iter(refused)
    next_refusal = next(refusals, None)
    for position in range(len(results) + len(refused)):
        give_way()
        if next_refusal is not None and next_refusal[0] == position:
            merged.append(next_refusal[1])
            next_refusal = next(refusals, None)
        else:
            merged.append(next(taken))
    return merged


def _close_if_failed(results: Iterable[Result], ctx: RequestContext) -> None:
    """Without acks a client learns of errors by losing its connection, and then refreshes its metadata."""
    failed = [result.error.code.name for result in results if isinstance(result, AppendFailure)]
    if failed:
        raise CloseConnection(
            f"Closing connection due to error during produce request with correlation id {ctx.correlation_id} "
            f"from client id {ctx.client_id} with ack=0: {', '.join(failed)}"
        )


def _response(request: ProduceRequest, ctx: RequestContext, results: list[Result], gives_way: bool) -> ProduceResponse:
    """Yields to other greenlets if `gives_way`."""
    leaders: CurrentLeaders | None = None
    responses: list[TopicProduceResponse] = []
    position = 0
    for topic in request.topic_data:
        name = topic.name
        if gives_way:
            give_way()
            if not topic.partition_data and responses and responses[-1].name == name:
                # Named many times, which no real client does: one answer for all.
                responses.append(responses[-1])
                continue
        partitions: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            result = results[position]
            position += 1
            if gives_way:
                give_way()
            if isinstance(result, AppendFailure):
                if leaders is None:
                    leaders = CurrentLeaders(ctx)
                partitions.append(_failed(name, data.index, result, ctx.api_version, leaders))
                continue
            partitions.append(
                PartitionProduceResponse(
                    index=data.index,
                    error_code=0,
                    base_offset=result.first_offset,
                    log_append_time_ms=result.log_append_time_ms,
                    log_start_offset=result.log_start_offset,
                    record_errors=_NO_RECORD_ERRORS,
                    current_leader=_NO_LEADER,
                )
            )
        responses.append(TopicProduceResponse(name=name, partition_responses=partitions))
    response = ProduceResponse(responses=responses, node_endpoints=_NO_ENDPOINTS)
    if leaders is not None and leaders.nodes and ctx.api_version >= LEADERS_FROM:
        response.node_endpoints = [
            NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in leaders.nodes.values()
        ]
    return response


def _failed(
    name: str, index: int, failure: AppendFailure, api_version: int, leaders: CurrentLeaders
) -> PartitionProduceResponse:
    error = failure.error
    answer = PartitionProduceResponse(
        index=index, error_code=error.code, base_offset=-1, log_start_offset=failure.log_start_offset
    )
    if failure.info is not None:
        # The records are in the log; what failed is the acknowledgement.
        answer.base_offset = failure.info.first_offset
        answer.log_append_time_ms = failure.info.log_append_time_ms
    if isinstance(error, InvalidRecord | InvalidTimestamp) and error.record_errors:
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=position, batch_index_error_message=message)
            for position, message in error.record_errors
        ]
        answer.error_message = str(error)
    if failure.tells_why:
        answer.error_message = str(error)
    if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER and api_version >= LEADERS_FROM:
        leader_id, leader_epoch = leaders.of(name, index)
        answer.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return answer
