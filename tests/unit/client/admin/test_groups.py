"""What the admin client asks about groups, of whom, and when it asks once more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.group_results import (
    CommittedOffset,
    ConsumerGroupState,
    GroupType,
    MemberToRemove,
)
from kafka_zk.client.errors import KafkaException, TimeoutException, java_name
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    GroupIdNotFound,
    InvalidGroupId,
    NonEmptyGroup,
    UnknownMemberId,
    UnsupportedVersion,
)
from kafka_zk.protocol.messages import (
    delete_groups,
    describe_groups,
    find_coordinator,
    leave_group,
    list_groups,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from kafka_zk.protocol.messages.consumer_protocol import CONSUMER_PROTOCOL_ASSIGNMENT, ConsumerProtocolAssignment
from kafka_zk.protocol.messages.consumer_protocol import TopicPartition as Assigned
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, Handler, ScriptedBroker

METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, LEAVE_GROUP = 3, 8, 9, 10, 13
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS, OFFSET_DELETE = 15, 16, 42, 47
VERSIONS = {
    API_VERSIONS_KEY: (0, 4),
    METADATA: (0, 12),
    OFFSET_COMMIT: (0, 8),
    OFFSET_FETCH: (0, 8),
    FIND_COORDINATOR: (0, 4),
    LEAVE_GROUP: (0, 5),
    DESCRIBE_GROUPS: (0, 5),
    LIST_GROUPS: (0, 5),
    DELETE_GROUPS: (0, 2),
    OFFSET_DELETE: (0, 0),
}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
QUICK = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "2"}
PATIENT = {"retry.backoff.ms": "1000", "retry.backoff.max.ms": "2000"}


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """A broker that is coordinator of every group."""
    with ScriptedBroker({}, versions=dict(VERSIONS)) as scripted:
        scripted.handlers[METADATA] = lambda *_: metadata.MetadataResponse(
            brokers=[metadata.MetadataResponseBroker(node_id=1, host=scripted.host, port=scripted.port)],
            controller_id=1,
        )
        scripted.handlers[FIND_COORDINATOR] = coordinators(scripted)
        yield scripted


def coordinators(broker: ScriptedBroker, error_of: Callable[[str], ErrorCode] = lambda _: ErrorCode.NONE) -> Handler:
    def find(
        request: find_coordinator.FindCoordinatorRequest, version: int
    ) -> find_coordinator.FindCoordinatorResponse:
        where: dict[str, Any] = {"node_id": 1, "host": broker.host, "port": broker.port}
        if version < 4:
            return find_coordinator.FindCoordinatorResponse(error_code=error_of(request.key), **where)
        found = [
            find_coordinator.Coordinator(key=key, error_code=error_of(key), **where) for key in request.coordinator_keys
        ]
        return find_coordinator.FindCoordinatorResponse(coordinators=found)

    return find


def admin_of(broker: ScriptedBroker, **properties: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, **QUICK, **properties})


def asked(broker: ScriptedBroker, key: int) -> int:
    return sum(seen == key for seen, _ in broker.seen)


def deleting(*answers: dict[str, ErrorCode]) -> Handler:
    """Answers one request after the other, the last answer for ever."""
    rest = list(answers)

    def delete(request: delete_groups.DeleteGroupsRequest, _: int) -> delete_groups.DeleteGroupsResponse:
        codes = rest.pop(0) if len(rest) > 1 else rest[0]
        results = [
            delete_groups.DeletableGroupResult(group_id=group, error_code=codes.get(group, ErrorCode.NONE))
            for group in request.groups_names
        ]
        return delete_groups.DeleteGroupsResponse(results=results)

    return delete


def test_coordinators_of_several_groups_are_found_in_one_request(broker: ScriptedBroker) -> None:
    broker.handlers[DELETE_GROUPS] = deleting({})
    with admin_of(broker) as admin:
        assert admin.delete_consumer_groups(["a", "b", "c"]) == {"a": None, "b": None, "c": None}
    assert asked(broker, FIND_COORDINATOR) == 1
    assert asked(broker, DELETE_GROUPS) == 1


def test_an_old_broker_is_asked_for_one_coordinator_at_a_time() -> None:
    with ScriptedBroker({}, versions={**VERSIONS, FIND_COORDINATOR: (0, 3)}) as broker:
        broker.handlers[METADATA] = lambda *_: metadata.MetadataResponse(
            brokers=[metadata.MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)]
        )
        broker.handlers[FIND_COORDINATOR] = coordinators(broker)
        broker.handlers[DELETE_GROUPS] = deleting({})
        with admin_of(broker) as admin:
            assert admin.delete_consumer_groups(["a", "b"]) == {"a": None, "b": None}
        assert asked(broker, FIND_COORDINATOR) == 2


def test_a_group_that_fails_leaves_the_others_their_answers(broker: ScriptedBroker) -> None:
    broker.handlers[FIND_COORDINATOR] = coordinators(
        broker, lambda group: ErrorCode.NONE if group else ErrorCode.INVALID_GROUP_ID
    )
    broker.handlers[DELETE_GROUPS] = deleting({"b": ErrorCode.NON_EMPTY_GROUP, "c": ErrorCode.GROUP_ID_NOT_FOUND})
    with admin_of(broker) as admin:
        answers = admin.delete_consumer_groups(["a", "b", "c", ""])
    assert list(answers) == ["a", "b", "c", ""]
    assert answers["a"] is None
    assert [type(answers[group]) for group in ("b", "c", "")] == [NonEmptyGroup, GroupIdNotFound, InvalidGroupId]


def test_a_loading_coordinator_is_asked_again_and_not_looked_up_again(broker: ScriptedBroker) -> None:
    broker.handlers[DELETE_GROUPS] = deleting({"a": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}, {})
    with admin_of(broker) as admin:
        assert admin.delete_consumer_groups(["a", "b"]) == {"a": None, "b": None}
    assert asked(broker, FIND_COORDINATOR) == 1
    assert asked(broker, DELETE_GROUPS) == 2


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_up_again(broker: ScriptedBroker, code: ErrorCode) -> None:
    broker.handlers[DELETE_GROUPS] = deleting({"a": code}, {})
    with admin_of(broker) as admin:
        assert admin.delete_consumer_groups(["a"]) == {"a": None}
    assert asked(broker, FIND_COORDINATOR) == 2


def test_a_coordinator_that_hangs_up_is_looked_up_again(broker: ScriptedBroker) -> None:
    answers: list[Handler] = [lambda *_: None, deleting({})]
    broker.handlers[DELETE_GROUPS] = lambda request, version: answers.pop(0)(request, version)
    with admin_of(broker, **{"reconnect.backoff.ms": "1"}) as admin:
        assert admin.delete_consumer_groups(["a"]) == {"a": None}
    assert asked(broker, FIND_COORDINATOR) == 2


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited between tries passes at once, and counts."""
    waited: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(waited), sleep=waited.append)
    monkeypatch.setattr("kafka_zk.client.admin.coordinators.time", clock)


@pytest.mark.usefixtures("no_pauses")
def test_a_coordinator_that_is_nowhere_is_waited_for_until_the_time_is_over(broker: ScriptedBroker) -> None:
    broker.handlers[FIND_COORDINATOR] = coordinators(broker, lambda _: ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with admin_of(broker, **PATIENT) as admin:
        answer = admin.delete_consumer_groups(["a"], timeout_ms=30_000)["a"]
    assert isinstance(answer, TimeoutException)
    assert str(answer).startswith("Call(callName=deleteConsumerGroups(api=FIND_COORDINATOR), ")
    assert asked(broker, FIND_COORDINATOR) > 2


@pytest.mark.usefixtures("no_pauses")
def test_a_coordinator_that_goes_on_loading_is_asked_until_the_time_is_over(broker: ScriptedBroker) -> None:
    broker.handlers[DELETE_GROUPS] = deleting({"a": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
    with admin_of(broker, **PATIENT) as admin:
        answer = admin.delete_consumer_groups(["a"], timeout_ms=30_000)["a"]
    assert str(answer).startswith("Call(callName=deleteConsumerGroups(api=DELETE_GROUPS), ")


def test_a_coordinator_that_says_nothing_is_waited_for_until_the_time_is_over(broker: ScriptedBroker) -> None:
    over = threading.Event()

    def say_nothing(*_: object) -> None:
        over.wait(30)

    broker.handlers[DELETE_GROUPS] = say_nothing
    with admin_of(broker) as admin:
        answer = admin.delete_consumer_groups(["a"], timeout_ms=300)["a"]
        over.set()
    assert isinstance(answer, TimeoutException)
    assert str(answer).startswith("Call(callName=deleteConsumerGroups(api=DELETE_GROUPS), ")
    assert str(answer).endswith("after 1 attempt(s)")


def test_an_error_nobody_expects_is_logged(broker: ScriptedBroker, caplog: pytest.LogCaptureFixture) -> None:
    broker.handlers[DELETE_GROUPS] = deleting({"a": ErrorCode.UNKNOWN_SERVER_ERROR})
    with admin_of(broker, **{"client.id": "me"}) as admin:
        assert isinstance(admin.delete_consumer_groups(["a"])["a"], BrokerError)
    wanted = "`DeleteConsumerGroups` request for group id a failed due to unexpected error UNKNOWN_SERVER_ERROR"
    assert [record.getMessage() for record in caplog.records] == [f"[AdminClient clientId=me] {wanted}"]


# --- lists -----------------------------------------------------------------------------------------------------------


def listed(*groups: tuple[str, str, str, str], error_code: int = 0) -> list_groups.ListGroupsResponse:
    return list_groups.ListGroupsResponse(
        error_code=error_code,
        groups=[
            list_groups.ListedGroup(group_id=name, protocol_type=protocol, group_state=state, group_type=kind)
            for name, protocol, state, kind in groups
        ],
    )


def test_groups_that_are_not_consumers_are_not_listed(broker: ScriptedBroker) -> None:
    broker.handlers[LIST_GROUPS] = lambda *_: listed(
        ("readers", "consumer", "Stable", "classic"), ("workers", "connect", "Stable", ""), ("bare", "", "", "")
    )
    with admin_of(broker) as admin:
        found = admin.list_consumer_groups()
    assert [(group.group_id, group.is_simple, group.state, group.type) for group in found] == [
        ("readers", False, ConsumerGroupState.STABLE, GroupType.CLASSIC),
        ("bare", True, None, None),
    ]


def test_lists_of_all_brokers_are_put_together() -> None:
    with ScriptedBroker({}, versions=VERSIONS) as one, ScriptedBroker({}, versions=VERSIONS) as two:
        brokers = [
            metadata.MetadataResponseBroker(node_id=index, host=each.host, port=each.port)
            for index, each in enumerate((one, two), 1)
        ]
        for name, each in (("a", one), ("b", two)):
            each.handlers[METADATA] = lambda *_: metadata.MetadataResponse(brokers=brokers)
            each.handlers[LIST_GROUPS] = lambda *_, name=name: listed((name, "consumer", "Empty", ""))
        with admin_of(one) as admin:
            assert [group.group_id for group in admin.list_consumer_groups()] == ["a", "b"]


def test_a_list_waits_for_a_loading_coordinator_and_names_the_broker_of_another_error(broker: ScriptedBroker) -> None:
    codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    broker.handlers[LIST_GROUPS] = lambda *_: listed(error_code=codes.pop(0))
    with admin_of(broker) as admin, pytest.raises(BrokerError) as raised:
        admin.list_consumer_groups()
    where = f"Error listing groups on {broker.bootstrap} (id: 1 rack: null)"
    assert str(raised.value) == f"{where}: Cluster authorization failed."


def test_states_cannot_be_asked_of_a_broker_that_does_not_know_them(broker: ScriptedBroker) -> None:
    with ScriptedBroker(broker.handlers, versions={**VERSIONS, LIST_GROUPS: (0, 3)}) as old:
        old.handlers[METADATA] = lambda *_: metadata.MetadataResponse(
            brokers=[metadata.MetadataResponseBroker(node_id=1, host=old.host, port=old.port)]
        )
        with admin_of(old) as admin, pytest.raises(UnsupportedVersion, match="but we need v4 or newer"):
            admin.list_consumer_groups(states=[ConsumerGroupState.STABLE])


def test_no_broker_for_a_list_is_told_as_java_tells_it() -> None:
    with AdminClient({"bootstrap.servers": "127.0.0.1:1", **QUICK}) as admin, pytest.raises(KafkaException) as raised:
        admin.list_consumer_groups(timeout_ms=50)
    assert str(raised.value) == "Failed to find brokers to send ListGroups"
    assert str(raised.value.__cause__) == "Timed out waiting for a node assignment. Call: findAllBrokers"


# --- descriptions and members ----------------------------------------------------------------------------------------


def assignment(*partitions: int) -> bytes:
    value = ConsumerProtocolAssignment(assigned_partitions=[Assigned(topic="t", partitions=list(partitions))])
    # A version that is not known yet: what it adds stands at the end.
    return b"\0\x09" + CONSUMER_PROTOCOL_ASSIGNMENT.encode(value, 3) + b"more"


def described(*members: tuple[str, str | None, bytes], protocol: str = "consumer") -> Handler:
    group = describe_groups.DescribedGroup(
        group_id="g",
        group_state="Stable",
        protocol_type=protocol,
        protocol_data="range",
        members=[
            describe_groups.DescribedGroupMember(
                member_id=member,
                group_instance_id=instance,
                client_id="c",
                client_host="/h",
                member_metadata=b"",
                member_assignment=data,
            )
            for member, instance, data in members
        ],
    )
    return lambda *_: describe_groups.DescribeGroupsResponse(groups=[group])


def test_a_description_has_the_partitions_of_each_member(broker: ScriptedBroker) -> None:
    broker.handlers[DESCRIBE_GROUPS] = described(("m-1", None, assignment(1, 0)), ("m-2", "i", b""))
    with admin_of(broker) as admin:
        group = admin.describe_consumer_groups(["g"])["g"]
    assert not isinstance(group, Exception)
    assert [(each.member_id, each.group_instance_id, each.assignment) for each in group.members] == [
        ("m-1", None, [T1, T0]),
        ("m-2", "i", []),
    ]
    assert (group.state, group.partition_assignor, group.coordinator.id) == (ConsumerGroupState.STABLE, "range", 1)


def test_a_group_of_another_protocol_is_no_consumer_group(broker: ScriptedBroker) -> None:
    broker.handlers[DESCRIBE_GROUPS] = described(protocol="connect")
    with admin_of(broker) as admin:
        error = admin.describe_consumer_groups(["g"])["g"]
    assert isinstance(error, KafkaException)
    assert f"{java_name(error)}: {error}" == (
        "java.lang.IllegalArgumentException: GroupId g is not a consumer group (connect)."
    )


@pytest.mark.parametrize("data", [b"\0", b"\0\1", b"\xff\xff\0\0\0\0"])
def test_an_assignment_that_cannot_be_read_is_an_error_of_its_group(broker: ScriptedBroker, data: bytes) -> None:
    broker.handlers[DESCRIBE_GROUPS] = described(("m-1", None, data))
    with admin_of(broker) as admin, pytest.raises(KafkaException, match=r"^An assignment in group g cannot be read"):
        raise admin.describe_consumer_groups(["g"])["g"]  # type: ignore[misc]  # it is an error


def test_all_members_are_removed_the_static_ones_by_their_instance(broker: ScriptedBroker) -> None:
    requests: list[leave_group.LeaveGroupRequest] = []
    broker.handlers[DESCRIBE_GROUPS] = described(("m-1", None, b""), ("m-2", "i", b""))
    broker.handlers[LEAVE_GROUP] = lambda request, _: requests.append(request) or leave_group.LeaveGroupResponse()
    with admin_of(broker) as admin:
        admin.remove_members_from_consumer_group("g")
    assert [(each.member_id, each.group_instance_id, each.reason) for each in requests[0].members] == [
        ("m-1", None, "member was removed by an admin"),
        ("", "i", "member was removed by an admin"),
    ]


def test_a_member_that_cannot_be_removed_is_named(broker: ScriptedBroker) -> None:
    unknown = leave_group.MemberResponse(member_id="m", group_instance_id=None, error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    broker.handlers[LEAVE_GROUP] = lambda *_: leave_group.LeaveGroupResponse(members=[unknown])
    with admin_of(broker) as admin, pytest.raises(KafkaException, match="memberId='m'") as raised:
        admin.remove_members_from_consumer_group("g", [MemberToRemove("m")])
    assert isinstance(raised.value.__cause__, UnknownMemberId)


# --- offsets ---------------------------------------------------------------------------------------------------------


def test_offsets_of_several_groups_come_with_one_request(broker: ScriptedBroker) -> None:
    def fetch(request: offset_fetch.OffsetFetchRequest, _: int) -> offset_fetch.OffsetFetchResponse:
        committed = offset_fetch.OffsetFetchResponsePartitions(
            partition_index=0, committed_offset=7, committed_leader_epoch=3, metadata="x"
        )
        none = offset_fetch.OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1, metadata="")
        topic = offset_fetch.OffsetFetchResponseTopics(name="t", partitions=[committed, none])
        groups = [
            offset_fetch.OffsetFetchResponseGroup(group_id=each.group_id, topics=[topic]) for each in request.groups
        ]
        return offset_fetch.OffsetFetchResponse(groups=groups)

    broker.handlers[OFFSET_FETCH] = fetch
    with admin_of(broker) as admin:
        found = admin.list_offsets_of_consumer_groups(["a", "b"])
        assert found == {group: {T0: CommittedOffset(7, 3, "x")} for group in "ab"}
        assert admin.list_consumer_group_offsets("a") == {T0: 7}
    assert asked(broker, OFFSET_FETCH) == 2


def committing(*rounds: tuple[ErrorCode, ErrorCode]) -> Handler:
    rest = list(rounds)

    def commit(*_: object) -> offset_commit.OffsetCommitResponse:
        partitions = [
            offset_commit.OffsetCommitResponsePartition(partition_index=index, error_code=code)
            for index, code in enumerate(rest.pop(0))
        ]
        return offset_commit.OffsetCommitResponse(
            topics=[offset_commit.OffsetCommitResponseTopic(name="t", partitions=partitions)]
        )

    return commit


def test_a_commit_waits_for_a_rebalance(broker: ScriptedBroker) -> None:
    broker.handlers[OFFSET_COMMIT] = committing(
        (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS), (ErrorCode.NONE, ErrorCode.NONE)
    )
    with admin_of(broker) as admin:
        admin.alter_consumer_group_offsets("g", {T0: 1, T1: CommittedOffset(2, 0, "note")})
    assert asked(broker, OFFSET_COMMIT) == 2


def test_a_refused_commit_names_the_partitions(broker: ScriptedBroker) -> None:
    broker.handlers[OFFSET_COMMIT] = committing((ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID))
    with admin_of(broker) as admin, pytest.raises(UnknownMemberId) as raised:
        admin.alter_consumer_group_offsets("g", {T0: 1, T1: 2})
    assert str(raised.value) == "Failed altering consumer group offsets for the following partitions: [t-1]"


def test_a_deleted_offset_has_no_problem_and_one_left_out_has_one(broker: ScriptedBroker) -> None:
    partition = offset_delete.OffsetDeleteResponsePartition(partition_index=0)
    topic = offset_delete.OffsetDeleteResponseTopic(name="t", partitions=[partition])
    broker.handlers[OFFSET_DELETE] = lambda *_: offset_delete.OffsetDeleteResponse(topics=[topic])
    with admin_of(broker) as admin:
        problems = admin.delete_consumer_group_offsets("g", [T0, T1])
    assert problems[T0] is None
    assert str(problems[T1]) == 'Offset deletion result for partition "t-1" was not included in the response'


def test_what_is_wrong_with_the_group_is_raised(broker: ScriptedBroker) -> None:
    broker.handlers[OFFSET_DELETE] = lambda *_: offset_delete.OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP)
    with admin_of(broker) as admin, pytest.raises(NonEmptyGroup):
        admin.delete_consumer_group_offsets("g", [T0])
