"""The table of tests/interop/java/Assignors.java: what Java's assignors made of a group, a line each round."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_zk.client.consumer.assignors import Assignment, Member, ReplicaRacks
from kafka_zk.protocol.types import TopicPartition


class Round(NamedTuple):
    """One rebalance: who was there, and what Java's leader gave to whom."""

    assignor: str
    counts: dict[str, int]
    members: list[Member]
    racks: ReplicaRacks
    answer: Assignment

    @property
    def gives_what_nobody_asked_for(self) -> bool:
        """Java's sticky balance can hand a partition back to a former owner that does not read the topic any more."""
        topics = {member.member_id: member.topics for member in self.members}
        return any(given.topic not in topics[member] for member, owned in self.answer.items() for given in owned)

    @property
    def gives_what_another_has_still(self) -> bool:
        """Java's cooperative leader hands on at once what is far from its owner, who has not given it up."""
        owner = {partition: member.member_id for member in self.members for partition in member.owned}
        given = ((partition, member) for member, owned in self.answer.items() for partition in owned)
        return any(owner.get(partition, member) != member for partition, member in given)


def rounds(lines: Iterable[str]) -> Iterator[Round]:
    for line in lines:
        row = json.loads(line)
        members = [_member(described) for described in row["members"]]
        stand = zip(_partitions(row.get("racks", ())), row.get("racks", {}).values(), strict=True)
        racks = {partition: frozenset(names) for partition, names in stand}
        answer = {member: _partitions(texts) for member, texts in row["answer"].items()}
        yield Round(row["assignor"], row["counts"], members, racks, answer)


def _member(described: dict[str, object]) -> Member:
    user_data = described["user_data"]
    return Member(
        str(described["id"]),
        described["topics"],  # type: ignore[arg-type]
        described["instance"],  # type: ignore[arg-type]
        _partitions(described["owned"]),  # type: ignore[arg-type]
        described["generation"],  # type: ignore[arg-type]
        None if user_data is None else bytes.fromhex(str(user_data)),
        described.get("rack"),  # type: ignore[arg-type]
    )


def _partitions(texts: Iterable[str]) -> list[TopicPartition]:
    return [TopicPartition(topic, int(number)) for topic, _, number in (text.rpartition("-") for text in texts)]
