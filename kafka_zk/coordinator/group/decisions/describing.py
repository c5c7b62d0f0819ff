"""Groups in the form of DescribeGroups and ListGroups.

Role        Pure.
Source      Kafka 3.9 GroupMetadata.summary and overview, GroupCoordinator.handleListGroups.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.states import GroupState

CLASSIC = "classic"
"""The type of every group that this coordinator keeps."""


class MemberDescription(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupDescription(NamedTuple):
    """A described group. The defaults are for one that may not be described."""

    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[MemberDescription, ...] = ()


class GroupListing(NamedTuple):
    group_id: str
    protocol_type: str
    state: str


def describe(group: Group | None) -> GroupDescription:
    """A missing group is dead. Metadata and assignments are shown only while the generation is stable."""
    if group is None:
        return GroupDescription(GroupState.DEAD.value)
    stable_protocol = group.protocol_name if group.state is GroupState.STABLE else None
    members = tuple(
        MemberDescription(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            b"" if stable_protocol is None else member.metadata(stable_protocol),
            b"" if stable_protocol is None else member.assignment,
        )
        for member in group.members.values()
    )
    return GroupDescription(group.state.value, group.protocol_type or "", stable_protocol or "", members)


def listing(groups: Iterable[Group], *, states: Set[str], types: Set[str]) -> list[GroupListing]:
    """One line per group. An empty filter matches everything; filters are in lower case."""
    if types and CLASSIC not in types:
        return []
    return [
        GroupListing(group.group_id, group.protocol_type or "", group.state.value)
        for group in groups
        if not states or group.state.value.lower() in states
    ]
