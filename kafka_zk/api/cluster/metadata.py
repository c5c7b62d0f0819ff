"""Metadata (key 3, v0-12): brokers, topics, partitions and their leaders, as this broker knows them.

Topics that do not exist are created here and now when the client allows it and the configuration does too; the
client gets LEADER_NOT_AVAILABLE and asks again.
Source      KafkaApis.handleTopicMetadataRequest, getTopicMetadata; ZkMetadataCache.getPartitionMetadata.
"""

from __future__ import annotations

from kafka_zk.admin.topic_rules import check_name
from kafka_zk.api.authorization import (
    CLUSTER_NAME,
    NOT_REQUESTED,
    Audit,
    Operation,
    ResourceType,
    authorized_operations,
)
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.throttling import mutation_quota
from kafka_zk.giving_way import in_turns
from kafka_zk.metadata.snapshot import PartitionState, TopicState
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    LeaderNotAvailable,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.internal_topics import INTERNAL_TOPICS
from kafka_zk.protocol.messages.metadata import (
    METADATA_REQUEST,
    METADATA_RESPONSE,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.types import NULL_UUID

LISTENER_ERRORS_FROM = 6
"""From this version on a leader without the client's listener is LISTENER_NOT_FOUND instead of LEADER_NOT_AVAILABLE."""

TOPIC_IDS_FROM = 12
"""From this version on topics may be requested by id; v10 and v11 have the field, and refuse it."""


@api(METADATA_REQUEST, METADATA_RESPONSE, errors=Form((Each("topics", "topics"),)))
def metadata(request: MetadataRequest, ctx: RequestContext) -> MetadataResponse | Pending[MetadataResponse]:
    """Blocks if a topic has to be created."""
    if request.topics is not None:
        if _asks_by_id_too_early(request.topics, ctx.api_version):
            return _refuse_all(request.topics, ErrorCode.INVALID_REQUEST)
        if any(topic.name is None and topic.topic_id == NULL_UUID for topic in in_turns(request.topics)):
            return _refuse_all(request.topics, ErrorCode.UNKNOWN_SERVER_ERROR)
    return ctx.services.first_update.answer(lambda: _answer(request, ctx))


def _answer(request: MetadataRequest, ctx: RequestContext) -> MetadataResponse:
    everything = request.topics is None or (ctx.api_version == 0 and not request.topics)
    if everything:
        topics = _all_topics(ctx)
    else:
        # As in Apache's: a name counts once, however often it is requested.
        once = {(asked.name, asked.topic_id): asked for asked in in_turns(request.topics or ())}
        topics = [_asked_topic(asked, request, ctx) for asked in in_turns(once.values())]
    if request.include_topic_authorized_operations:
        for topic in in_turns(topics):
            if topic.error_code not in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_ID):
                topic.topic_authorized_operations = authorized_operations(ctx, ResourceType.TOPIC, topic.name or "")
    cache = ctx.services.metadata_cache
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in cache.alive_brokers(ctx.listener_name)
        ],
        cluster_id=ctx.services.cluster_id,
        controller_id=cache.controller_id,
        topics=topics,
        cluster_authorized_operations=_cluster_operations(request, ctx),
    )


def _asks_by_id_too_early(topics: list[MetadataRequestTopic], api_version: int) -> bool:
    return api_version < TOPIC_IDS_FROM and any(
        topic.topic_id != NULL_UUID or topic.name is None for topic in in_turns(topics)
    )


def _refuse_all(topics: list[MetadataRequestTopic], code: ErrorCode) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in in_turns(topics)
        ]
    )


def _cluster_operations(request: MetadataRequest, ctx: RequestContext) -> int:
    if not request.include_cluster_authorized_operations:
        return NOT_REQUESTED
    if not ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return 0
    return authorized_operations(ctx, ResourceType.CLUSTER, CLUSTER_NAME)


def _all_topics(ctx: RequestContext) -> list[MetadataResponseTopic]:
    """Every topic the client may see; the others are left out rather than refused."""
    return [
        _describe(state, ctx)
        for state in in_turns(ctx.services.metadata_cache.snapshot.topics.values())
        if ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, state.name, Audit.FILTER)
    ]


def _asked_topic(asked: MetadataRequestTopic, request: MetadataRequest, ctx: RequestContext) -> MetadataResponseTopic:
    """Blocks if the topic has to be created."""
    cache = ctx.services.metadata_cache
    name = asked.name if asked.topic_id == NULL_UUID else cache.topic_name(asked.topic_id)
    try:
        if name is None:
            raise UnknownTopicId
        state = cache.topic(name)
        if not ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
            return _hidden(asked)
        if state is None:
            if not _is_about_to_be_known(name, ctx):
                _create_or_refuse(name, request, ctx)
            raise LeaderNotAvailable
    except BrokerError as error:
        return MetadataResponseTopic(
            error_code=error.code,
            name=name,
            topic_id=asked.topic_id,
            is_internal=name in INTERNAL_TOPICS,
        )
    return _describe(state, ctx)


def _hidden(asked: MetadataRequestTopic) -> MetadataResponseTopic:
    """Of a topic that the client may not describe: what the client has said, and nothing that it has not."""
    return MetadataResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        name=asked.name if asked.topic_id == NULL_UUID else None,
        topic_id=asked.topic_id,
    )


def _is_about_to_be_known(name: str, ctx: RequestContext) -> bool:
    """Whether this broker has just started and has not yet received the topics from the controller.

    Differs from Kafka, which calls every topic unknown then: producers of librdkafka fail what they hold of a topic
    that disappeared, and wait for one whose leader is being elected.
    """
    cache = ctx.services.metadata_cache
    if cache.has_known_topics:
        return False
    if not cache.snapshot.brokers:
        return True
    # Our own controller sends the brokers first, and next the topics whose logs are here.
    return any(log.topic_partition.topic == name for log in ctx.services.log_manager.all_logs())


def _create_or_refuse(name: str, request: MetadataRequest, ctx: RequestContext) -> None:
    """Blocks. Create an unknown topic; raises the error for the client if that is not allowed or fails."""
    if not (request.allow_auto_topic_creation and ctx.services.config.auto_create_topics_enable):
        check_name(name)
        raise UnknownTopicOrPartition
    if not (
        ctx.may(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER)
        or ctx.may(Operation.CREATE, ResourceType.TOPIC, name)
    ):
        raise TopicAuthorizationFailed
    check_name(name)
    # Counted, but not throttled: the client only sent a Metadata request.
    ctx.services.topic_admin.auto_create(name, mutation_quota(ctx, strict_from=None).record)


def _describe(topic: TopicState, ctx: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_describe_partition(index, state, ctx) for index, state in in_turns(topic.partitions.items())],
    )


def _describe_partition(index: int, state: PartitionState, ctx: RequestContext) -> MetadataResponsePartition:
    replicas, isr = list(state.replicas), list(state.isr)
    error = _fault_of_leader(state, ctx)
    if ctx.api_version == 0:
        replicas, isr = _only_reachable(replicas, ctx), _only_reachable(isr, ctx)
        if error == ErrorCode.NONE and (len(replicas) < len(state.replicas) or len(isr) < len(state.isr)):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    leads = error in (ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE)
    return MetadataResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=state.leader if leads else -1,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=_offline_replicas(state, ctx),
    )


def _fault_of_leader(state: PartitionState, ctx: RequestContext) -> ErrorCode:
    cache = ctx.services.metadata_cache
    if cache.node(state.leader, ctx.listener_name) is not None:
        return ErrorCode.NONE
    if cache.is_alive(state.leader) and ctx.api_version >= LISTENER_ERRORS_FROM:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.LEADER_NOT_AVAILABLE


def _only_reachable(brokers: list[int], ctx: RequestContext) -> list[int]:
    cache = ctx.services.metadata_cache
    return [broker for broker in brokers if cache.node(broker, ctx.listener_name) is not None]


def _offline_replicas(state: PartitionState, ctx: RequestContext) -> list[int]:
    """Replicas on dead brokers or in failed directories."""
    cache = ctx.services.metadata_cache
    return [
        broker
        for broker in state.replicas
        if broker in state.offline_replicas or cache.node(broker, ctx.listener_name) is None
    ]
