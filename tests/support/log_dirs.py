"""Replicas between the log directories of a broker: a move asked for, held up, waited for; and where each copy lies."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import alter_replica_log_dirs, describe_configs, describe_log_dirs
from kafka_zk.protocol.messages import incremental_alter_configs as alter_configs
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER = 4
"""The type of a resource that has configs."""
SET, DELETE = 0, 1


class Copy(NamedTuple):
    """One log of a partition in one directory, as DescribeLogDirs tells of it."""

    directory: Path
    size_bytes: int
    lag_records: int
    is_future: bool


def move(client: RawClient, directory: Path | str, topic: str, *partitions: int) -> ErrorCode:
    """Ask the broker to move these partitions of a topic; the one code that all were answered with."""
    wanted = alter_replica_log_dirs.AlterReplicaLogDirTopic(name=topic, partitions=list(partitions or (0,)))
    request = alter_replica_log_dirs.AlterReplicaLogDirsRequest(
        dirs=[alter_replica_log_dirs.AlterReplicaLogDir(path=str(directory), topics=[wanted])]
    )
    answer = client.send(alter_replica_log_dirs.ALTER_REPLICA_LOG_DIRS_REQUEST, request, 2)
    (code,) = {partition.error_code for result in answer.results for partition in result.partitions}
    return ErrorCode(code)


def copies(client: RawClient, topic: str, partition: int = 0) -> list[Copy]:
    """Those of a partition: one, two while it moves, none."""
    asked = describe_log_dirs.DescribableLogDirTopic(topic=topic, partitions=[partition])
    request = describe_log_dirs.DescribeLogDirsRequest(topics=[asked])
    answer = client.send(describe_log_dirs.DESCRIBE_LOG_DIRS_REQUEST, request, 4)
    return [
        Copy(Path(result.log_dir), found.partition_size, found.offset_lag, found.is_future_key)
        for result in answer.results
        for each in result.topics
        for found in each.partitions
    ]


def counts(client: RawClient) -> dict[Path, int]:
    """How many logs are in each directory, those that are being moved there too."""
    request = describe_log_dirs.DescribeLogDirsRequest(topics=None)
    answer = client.send(describe_log_dirs.DESCRIBE_LOG_DIRS_REQUEST, request, 4)
    return {Path(result.log_dir): sum(len(topic.partitions) for topic in result.topics) for result in answer.results}


def home(client: RawClient, topic: str, partition: int = 0) -> Path:
    """The directory of a partition that is not being moved."""
    (only,) = copies(client, topic, partition)
    assert not only.is_future
    return only.directory


def wait_until_home(client: RawClient, directory: Path, topic: str, partition: int = 0) -> None:
    """Until the partition lies in this directory, and nowhere else."""

    def is_home() -> bool:
        found = copies(client, topic, partition)
        return [(copy.directory, copy.is_future) for copy in found] == [(directory, False)]

    wait_until(is_home, f"{topic}-{partition} lies in {directory}")


def future(client: RawClient, topic: str, partition: int = 0) -> Copy | None:
    """What a move has copied so far; None when there is no move."""
    return next((copy for copy in copies(client, topic, partition) if copy.is_future), None)


def wait_until_under_way(client: RawClient, topic: str, partition: int = 0) -> Copy:
    """Until a move that is held up has copied something, and not all."""

    def is_under_way() -> bool:
        found = future(client, topic, partition)
        return found is not None and found.size_bytes > 0

    wait_until(is_under_way, f"{topic}-{partition} is being moved")
    found = future(client, topic, partition)
    assert found is not None and found.lag_records > 0, found
    return found


def throttle(client: RawClient, broker_id: int, bytes_per_second: int | None) -> None:
    """What all moves of a broker together may copy; None is any rate. Returns when the broker knows it."""
    value = None if bytes_per_second is None else str(bytes_per_second)
    operation = DELETE if value is None else SET
    change = alter_configs.AlterableConfig(name=THROTTLE, config_operation=operation, value=value)
    resource = alter_configs.AlterConfigsResource(resource_type=BROKER, resource_name=str(broker_id), configs=[change])
    request = alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
    answer = client.send(alter_configs.INCREMENTAL_ALTER_CONFIGS_REQUEST, request, 1)
    assert answer.responses[0].error_code == 0, answer.responses[0]
    wait_until(lambda: _told_throttle(client, broker_id) == value, f"{THROTTLE} is {value}")


def _told_throttle(client: RawClient, broker_id: int) -> str | None:
    asked = describe_configs.DescribeConfigsResource(
        resource_type=BROKER, resource_name=str(broker_id), configuration_keys=[THROTTLE]
    )
    request = describe_configs.DescribeConfigsRequest(resources=[asked])
    answer = client.send(describe_configs.DESCRIBE_CONFIGS_REQUEST, request, 4)
    return next((config.value for result in answer.results for config in result.configs), None)
