"""OffsetFetch (key 9, v0-9): the committed offsets of a group.

v0 from ZooKeeper · v2 all partitions of a group, and a code for the whole · v5 leader epoch · v7 only stable offsets
v8 several groups
Source      KafkaApis.handleOffsetFetchRequest, OffsetFetchRequest.groups, OffsetFetchResponse.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.group import zookeeper_offsets
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_distinct
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
from kafka_zk.protocol.schema import Versions
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import NO_LEADER_EPOCH

GROUP_ERROR_FROM = 2
SEVERAL_GROUPS_FROM = 8

NO_OFFSET = -1

PARTITIONS_AT_ONCE = 2_000
"""Partitions looked up in a millisecond or two."""

TOPIC = attrgetter("topic")


class _Wanted(NamedTuple):
    """One group of a request; `topics` None requests all its committed offsets."""

    group_id: str
    topics: list[tuple[str, list[int]]] | None


class _Answer(NamedTuple):
    """`topics` hold partitions in the version's class."""

    group_id: str
    error: ErrorCode
    topics: list[tuple[str, list[Any]]]


ERRORS = Form(
    (
        Each(
            "topics",
            "topics",
            inner=(Each("partition_indexes", "partitions", key="partition_index", constants={"committed_offset": -1}),),
            versions=Versions.parse("0-1"),
        ),
        Each("groups", "groups", copied={"group_id": "group_id"}),
    )
)


@api(OFFSET_FETCH_REQUEST, OFFSET_FETCH_RESPONSE, errors=ERRORS)
def offset_fetch(request: OffsetFetchRequest, ctx: RequestContext) -> OffsetFetchResponse:
    """Yields to other greenlets; version 0 waits for ZooKeeper. Repeated groups share one answer."""

    def fetch(wanted: _Wanted) -> _Answer:
        return _fetch(wanted, request.require_stable, ctx)

    if ctx.api_version >= SEVERAL_GROUPS_FROM:
        return OffsetFetchResponse(
            groups=per_distinct(
                _wanted(request, ctx.api_version),
                _key,
                lambda wanted: _group(fetch(wanted)),
                lambda wanted, error: _group(_failed(wanted, error.code, ctx)),
            )
        )
    answer = fetch(next(_wanted(request, ctx.api_version)))
    return OffsetFetchResponse(
        error_code=answer.error,
        topics=[OffsetFetchResponseTopic(name=name, partitions=lines) for name, lines in in_turns(answer.topics)],
    )


def _key(wanted: _Wanted) -> Hashable:
    topics = wanted.topics
    return wanted.group_id, None if topics is None else tuple((name, tuple(indexes)) for name, indexes in topics)


def _group(answer: _Answer) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(
        group_id=answer.group_id,
        error_code=answer.error,
        topics=[OffsetFetchResponseTopics(name=name, partitions=lines) for name, lines in in_turns(answer.topics)],
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
    """Each partition is answered once, however often it is requested; topics without any are left out."""
    wanted: dict[str, dict[int, None]] = {}
    for name, indexes in in_turns(topics):
        if indexes:
            once = wanted.setdefault(name, {})
            for index in in_turns(indexes):
                once[index] = None
    return [(name, list(indexes)) for name, indexes in in_turns(wanted.items())]


def _fetch(wanted: _Wanted, require_stable: bool, ctx: RequestContext) -> _Answer:
    if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, wanted.group_id):
        if ctx.api_version == 0:
            return _failed(wanted, ErrorCode.GROUP_AUTHORIZATION_FAILED, ctx)
        # Version 1 has no place for it, and Apache's answer is empty then.
        return _Answer(wanted.group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED, [])
    if ctx.api_version == 0:
        return _from_zookeeper(wanted, ctx)
    if wanted.topics is None:
        error, topics = _all(wanted.group_id, require_stable, ctx)
    else:
        error, topics = _some(wanted.group_id, wanted.topics, require_stable, ctx)
    return _failed(wanted, error, ctx) if error is not ErrorCode.NONE else _Answer(wanted.group_id, error, topics)


def _all(group_id: str, require_stable: bool, ctx: RequestContext) -> tuple[ErrorCode, list[tuple[str, list[Any]]]]:
    """All offsets found, except of topics that the client may not describe."""
    error, found = ctx.services.group_coordinator.fetch_offsets(group_id, None, require_stable=require_stable)
    topics: dict[str, list[Any]] = {}
    for (name, index), fetched in in_turns(found.items()):
        topics.setdefault(name, []).append(_line(index, fetched, ctx))
    return error, [(name, lines) for name, lines in topics.items() if _may_see(name, ctx)]


def _some(
    group_id: str, wanted: list[tuple[str, list[int]]], require_stable: bool, ctx: RequestContext
) -> tuple[ErrorCode, list[tuple[str, list[Any]]]]:
    """Yields to other greenlets. The offsets at one moment, for up to PARTITIONS_AT_ONCE."""
    fetch = ctx.services.group_coordinator.fetch_offsets
    asked = (TopicPartition(name, index) for name, indexes in wanted for index in indexes)
    topics: list[tuple[str, list[Any]]] = []
    while some := list(islice(asked, PARTITIONS_AT_ONCE)):
        error, found = fetch(group_id, some, require_stable=require_stable)
        if error is not ErrorCode.NONE:
            return error, []
        for name, of_topic in groupby(in_turns(some), TOPIC):
            if not topics or topics[-1][0] != name:
                topics.append((name, []))
            if _may_see(name, ctx):
                topics[-1][1].extend(_line(each.partition, found[each], ctx) for each in of_topic)
            else:
                denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                topics[-1][1].extend(_refused(each.partition, denied, ctx) for each in of_topic)
    return ErrorCode.NONE, topics


def _may_see(topic: str, ctx: RequestContext) -> bool:
    return ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _line(index: int, fetched: FetchedOffset, ctx: RequestContext) -> Any:
    code, value = fetched
    line = _refused(index, code, ctx)
    if value is not None:
        line.committed_offset = value.offset
        line.committed_leader_epoch = value.leader_epoch
        line.metadata = value.metadata
    return line


def _refused(index: int, code: ErrorCode, ctx: RequestContext) -> Any:
    kind = OffsetFetchResponsePartitions if ctx.api_version >= SEVERAL_GROUPS_FROM else OffsetFetchResponsePartition
    return kind(
        partition_index=index,
        error_code=code,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=NO_LEADER_EPOCH,
        metadata="",
    )


def _failed(wanted: _Wanted, error: ErrorCode, ctx: RequestContext) -> _Answer:
    """The whole group failed: old versions can say that only in the partitions."""
    if ctx.api_version >= GROUP_ERROR_FROM:
        return _Answer(wanted.group_id, error, [])
    topics: list[tuple[str, list[Any]]] = [
        (name, [_refused(index, error, ctx) for index in in_turns(indexes)])
        for name, indexes in in_turns(wanted.topics or ())
    ]
    return _Answer(wanted.group_id, ErrorCode.NONE, topics)


def _from_zookeeper(wanted: _Wanted, ctx: RequestContext) -> _Answer:
    """Blocks. Read committed offsets from ZooKeeper, for version 0."""
    topics: list[tuple[str, list[Any]]] = []
    for name, indexes in in_turns(wanted.topics or ()):
        if _may_see(name, ctx):
            lines = [_stored(wanted.group_id, TopicPartition(name, index), ctx) for index in in_turns(indexes)]
        else:
            lines = [_refused(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ctx) for index in in_turns(indexes)]
        topics.append((name, lines))
    return _Answer(wanted.group_id, ErrorCode.NONE, topics)


def _stored(group_id: str, partition: TopicPartition, ctx: RequestContext) -> Any:
    unknown = _refused(partition.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ctx)
    if ctx.services.metadata_cache.partition(*partition) is None:
        return unknown
    try:
        offset = zookeeper_offsets.fetch(group_id, partition, ctx)
    except BrokerError as error:
        return _refused(partition.partition, error.code, ctx)
    if offset is None:
        return unknown
    line = _refused(partition.partition, ErrorCode.NONE, ctx)
    line.committed_offset = offset
    return line
