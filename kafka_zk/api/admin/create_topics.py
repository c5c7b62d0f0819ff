"""CreateTopics (key 19, v0-7): create topics, and respond once this broker knows all leaders.

v1 validate only and messages · v4 default counts (-1) · v5 counts and configs in the answer · v7 topic ids
Source      KafkaApis.handleCreateTopicsRequest, ZkAdminManager.createTopics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from typing import NamedTuple

from kafka_zk.admin.topic_rules import CLUSTER_METADATA_TOPIC
from kafka_zk.admin.topics import CreatedTopic, NewTopic
from kafka_zk.api.api_error import api_error_message
from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType
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
    NotController,
    TopicAuthorizationFailed,
)
from kafka_zk.protocol.messages.create_topics import (
    CREATE_TOPICS_REQUEST,
    CREATE_TOPICS_RESPONSE,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

STRICT_FROM = 6
"""From this version on clients understand THROTTLING_QUOTA_EXCEEDED."""


ERRORS = Form((Each("topics", "topics", same_names=False, copied={"name": "name"}),), Text.OWN)


@api(CREATE_TOPICS_REQUEST, CREATE_TOPICS_RESPONSE, errors=ERRORS, charge=Charge.MUTATIONS)
def create_topics(
    request: CreateTopicsRequest, ctx: RequestContext
) -> CreateTopicsResponse | Pending[CreateTopicsResponse]:
    """Blocks. Create each topic; the response waits until their leaders are known."""
    occurrences = Counter(topic.name for topic in in_turns(request.topics))
    quota = mutation_quota(ctx, strict_from=STRICT_FROM)
    waiting: dict[str, CreatableTopicResult] = {}
    counts: dict[str, int] = {}

    rights = _Rights.of(request.topics, ctx) if ctx.services.controller.is_active else _NO_RIGHTS

    def create(topic: CreatableTopic) -> CreatableTopicResult:
        _check(topic, occurrences, rights, ctx)
        created = ctx.services.topic_admin.create(
            _new_topic(topic), validate_only=request.validate_only, before_change=quota.record
        )
        result = _result(created, topic.name not in rights.may_not_see_configs)
        if not request.validate_only:
            waiting[topic.name] = result
            counts[topic.name] = created.partition_count
        return result

    def refused(topic: CreatableTopic, error: BrokerError) -> CreatableTopicResult:
        result = CreatableTopicResult(name=topic.name, error_code=error.code, error_message=api_error_message(error))
        if topic.name in rights.may_not_see_configs:
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return result

    response = CreateTopicsResponse(topics=per_item(request.topics, create, refused))
    if not waiting:
        response.throttle_time_ms = quota.throttle_ms()
        return response

    def finish(late: set[str]) -> CreateTopicsResponse:
        for name in late:
            result = waiting[name]
            result.error_code = ErrorCode.REQUEST_TIMED_OUT
            result.num_partitions = result.replication_factor = -1
            result.configs = []
        response.throttle_time_ms = quota.throttle_ms()
        return response

    waiting_for = ctx.services.topic_admin.waits.until_led(counts, request.timeout_ms)
    answer = waiting_for.then(finish)
    answer.when_left(waiting_for.leave)
    return answer


class _Rights(NamedTuple):
    """What the client may do with the topics of a request, asked once for all of them."""

    may_create: Set[str]
    may_not_see_configs: Set[str]

    @staticmethod
    def of(topics: Iterable[CreatableTopic], ctx: RequestContext) -> _Rights:
        """Yields to other greenlets."""
        names = dict.fromkeys(topic.name for topic in in_turns(topics))
        creatable: Set[str] = names.keys()
        if not ctx.may(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER):
            creatable = {name for name in in_turns(names) if ctx.may(Operation.CREATE, ResourceType.TOPIC, name)}
        hidden = {
            name
            for name in in_turns(names)
            if not ctx.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name, Audit.FILTER)
        }
        return _Rights(creatable, hidden)


_NO_RIGHTS = _Rights(frozenset(), frozenset())
"""Where only the controller would ask."""


def _check(topic: CreatableTopic, occurrences: Counter[str], rights: _Rights, ctx: RequestContext) -> None:
    if not ctx.services.controller.is_active:
        raise NotController
    if occurrences[topic.name] > 1:
        raise InvalidRequest("Found multiple entries for this topic.")
    if topic.name not in rights.may_create:
        raise TopicAuthorizationFailed("Authorization failed.")
    if topic.name == CLUSTER_METADATA_TOPIC:
        raise InvalidRequest(f"Creation of internal topic {topic.name} is prohibited.")


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignment={given.partition_index: list(given.broker_ids) for given in in_turns(topic.assignments)},
        configs=[(config.name, config.value) for config in in_turns(topic.configs)],
    )


def _result(created: CreatedTopic, may_see_configs: bool) -> CreatableTopicResult:
    result = CreatableTopicResult(
        name=created.name, topic_id=created.topic_id, error_code=ErrorCode.NONE, error_message=None
    )
    if not may_see_configs:
        result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        result.configs = None
        return result
    result.num_partitions = created.partition_count
    result.replication_factor = created.replication_factor
    result.configs = [
        CreatableTopicConfigs(
            name=config.name,
            value=config.value,
            read_only=config.read_only,
            config_source=config.source,
            is_sensitive=config.sensitive,
        )
        for config in created.configs
    ]
    return result
