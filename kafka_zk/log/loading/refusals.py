"""What in a log directory prevents a broker from starting and must be repaired by hand.

Role        Plain. Raised by the loader; the offline doctor runs the same checks before a start.
Source      LogManager.loadLogs, LocalLog.parseTopicPartitionName.
"""

from __future__ import annotations

from pathlib import Path

from kafka_zk.log.files import names
from kafka_zk.log.files.names import PartitionDir
from kafka_zk.protocol.types import TopicPartition


class InvalidLogDirectory(Exception):
    """A log directory holds something that must be put right by hand before the broker can start."""


def partition_of(path: Path) -> PartitionDir:
    """The partition that a directory inside a log directory holds. Raises InvalidLogDirectory."""
    parsed = names.parse_partition_dir(path.name)
    if parsed is None:
        raise InvalidLogDirectory(
            f"Found directory {path}, '{path.name}' is not in the form of topic-partition or "
            "topic-partition.uniqueId-delete (if marked for deletion).\n"
            "Kafka's log directories (and children) should only contain Kafka topic data."
        )
    return parsed


def second_directory(topic_partition: TopicPartition, first: Path, second: Path) -> InvalidLogDirectory:
    """The refusal of one partition in two directories."""
    return InvalidLogDirectory(
        f"Duplicate log directories for {topic_partition} are found in both {second} and {first}. "
        "It is likely because log directory failure happened while broker was replacing current replica with future "
        "replica. Recover broker from this failure by manually deleting one of the two directories for this partition. "
        "It is recommended to delete the partition in the log directory that is known to have failed recently."
    )
