"""The partition counts of an archive's topics, since files do not show empty partitions.

Role        Notes them beside the files, as `_topics.json`, which Spark's readers skip.
Invariants  A count never goes down, a topic is never forgotten: the archive still holds its records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.cluster import cluster_properties, partition_counts, topic_names
from kafka_zk.spark.sources.subscription import Subscription

if TYPE_CHECKING:
    from kafka_zk.spark.jobs.file_store import FileStore
    from kafka_zk.spark.settings.declaration import Settings

FILE = "_topics.json"


def note_topics(store: FileStore, settings: Settings) -> None:
    """Blocks. Note the cluster's current counts of the archived topics; missing topics are skipped."""
    properties = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
    wanted = settings.texts("topics")
    if not wanted:
        subscription = Subscription(pattern=settings.text("topics-pattern"))
        wanted = [name for name in topic_names(properties) if subscription.matches(name)]
    known = noted_topics(store)
    together = grown(known, partition_counts(properties, wanted))
    if together != known:
        store.write(FILE, json.dumps(together, sort_keys=True))


def noted_topics(store: FileStore) -> dict[str, int]:
    """Partitions by topic; empty for an archive that was made without notes."""
    return {str(topic): int(count) for topic, count in json.loads(store.read(FILE) or "{}").items()}


def grown(known: Mapping[str, int], found: Mapping[str, int]) -> dict[str, int]:
    """Both merged, with the larger count of each topic."""
    return {topic: max(known.get(topic, 0), found.get(topic, 0)) for topic in {**known, **found}}
