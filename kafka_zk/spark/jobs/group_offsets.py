"""Commits a streaming query's offsets to a consumer group, for lag tools.

Role        Acts, on the driver. Only warns on failure: the query does not need them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.outcome import JobError

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
        wanted = {
            TopicPartition(topic, int(index)): offset
            for topic, partitions in offsets.items()
            for index, offset in partitions.items()
        }
        try:
            commit_offsets(properties, group, wanted)
        except JobError as error:
            # The query goes on from its checkpoint, and the next batch commits again.
            print(f"warning: {error}", file=sys.stderr)

    return commit
