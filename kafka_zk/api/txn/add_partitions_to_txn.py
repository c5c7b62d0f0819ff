"""AddPartitionsToTxn (key 24, v0-5): a transaction reaches more partitions, or a broker asks whether it has them.

v2 PRODUCER_FENCED · v4 from brokers only: many transactions, each added to or only verified (KIP-890)
Source      KafkaApis.handleAddPartitionsToTxnRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_zk.api.authorization import Operation, ResourceType, authorize_request
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.txn.fencing import as_known
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.giving_way import InTurns, in_turns
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import INTERNAL_TOPICS
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN_REQUEST,
    ADD_PARTITIONS_TO_TXN_RESPONSE,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kafka_zk.protocol.types import TopicPartition

FROM_BROKERS = 4
"""The version from which only brokers send it."""

Codes = Mapping[TopicPartition, ErrorCode]
Results = list[AddPartitionsToTxnTopicResult]

ERRORS = Form(
    (
        Each(
            "v3_and_below_topics",
            "results_by_topic_v3_and_below",
            inner=(Each("partitions", "results_by_partition", key="partition_index"),),
        ),
    )
)


VERIFICATION = "AddPartitionsToTxnVerification"
"""The name under which a request counts that only asks."""


def _variant(request: AddPartitionsToTxnRequest) -> str:
    """Yields to other greenlets. An older request has no transactions in a list, and adds to its one."""
    asked = request.transactions
    return VERIFICATION if asked and all(each.verify_only for each in in_turns(asked)) else ""


@api(
    ADD_PARTITIONS_TO_TXN_REQUEST,
    ADD_PARTITIONS_TO_TXN_RESPONSE,
    errors=ERRORS,
    variant_of=_variant,
    counts_as_variant_only=True,
    gives_way=False,
)
def add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, ctx: RequestContext
) -> AddPartitionsToTxnResponse | Pending[AddPartitionsToTxnResponse]:
    """Blocks while the transactions' records are written. Raises BrokerError."""
    topics = request.v3_and_below_topics
    if ctx.api_version < FROM_BROKERS and len(topics) == 1 and len(topics[0].partitions) == 1:
        return _add_one(request, topics[0].name, topics[0].partitions[0], ctx)
    with InTurns(large=False):
        return _add_many(request, ctx)


def _add_one(
    request: AddPartitionsToTxnRequest, topic: str, index: int, ctx: RequestContext
) -> AddPartitionsToTxnResponse | Pending[AddPartitionsToTxnResponse]:
    """Blocks while the record is written. What nearly all clients ask for, again and again."""
    transactional_id = request.v3_and_below_transactional_id
    if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return _about_one(topic, index, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if topic in INTERNAL_TOPICS or not ctx.may(Operation.WRITE, ResourceType.TOPIC, topic):
        return _about_one(topic, index, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    services = ctx.services
    if services.metadata_cache.partition(topic, index) is None:
        return _about_one(topic, index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    added = services.transaction_coordinator.add_partitions(
        transactional_id,
        ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch),
        (TopicPartition(topic, index),),
    )
    if added.is_done:
        return _about_one(topic, index, as_known(added.value, ctx.api_version))
    answer = added.then(lambda code: _about_one(topic, index, as_known(code, ctx.api_version)))
    answer.when_left(added.leave)
    return answer


def _about_one(topic: str, index: int, code: ErrorCode) -> AddPartitionsToTxnResponse:
    line = AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[AddPartitionsToTxnTopicResult(name=topic, results_by_partition=[line])]
    )


def _add_many(request: AddPartitionsToTxnRequest, ctx: RequestContext) -> Pending[AddPartitionsToTxnResponse]:
    """Blocks while the transactions' records are written."""
    if ctx.api_version >= FROM_BROKERS:
        authorize_request(ctx, Operation.CLUSTER_ACTION)
        asked_of = [(each, _of_broker(each, ctx)) for each in in_turns(request.transactions)]
        return then_apart(_all([results for _, results in in_turns(asked_of)]), lambda _: _of_all(asked_of))
    asked = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return then_apart(
        _of_client(asked, ctx), lambda results: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    )


def _of_client(asked: AddPartitionsToTxnTransaction, ctx: RequestContext) -> Pending[Results]:
    """Blocks while the record is written. Clients must be allowed to write, to topics too that are not internal."""
    partitions = _partitions(asked.topics)
    if not ctx.may(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, asked.transactional_id):
        return completed(_all_with(asked, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    allowed = {
        topic: topic not in INTERNAL_TOPICS and ctx.may(Operation.WRITE, ResourceType.TOPIC, topic)
        for topic in dict.fromkeys(partition.topic for partition in in_turns(partitions))
    }
    return _add(asked, partitions, lambda topic: allowed[topic], ctx)


def _of_broker(asked: AddPartitionsToTxnTransaction, ctx: RequestContext) -> Pending[Results]:
    """Blocks while a record is written, if it is not only to verify."""
    partitions = _partitions(asked.topics)
    if not asked.verify_only:
        return _add(asked, partitions, lambda _: True, ctx)
    coordinator = ctx.services.transaction_coordinator
    return completed(
        _topics(
            _refused(partitions, lambda _: True, ctx)
            or coordinator.verify_partitions(asked.transactional_id, _producer(asked), partitions)
        )
    )


def _add(
    asked: AddPartitionsToTxnTransaction,
    partitions: Collection[TopicPartition],
    may_write: Callable[[str], bool],
    ctx: RequestContext,
) -> Pending[Results]:
    """Blocks while the record is written."""
    refused = _refused(partitions, may_write, ctx)
    if refused:
        return completed(_topics(refused))
    added = ctx.services.transaction_coordinator.add_partitions(asked.transactional_id, _producer(asked), partitions)
    return then_apart(added, lambda code: _all_with(asked, as_known(code, ctx.api_version)))


def _refused(partitions: Collection[TopicPartition], may_write: Callable[[str], bool], ctx: RequestContext) -> Codes:
    """One partition that cannot be added keeps all others from being added; empty if there is none."""
    cache = ctx.services.metadata_cache
    refused: dict[TopicPartition, ErrorCode] = {}
    for partition in in_turns(partitions):
        if not may_write(partition.topic):
            refused[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif cache.partition(*partition) is None:
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not refused:
        return {}
    return {partition: refused.get(partition, ErrorCode.OPERATION_NOT_ATTEMPTED) for partition in partitions}


def _producer(asked: AddPartitionsToTxnTransaction) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(asked.producer_id, asked.producer_epoch)


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> Collection[TopicPartition]:
    """Yields to other greenlets. Each once, in the request's order."""
    return {TopicPartition(topic.name, index): None for topic in topics for index in in_turns(topic.partitions)}


def _of_all(asked: Sequence[tuple[AddPartitionsToTxnTransaction, Pending[Results]]]) -> AddPartitionsToTxnResponse:
    """Yields to other greenlets."""
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=results.value)
            for each, results in in_turns(asked)
        ]
    )


def _all_with(asked: AddPartitionsToTxnTransaction, code: ErrorCode) -> Results:
    """Yields to other greenlets. The same for all that was asked: also for what was named twice, as in Kafka."""
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                for index in in_turns(topic.partitions)
            ],
        )
        for topic in in_turns(asked.topics)
    ]


def _topics(codes: Codes) -> Results:
    """Yields to other greenlets."""
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (name, index), code in in_turns(codes.items()):
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = AddPartitionsToTxnTopicResult(name=name)
        topic.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
        )
    return list(topics.values())


def _all(pendings: Sequence[Pending[Results]]) -> Pending[None]:
    """Yields to other greenlets. Settled when all are."""
    answer: Pending[None] = Pending()
    # One more: this function, which is still asking.
    waiting = len(pendings) + 1

    def settled(_: object) -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            answer.complete(None)

    for pending in in_turns(pendings):
        pending.on_complete(settled)
    settled(None)
    return answer
