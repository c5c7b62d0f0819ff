"""Commits a streaming query's offsets to a consumer group, for lag tools.

Role        Acts, on the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_zk.protocol.types import TopicPartition

if TYPE_CHECKING:
    from kafka_zk.spark.jobs.streams import CommitOffsets
    from kafka_zk.spark.settings.declaration import Settings


def committer(settings: Settings) -> CommitOffsets | None:
    """The committer for the group in the settings; None without one."""
    group = settings.text("group")
    if not group:
        return None
    from kafka_zk.spark.jobs.cluster import cluster_properties, commit_offsets

    properties = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))

    def commit(offsets: Mapping[str, Mapping[str, int]]) -> None:
        commit_offsets(
            properties,
            group,
            {
                TopicPartition(topic, int(index)): offset
                for topic, partitions in offsets.items()
                for index, offset in partitions.items()
            },
        )

    return commit
