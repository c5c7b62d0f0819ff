"""Lists, describes and deletes consumer groups, and removes their members.

Role        Acts, through `Calls`. Every broker is asked for lists, each group's coordinator for the rest.
Invariants  Calls about several groups return a value or an error for each.
Differs from Kafka: groups of the protocol of KIP-848 are not asked for first (ConsumerGroupDescribe); no cluster in
            ZooKeeper mode has any.
Source      KafkaAdminClient.listConsumerGroups, removeMembersFromConsumerGroup; DescribeConsumerGroupsHandler,
            DeleteConsumerGroupsHandler, RemoveMembersFromConsumerGroupHandler.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.admin.coordinators import CoordinatorCall, Outcome, ask_coordinators, outcome_of, value_of
from kafka_zk.client.admin.group_results import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ConsumerGroupState,
    GroupType,
    MemberDescription,
    MemberToRemove,
)
from kafka_zk.client.errors import IllegalArgumentException, KafkaException, TimeoutException
from kafka_zk.protocol.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    DecodeError,
    ErrorCode,
    UnsupportedVersion,
    error_class_for,
)
from kafka_zk.protocol.messages import delete_groups, describe_groups, leave_group, list_groups
from kafka_zk.protocol.messages.consumer_protocol import CONSUMER_PROTOCOL_ASSIGNMENT
from kafka_zk.protocol.types import Buffer, TopicPartition

PROTOCOL_TYPE = "consumer"
STATES_SINCE, TYPES_SINCE = 4, 5
MEMBERS_BY_LIST = 3
LEAVE_REASON = "member was removed by an admin"
REASON_LIMIT = 255
_ASSIGNMENT_VERSION = struct.Struct(">h")


def list_consumer_groups(
    calls: Calls,
    nodes: Sequence[Node],
    *,
    states: Collection[ConsumerGroupState] = (),
    types: Collection[GroupType] = (),
) -> list[ConsumerGroupListing]:
    """Blocks. Lists the groups that `nodes` coordinate, in the order of their responses. Raises the first error."""
    found: dict[str, ConsumerGroupListing] = {}
    errors: list[BrokerError | KafkaException] = []
    for node in nodes:
        try:
            answer = _groups_of(calls, node, states, types)
        except (BrokerError, KafkaException) as error:
            errors.append(_listing_error(error, node))
            continue
        for group in answer.groups:
            if group.protocol_type in (PROTOCOL_TYPE, ""):
                found[group.group_id] = ConsumerGroupListing(
                    group.group_id,
                    not group.protocol_type,
                    ConsumerGroupState.parse(group.group_state) if group.group_state else None,
                    GroupType.parse(group.group_type) if group.group_type else None,
                )
    if errors:
        raise errors[0]
    return list(found.values())


def _groups_of(
    calls: Calls, node: Node, states: Collection[ConsumerGroupState], types: Collection[GroupType]
) -> list_groups.ListGroupsResponse:
    def build(version: int) -> list_groups.ListGroupsRequest:
        for wanted, since, what in ((states, STATES_SINCE, "states"), (types, TYPES_SINCE, "type")):
            if wanted and version < since:
                raise UnsupportedVersion(
                    f"The broker only supports ListGroups v{version}, "
                    f"but we need v{since} or newer to request groups by {what}."
                )
        return list_groups.ListGroupsRequest(states_filter=list(map(str, states)), types_filter=list(map(str, types)))

    def check(answer: list_groups.ListGroupsResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            raise error_class_for(answer.error_code)

    request, response = list_groups.LIST_GROUPS_REQUEST, list_groups.LIST_GROUPS_RESPONSE
    may_pass = (CoordinatorLoadInProgress, CoordinatorNotAvailable)
    return calls.to_node(node.id, Call("listConsumerGroups", request, response, build, check, may_pass))


def _listing_error(error: BrokerError | KafkaException, node: Node) -> BrokerError | KafkaException:
    where = f"Error listing groups on {node.host}:{node.port} (id: {node.id} rack: {node.rack or 'null'})"
    text = f"{where}: {error}" if str(error) else where
    if isinstance(error, BrokerError):
        return type(error)(text)
    return TimeoutException(text) if isinstance(error, TimeoutException) else KafkaException(text)


def describe_consumer_groups(
    calls: Calls, groups: Collection[str]
) -> dict[str, ConsumerGroupDescription | BrokerError | KafkaException]:
    """Blocks. A missing group is DEAD; one of another protocol is an error."""
    call = CoordinatorCall(
        "describeConsumerGroups",
        "DESCRIBE_GROUPS",
        "DescribeConsumerGroupsHandler",
        "`DescribeGroups` request for group id {group} failed due to unexpected error {error}.",
        _describe,
        (ErrorCode.GROUP_AUTHORIZATION_FAILED,),
    )
    return ask_coordinators(calls, groups, call)


def _describe(
    calls: Calls, node: Node, groups: list[str], deadline_s: float
) -> Mapping[str, Outcome[ConsumerGroupDescription]]:
    request, response = describe_groups.DESCRIBE_GROUPS_REQUEST, describe_groups.DESCRIBE_GROUPS_RESPONSE
    call = Call(
        "describeConsumerGroups(api=DESCRIBE_GROUPS)",
        request,
        response,
        lambda _: describe_groups.DescribeGroupsRequest(groups=groups),
    )
    answer = calls.to_node_once(node.id, call, deadline_s)
    return {group.group_id: _description(group, node) for group in answer.groups}


def _description(group: describe_groups.DescribedGroup, node: Node) -> Outcome[ConsumerGroupDescription]:
    if group.error_code != ErrorCode.NONE:
        return outcome_of(group.error_code)
    if group.protocol_type not in (PROTOCOL_TYPE, ""):
        return IllegalArgumentException(f"GroupId {group.group_id} is not a consumer group ({group.protocol_type}).")
    try:
        assignments = [_assignment(member.member_assignment) for member in group.members]
    except DecodeError as error:
        return KafkaException(f"An assignment in group {group.group_id} cannot be read: {error}")
    return ConsumerGroupDescription(
        group.group_id,
        not group.protocol_type,
        [
            MemberDescription(
                member.member_id, member.group_instance_id, member.client_id, member.client_host, assignment
            )
            for member, assignment in zip(group.members, assignments, strict=True)
        ],
        group.protocol_data,
        ConsumerGroupState.parse(group.group_state),
        node,
    )


def _assignment(data: Buffer) -> list[TopicPartition]:
    """Raises DecodeError for bytes that no consumer group's leader wrote."""
    if not len(data):
        return []
    if len(data) < _ASSIGNMENT_VERSION.size:
        raise DecodeError("too short for a version")
    version: int = _ASSIGNMENT_VERSION.unpack_from(data)[0]
    if version < 0:
        raise DecodeError(f"invalid version {version}")
    # Newer versions add fields at the end only.
    newest = min(version, CONSUMER_PROTOCOL_ASSIGNMENT.max_version)
    value = CONSUMER_PROTOCOL_ASSIGNMENT.decoder(newest)(data, _ASSIGNMENT_VERSION.size)[0]
    partitions = (
        TopicPartition(topic.topic, number) for topic in value.assigned_partitions for number in topic.partitions
    )
    return list(dict.fromkeys(partitions))


def delete_consumer_groups(calls: Calls, groups: Collection[str]) -> dict[str, BrokerError | KafkaException | None]:
    """Blocks. Returns None for a deleted group, NonEmptyGroup for one that has members, GroupIdNotFound ..."""
    call = CoordinatorCall(
        "deleteConsumerGroups",
        "DELETE_GROUPS",
        "DeleteConsumerGroupsHandler",
        "`DeleteConsumerGroups` request for group id {group} failed due to unexpected error {error}",
        _delete,
        (
            ErrorCode.GROUP_AUTHORIZATION_FAILED,
            ErrorCode.INVALID_GROUP_ID,
            ErrorCode.NON_EMPTY_GROUP,
            ErrorCode.GROUP_ID_NOT_FOUND,
        ),
    )
    return ask_coordinators(calls, groups, call)


def _delete(calls: Calls, node: Node, groups: list[str], deadline_s: float) -> Mapping[str, Outcome[None]]:
    request, response = delete_groups.DELETE_GROUPS_REQUEST, delete_groups.DELETE_GROUPS_RESPONSE
    call = Call(
        "deleteConsumerGroups(api=DELETE_GROUPS)",
        request,
        response,
        lambda _: delete_groups.DeleteGroupsRequest(groups_names=groups),
    )
    answer = calls.to_node_once(node.id, call, deadline_s)
    return {
        result.group_id: None if result.error_code == ErrorCode.NONE else outcome_of(result.error_code)
        for result in answer.results
    }


def remove_members(calls: Calls, group: str, members: Sequence[MemberToRemove] | None, reason: str | None) -> None:
    """Blocks. Remove `members` from the group; None: all.

    Raises the error of the group, or a KafkaException with that of the first member as its cause.
    """
    wanted = _members_of(calls, group) if members is None else list(members)

    def ask(calls: Calls, node: Node, groups: list[str], deadline_s: float) -> Mapping[str, Outcome[None]]:
        request, response = leave_group.LEAVE_GROUP_REQUEST, leave_group.LEAVE_GROUP_RESPONSE
        call = Call(
            "leaveGroup(api=LEAVE_GROUP)",
            request,
            response,
            lambda version: _leave_request(version, group, wanted, (reason or LEAVE_REASON)[:REASON_LIMIT]),
        )
        answer = calls.to_node_once(node.id, call, deadline_s)
        if answer.error_code != ErrorCode.NONE:
            return {group: outcome_of(answer.error_code)}
        for member in answer.members:
            if member.error_code != ErrorCode.NONE:
                error = KafkaException(
                    "Encounter exception when trying to remove: "
                    f"MemberIdentity(memberId='{member.member_id}', "
                    f"groupInstanceId={_quoted(member.group_instance_id)}, reason=null)"
                )
                error.__cause__ = error_class_for(member.error_code)()
                return {group: error}
        return {group: None}

    call = CoordinatorCall(
        "leaveGroup",
        "LEAVE_GROUP",
        "RemoveMembersFromConsumerGroupHandler",
        "`LeaveGroup` request for group id {group} failed due to unexpected error {error}",
        ask,
        (ErrorCode.GROUP_AUTHORIZATION_FAILED,),
    )
    answers = ask_coordinators(calls, [group], call)
    value_of(answers, group)


def _members_of(calls: Calls, group: str) -> list[MemberToRemove]:
    try:
        described = value_of(describe_consumer_groups(calls, [group]), group)
    except (BrokerError, KafkaException) as error:
        raise KafkaException(f"Encounter exception when trying to get members from group: {group}") from error
    return [
        MemberToRemove(member.member_id) if member.group_instance_id is None else MemberToRemove("", instance)
        for member in described.members
        for instance in (member.group_instance_id,)
    ]


def _leave_request(
    version: int, group: str, members: Sequence[MemberToRemove], reason: str
) -> leave_group.LeaveGroupRequest:
    if version >= MEMBERS_BY_LIST:
        identities = [
            leave_group.MemberIdentity(
                member_id=member.member_id, group_instance_id=member.group_instance_id, reason=reason
            )
            for member in members
        ]
        return leave_group.LeaveGroupRequest(group_id=group, members=identities)
    if len(members) != 1:
        raise UnsupportedVersion(
            f"Version {version} leave group request only supports single member instance than {len(members)} members"
        )
    return leave_group.LeaveGroupRequest(group_id=group, member_id=members[0].member_id)


def _quoted(text: str | None) -> str:
    return "null" if text is None else f"'{text}'"
