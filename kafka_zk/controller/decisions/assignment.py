"""The replica assignment of one partition, with the replicas being added and removed.

Role        Pure. Immutable values kept by the controller's context.
Invariants  `replicas` is target ++ (origin not in target) during a reassignment; `adding` and `removing` are
            subsets of it and disjoint; both are empty when no reassignment runs.
Source      ReplicaAssignment; KIP-455.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """`replicas`, preferred leader first; `adding` and `removing` only while being reassigned."""

    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas from before the reassignment."""
        return tuple(r for r in self.replicas if r not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas the reassignment ends with."""
        return tuple(r for r in self.replicas if r not in self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    def reassign_to(self, target: Sequence[int]) -> ReplicaAssignment:
        """Start a reassignment to `target`; one in progress restarts from its original replicas."""
        origin = self.origin
        full = (*target, *(r for r in origin if r not in target))
        return ReplicaAssignment(
            replicas=full,
            adding=tuple(r for r in full if r not in origin),
            removing=tuple(r for r in origin if r not in target),
        )

    def without(self, broker_id: int) -> ReplicaAssignment:
        """The same without that replica."""
        return ReplicaAssignment(
            tuple(r for r in self.replicas if r != broker_id),
            tuple(r for r in self.adding if r != broker_id),
            tuple(r for r in self.removing if r != broker_id),
        )

    def __str__(self) -> str:
        def listed(ids: tuple[int, ...]) -> str:
            return ",".join(map(str, ids))

        return (
            f"ReplicaAssignment(replicas={listed(self.replicas)}, "
            f"addingReplicas={listed(self.adding)}, removingReplicas={listed(self.removing)})"
        )
