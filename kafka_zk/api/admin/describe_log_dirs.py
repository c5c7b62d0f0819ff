"""DescribeLogDirs (key 35, v0-4): this broker's log directories, their replicas and free space.

v4 bytes of the file system (KIP-827) · v3 a code of the whole request
Source      KafkaApis.handleDescribeLogDirsRequest, ReplicaManager.describeLogDirs, getLogEndOffsetLag.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS_REQUEST,
    DESCRIBE_LOG_DIRS_RESPONSE,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.hosted import HostedPartitions

NO_LAG_KNOWN = -1

log_lines = logging.getLogger("kafka.server.ReplicaManager")


@api(DESCRIBE_LOG_DIRS_REQUEST, DESCRIBE_LOG_DIRS_RESPONSE, errors=Form(code_counts_always=True))
def describe_log_dirs(request: DescribeLogDirsRequest, ctx: RequestContext) -> DescribeLogDirsResponse:
    """Blocks. Return the replicas and sizes in each log directory."""
    authorize(ctx, Operation.DESCRIBE, ResourceType.CLUSTER)
    log_manager = ctx.services.log_manager
    asked = None
    if request.topics is not None:
        here = {log.topic_partition for _, logs in log_manager.logs_by_directory() for log in logs}
        asked = {
            partition
            for topic in in_turns(request.topics)
            for index in in_turns(topic.partitions)
            if (partition := TopicPartition(topic.topic, index)) in here
        }
    described = [_directory(directory) for directory, _ in log_manager.logs_by_directory()]
    hosted = ctx.services.replica_manager.hosted
    # Taken at once: a log moved meanwhile would be in two directories, or in none.
    for result, (_, logs) in zip(described, log_manager.logs_by_directory(), strict=True):
        if result.error_code == ErrorCode.NONE:
            result.topics = _topics([log for log in logs if asked is None or log.topic_partition in asked], hosted)
    return DescribeLogDirsResponse(results=described)


def _directory(directory: LogDirectory) -> DescribeLogDirsResult:
    """Blocks. Describe it without its logs."""
    path = str(directory.path)
    if directory.is_offline:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=path)
    try:
        total_bytes, usable_bytes = directory.room()
    except OSError:
        log_lines.exception("Error while describing replica in dir %s", path)
        return DescribeLogDirsResult(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, log_dir=path)
    return DescribeLogDirsResult(log_dir=path, total_bytes=total_bytes, usable_bytes=usable_bytes)


def _topics(logs: Iterable[UnifiedLog], hosted: HostedPartitions) -> list[DescribeLogDirsTopic]:
    """Sorted by name and number, not by opening."""
    by_topic: dict[str, list[DescribeLogDirsPartition]] = {}
    for log in sorted(logs, key=lambda log: log.topic_partition):
        topic, index = log.topic_partition
        by_topic.setdefault(topic, []).append(
            DescribeLogDirsPartition(
                partition_index=index,
                partition_size=log.size_bytes,
                offset_lag=_lag(log, hosted),
                is_future_key=log.is_future,
            )
        )
    return [DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]


def _lag(log: UnifiedLog, hosted: HostedPartitions) -> int:
    """How many records this copy lacks compared with the partition here (if it is a future log) or its known end."""
    partition = hosted.find(*log.topic_partition)
    served = None if partition is None else partition.log
    if served is None:
        return NO_LAG_KNOWN
    if log.is_future:
        return served.log_end_offset - log.log_end_offset
    return max(served.high_watermark - log.log_end_offset, 0)
