"""What a group commits, and as whom: values that consumers return and producers take.

Role        Pure.
Source      OffsetAndMetadata, ConsumerGroupMetadata.
"""

from __future__ import annotations

from typing import NamedTuple


class OffsetAndMetadata(NamedTuple):
    """A position to commit: the offset of the next record, with optional metadata of the program."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class ConsumerGroupMetadata(NamedTuple):
    """A member of a group, as it was when the consumer was asked. The group's id alone stands for no member."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None

    def __str__(self) -> str:
        return (
            f"GroupMetadata(groupId = {self.group_id}, generationId = {self.generation}, memberId = {self.member_id}, "
            f"groupInstanceId = {self.group_instance_id or ''})"
        )
