"""Sequential notifications to the controller: ISR changes and failed log directories.

Role        Pure.
Source      kafka.zk.IsrChangeNotificationSequenceZNode, LogDirEventNotificationSequenceZNode.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents
from kafka_zk.zk.znodes.admin import partition_list, partitions_of

LOG_DIR_FAILURE = 1


class IsrChangeNotificationZNode:
    """/isr_change_notification: leaders with an inter-broker protocol before 2.7 report here."""

    PATH = "/isr_change_notification"
    PREFIX = f"{PATH}/isr_change_"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        return documents.write({"version": 1, "partitions": partition_list(partitions)})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> list[TopicPartition]:
        """Raises MalformedZNode."""
        return documents.read(data, IsrChangeNotificationZNode.PATH, partitions_of)


class LogDirEventNotificationZNode:
    """/log_dir_event_notification: a broker reports that one of its log directories has failed."""

    PATH = "/log_dir_event_notification"
    PREFIX = f"{PATH}/log_dir_event_"

    @staticmethod
    def encode(broker_id: int) -> bytes:
        return documents.write({"version": 1, "broker": broker_id, "event": LOG_DIR_FAILURE})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> int:
        """The broker's id. Raises MalformedZNode."""

        def build(document: dict[str, Any]) -> int:
            return documents.integer(document["broker"])

        return documents.read(data, LogDirEventNotificationZNode.PATH, build)
