"""DeleteTopics (key 20, v0-6): mark topics for deletion, and respond once this broker no longer knows them.

v5 messages · v6 by id
Source      KafkaApis.handleDeleteTopicsRequest, ZkAdminManager.deleteTopics.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.charge import Charge
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.throttling import mutation_quota
from kafka_zk.api.walk import per_item
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    InvalidRequest,
    NotController,
    TopicAuthorizationFailed,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.messages.delete_topics import (
    DELETE_TOPICS_REQUEST,
    DELETE_TOPICS_RESPONSE,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafka_zk.protocol.types import NULL_UUID

DELETION_DISABLED_FROM = 3
"""From here on a broker with delete.topic.enable=false answers TOPIC_DELETION_DISABLED, not INVALID_REQUEST."""

STRICT_FROM = 5
"""From this version on clients understand THROTTLING_QUOTA_EXCEEDED."""


ERRORS = Form((Each("topic_names", "responses", key="name"), Each("topics", "responses")))


@api(DELETE_TOPICS_REQUEST, DELETE_TOPICS_RESPONSE, errors=ERRORS, charge=Charge.MUTATIONS)
def delete_topics(
    request: DeleteTopicsRequest, ctx: RequestContext
) -> DeleteTopicsResponse | Pending[DeleteTopicsResponse]:
    """Blocks. Mark each topic for deletion, then wait until the metadata cache drops it."""
    states = [DeleteTopicState(name=name) for name in in_turns(request.topic_names)] or request.topics
    if any(state.name is not None and state.topic_id != NULL_UUID for state in in_turns(states)):
        return DeleteTopicsResponse(responses=[_refused(state, InvalidRequest()) for state in in_turns(states)])
    quota = mutation_quota(ctx, strict_from=STRICT_FROM)
    names: list[str | None] = []

    def delete(state: DeleteTopicState) -> DeletableTopicResult:
        name = _resolve(state, ctx)
        topic = ctx.services.metadata_cache.topic(name)
        quota.record(0 if topic is None else len(topic.partitions))
        ctx.services.topic_admin.delete(name)
        names[-1] = name
        return DeletableTopicResult(name=name, topic_id=state.topic_id, error_code=ErrorCode.NONE)

    def attempt(state: DeleteTopicState) -> DeletableTopicResult:
        names.append(None)
        return delete(state)

    response = DeleteTopicsResponse(responses=per_item(states, attempt, _refused))
    marked = {name for name in in_turns(names) if name is not None}
    if not marked:
        response.throttle_time_ms = quota.throttle_ms()
        return response

    def finish(still_there: set[str]) -> DeleteTopicsResponse:
        for index, name in enumerate(names):
            if name in still_there:
                response.responses[index].error_code = ErrorCode.REQUEST_TIMED_OUT
        response.throttle_time_ms = quota.throttle_ms()
        return response

    waiting_for = ctx.services.topic_admin.waits.until_gone(marked, request.timeout_ms)
    answer = waiting_for.then(finish)
    answer.when_left(waiting_for.leave)
    return answer


def _resolve(state: DeleteTopicState, ctx: RequestContext) -> str:
    """The name of the topic to delete; raises the error for the client if it may not be deleted."""
    if not ctx.services.controller.is_active:
        raise NotController
    if not ctx.services.config.delete_topic_enable:
        if ctx.api_version < DELETION_DISABLED_FROM:
            raise InvalidRequest
        raise TopicDeletionDisabled
    cache = ctx.services.metadata_cache
    by_id = state.name is None
    if by_id and state.topic_id == NULL_UUID:
        raise TopicAuthorizationFailed
    name = cache.topic_name(state.topic_id) if state.name is None else state.name
    if name is None:
        raise UnknownTopicId
    may_describe = ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
    may_delete = ctx.may(Operation.DELETE, ResourceType.TOPIC, name)
    if by_id and not may_describe:
        state.name = None
        raise TopicAuthorizationFailed
    if by_id:
        state.name = name
    if not may_delete:
        raise TopicAuthorizationFailed
    if cache.topic(name) is None:
        raise UnknownTopicOrPartition
    return name


def _refused(state: DeleteTopicState, error: BrokerError) -> DeletableTopicResult:
    # The field for a message stays empty in ZooKeeper mode.
    return DeletableTopicResult(name=state.name, topic_id=state.topic_id, error_code=error.code)
