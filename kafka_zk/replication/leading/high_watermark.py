"""The rules of a led partition's high watermark.

Role        Pure: decides, never acts.
Invariants  The answer is never below the current high watermark.
Source      Kafka 3.9 Partition.maybeIncrementLeaderHW; KAFKA-15583 (rule 25), KAFKA-15021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_zk.replication.leading.follower_state import FollowerState
from kafka_zk.replication.leading.isr import Isr


def next_high_watermark(
    *,
    current: int,
    log_end_offset: int,
    isr: Isr,
    followers: Iterable[FollowerState],
    min_isr: int,
    is_eligible: Callable[[int], bool],
    now_ms: int,
    max_lag_ms: int,
) -> int:
    """The high watermark after what is known now; `current` when it must not move.

    It waits for every member of the maximal ISR, and for followers about to join it: those that are caught up and
    whose broker is alive (`is_eligible`). A caught-up replica on a dead broker must not hold it back, nor one that the
    controller refuses because its broker is going. Under min.insync.replicas it does not advance, even if the members
    left have everything.
    Differs from Kafka: nor does it advance while the ISR has a member that is no replica. A reassignment that moves the
    leader takes the replicas away first, and only then the members of the ISR. Of those who no longer fetch nobody
    knows what they have, and the next controller may elect them.
    """
    if len(isr.committed) < min_isr:
        return current
    candidate = log_end_offset
    maximal = isr.maximal
    unknown_count = len(maximal) - 1
    for follower in followers:
        is_member = follower.broker_id in maximal
        if is_member:
            unknown_count -= 1
        if follower.log_end_offset < candidate and (
            is_member
            or (
                follower.is_caught_up(leader_end_offset=log_end_offset, now_ms=now_ms, max_lag_ms=max_lag_ms)
                and now_ms >= follower.refused_until_ms
                and is_eligible(follower.broker_id)
            )
        ):
            candidate = follower.log_end_offset
    if unknown_count > 0:
        return current
    return max(candidate, current)
