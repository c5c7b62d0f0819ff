"""The ISR: committed, in flight, and the rules of joining and leaving.

Role        Pure: decides, never acts. Called by the partition that leads.
Invariants  At most one change is in flight. `maximal` holds every broker that may be in the ISR as the controller sees
            it: acknowledgements must be counted over `maximal`, and min.insync.replicas must be checked against
            `committed` before an append (rule 22).
            The order of the members is the controller's: it compares ISRs as lists.
Source      Kafka 3.9 PartitionState (CommittedPartitionState, PendingExpandIsr, PendingShrinkIsr) and Partition:
            maybeExpandIsr, maybeShrinkIsr, getOutOfSyncReplicas, effectiveMinIsr; KIP-497.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.replication.leading.follower_state import FollowerState


class Isr:
    """The in-sync replicas of a partition that this broker leads."""

    __slots__ = ("committed", "maximal", "proposed")

    def __init__(self, committed: Iterable[int] = ()) -> None:
        self.committed: tuple[int, ...] = tuple(committed)
        self.proposed: tuple[int, ...] | None = None
        self.maximal: tuple[int, ...] = self.committed

    @property
    def is_settled(self) -> bool:
        return self.proposed is None

    def propose(self, members: tuple[int, ...]) -> None:
        """A change to `members` is about to be sent to the controller."""
        assert self.proposed is None, "one change at a time"
        self.proposed = members
        self.maximal = self.committed + tuple(member for member in members if member not in self.committed)

    def settle(self, committed: Iterable[int]) -> None:
        """The controller committed an ISR; nothing is in flight any more."""
        self.committed = self.maximal = tuple(committed)
        self.proposed = None

    def cancel(self) -> None:
        """The change in flight was refused."""
        self.proposed = None
        self.maximal = self.committed

    def __repr__(self) -> str:
        text = "{" + ",".join(map(str, self.committed)) + "}"
        if self.proposed is None:
            return text
        joining = [str(member) for member in self.proposed if member not in self.committed]
        leaving = [str(member) for member in self.committed if member not in self.proposed]
        return (
            text
            + ("+{" + ",".join(joining) + "}" if joining else "")
            + ("-{" + ",".join(leaving) + "}" if leaving else "")
        )


def effective_min_isr(min_insync_replicas: int, replica_count: int) -> int:
    """The required ISR size: min.insync.replicas, but never more than the replicas that exist."""
    return min(min_insync_replicas, replica_count)


def may_join(
    isr: Isr, follower: FollowerState, *, is_eligible: bool, high_watermark: int, epoch_start_offset: int
) -> bool:
    """Whether `follower` may be proposed for the ISR. `is_eligible`: its broker is alive.

    Below the high watermark it lacks committed records; below the start of this leader epoch it may lack records that
    an earlier leader committed (rule 26). Electing it would lose them.
    """
    return (
        isr.proposed is None
        and follower.broker_id not in isr.committed
        and follower.log_end_offset >= high_watermark
        and follower.log_end_offset >= epoch_start_offset
        and is_eligible
    )


def without_laggards(
    isr: Isr,
    followers: Iterable[FollowerState],
    *,
    leader_id: int,
    leader_end_offset: int,
    now_ms: int,
    max_lag_ms: int,
) -> tuple[int, ...] | None:
    """The ISR without the members that are not caught up; None when there is nothing to change, or a change in flight.

    A member that is no follower of this partition (it can be for a moment, during a reassignment) counts as lagging.
    """
    if isr.proposed is not None:
        return None
    caught_up = {
        follower.broker_id
        for follower in followers
        if follower.is_caught_up(leader_end_offset=leader_end_offset, now_ms=now_ms, max_lag_ms=max_lag_ms)
    }
    caught_up.add(leader_id)
    remaining = tuple(member for member in isr.committed if member in caught_up)
    return None if remaining == isr.committed else remaining
