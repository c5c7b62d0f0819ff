"""ElectLeaders (key 43, v0-2): elect preferred leaders, or unclean ones at the risk of losing records.

Answered once this broker's metadata shows the new leaders. v1 unclean elections · v0 preferred ones only
Source      KafkaApis.handleElectLeaders, ReplicaManager.electLeaders, DelayedElectLeader; KIP-183, KIP-460.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_zk.api.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_zk.api.cluster.asking_the_controller import MANY
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.controller.events import ElectionType, ReplicaLeaderElection
from kafka_zk.giving_way import in_turns
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
Refused = dict[str, dict[int, PartitionResult]]
"""By topic and partition, with messages only if they are few."""


ERRORS = Form(
    (
        Each(
            "topic_partitions",
            "replica_election_results",
            inner=(Each("partitions", "partition_result", key="partition_id"),),
        ),
    ),
    Text.OWN,
    code_counts_always=True,
)


@api(ELECT_LEADERS_REQUEST, ELECT_LEADERS_RESPONSE, errors=ERRORS)
def elect_leaders(
    request: ElectLeadersRequest, ctx: RequestContext
) -> ElectLeadersResponse | Pending[ElectLeadersResponse]:
    """Blocks while the controller's queue is full."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        denied = ClusterAuthorizationFailed()
        # Version 0 has no place for a code of the whole request. The answer names what was asked, there or not.
        return _response(dict.fromkeys(_named(request), denied), denied.code if ctx.api_version > 0 else ErrorCode.NONE)
    asked, unknown = _asked(request, ctx)
    if request.election_type not in {kind.value for kind in ElectionType}:
        raise UnknownServerError
    partitions = tuple(_all_partitions(ctx)) if asked is None else tuple(asked)
    done: Pending[Outcomes] = Pending()
    left: list[bool] = []
    done.when_left(left.append)

    def elected(outcome: Pending[dict[TopicPartition, int | BrokerError]]) -> None:
        if isinstance(outcome.error, NotController):
            done.complete(dict.fromkeys(partitions, outcome.error))
        elif outcome.error is not None:
            done.fail(outcome.error)
        elif True not in left:
            # Otherwise the client has disconnected: the election stands, and no client waits for the metadata.
            _await_leaders(outcome.value, request, ctx, done)

    event = ReplicaLeaderElection(partitions, ElectionType(request.election_type))
    ctx.services.controller.submit(event).on_complete(elected)
    return then_apart(done, lambda outcomes: _response(outcomes, refused=unknown))


def _named(request: ElectLeadersRequest) -> Iterator[TopicPartition]:
    """Yields to other greenlets."""
    for wanted in in_turns(request.topic_partitions or ()):
        yield from (TopicPartition(wanted.topic, index) for index in in_turns(wanted.partitions))


def _asked(request: ElectLeadersRequest, ctx: RequestContext) -> tuple[list[TopicPartition] | None, Refused]:
    """Yields to other greenlets. The partitions (None: all), without missing ones if they are many: the controller
    does not yield, so it is not asked about those."""
    if request.topic_partitions is None:
        return None, {}
    active_controller = ctx.services.controller.active_controller
    is_much = sum(len(wanted.partitions) for wanted in in_turns(request.topic_partitions)) > MANY
    asked: list[TopicPartition] = []
    refused: Refused = {}
    for wanted in in_turns(request.topic_partitions):
        for index in in_turns(wanted.partitions):
            partition = TopicPartition(wanted.topic, index)
            if active_controller is None or not is_much or active_controller.context.assignment(partition).replicas:
                asked.append(partition)
            else:
                refused.setdefault(wanted.topic, {})[index] = PartitionResult(
                    partition_id=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error_message=None
                )
    return asked, refused


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
    done: Pending[Outcomes],
) -> None:
    outcomes: Outcomes = {
        topic_partition: result if isinstance(result, BrokerError) else None
        for topic_partition, result in results.items()
    }
    if request.topic_partitions is None:
        # If all were requested, only those that were (or could not be) elected get an entry.
        outcomes = {
            topic_partition: error
            for topic_partition, error in outcomes.items()
            if not isinstance(error, ElectionNotNeeded)
        }
    leaders = {
        topic_partition: result for topic_partition, result in results.items() if not isinstance(result, BrokerError)
    }
    if not leaders:
        done.complete(outcomes)
        return

    def shown(late: Pending[set[TopicPartition]]) -> None:
        outcomes.update(dict.fromkeys(late.value, RequestTimedOut()))
        done.complete(outcomes)

    waiting_for = ctx.services.controller.leader_waits.until_led_by(leaders, request.timeout_ms)
    done.when_left(waiting_for.leave)
    waiting_for.on_complete(shown)


def _response(outcomes: Outcomes, code: int = ErrorCode.NONE, refused: Refused | None = None) -> ElectLeadersResponse:
    """Yields to other greenlets. Group the outcomes by topic."""
    by_topic = {topic: list(in_turns(lines.values())) for topic, lines in (refused or {}).items()}
    for partition, error in in_turns(outcomes.items()):
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
            ReplicaElectionResult(topic=topic, partition_result=results)
            for topic, results in in_turns(by_topic.items())
        ],
    )


def _message(error: BrokerError | None) -> str | None:
    """Kafka gives these three no message; the others their own or the code's."""
    if error is None or isinstance(error, ClusterAuthorizationFailed | NotController | RequestTimedOut):
        return None
    return str(error) or message_of(error.code)
