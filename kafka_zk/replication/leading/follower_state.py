"""What a leader knows of one follower.

Role        Pure. Moved by the follower's fetches; read by the ISR and high watermark rules.
Invariants  `last_caught_up_ms` never goes back within a leader epoch. Times are monotonic.
Source      Kafka 3.9 Replica, ReplicaState (updateFetchStateOrThrow, resetReplicaState, isCaughtUp).
"""

from __future__ import annotations

UNKNOWN_OFFSET = -1


class FollowerState:
    """Offsets and times of a follower, as of its last fetch. Offsets are -1 until it has fetched from this leader."""

    __slots__ = (
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
        "refused_until_ms",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
        self.last_fetch_ms: int | None = None
        self.last_caught_up_ms: int | None = None
        self.refused_until_ms = 0
        """Until then its joining is not waited for: the controller refused it, as its broker is going away."""

    def fetched(self, *, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int) -> None:
        """The follower asked for `fetch_offset`, so it holds all below; `leader_end_offset` is from before the read.

        It was caught up now if it asks for the leader's end, and at its previous fetch if it asks for what was the
        leader's end then: a follower that is always one busy round trip behind stays in sync.
        """
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = now_ms
        elif self.last_fetch_ms is not None and fetch_offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = _later(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = now_ms

    def reset(self, *, in_isr: bool, is_new_leader: bool, leader_end_offset: int, now_ms: int) -> None:
        """A new leader epoch began. Only a leader that continues to lead may keep the offsets it knows."""
        self.last_caught_up_ms = now_ms if in_isr else None
        self.refused_until_ms = 0
        if is_new_leader:
            self.log_start_offset = self.log_end_offset = self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
            self.last_fetch_ms = None
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            self.last_fetch_ms = now_ms if in_isr else None

    def is_caught_up(self, *, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        """At the leader's end, or there recently enough. On a quiet partition equality alone is enough (rule 27)."""
        if self.log_end_offset == leader_end_offset:
            return True
        return self.last_caught_up_ms is not None and now_ms - self.last_caught_up_ms <= max_lag_ms

    def __repr__(self) -> str:
        return f"{self.broker_id}@{self.log_start_offset}..{self.log_end_offset}"


def _later(one_ms: int | None, other_ms: int) -> int:
    return other_ms if one_ms is None else max(one_ms, other_ms)
