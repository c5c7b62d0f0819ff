"""CreatePartitions (key 37, v0-3): add partitions, and respond once this broker knows all leaders.

Source      KafkaApis.handleCreatePartitionsRequest, ZkAdminManager.createPartitions.
"""

from __future__ import annotations

from collections import Counter

from kafka_zk.api.api_error import api_error_message
from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.charge import Charge
from kafka_zk.api.error_form import Each, Form, Text
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
    InvalidTopicException,
    NotController,
    TopicAuthorizationFailed,
)
from kafka_zk.protocol.messages.create_partitions import (
    CREATE_PARTITIONS_REQUEST,
    CREATE_PARTITIONS_RESPONSE,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kafka_zk.zk.znodes.names import may_be_znode

STRICT_FROM = 3
"""From this version on clients understand THROTTLING_QUOTA_EXCEEDED."""


@api(
    CREATE_PARTITIONS_REQUEST,
    CREATE_PARTITIONS_RESPONSE,
    errors=Form((Each("topics", "results"),), Text.OWN),
    charge=Charge.MUTATIONS,
)
def create_partitions(
    request: CreatePartitionsRequest, ctx: RequestContext
) -> CreatePartitionsResponse | Pending[CreatePartitionsResponse]:
    """Blocks. Add partitions to each topic; the response waits until their leaders are known."""
    occurrences = Counter(topic.name for topic in in_turns(request.topics))
    _check_all(occurrences, ctx)
    quota = mutation_quota(ctx, strict_from=STRICT_FROM)
    grown: dict[str, int] = {}
    there = ctx.services.topic_admin.topics_there()

    def grow(topic: CreatePartitionsTopic) -> CreatePartitionsTopicResult:
        _check(topic, occurrences, ctx)
        assignment = None if topic.assignments is None else [given.broker_ids for given in in_turns(topic.assignments)]
        ctx.services.topic_admin.add_partitions(
            topic.name,
            total_count=topic.count,
            given=assignment,
            validate_only=request.validate_only,
            before_change=quota.record,
            there=there,
        )
        if not request.validate_only:
            grown[topic.name] = topic.count
        return CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.NONE, error_message=None)

    # A topic named twice is answered once.
    topics = list({topic.name: topic for topic in in_turns(request.topics)}.values())
    response = CreatePartitionsResponse(results=per_item(topics, grow, _refused))
    if not grown:
        response.throttle_time_ms = quota.throttle_ms()
        return response

    def finish(late: set[str]) -> CreatePartitionsResponse:
        for result in response.results:
            if result.name in late and result.error_code == ErrorCode.NONE:
                result.error_code = ErrorCode.REQUEST_TIMED_OUT
        response.throttle_time_ms = quota.throttle_ms()
        return response

    waiting_for = ctx.services.topic_admin.waits.until_led(grown, request.timeout_ms)
    answer = waiting_for.then(finish)
    answer.when_left(waiting_for.leave)
    return answer


def _check_all(occurrences: Counter[str], ctx: RequestContext) -> None:
    """Raise BrokerError for all topics because of one.

    The controller looks up those that the client may alter among the topics to delete: an impossible name fails
    the request.
    """
    if ctx.services.controller.active_controller is not None and any(
        count == 1 and not may_be_znode(name) and ctx.may(Operation.ALTER, ResourceType.TOPIC, name)
        for name, count in in_turns(occurrences.items())
    ):
        raise BrokerError


def _check(topic: CreatePartitionsTopic, occurrences: Counter[str], ctx: RequestContext) -> None:
    active_controller = ctx.services.controller.active_controller
    if active_controller is None:
        raise NotController
    if occurrences[topic.name] > 1:
        raise InvalidRequest("Duplicate topic in request.")
    if not ctx.may(Operation.ALTER, ResourceType.TOPIC, topic.name):
        raise TopicAuthorizationFailed("The topic authorization is failed.")
    if topic.name in active_controller.context.topics_to_delete:
        raise InvalidTopicException("The topic is queued for deletion.")


def _refused(topic: CreatePartitionsTopic, error: BrokerError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=api_error_message(error))
