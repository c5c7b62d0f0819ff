"""Copies whose records stand in the target in the source's order: where to go on, and which offset became which.

Role        Pure.
Rule        Within a partition, records are written in the order of their source offsets, by one writer, and nobody else
            writes there. So the number of records that a copy has written is the target's end offset less the end
            offset before it began, and a copy that was cut off goes on behind exactly that many.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.outcome import JobError


class Span(NamedTuple):
    """`record_count` records whose offsets follow each other in both: source_offset + n became target_offset + n."""

    source_offset: int
    target_offset: int
    record_count: int


class Resume(NamedTuple):
    """Where a partition's copy began in the target, and how many of its records are there already."""

    first_target_offset: int
    written: int


def encode_base(ends: Mapping[TopicPartition, int]) -> str:
    """The target's end offsets before a copy begins, as they are noted."""
    return json.dumps([[each.topic, each.partition, offset] for each, offset in sorted(ends.items())])


def decode_base(text: str) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, index): offset for topic, index, offset in json.loads(text)}


def renamed_partitions(
    partitions: Iterable[TopicPartition], rename: Mapping[str, str]
) -> dict[TopicPartition, TopicPartition]:
    """Where each partition is copied to. Raises JobError where two would come to the same place."""
    found: dict[TopicPartition, TopicPartition] = {}
    sources: dict[str, str] = {}
    for each in partitions:
        name = rename.get(each.topic, each.topic)
        if sources.setdefault(name, each.topic) != each.topic:
            raise JobError(f"topics {sources[name]} and {each.topic} cannot both be copied to {name}")
        found[each] = TopicPartition(name, each.partition)
    return found


def resume(base: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, Resume]:
    """For the partitions of `ends`. Raises JobError where one has less than when it began, or had no part in it."""
    found: dict[TopicPartition, Resume] = {}
    for each in ends:
        if each not in base:
            raise JobError(f"{each} had no part in the copy of this checkpoint; choose another checkpoint for it")
        first = base[each]
        written = ends[each] - first
        if written < 0:
            raise JobError(
                f"{each} ends at offset {ends[each]}, below {first} where this copy began: was the topic made anew?"
            )
        found[each] = Resume(first, written)
    return found


def spans(source_offsets: Iterable[int], first_target_offset: int) -> Iterator[Span]:
    """The records of one partition, in order, written from `first_target_offset` on without a gap."""
    start, count, target = -1, 0, first_target_offset
    for offset in source_offsets:
        if count and offset == start + count:
            count += 1
            continue
        if count:
            yield Span(start, target, count)
            target += count
        start, count = offset, 1
    if count:
        yield Span(start, target, count)


def translate(committed: int, table: Sequence[Span]) -> int | None:
    """The target offset at which a group that would read `committed` next goes on; None without any span.

    In a hole or behind the last record it is the end of what lies before: never a record is passed over. Below the
    first record it is the first. `table` is in order.
    """
    if not table:
        return None
    index = bisect_right([span.source_offset for span in table], committed) - 1
    if index < 0:
        return table[0].target_offset
    span = table[index]
    return span.target_offset + min(committed - span.source_offset, span.record_count)
