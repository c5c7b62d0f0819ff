"""Orders a response's partitions as Kafka does: those refused by the API layer first, then the others.

Invariants  Each refused line of the request has one in the answer, duplicates too. What is passed to the coordinator
            is a map: a partition named twice is handled, and answered, once; the last line counts.
            These partitions exist when `sort_out` returns: until the caller switches none can be deleted.
Source      The builders of OffsetCommitResponse and OffsetDeleteResponse: addPartition, merge.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import give_way, in_turns, let_go
from kafka_zk.metadata.snapshot import Snapshot
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

Lines = dict[str, list[tuple[int, ErrorCode]]]
"""Partitions and their codes by topic, in the order in which the topics first appear."""


ELEMENTS_PER_LOOK: Final = 15
"""Yield to other greenlets after each sixteenth topic or partition of a request."""


class WantedPartition(Protocol):
    """One partition of a request."""

    partition_index: int


P = TypeVar("P", bound=WantedPartition)


class WantedTopic(Protocol[P]):
    """One topic of a request."""

    name: str
    partitions: list[P]


L = TypeVar("L")
T = TypeVar("T")


def sort_out(topics: Sequence[WantedTopic[P]], ctx: RequestContext) -> tuple[Lines, dict[TopicPartition, P]]:
    """Yields to other greenlets. The refused partitions (no READ on the topic, not in the metadata), and the others."""
    refused: Lines = {}
    accepted: dict[TopicPartition, P] = {}
    cache = ctx.services.metadata_cache
    before = cache.snapshot
    count = 0
    for topic in topics:
        name, partitions = topic.name, topic.partitions
        count += 1
        if count & ELEMENTS_PER_LOOK == 0:
            give_way()
        refusal = ErrorCode.NONE
        if not ctx.may(Operation.READ, ResourceType.TOPIC, name):
            refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif cache.topic(name) is None:
            refusal = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if refusal is not ErrorCode.NONE:
            lines = refused.setdefault(name, [])
            for wanted in partitions:
                lines.append((wanted.partition_index, refusal))
                count += 1
                if count & ELEMENTS_PER_LOOK == 0:
                    give_way()
            continue
        for wanted in partitions:
            count += 1
            if count & ELEMENTS_PER_LOOK == 0:
                give_way()
            partition = TopicPartition(name, wanted.partition_index)
            if cache.partition(*partition) is None:
                refused.setdefault(name, []).append((partition.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                accepted[partition] = wanted
    if cache.snapshot is not before:
        _refuse_what_went(before, cache.snapshot, accepted, refused)
    return refused, accepted


def _refuse_what_went(before: Snapshot, now: Snapshot, accepted: dict[TopicPartition, P], refused: Lines) -> None:
    """Does not switch. Refuse partitions deleted while other greenlets ran, recreated or not."""
    for partition in list(accepted):
        name, index = partition
        known, found = before.topics.get(name), now.topics.get(name)
        if found is known and found is not None:
            continue
        if known is None or found is None or found.topic_id != known.topic_id or index not in found.partitions:
            del accepted[partition]
            refused.setdefault(name, []).append((index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


def answered(
    refused: Lines,
    codes: Mapping[TopicPartition, ErrorCode],
    topic: Callable[[str, list[L]], T],
    line: Callable[[int, ErrorCode], L],
    *,
    gives_way: bool = False,
) -> list[T]:
    """The topics of the answer: what was refused, then `codes`. Yields to other greenlets, and consumes `refused`, if
    `gives_way`.
    """
    lines = refused
    if codes:
        lines = {name: list(found) for name, found in refused.items()}
        for (name, index), code in codes.items():
            lines.setdefault(name, []).append((index, code))
    if gives_way:
        topics = [
            topic(name, [line(index, code) for index, code in in_turns(found)])
            for name, found in in_turns(lines.items())
        ]
        let_go(lines)
        return topics
    return [topic(name, [line(index, code) for index, code in found]) for name, found in lines.items()]
