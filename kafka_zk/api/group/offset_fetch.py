"""OffsetFetch (key 9, v0-9): from where a group goes on reading.

v0 from ZooKeeper · v2 all partitions of a group, and a code for the whole · v5 leader epoch · v7 only stable offsets
v8 several groups
Source      KafkaApis.handleOffsetFetchRequest, OffsetFetchRequest.groups, OffsetFetchResponse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.api.group import zookeeper_offsets
from kafka_zk.api.registry import api
from kafka_zk.api.walk import once_each
from kafka_zk.coordinator.group.decisions.offsets import NO_LEADER_EPOCH
from kafka_zk.coordinator.group.offset_store import FetchedOffset
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.offset_fetch import (
    OFFSET_FETCH_REQUEST,
    OFFSET_FETCH_RESPONSE,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafka_zk.protocol.types import TopicPartition

GROUP_ERROR_FROM = 2
SEVERAL_GROUPS_FROM = 8

NO_OFFSET = -1

PARTITIONS_AT_ONCE = 2_000
"""Looked up in a millisecond or two."""


class _Line(NamedTuple):
    """One partition of an answer."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    committed_offset: int = NO_OFFSET
    committed_leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""


class _Wanted(NamedTuple):
    """One group of a request; `topics` None asks for all that it committed."""

    group_id: str
    topics: list[tuple[str, list[int]]] | None


class _Answer(NamedTuple):
    group_id: str
    error: ErrorCode
    topics: list[tuple[str, list[_Line]]]


@api(OFFSET_FETCH_REQUEST, OFFSET_FETCH_RESPONSE)
def offset_fetch(request: OffsetFetchRequest, ctx: RequestContext) -> OffsetFetchResponse:
    """Blocks in turns, in version 0 also for ZooKeeper. Groups that ask for the same get one answer, as often."""

    def fetch(wanted: _Wanted) -> _Answer:
        return _fetch(wanted, request.require_stable, ctx)

    if ctx.api_version >= SEVERAL_GROUPS_FROM:
        answer_to = once_each(_key, lambda wanted: _group(fetch(wanted)))
        return OffsetFetchResponse(groups=[answer_to(wanted) for wanted in in_turns(_wanted(request, ctx.api_version))])
    answer = fetch(next(_wanted(request, ctx.api_version)))
    return OffsetFetchResponse(
        error_code=answer.error,
        topics=[
            OffsetFetchResponseTopic(
                name=name, partitions=[OffsetFetchResponsePartition(**line._asdict()) for line in in_turns(lines)]
            )
            for name, lines in in_turns(answer.topics)
        ],
    )


def _key(wanted: _Wanted) -> Hashable:
    topics = wanted.topics
    return wanted.group_id, None if topics is None else tuple((name, tuple(indexes)) for name, indexes in topics)


def _group(answer: _Answer) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(
        group_id=answer.group_id,
        error_code=answer.error,
        topics=[
            OffsetFetchResponseTopics(
                name=name, partitions=[OffsetFetchResponsePartitions(**line._asdict()) for line in in_turns(lines)]
            )
            for name, lines in in_turns(answer.topics)
        ],
    )


def _wanted(request: OffsetFetchRequest, api_version: int) -> Iterator[_Wanted]:
    if api_version >= SEVERAL_GROUPS_FROM:
        for group in request.groups:
            topics = group.topics
            yield _Wanted(
                group.group_id,
                None if topics is None else _once((topic.name, topic.partition_indexes) for topic in topics),
            )
    else:
        single = request.topics
        yield _Wanted(
            request.group_id,
            None if single is None else _once((topic.name, topic.partition_indexes) for topic in single),
        )


def _once(topics: Iterable[tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """Each partition is answered once, however often it is asked for; of a topic without any nothing is said."""
    wanted: dict[str, dict[int, None]] = {}
    for name, indexes in in_turns(topics):
        if indexes:
            wanted.setdefault(name, {}).update(dict.fromkeys(indexes))
    return [(name, list(indexes)) for name, indexes in wanted.items()]


def _fetch(wanted: _Wanted, require_stable: bool, ctx: RequestContext) -> _Answer:
    if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, wanted.group_id):
        return _failed(wanted, ErrorCode.GROUP_AUTHORIZATION_FAILED, ctx)
    if ctx.api_version == 0:
        return _answer(wanted, lambda partition: _from_zookeeper(wanted.group_id, partition, ctx), ctx)
    partitions = None
    if wanted.topics is not None:
        partitions = [TopicPartition(name, index) for name, indexes in wanted.topics for index in in_turns(indexes)]
    error, found = _fetch_some(wanted.group_id, partitions, require_stable, ctx)
    if error is not ErrorCode.NONE:
        return _failed(wanted, error, ctx)
    lines = {}
    for partition, (code, value) in in_turns(found.items()):
        if value is None:
            lines[partition] = _Line(partition.partition, code)
        else:
            lines[partition] = _Line(partition.partition, code, value.offset, value.leader_epoch, value.metadata)
    if wanted.topics is None:
        wanted = _Wanted(wanted.group_id, _by_topic(lines, ctx))
    return _answer(wanted, lines.__getitem__, ctx)


def _fetch_some(
    group_id: str, partitions: list[TopicPartition] | None, require_stable: bool, ctx: RequestContext
) -> tuple[ErrorCode, dict[TopicPartition, FetchedOffset]]:
    """Blocks in turns. What stands at one moment, for up to PARTITIONS_AT_ONCE of them."""
    fetch = ctx.services.group_coordinator.fetch_offsets
    if partitions is None or len(partitions) <= PARTITIONS_AT_ONCE:
        return fetch(group_id, partitions, require_stable=require_stable)
    found: dict[TopicPartition, FetchedOffset] = {}
    for first in in_turns(range(0, len(partitions), PARTITIONS_AT_ONCE)):
        error, some = fetch(group_id, partitions[first : first + PARTITIONS_AT_ONCE], require_stable=require_stable)
        if error is not ErrorCode.NONE:
            return error, {}
        found |= some
    return ErrorCode.NONE, found


def _by_topic(lines: dict[TopicPartition, _Line], ctx: RequestContext) -> list[tuple[str, list[int]]]:
    """All that was found, but for topics that the client must not know of."""
    topics: dict[str, list[int]] = {}
    for name, index in in_turns(lines):
        topics.setdefault(name, []).append(index)
    return [
        (name, indexes) for name, indexes in topics.items() if ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name)
    ]


def _answer(wanted: _Wanted, line_of: Callable[[TopicPartition], _Line], ctx: RequestContext) -> _Answer:
    topics = []
    for name, indexes in in_turns(wanted.topics or ()):
        if ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name):
            lines = [line_of(TopicPartition(name, index)) for index in in_turns(indexes)]
        else:
            lines = [_Line(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for index in in_turns(indexes)]
        topics.append((name, lines))
    return _Answer(wanted.group_id, ErrorCode.NONE, topics)


def _failed(wanted: _Wanted, error: ErrorCode, ctx: RequestContext) -> _Answer:
    """The whole group failed: old versions have no place for that but the partitions."""
    if ctx.api_version >= GROUP_ERROR_FROM:
        return _Answer(wanted.group_id, error, [])
    topics = [
        (name, [_Line(index, error) for index in in_turns(indexes)]) for name, indexes in in_turns(wanted.topics or ())
    ]
    return _Answer(wanted.group_id, ErrorCode.NONE, topics)


def _from_zookeeper(group_id: str, partition: TopicPartition, ctx: RequestContext) -> _Line:
    unknown = _Line(partition.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if ctx.services.metadata_cache.partition(*partition) is None:
        return unknown
    try:
        offset = zookeeper_offsets.fetch(group_id, partition, ctx)
    except BrokerError as error:
        return _Line(partition.partition, error.code)
    return unknown if offset is None else _Line(partition.partition, committed_offset=offset)
