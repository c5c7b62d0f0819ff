"""Orders a response's partitions as Kafka does: those refused by the API layer first, then the others.

Invariants  Each line of the request that is refused has one in the answer, doubles too. What goes on to the coordinator
            is a map: a partition that is named twice is done, and answered, once; the last line counts.
            What goes on is there when `sort_out` returns: until the caller switches nothing of it can be deleted.
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
"""After each sixteenth topic or partition of a request others may have a turn."""


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
    """Blocks in turns. The refused partitions (no READ on the topic, not in the metadata), and the others."""
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
    """Does not switch. Refuse what was deleted while others had their turns, whether it was recreated or not."""
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
    """The topics of the answer: what was refused, then `codes`. Blocks in turns, and uses `refused` up, if it is to
    give way.
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
