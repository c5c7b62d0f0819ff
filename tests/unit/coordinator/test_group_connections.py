"""Requests of group members that stand behind each other on one connection: none is ever left without an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.network.server import SocketServer
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.messages.heartbeat import HeartbeatRequest
from kafka_zk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_zk.protocol.messages.leave_group import LeaveGroupRequest
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.integration.network.harness import Client, connect, serving
from tests.unit.coordinator.scene import RANGE
from tests.unit.coordinator.test_coordinator_log import GROUP, OFFSETS, TP, Coordinated, wait

OLD_VERSIONS = {"OffsetCommit": 2, "LeaveGroup": 1, "Heartbeat": 1, "JoinGroup": 2, "SyncGroup": 1}
"""The last before static members, whose members need no id to join."""


class Member:
    """A connection to the coordinator, and who speaks over it."""

    def __init__(self, coordinated: Coordinated, server: SocketServer) -> None:
        self.registry = coordinated.broker.registry
        self.client: Client = connect(server)
        self.member_id = ""
        self.generation = 0
        self.asked: list[str] = []

    def send(self, *requests: Any) -> None:
        """Blocks. All in one go."""
        frames = []
        for request in requests:
            name = type(request).__name__.removesuffix("Request")
            served = next(api for api in self.registry if api.name == name)
            version = OLD_VERSIONS[name]
            head = encode_request_header(served.key, version, len(self.asked), "c")
            frames.append(head + served.request.encode(request, version))
            self.asked.append(name)
        self.client.send(*frames)

    def answers(self) -> list[Any]:
        """Blocks. Those to all that was asked."""
        names, self.asked = self.asked, []
        found = []
        for number, name in enumerate(names):
            body = self.client.receive()
            assert int.from_bytes(body[:4], "big") == number
            served = next(api for api in self.registry if api.name == name)
            found.append(served.response.decode(memoryview(body), OLD_VERSIONS[name], 4))
        return found

    def codes(self) -> list[ErrorCode]:
        """Blocks. The code of each answer."""
        return [
            ErrorCode(each.topics[0].partitions[0].error_code if hasattr(each, "topics") else each.error_code)
            for each in self.answers()
        ]

    def join(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in RANGE],
        )

    def sync(self, *assigned: str) -> SyncGroupRequest:
        assignments = [SyncGroupRequestAssignment(member_id=each, assignment=b"some") for each in assigned]
        return SyncGroupRequest(
            group_id=GROUP, generation_id=self.generation, member_id=self.member_id, assignments=assignments
        )

    def commit(self) -> OffsetCommitRequest:
        wanted = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
        return OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[wanted])],
        )

    def heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=GROUP, generation_id=self.generation, member_id=self.member_id)

    def leave(self) -> LeaveGroupRequest:
        return LeaveGroupRequest(group_id=GROUP, member_id=self.member_id)

    def end(self) -> tuple[Any, ...]:
        """What a consumer sends when it is closed, and what may still come of another thread."""
        return self.commit(), self.leave(), self.commit(), self.heartbeat(), self.leave()


NO = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
MOVED = ErrorCode.NOT_COORDINATOR


class Group:
    """Members of one group, each with a connection of its own, and an operator without a group."""

    def __init__(self, coordinated: Coordinated, server: SocketServer) -> None:
        self.coordinated = coordinated
        self.first, self.second, self.operator = (Member(coordinated, server) for _ in range(3))

    def joined(self) -> None:
        """Blocks. Both are in one generation, and nobody has an assignment."""
        for count, member in enumerate((self.first, self.second), 1):
            member.send(member.join())
            self.wait_for(lambda group, count=count: group.awaiting_join_count == count)
        self.coordinated.broker.clock.advance(0)
        for member in (self.first, self.second):
            (answer,) = member.answers()
            assert answer.error_code == NO
            member.member_id, member.generation = answer.member_id, answer.generation_id

    def stable(self) -> None:
        """Blocks."""
        self.joined()
        self.second.send(self.second.sync())
        self.first.send(self.first.sync(self.first.member_id, self.second.member_id))
        assert [*self.first.codes(), *self.second.codes()] == [NO, NO]

    def wait_for(self, until: Any) -> None:
        """Blocks. Until that is so of the group."""
        groups = self.coordinated.coordinator._manager.groups
        wait(lambda: GROUP in groups and until(groups[GROUP]))

    def put_out(self, member: Member) -> None:
        """Blocks. Somebody else removes `member`."""
        self.operator.send(LeaveGroupRequest(group_id=GROUP, member_id=member.member_id))
        assert self.operator.codes() == [NO]

    def lose_coordinator(self) -> None:
        """Another broker leads the partition from now on."""
        self.coordinated.follow(epoch=9)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    coordinated = Coordinated(tmp_path)
    broker = coordinated.broker
    broker.services.group_coordinator = coordinated.coordinator
    coordinated.lead()
    broker.update_metadata({"t": {0: 1}, OFFSETS: {0: 1}})
    with serving(Dispatcher(broker.services, broker.registry)) as server:
        yield Group(coordinated, server)
    coordinated.close()


def test_both_members_of_a_group_leave_at_the_same_time(group: Group) -> None:
    group.stable()
    for member in (group.first, group.second):
        member.send(*member.end())
    assert group.first.codes() == group.second.codes() == [NO, NO, UNKNOWN, UNKNOWN, UNKNOWN]


def test_what_stands_behind_a_join_of_a_member_that_is_put_out(group: Group) -> None:
    group.stable()
    group.first.send(group.first.join(), *group.first.end())
    group.wait_for(lambda found: found.awaiting_join_count == 1)
    group.put_out(group.first)
    assert group.first.codes() == [UNKNOWN] * 6


def test_what_stands_behind_a_sync_of_a_member_that_is_put_out(group: Group) -> None:
    group.joined()
    group.second.send(group.second.sync(), *group.second.end())
    group.wait_for(lambda found: any(member.sync_reply for member in found.members.values()))
    group.put_out(group.second)
    assert group.second.codes() == [UNKNOWN] * 6


@pytest.mark.parametrize("ask", ["join", "sync"])
def test_what_stands_behind_a_wait_when_the_coordinator_moves(group: Group, ask: str) -> None:
    if ask == "sync":
        group.joined()
        waiting = group.second
        waiting.send(waiting.sync(), *waiting.end())
    else:
        group.stable()
        waiting = group.first
        waiting.send(waiting.join(), *waiting.end())
    group.wait_for(lambda found: any(each.sync_reply or each.join_reply for each in found.members.values()))
    group.lose_coordinator()
    assert waiting.codes() == [MOVED] * 6


@pytest.mark.parametrize("event", ["replicated", "timed out", "moved", "put out"])
def test_what_stands_behind_a_commit_that_is_not_replicated_yet(group: Group, event: str) -> None:
    group.stable()
    coordinated, first = group.coordinated, group.first
    partition = coordinated.broker.partition(OFFSETS)
    coordinated.broker.order(OFFSETS, replicas=(1, 2), isr=(1, 2), epoch=1, partition_epoch=1)
    first.send(*first.end())
    group.wait_for(lambda found: found.offsets.is_pending(TP))
    match event:
        case "replicated":
            coordinated.broker.order(OFFSETS, replicas=(1,), isr=(1,), epoch=2, partition_epoch=2)
            partition.maybe_advance_high_watermark()
            coordinated.broker.manager.wake(partition)
            expected = [NO, NO, UNKNOWN, UNKNOWN, UNKNOWN]
        case "timed out":
            coordinated.broker.clock.advance(5_000)
            expected = [ErrorCode.REQUEST_TIMED_OUT, NO, UNKNOWN, UNKNOWN, UNKNOWN]
        case "moved":
            group.lose_coordinator()
            expected = [MOVED] * 5
        case _:
            group.put_out(first)
            coordinated.broker.clock.advance(5_000)
            expected = [ErrorCode.REQUEST_TIMED_OUT, *[UNKNOWN] * 4]
    assert first.codes() == expected
