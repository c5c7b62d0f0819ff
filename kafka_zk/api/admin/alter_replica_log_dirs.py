"""AlterReplicaLogDirs (key 34, v0-2): move replicas of this broker to other log directories.

Answered once the moves have started; DescribeLogDirs shows their progress.
Source      KafkaApis.handleAlterReplicaLogDirsRequest, ReplicaManager.alterReplicaLogDirs; KIP-113.
"""

from __future__ import annotations

from kafka_zk.api.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import BrokerError, ErrorCode, NotLeaderOrFollower, error_code_for
from kafka_zk.protocol.messages.alter_replica_log_dirs import (
    ALTER_REPLICA_LOG_DIRS_REQUEST,
    ALTER_REPLICA_LOG_DIRS_RESPONSE,
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafka_zk.protocol.types import TopicPartition

ERRORS = Form(
    (
        Each(
            "dirs.topics",
            "results",
            copied={"topic_name": "name"},
            inner=(Each("partitions", "partitions", key="partition_index"),),
        ),
    )
)


@api(ALTER_REPLICA_LOG_DIRS_REQUEST, ALTER_REPLICA_LOG_DIRS_RESPONSE, errors=ERRORS)
def alter_replica_log_dirs(request: AlterReplicaLogDirsRequest, ctx: RequestContext) -> AlterReplicaLogDirsResponse:
    """Blocks. If a partition is given two directories, the last one counts."""
    may = ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    wanted = {
        TopicPartition(topic.name, index): each.path
        for each in in_turns(request.dirs)
        for topic in in_turns(each.topics)
        for index in in_turns(topic.partitions)
    }
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for partition, path in in_turns(wanted.items()):
        code = _moved(partition, path, ctx) if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        lines = results.setdefault(partition.topic, [])
        lines.append(AlterReplicaLogDirPartitionResult(partition_index=partition.partition, error_code=code))
    return AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(topic_name=name, partitions=lines) for name, lines in results.items()]
    )


def _moved(partition: TopicPartition, path: str, ctx: RequestContext) -> ErrorCode:
    """Blocks. Start the move of one replica; returns its error code."""
    try:
        ctx.services.replica_manager.moves.move(partition, path)
    except NotLeaderOrFollower:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    except BrokerError as error:
        return error_code_for(error)
    return ErrorCode.NONE
