"""StopReplica (key 5, v0-4): stop following or leading partitions, and delete their logs if requested.

Source      Kafka 3.9 KafkaApis.handleStopReplicaRequest, StopReplicaRequest.partitionStates.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_zk.api.charge import Charge
from kafka_zk.api.cluster.control_request import check_control_request
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import StaleBrokerEpoch, StaleControllerEpoch
from kafka_zk.protocol.messages.stop_replica import (
    STOP_REPLICA_REQUEST,
    STOP_REPLICA_RESPONSE,
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.control_requests import ReplicaStop
from kafka_zk.replication.leadership import NO_EPOCH

ERRORS = Form(
    (
        Each("ungrouped_partitions", "partition_errors"),
        Each("topics.partition_indexes", "partition_errors", key="partition_index", copied={"topic_name": "name"}),
        Each("topic_states.partition_states", "partition_errors"),
    )
)


@api(STOP_REPLICA_REQUEST, STOP_REPLICA_RESPONSE, errors=ERRORS, charge=Charge.EXEMPT)
def stop_replica(request: StopReplicaRequest, ctx: RequestContext) -> StopReplicaResponse:
    """Blocks while fetchers stop and logs are renamed."""
    try:
        check_control_request(ctx, request.broker_epoch)
        codes = ctx.services.replica_manager.stop_replicas(
            list(_stops(request)),
            controller_epoch=request.controller_epoch,
            controller_id=request.controller_id,
        )
    except (StaleBrokerEpoch, StaleControllerEpoch) as error:
        # The whole request is refused; unlike other failures, this one does not name the partitions.
        return StopReplicaResponse(error_code=error.code)
    return StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(
                topic_name=topic_partition.topic, partition_index=topic_partition.partition, error_code=code
            )
            for topic_partition, code in in_turns(codes)
        ]
    )


def _stops(request: StopReplicaRequest) -> Iterator[ReplicaStop]:
    """Yields to other greenlets. The partitions, in the version's layout (of three)."""
    for state_topic in in_turns(request.topic_states):
        for state in in_turns(state_topic.partition_states):
            topic_partition = TopicPartition(state_topic.topic_name, state.partition_index)
            yield ReplicaStop(topic_partition, state.leader_epoch, state.delete_partition)
    for topic in in_turns(request.topics):
        for index in in_turns(topic.partition_indexes):
            yield ReplicaStop(TopicPartition(topic.name, index), NO_EPOCH, request.delete_partitions)
    for one in in_turns(request.ungrouped_partitions):
        yield ReplicaStop(TopicPartition(one.topic_name, one.partition_index), NO_EPOCH, request.delete_partitions)
