"""Committed offsets of a group, read and written from outside of it, each time at its coordinator.

Role        Acts, through `Calls`. The coordinator is looked up for each try: it may have moved, or still be loading.
Invariants  A commit goes without member and generation: the coordinator takes it only while the group has no members.
Source      KafkaAdminClient.listConsumerGroupOffsets, alterConsumerGroupOffsets; CoordinatorStrategy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    NotCoordinator,
    error_class_for,
)
from kafka_zk.protocol.messages import find_coordinator, offset_commit, offset_fetch
from kafka_zk.protocol.types import TopicPartition

PAUSE_S = 0.1
"""Between two tries: retry.backoff.ms."""
GROUP = 0
NO_GENERATION = -1
COORDINATORS_BY_LIST = 4
GROUPS_BY_LIST = 8
NO_OFFSET = -1
_MAY_PASS = (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)

Answer = TypeVar("Answer")


def list_group_offsets(calls: Calls, group: str, *, timeout_ms: int) -> dict[TopicPartition, int]:
    """Blocks. Every offset that the group has committed. Raises BrokerError, KafkaException."""

    def build(version: int) -> offset_fetch.OffsetFetchRequest:
        if version >= GROUPS_BY_LIST:
            wanted = offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=None)
            return offset_fetch.OffsetFetchRequest(groups=[wanted])
        return offset_fetch.OffsetFetchRequest(group_id=group, topics=None)

    def ask(coordinator: int) -> offset_fetch.OffsetFetchResponse:
        request, response = offset_fetch.OFFSET_FETCH_REQUEST, offset_fetch.OFFSET_FETCH_RESPONSE
        answer = calls.to_node(coordinator, Call("offsetFetch", request, response, build))
        _raise_for(answer.error_code)
        for each in answer.groups:
            _raise_for(each.error_code)
        return answer

    answer = _at_coordinator(calls, group, ask, timeout_ms)
    found: dict[TopicPartition, int] = {}
    topics = [topic for each in answer.groups for topic in each.topics] if answer.groups else answer.topics
    for topic in topics:
        for partition in topic.partitions:
            _raise_for(partition.error_code)
            if partition.committed_offset != NO_OFFSET:
                found[TopicPartition(topic.name, partition.partition_index)] = partition.committed_offset
    return found


def alter_group_offsets(calls: Calls, group: str, offsets: Mapping[TopicPartition, int], *, timeout_ms: int) -> None:
    """Blocks. Raises UnknownMemberId while the group has members, other BrokerErrors, KafkaException."""
    by_topic: dict[str, list[offset_commit.OffsetCommitRequestPartition]] = {}
    for each, offset in offsets.items():
        by_topic.setdefault(each.topic, []).append(
            offset_commit.OffsetCommitRequestPartition(
                partition_index=each.partition,
                committed_offset=offset,
                committed_leader_epoch=-1,
                committed_metadata="",
            )
        )

    def build(_: int) -> offset_commit.OffsetCommitRequest:
        return offset_commit.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=NO_GENERATION,
            topics=[
                offset_commit.OffsetCommitRequestTopic(name=name, partitions=each) for name, each in by_topic.items()
            ],
        )

    def ask(coordinator: int) -> None:
        request, response = offset_commit.OFFSET_COMMIT_REQUEST, offset_commit.OFFSET_COMMIT_RESPONSE
        answer = calls.to_node(coordinator, Call("offsetCommit", request, response, build))
        for topic in answer.topics:
            for partition in topic.partitions:
                _raise_for(partition.error_code)

    if by_topic:
        _at_coordinator(calls, group, ask, timeout_ms)


def _at_coordinator(calls: Calls, group: str, ask: Callable[[int], Answer], timeout_ms: int) -> Answer:
    deadline_s = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            return ask(_coordinator(calls, group))
        except _MAY_PASS as error:
            if time.monotonic() + PAUSE_S >= deadline_s:
                raise TimeoutException(f"Timed out waiting for the coordinator of group {group}") from error
            time.sleep(PAUSE_S)


def _coordinator(calls: Calls, group: str) -> int:
    def build(version: int) -> find_coordinator.FindCoordinatorRequest:
        if version >= COORDINATORS_BY_LIST:
            return find_coordinator.FindCoordinatorRequest(key_type=GROUP, coordinator_keys=[group])
        return find_coordinator.FindCoordinatorRequest(key=group, key_type=GROUP)

    request, response = find_coordinator.FIND_COORDINATOR_REQUEST, find_coordinator.FIND_COORDINATOR_RESPONSE
    answer = calls.to_any_node(Call("findCoordinator", request, response, build))
    found = answer.coordinators[0] if answer.coordinators else answer
    _raise_for(found.error_code)
    return found.node_id


def _raise_for(error_code: int) -> None:
    if error_code != ErrorCode.NONE:
        error: BrokerError = error_class_for(error_code)()
        raise error
