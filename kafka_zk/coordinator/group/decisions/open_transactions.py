"""Which groups have pending commits of which open transaction.

Role        Pure state. Without it the end of every transaction would have to check every group.
Source      Kafka 3.9 GroupMetadataManager: openGroupsForProducer, addProducerGroup, removeGroupFromAllProducers.
"""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.group import Group


class OpenTransactions:
    """Group ids by the id of the producer whose transaction has offsets of these groups."""

    def __init__(self) -> None:
        self._groups: dict[int, set[str]] = {}

    def note(self, group: Group) -> None:
        """Note the transactions that `group` waits for now."""
        for producer_id in group.offsets.open_producers:
            self._groups.setdefault(producer_id, set()).add(group.group_id)

    def forget(self, group: Group) -> None:
        """The group no longer waits, or was removed."""
        for producer_id in group.offsets.open_producers:
            self._drop(producer_id, group.group_id)

    def settled(self, producer_id: int, group: Group) -> None:
        """A commit of `producer_id` was appended or failed, or its marker came: the group may wait no more."""
        if not group.offsets.waits_for(producer_id):
            self._drop(producer_id, group.group_id)

    def gone(self, producer_id: int, group_id: str) -> None:
        """There is no such group any more."""
        self._drop(producer_id, group_id)

    def groups_of(self, producer_id: int) -> list[str]:
        return sorted(self._groups.get(producer_id, ()))

    def __len__(self) -> int:
        return len(self._groups)

    def _drop(self, producer_id: int, group_id: str) -> None:
        groups = self._groups.get(producer_id)
        if groups is not None:
            groups.discard(group_id)
            if not groups:
                del self._groups[producer_id]
