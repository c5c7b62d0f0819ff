"""DescribeProducers (key 61, v0): the producers whose sequences this replica of a partition remembers.

Source      KafkaApis.handleDescribeProducersRequest, ReplicaManager.activeProducerState, UnifiedLog.activeProducers.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter

from kafka_zk.admin.topic_rules import check_name
from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import Each, Form, each_topic
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_partition
from kafka_zk.protocol.errors import (
    BrokerError,
    NotLeaderOrFollower,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.messages.describe_producers import (
    DESCRIBE_PRODUCERS_REQUEST,
    DESCRIBE_PRODUCERS_RESPONSE,
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)

ERRORS = Form(each_topic(Each("partition_indexes", "partitions", key="partition_index")))


@api(DESCRIBE_PRODUCERS_REQUEST, DESCRIBE_PRODUCERS_RESPONSE, errors=ERRORS)
def describe_producers(request: DescribeProducersRequest, ctx: RequestContext) -> DescribeProducersResponse:
    hosted = ctx.services.replica_manager.hosted
    fault_of = lru_cache(1)(lambda name: _fault_of(name, ctx))

    def act(topic: TopicRequest, index: int) -> PartitionResponse:
        if (fault := fault_of(topic.name)) is not None:
            raise fault.with_traceback(None)
        log = hosted.get(topic.name, index).log
        if log is None:
            raise NotLeaderOrFollower
        return PartitionResponse(
            partition_index=index,
            active_producers=[
                ProducerState(
                    producer_id=producer.producer_id,
                    producer_epoch=producer.producer_epoch,
                    last_sequence=producer.last_sequence,
                    last_timestamp=producer.last_timestamp,
                    coordinator_epoch=producer.coordinator_epoch,
                    current_txn_start_offset=producer.current_txn_first_offset,
                )
                for producer in log.active_producers()
            ],
        )

    def refuse(topic: TopicRequest, index: int, error: BrokerError) -> PartitionResponse:
        # Errors of a topic get a message, errors of a partition do not.
        words = str(error) if fault_of(topic.name) is not None else None
        return PartitionResponse(partition_index=index, error_code=error.code, error_message=words)

    def answer(name: str, partitions: list[PartitionResponse]) -> TopicResponse:
        return TopicResponse(name=name, partitions=partitions)

    return DescribeProducersResponse(
        topics=per_partition(request.topics, act, refuse, answer, partitions_of=attrgetter("partition_indexes"))
    )


def _fault_of(name: str, ctx: RequestContext) -> BrokerError | None:
    try:
        check_name(name)
    except BrokerError as error:
        return error
    if not ctx.may(Operation.READ, ResourceType.TOPIC, name):
        return TopicAuthorizationFailed()
    if ctx.services.metadata_cache.topic(name) is None:
        return UnknownTopicOrPartition()
    return None
