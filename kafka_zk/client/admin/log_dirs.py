"""Describes brokers' log directories, and moves replicas between them, over the wire.

Role        Acts, through `Calls`. Each broker describes its own directories, and moves its own replicas.
Source      KafkaAdminClient.describeLogDirs, describeReplicaLogDirs, alterReplicaLogDirs; LogDirDescription,
            ReplicaInfo, ReplicaLogDirInfo, TopicPartitionReplica.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_class_for
from kafka_zk.protocol.messages import alter_replica_log_dirs as altering
from kafka_zk.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS_REQUEST,
    DESCRIBE_LOG_DIRS_RESPONSE,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kafka_zk.protocol.types import TopicPartition


class Replica(NamedTuple):
    """The replica of a partition on one broker."""

    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker_id}"


class ReplicaDirectories(NamedTuple):
    """Where a replica is, and where it is being moved to; None where it is in no directory that works."""

    current: str | None = None
    future: str | None = None


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
    call = _describing("describeLogDirs", None)
    return {
        broker_id: {result.log_dir: _description(result) for result in calls.to_node(broker_id, call).results}
        for broker_id in broker_ids
    }


def describe_replica_log_dirs(calls: Calls, replicas: Collection[Replica]) -> dict[Replica, ReplicaDirectories]:
    """Blocks. The directories of each replica. Raises the first broker's error: TimeoutException ..."""
    found = dict.fromkeys(replicas, ReplicaDirectories())
    for broker_id in dict.fromkeys(replica.broker_id for replica in replicas):
        by_topic: dict[str, list[int]] = {}
        for replica in replicas:
            if replica.broker_id == broker_id:
                by_topic.setdefault(replica.topic, []).append(replica.partition)
        wanted = [DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()]
        answer = calls.to_node(broker_id, _describing("describeReplicaLogDirs", wanted))
        for replica, path, is_future in _places(broker_id, answer):
            if replica in found:
                change = {"future" if is_future else "current": path}
                found[replica] = found[replica]._replace(**change)
    return found


def _places(broker_id: int, answer: DescribeLogDirsResponse) -> Iterable[tuple[Replica, str, bool]]:
    for result in answer.results:
        for topic in result.topics:
            for each in topic.partitions:
                yield Replica(topic.name, each.partition_index, broker_id), result.log_dir, each.is_future_key


def alter_replica_log_dirs(
    calls: Calls, wanted: Mapping[Replica, str]
) -> dict[Replica, BrokerError | KafkaException | None]:
    """Blocks. Begin moving replicas to these directories of their brokers.

    Returns None or an error for each: LogDirNotFound, ReplicaNotAvailable; TimeoutException for a whole broker ...
    """
    outcomes: dict[Replica, BrokerError | KafkaException | None] = dict.fromkeys(wanted)
    for broker_id in dict.fromkeys(replica.broker_id for replica in wanted):
        mine = [replica for replica in wanted if replica.broker_id == broker_id]
        try:
            answer = calls.to_node(broker_id, _altering({replica: wanted[replica] for replica in mine}))
        except (BrokerError, KafkaException) as error:
            outcomes.update(dict.fromkeys(mine, error))
            continue
        for topic in answer.results:
            for each in topic.partitions:
                if each.error_code != ErrorCode.NONE:
                    replica = Replica(topic.topic_name, each.partition_index, broker_id)
                    outcomes[replica] = error_class_for(each.error_code)()
    return outcomes


def _altering(
    wanted: Mapping[Replica, str],
) -> Call[altering.AlterReplicaLogDirsRequest, altering.AlterReplicaLogDirsResponse]:
    def build(_: int) -> altering.AlterReplicaLogDirsRequest:
        by_path: dict[str, dict[str, list[int]]] = {}
        for replica, path in wanted.items():
            by_path.setdefault(path, {}).setdefault(replica.topic, []).append(replica.partition)
        return altering.AlterReplicaLogDirsRequest(
            dirs=[
                altering.AlterReplicaLogDir(
                    path=path,
                    topics=[
                        altering.AlterReplicaLogDirTopic(name=name, partitions=indexes)
                        for name, indexes in topics.items()
                    ],
                )
                for path, topics in by_path.items()
            ]
        )

    request, response = altering.ALTER_REPLICA_LOG_DIRS_REQUEST, altering.ALTER_REPLICA_LOG_DIRS_RESPONSE
    return Call("alterReplicaLogDirs", request, response, build)


def _describing(
    name: str, topics: list[DescribableLogDirTopic] | None
) -> Call[DescribeLogDirsRequest, DescribeLogDirsResponse]:
    def build(_: int) -> DescribeLogDirsRequest:
        return DescribeLogDirsRequest(topics=topics)

    def check(answer: DescribeLogDirsResponse) -> None:
        if not answer.results:
            # Before version 3 an empty response was the only error indication.
            raise_for(answer.error_code or ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)

    return Call(name, DESCRIBE_LOG_DIRS_REQUEST, DESCRIBE_LOG_DIRS_RESPONSE, build, check)


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
