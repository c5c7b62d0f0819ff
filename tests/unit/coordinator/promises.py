"""What the members of a test asked and were told, and whether it fits together: known without the coordinator's memory.

Assignments are made by `assignment`: each says for whom it is and which SyncGroup brought it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_zk.coordinator.group.decisions.actions import JoinResult, SyncResult
from kafka_zk.coordinator.group.decisions.member import Protocols
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode


@dataclass(frozen=True)
class Tenure:
    """While it lasts, each generation of a group is there once: until the group is forgotten, or loaded anew."""

    group: str
    number: int


@dataclass(frozen=True)
class AskedJoin:
    tenure: Tenure
    group_instance_id: str | None
    protocols: Protocols
    asked_ms: int
    answer: Pending[JoinResult]

    @property
    def told(self) -> JoinResult | None:
        """The generation that it was made part of."""
        return self.answer.value if self.answer.is_done and self.answer.value.error is ErrorCode.NONE else None


@dataclass(frozen=True)
class AskedSync:
    """`number` is in the assignments that it brought; they count if `leads`."""

    tenure: Tenure
    member_id: str
    generation: int
    number: int
    leads: bool
    asked_ms: int
    answer: Pending[SyncResult]

    @property
    def told(self) -> SyncResult | None:
        """The assignment that it was given."""
        return self.answer.value if self.answer.is_done and self.answer.value.error is ErrorCode.NONE else None


def assignment(member_id: str, number: int) -> bytes:
    return f"{member_id}@{number}".encode()


def assert_one_assignment_a_generation(syncs: Iterable[AskedSync]) -> None:
    """Everyone of a generation was given what one leader had decided for it, and each the same each time."""
    by_number = {each.number: each for each in syncs}
    of_member: dict[tuple[str, int], bytes] = {}
    of_generation: dict[tuple[Tenure, int], int] = {}
    for each in by_number.values():
        if each.told is None:
            continue
        what = f"{each.member_id} in generation {each.generation} of {each.tenure.group}"
        given = each.told.assignment
        assert of_member.setdefault((each.member_id, each.generation), given) == given, f"two assignments for {what}"
        _, _, number = given.decode().rpartition("@")
        brought = by_number.get(int(number or 0))
        assert brought is not None, f"{what} was given {given!r}"
        assert brought.leads, f"{what} was given what {brought.member_id} says, who does not lead"
        assert (brought.tenure.group, brought.generation) == (each.tenure.group, each.generation), f"{what}: of another"
        first = of_generation.setdefault((each.tenure, each.generation), brought.number)
        assert first == brought.number, f"two leaders' assignments in generation {each.generation}"


def assert_one_leader_a_generation(joins: Iterable[AskedJoin]) -> None:
    """It alone learns the members; what they speak is something that each of them had offered.

    A static member that leads may come back under another id; of the others there is one.
    """
    static_ids = {each.answer.value.member_id for each in joins if each.group_instance_id and each.answer.is_done}
    leaders: dict[tuple[Tenure, int], str] = {}
    for each in joins:
        told = each.told
        if told is None:
            continue
        assert told.protocol_name in dict(each.protocols), f"{told.member_id} does not speak {told.protocol_name}"
        if told.members:
            assert told.leader_id == told.member_id, f"{told.member_id} learns the members, but does not lead"
            assert told.member_id in [member.member_id for member in told.members]
        if told.leader_id not in static_ids:
            first = leaders.setdefault((each.tenure, told.generation), told.leader_id)
            assert first == told.leader_id, f"{first} and {told.leader_id} lead generation {told.generation}"
