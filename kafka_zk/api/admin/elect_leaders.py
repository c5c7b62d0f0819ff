"""ElectLeaders (key 43, v0-2): give partitions back to their preferred leader, or elect one at the price of records.

Answered once this broker's metadata shows the new leaders. v1 unclean elections · v0 preferred ones only
Source      KafkaApis.handleElectLeaders, ReplicaManager.electLeaders, DelayedElectLeader; KIP-183, KIP-460.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.api.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.api.registry import api
from kafka_zk.controller.events import ElectionType, ReplicaLeaderElection
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    ElectionNotNeeded,
    ErrorCode,
    NotController,
    RequestTimedOut,
    UnknownServerError,
    error_code_for,
    message_of,
)
from kafka_zk.protocol.messages.elect_leaders import (
    ELECT_LEADERS_REQUEST,
    ELECT_LEADERS_RESPONSE,
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafka_zk.protocol.types import TopicPartition

Outcomes = dict[TopicPartition, BrokerError | None]


@api(ELECT_LEADERS_REQUEST, ELECT_LEADERS_RESPONSE)
def elect_leaders(
    request: ElectLeadersRequest, ctx: RequestContext
) -> ElectLeadersResponse | Pending[ElectLeadersResponse]:
    """Blocks while the controller's queue is full."""
    asked = _asked(request)
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        denied = ClusterAuthorizationFailed()
        return _response(dict.fromkeys(asked or (), denied), denied.code)
    if request.election_type not in {kind.value for kind in ElectionType}:
        raise UnknownServerError
    partitions = tuple(_all_partitions(ctx)) if asked is None else tuple(asked)
    answer: Pending[ElectLeadersResponse] = Pending()

    def elected(outcome: Pending[dict[TopicPartition, int | BrokerError]]) -> None:
        if isinstance(outcome.error, NotController):
            answer.complete(_response(dict.fromkeys(partitions, outcome.error)))
        elif outcome.error is not None:
            answer.fail(outcome.error)
        else:
            _await_leaders(outcome.value, request, ctx, answer)

    event = ReplicaLeaderElection(partitions, ElectionType(request.election_type))
    ctx.services.controller.submit(event).on_complete(elected)
    return answer


def _asked(request: ElectLeadersRequest) -> list[TopicPartition] | None:
    if request.topic_partitions is None:
        return None
    return [TopicPartition(wanted.topic, index) for wanted in request.topic_partitions for index in wanted.partitions]


def _all_partitions(ctx: RequestContext) -> Iterable[TopicPartition]:
    cache = ctx.services.metadata_cache
    for name in cache.all_topics():
        topic = cache.topic(name)
        if topic is not None:
            yield from (TopicPartition(name, index) for index in topic.partitions)


def _await_leaders(
    results: dict[TopicPartition, int | BrokerError],
    request: ElectLeadersRequest,
    ctx: RequestContext,
    answer: Pending[ElectLeadersResponse],
) -> None:
    outcomes: Outcomes = {tp: result if isinstance(result, BrokerError) else None for tp, result in results.items()}
    if request.topic_partitions is None:
        # Asked about everything, only what was (or could not be) elected is worth an entry.
        outcomes = {tp: error for tp, error in outcomes.items() if not isinstance(error, ElectionNotNeeded)}
    leaders = {tp: result for tp, result in results.items() if not isinstance(result, BrokerError)}
    if not leaders:
        answer.complete(_response(outcomes))
        return

    def shown(late: Pending[set[TopicPartition]]) -> None:
        outcomes.update(dict.fromkeys(late.value, RequestTimedOut()))
        answer.complete(_response(outcomes))

    ctx.services.controller.leader_waits.until_led_by(leaders, request.timeout_ms).on_complete(shown)


def _response(outcomes: Outcomes, code: int = ErrorCode.NONE) -> ElectLeadersResponse:
    by_topic: dict[str, list[PartitionResult]] = {}
    for partition, error in outcomes.items():
        by_topic.setdefault(partition.topic, []).append(
            PartitionResult(
                partition_id=partition.partition,
                error_code=ErrorCode.NONE if error is None else error_code_for(error),
                error_message=_message(error),
            )
        )
    return ElectLeadersResponse(
        error_code=code,
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=results) for topic, results in by_topic.items()
        ],
    )


def _message(error: BrokerError | None) -> str | None:
    """Kafka gives these three no words; the others their own or the code's."""
    if error is None or isinstance(error, ClusterAuthorizationFailed | NotController | RequestTimedOut):
        return None
    return str(error) or message_of(error.code)
