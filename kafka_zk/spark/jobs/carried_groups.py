"""Translates a consumer group's committed offsets from a mirror's source to its target.

Guarantee   No record is skipped, and a group that is further ahead in the target is never moved back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.cluster import Offsets, commit_offsets, committed_offsets, end_offsets, partition_counts
from kafka_zk.spark.jobs.copy_plan import Span, translate
from kafka_zk.spark.jobs.file_store import FileStore, as_plain_name
from kafka_zk.spark.jobs.ordered_copy import SPANS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = f"{SPANS}, target_topic STRING"
"""A mirror's columns: with the target topic of these spans, as `rename` may change between two runs."""
Table = Mapping[TopicPartition, Sequence[Span]]


def carry_group(
    source: Mapping[str, str], target: Mapping[str, str], rename: Mapping[str, str], group: str, table: Table
) -> int:
    """Blocks. Translate and commit one group's offsets; returns in how many partitions. Raises JobError."""
    topics = {each.topic: rename.get(each.topic, each.topic) for each in table}
    counts = partition_counts(target, topics.values())
    committed = {
        each: offset
        for each, offset in committed_offsets(source, group).items()
        if each.topic in topics and each.partition < counts.get(topics[each.topic], 0)
    }
    places = {each: TopicPartition(topics[each.topic], each.partition) for each in committed}
    # Nothing was ever copied of these: what will be goes after the end.
    ends = end_offsets(target, [places[each] for each in committed if each not in table])
    reached = committed_offsets(target, group)
    forward: Offsets = {}
    for each, to in places.items():
        translated = translate(committed[each], table.get(each, ()))
        offset = ends[to] if translated is None else translated
        if offset > reached.get(to, -1):
            forward[to] = offset
    if forward:
        commit_offsets(target, group, forward)
    return len(forward)


def read_table(session: SparkSession, offsets_path: str, rename: Mapping[str, str]) -> dict[TopicPartition, list[Span]]:
    """The translation table of the topics that are copied to by now, in order. On the driver: runs, not records."""
    if not FileStore(session, offsets_path).exists():
        return {}
    table = session.read.schema(f"{TABLE}, batch BIGINT").parquet(as_plain_name(offsets_path))
    return spans_to(table.orderBy("topic", "partition", "source_offset").collect(), rename)


def spans_to(rows: Iterable[Sequence[Any]], rename: Mapping[str, str]) -> dict[TopicPartition, list[Span]]:
    """The ordered rows of the topic that `rename` names; rows of earlier versions fit any."""
    found: dict[TopicPartition, list[Span]] = defaultdict(list)
    for topic, index, source_offset, target_offset, count, to, *_ in rows:
        if to is None or to == rename.get(topic, topic):
            found[TopicPartition(topic, index)].append(Span(source_offset, target_offset, count))
    return dict(found)
