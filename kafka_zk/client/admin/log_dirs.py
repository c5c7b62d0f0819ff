"""Describes brokers' log directories over the wire.

Role        Acts, through `Calls`. Each broker describes its own directories.
Source      KafkaAdminClient.describeLogDirs; LogDirDescription, ReplicaInfo.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS_REQUEST,
    DESCRIBE_LOG_DIRS_RESPONSE,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kafka_zk.protocol.types import TopicPartition


class ReplicaInfo(NamedTuple):
    """A replica in a log directory; `is_future` while it is being moved there. `offset_lag` in records."""

    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """A log directory. Bytes are None if the broker is too old to report them, or could not."""

    error: BrokerError | None
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None


def describe_log_dirs(calls: Calls, broker_ids: Collection[int]) -> dict[int, dict[str, LogDirDescription]]:
    """Blocks. By broker and path. Raises the first broker's error: TimeoutException ..."""

    def build(_: int) -> DescribeLogDirsRequest:
        return DescribeLogDirsRequest(topics=None)

    def check(answer: DescribeLogDirsResponse) -> None:
        if not answer.results:
            # Before version 3 an empty response was the only error indication.
            raise_for(answer.error_code or ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)

    call = Call("describeLogDirs", DESCRIBE_LOG_DIRS_REQUEST, DESCRIBE_LOG_DIRS_RESPONSE, build, check)
    return {
        broker_id: {result.log_dir: _description(result) for result in calls.to_node(broker_id, call).results}
        for broker_id in broker_ids
    }


def _description(result: DescribeLogDirsResult) -> LogDirDescription:
    return LogDirDescription(
        None if result.error_code == ErrorCode.NONE else error_class_for(result.error_code)(),
        {
            TopicPartition(topic.name, each.partition_index): ReplicaInfo(
                each.partition_size, each.offset_lag, each.is_future_key
            )
            for topic in result.topics
            for each in topic.partitions
        },
        *(None if size < 0 else size for size in (result.total_bytes, result.usable_bytes)),
    )
