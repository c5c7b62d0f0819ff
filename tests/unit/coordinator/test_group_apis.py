"""The handlers of the group APIs: what they refuse, and where they put the refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.coordinator.group.decisions.states import TRANSITIONS, GroupEvent, GroupState, next_state
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_zk.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_zk.protocol.messages.heartbeat import HeartbeatRequest
from kafka_zk.protocol.messages.join_group import JoinGroupRequest
from kafka_zk.protocol.messages.leave_group import LeaveGroupRequest
from kafka_zk.protocol.messages.list_groups import ListGroupsRequest
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_zk.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_zk.protocol.messages.sync_group import SyncGroupRequest
from tests.unit.coordinator.test_coordinator_log import GROUP, OFFSETS, Coordinated


class Denying:
    """Allows everything but what is listed by name."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def may(self, asker: Any, operation: int, resource_type: int, name: str, audit: int, reference_count: int) -> bool:
        return name not in self.names


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    coordinated = Coordinated(tmp_path)
    coordinated.broker.services.group_coordinator = coordinated.coordinator
    coordinated.lead()
    coordinated.broker.update_metadata({"t": {0: 1}, OFFSETS: {0: 1}})
    yield coordinated
    coordinated.close()


def commit_request(topic: str = "t") -> OffsetCommitRequest:
    wanted = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    return OffsetCommitRequest(group_id=GROUP, topics=[OffsetCommitRequestTopic(name=topic, partitions=[wanted])])


def fetch_request() -> OffsetFetchRequest:
    return OffsetFetchRequest(group_id=GROUP, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])


def settled(answer: Any) -> Any:
    return answer.value if isinstance(answer, Pending) else answer


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_is_the_leader_of_the_groups_partition(made: Coordinated, version: int):
    answer = made.broker.call(FindCoordinatorRequest(key=GROUP, coordinator_keys=[GROUP]), version)
    found = answer if version < 4 else answer.coordinators[0]
    assert (found.error_code, found.node_id, found.port) == (0, 1, 9001)


@pytest.mark.parametrize(
    "request_of_group",
    [
        JoinGroupRequest(group_id=GROUP),
        SyncGroupRequest(group_id=GROUP),
        HeartbeatRequest(group_id=GROUP),
        LeaveGroupRequest(group_id=GROUP),
        commit_request(),
        OffsetDeleteRequest(group_id=GROUP),
    ],
    ids=lambda request: type(request).__name__,
)
def test_whoever_may_not_read_the_group_takes_no_part_in_it(made: Coordinated, request_of_group: Any):
    made.broker.services.authorizer = Denying(GROUP)
    with pytest.raises(BrokerError) as refused:
        made.broker.call(request_of_group, 2)
    assert refused.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_whoever_may_not_see_the_group_is_told_so_where_the_version_has_a_place(made: Coordinated):
    made.broker.services.authorizer = Denying(GROUP)
    refused = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert made.broker.call(fetch_request(), 2).error_code == refused
    assert made.broker.call(fetch_request(), 1).topics == [], "as Apache answers"
    oldest = made.broker.call(fetch_request(), 0)
    assert (oldest.error_code, oldest.topics[0].partitions[0].error_code) == (0, refused)
    assert made.broker.call(DescribeGroupsRequest(groups=[GROUP]), 3).groups[0].error_code == refused
    assert made.broker.call(DeleteGroupsRequest(groups_names=[GROUP, "x"]), 1).results[0].error_code == refused


def test_topics_that_may_not_be_seen_are_refused_or_left_out(made: Coordinated):
    assert settled(made.broker.call(commit_request(), 2)).topics[0].partitions[0].error_code == 0
    made.broker.services.authorizer = Denying("t")
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert settled(made.broker.call(commit_request(), 2)).topics[0].partitions[0].error_code == refused
    line = made.broker.call(fetch_request(), 2).topics[0].partitions[0]
    assert (line.error_code, line.committed_offset) == (refused, -1)
    assert made.broker.call(OffsetFetchRequest(group_id=GROUP, topics=None), 2).topics == []


def test_each_partition_is_answered_once_however_often_it_is_asked_for(made: Coordinated):
    settled(made.broker.call(commit_request(), 2))
    asked = [("t", [0, 1, 0]), ("u", []), ("t", [1])]
    topics = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in asked]
    answer = made.broker.call(OffsetFetchRequest(group_id=GROUP, topics=topics), 2)
    found = [(topic.name, [line.partition_index for line in topic.partitions]) for topic in answer.topics]
    assert found == [("t", [0, 1])]


def test_groups_that_may_not_be_seen_are_not_listed(made: Coordinated):
    settled(made.broker.call(commit_request(), 2))
    assert [group.group_id for group in made.broker.call(ListGroupsRequest(), 4).groups] == [GROUP]
    made.broker.services.authorizer = Denying("kafka-cluster", GROUP)
    assert made.broker.call(ListGroupsRequest(), 4).groups == []


@pytest.mark.parametrize(("retention_ms", "wraps"), [(1_000, 0), (2**63 - 1, 2**64), (-(2**63), 0)])
def test_an_old_client_keeps_its_offset_for_as_long_as_it_asks(made: Coordinated, retention_ms: int, wraps: int):
    """In 64 bits: who asks for more than there is, is told nothing, and loses the offset at the next check."""
    request = commit_request()
    request.retention_time_ms = retention_ms
    answer = settled(made.broker.call(request, 2))
    assert answer.topics[0].partitions[0].error_code is ErrorCode.NONE
    _, stored = made.records()[-1]
    assert stored is not None and stored[:2] == b"\0\1"
    expires_ms = int.from_bytes(stored[-8:], "big", signed=True)
    assert expires_ms == made.broker.clock.wall_ms() + retention_ms - wraps


def delete_request(**topics: list[int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=GROUP,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in topics.items()
        ],
    )


def codes(answer: Any) -> dict[str, list[tuple[int, int]]]:
    return {topic.name: [(each.partition_index, each.error_code) for each in topic.partitions] for topic in answer}


def test_offsets_are_deleted_where_they_may_be_and_each_other_says_why_not(made: Coordinated):
    settled(made.broker.call(commit_request(), 2))
    made.broker.services.authorizer = Denying("hidden")
    answer = made.broker.call(delete_request(t=[0, 7], hidden=[0], unknown=[1]), 0)
    unknown, hidden = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert answer.error_code == 0
    assert codes(answer.topics) == {"t": [(7, unknown), (0, 0)], "hidden": [(0, hidden)], "unknown": [(1, unknown)]}
    assert made.fetch() == (ErrorCode.NONE, None)
    again = made.broker.call(delete_request(t=[0], hidden=[0]), 0)
    assert (again.error_code, again.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, []), "the group's code stands alone"


def test_a_partition_that_is_named_twice_is_committed_once_and_refused_as_often_as_it_is_named(made: Coordinated):
    lines = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        for offset, index in enumerate((0, 7, 0, 7))
    ]
    request = OffsetCommitRequest(group_id=GROUP, topics=[OffsetCommitRequestTopic(name="t", partitions=lines)])
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(settled(made.broker.call(request, 2)).topics) == {"t": [(7, unknown), (7, unknown), (0, 0)]}
    assert made.fetch() == (ErrorCode.NONE, 2), "the last line counts"


@pytest.mark.parametrize("state", GroupState)
@pytest.mark.parametrize("event", GroupEvent)
def test_what_is_not_in_the_table_cannot_happen(state: GroupState, event: GroupEvent):
    if event in TRANSITIONS[state]:
        assert next_state(state, event) is TRANSITIONS[state][event]
    else:
        with pytest.raises(AssertionError):
            next_state(state, event)
