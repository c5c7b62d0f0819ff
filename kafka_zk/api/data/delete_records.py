"""DeleteRecords (key 21, v0-2): move log start offsets forward, and wait until every live replica has.

Source      Kafka 3.9 KafkaApis.handleDeleteRecordsRequest, ReplicaManager.deleteRecords.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.api.registry import api
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


@api(DELETE_RECORDS_REQUEST, DELETE_RECORDS_RESPONSE)
def delete_records(request: DeleteRecordsRequest, ctx: RequestContext) -> Pending[DeleteRecordsResponse]:
    cache = ctx.services.metadata_cache
    # A topic that is named twice is answered once, and so is a partition: its last offset counts.
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            wanted.setdefault(topic.name, {})[partition.partition_index] = partition.offset
    asked = [(topic, index, offset) for topic, offsets in wanted.items() for index, offset in offsets.items()]
    outcome: list[LowWatermark] = []
    allowed: list[tuple[int, tuple[str, int, int]]] = []
    for position, entry in enumerate(asked):
        if not ctx.may(Operation.DELETE, ResourceType.TOPIC, entry[0]):
            outcome.append(TopicAuthorizationFailed())
        elif cache.partition(entry[0], entry[1]) is None:
            outcome.append(UnknownTopicOrPartition())
        else:
            outcome.append(NO_LOW_WATERMARK)
            allowed.append((position, entry))
    answer: Pending[DeleteRecordsResponse] = Pending()

    def finish(done: Pending[list[LowWatermark]]) -> None:
        for (position, _), reached in zip(allowed, done.value, strict=True):
            outcome[position] = reached
        answer.complete(_response(wanted, outcome))

    deleted = ctx.services.replica_manager.delete_records(
        [entry for _, entry in allowed], timeout_ms=request.timeout_ms
    )
    deleted.on_complete(finish)
    answer.when_left(deleted.leave)
    return answer


def _response(wanted: dict[str, dict[int, int]], outcome: list[LowWatermark]) -> DeleteRecordsResponse:
    remaining = iter(outcome)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name=topic, partitions=[_result(index, next(remaining)) for index in offsets])
            for topic, offsets in wanted.items()
        ]
    )


def _result(index: int, reached: LowWatermark) -> DeleteRecordsPartitionResult:
    if isinstance(reached, BrokerError):
        return DeleteRecordsPartitionResult(
            partition_index=index, low_watermark=NO_LOW_WATERMARK, error_code=reached.code
        )
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=reached, error_code=ErrorCode.NONE)
