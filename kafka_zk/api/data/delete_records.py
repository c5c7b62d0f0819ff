"""DeleteRecords (key 21, v0-2): advance log start offsets, and wait until every live replica has followed.

Source      Kafka 3.9 KafkaApis.handleDeleteRecordsRequest, ReplicaManager.deleteRecords.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import Each, Form, each_topic
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode, TopicAuthorizationFailed, UnknownTopicOrPartition
from kafka_zk.protocol.messages.delete_records import (
    DELETE_RECORDS_REQUEST,
    DELETE_RECORDS_RESPONSE,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafka_zk.replication.serving.delayed_delete_records import LowWatermark

NO_LOW_WATERMARK = -1
MANY = 1_000
"""From so many partitions on a separate greenlet builds the answer."""


ERRORS = Form(each_topic(Each("partitions", "partitions", constants={"low_watermark": -1})))


@api(DELETE_RECORDS_REQUEST, DELETE_RECORDS_RESPONSE, errors=ERRORS)
def delete_records(request: DeleteRecordsRequest, ctx: RequestContext) -> Pending[DeleteRecordsResponse]:
    """Yields to other greenlets while it checks the request."""
    cache = ctx.services.metadata_cache
    # A topic or partition named twice is answered once: its last offset counts.
    wanted: dict[str, dict[int, int]] = {}
    for topic in in_turns(request.topics):
        for partition in in_turns(topic.partitions):
            wanted.setdefault(topic.name, {})[partition.partition_index] = partition.offset
    asked = [(topic, index, offset) for topic, offsets in wanted.items() for index, offset in in_turns(offsets.items())]
    outcome: list[LowWatermark] = []
    allowed: list[tuple[int, tuple[str, int, int]]] = []
    may = {topic: ctx.may(Operation.DELETE, ResourceType.TOPIC, topic) for topic in in_turns(wanted)}
    for position, entry in in_turns(enumerate(asked)):
        if not may[entry[0]]:
            outcome.append(TopicAuthorizationFailed())
        elif cache.partition(entry[0], entry[1]) is None:
            outcome.append(UnknownTopicOrPartition())
        else:
            outcome.append(NO_LOW_WATERMARK)
            allowed.append((position, entry))

    def finish(done: list[LowWatermark]) -> DeleteRecordsResponse:
        for (position, _), reached in zip(allowed, done, strict=True):
            outcome[position] = reached
        return _response(wanted, outcome)

    deleted = ctx.services.replica_manager.delete_records(
        [entry for _, entry in allowed], timeout_ms=request.timeout_ms
    )
    if len(asked) > MANY:
        return then_apart(deleted, finish)
    answer = deleted.then(finish)
    answer.when_left(deleted.leave)
    return answer


def _response(wanted: dict[str, dict[int, int]], outcome: list[LowWatermark]) -> DeleteRecordsResponse:
    remaining = iter(outcome)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic, partitions=[_result(index, next(remaining)) for index in in_turns(offsets)]
            )
            for topic, offsets in in_turns(wanted.items())
        ]
    )


def _result(index: int, reached: LowWatermark) -> DeleteRecordsPartitionResult:
    if isinstance(reached, BrokerError):
        return DeleteRecordsPartitionResult(
            partition_index=index, low_watermark=NO_LOW_WATERMARK, error_code=reached.code
        )
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=reached, error_code=ErrorCode.NONE)
