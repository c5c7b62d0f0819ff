"""How a leader changes its ISR: updates followers, proposes changes, applies the controller's response.

Role        Functions over a Partition that leads; the rules of joining and leaving are in isr.py.
Invariants  Every change goes through the controller. Its answer counts only if neither leadership nor the proposal
            changed meanwhile (rule 23).
Source      Kafka 3.9 Partition.maybeExpandIsr, maybeShrinkIsr, submitAlterPartition, handleAlterPartitionError.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.leading.follower_state import FollowerState
from kafka_zk.replication.leading.isr import may_join, without_laggards
from kafka_zk.replication.leading.isr_change import CommittedIsr, IsrChange
from kafka_zk.replication.partition import Partition

log_lines = logging.getLogger("kafka.cluster.Partition")

# The controller refused, and did not change anything: back to what is committed.
_NOT_APPLIED = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)

REFUSED_MS = 500
"""How long a follower that the controller refused is not proposed again: as long as an idle follower's fetch waits."""

# We are behind the controller. What is in flight stays in force until its LeaderAndIsr tells us more.
_OUTDATED = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
)


def shrink_if_due(partition: Partition) -> None:
    """Propose an ISR without the members that have lagged for replica.lag.time.max.ms. Nothing while not leading.

    Time alone may also have ended the high watermark's wait for a follower that is in no ISR.
    """
    log = partition.log
    if not partition.is_leader or log is None:
        return
    context = partition.context
    remaining = without_laggards(
        partition.isr,
        partition.followers.values(),
        leader_id=context.broker_id,
        leader_end_offset=log.log_end_offset,
        now_ms=context.clock.monotonic_ms(),
        max_lag_ms=context.replica_lag_time_max_ms,
    )
    if remaining is not None:
        log_lines.info(
            "[Partition %s broker=%d] Shrinking ISR from %s to %s. Leader: (highWatermark: %d, endOffset: %d).",
            partition.topic_partition,
            context.broker_id,
            _csv(partition.isr.committed),
            _csv(remaining),
            log.high_watermark,
            log.log_end_offset,
        )
        _propose(partition, remaining)
    else:
        advance_and_wake(partition)


def advance_and_wake(partition: Partition) -> None:
    """Look at the high watermark again: something other than a fetch may have ended what it waited for."""
    if partition.is_leader and partition.log is not None and partition.maybe_advance_high_watermark():
        partition.context.wake(partition)


def follower_fetched(
    partition: Partition,
    follower: FollowerState,
    *,
    fetch_offset: int,
    log_start_offset: int,
    leader_end_offset: int,
) -> None:
    """A follower of the current epoch asked for `fetch_offset`; `leader_end_offset` was taken before the read."""
    context = partition.context
    end_offset_before = follower.log_end_offset
    start_offset_before = follower.log_start_offset
    follower.fetched(
        fetch_offset=fetch_offset,
        log_start_offset=log_start_offset,
        leader_end_offset=leader_end_offset,
        now_ms=context.clock.monotonic_ms(),
    )
    expand_if_caught_up(partition, follower)
    moved = follower.log_end_offset != end_offset_before and partition.maybe_advance_high_watermark()
    if moved or follower.log_start_offset != start_offset_before:
        context.wake(partition)


def expand_if_caught_up(partition: Partition, follower: FollowerState) -> None:
    """Propose an ISR with `follower`, if the rules let it join."""
    log = partition.log
    if log is None or partition.epoch_start_offset is None or follower.broker_id in partition.isr.committed:
        return
    context = partition.context
    if may_join(
        partition.isr,
        follower,
        is_eligible=(
            context.is_alive(follower.broker_id) and context.clock.monotonic_ms() >= follower.refused_until_ms
        ),
        high_watermark=log.high_watermark,
        epoch_start_offset=partition.epoch_start_offset,
    ):
        _propose(partition, (*partition.isr.committed, follower.broker_id))


def is_still_proposed(partition: Partition, change: IsrChange) -> bool:
    """Whether the leadership that proposed `change` continues and has not learned of another ISR since."""
    return (
        partition.is_leader
        and change.leader_epoch == partition.leader_epoch
        and change.members == partition.isr.proposed
    )


def take_answer(partition: Partition, change: IsrChange, answer: CommittedIsr | BrokerError) -> None:
    """The controller answered `change`."""
    if not is_still_proposed(partition, change):
        return
    if isinstance(answer, BrokerError):
        _refused(partition, answer)
    elif answer.leader_epoch != partition.leader_epoch or answer.partition_epoch < partition.partition_epoch:
        partition.context.on_isr_update_failed()
    else:
        _committed(partition, answer)


def _propose(partition: Partition, members: tuple[int, ...]) -> None:
    partition.isr.propose(members)
    _send(partition)


def _send(partition: Partition) -> None:
    assert partition.isr.proposed is not None and partition.log is not None
    change = IsrChange(
        partition.topic_partition,
        partition.log.topic_id or NULL_UUID,
        partition.leader_epoch,
        partition.partition_epoch,
        partition.isr.proposed,
    )
    partition.context.alter_isr(partition, change)


def _committed(partition: Partition, answer: CommittedIsr) -> None:
    context = partition.context
    grew = len(answer.members) > len(partition.isr.committed)
    partition.isr.settle(answer.members)
    partition.partition_epoch = answer.partition_epoch
    log_lines.info(
        "[Partition %s broker=%d] ISR updated to %s and version updated to %d",
        partition.topic_partition,
        context.broker_id,
        _csv(answer.members),
        answer.partition_epoch,
    )
    (context.on_isr_expanded if grew else context.on_isr_shrunk)()
    # A smaller ISR may have been all that the high watermark waited for (rule 24).
    partition.maybe_advance_high_watermark()
    context.wake(partition)


def _refused(partition: Partition, error: BrokerError) -> None:
    context = partition.context
    context.on_isr_update_failed()
    log_lines.info(
        "[Partition %s broker=%d] Failed to alter partition to %s: %s",
        partition.topic_partition,
        context.broker_id,
        _csv(partition.isr.proposed or ()),
        error.code.name,
    )
    if error.code in _NOT_APPLIED:
        if error.code is ErrorCode.INELIGIBLE_REPLICA:
            _leave_out_for_a_while(partition)
        partition.isr.cancel()
        # The high watermark may have waited only for replicas that cannot join.
        advance_and_wake(partition)
    elif error.code not in _OUTDATED:
        _send(partition)


def _leave_out_for_a_while(partition: Partition) -> None:
    """Its broker is shutting down or dead. Proposed again with each of its fetches, it would be refused each time."""
    until_ms = partition.context.clock.monotonic_ms() + REFUSED_MS
    for member in partition.isr.proposed or ():
        follower = partition.followers.get(member)
        if follower is not None and member not in partition.isr.committed:
            follower.refused_until_ms = until_ms


def _csv(members: Iterable[int]) -> str:
    return ",".join(map(str, members))
