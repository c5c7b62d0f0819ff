"""One partition on this broker: who leads it, who is in sync, what is committed.

Role        Passive: called by other greenlets (a producer's connection, a follower's fetch, the controller's request, a
            timer). The decisions are in isr.py and high_watermark.py; the bytes are in the UnifiedLog.
Invariants  The leader epoch and the partition epoch never decrease.
            The high watermark moves only through `maybe_advance_high_watermark` while leading, through the fetcher
            while following; it is never above the log end offset.
Source      Kafka 3.9 Partition.scala: makeLeader, makeFollower, appendRecordsToLeader, updateFollowerFetchState.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafka_zk.clock import Clock
from kafka_zk.log.errors import UnexpectedAppendOffset
from kafka_zk.metrics.topic_metrics import TopicMetrics
from kafka_zk.protocol.errors import (
    ErrorCode,
    FencedLeaderEpoch,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_zk.protocol.types import NO_LEADER, Buffer, TopicPartition
from kafka_zk.record.produced import Origin
from kafka_zk.replication.leading.appends import Appends
from kafka_zk.replication.leading.follower_state import FollowerState
from kafka_zk.replication.leading.high_watermark import next_high_watermark
from kafka_zk.replication.leading.isr import Isr, effective_min_isr
from kafka_zk.replication.leading.isr_change import IsrChange

if TYPE_CHECKING:
    from kafka_zk.log.state.verification import VerificationGuard
    from kafka_zk.log.unified_log import AppendInfo, UnifiedLog

NO_EPOCH: Final = -1
ACKS_ALL: Final = -1

log_lines = logging.getLogger("kafka.cluster.Partition")


@dataclass(slots=True)
class PartitionContext:
    """What a partition uses of its broker."""

    broker_id: int
    clock: Clock
    replica_lag_time_max_ms: int
    is_alive: Callable[[int], bool]
    alter_isr: Callable[[Partition, IsrChange], None]
    wake: Callable[[Partition], None]
    on_isr_expanded: Callable[[], None]
    on_isr_shrunk: Callable[[], None]
    on_isr_update_failed: Callable[[], None]
    leaderships: Iterator[int]
    """A number for each leadership that begins on this broker."""


class Partition:
    """A replica of a topic partition. `leader_id` and the epochs are -1 until the first LeaderAndIsr."""

    __slots__ = (
        "_appends",
        "adding_replicas",
        "assigned_replicas",
        "context",
        "epoch_start_offset",
        "followers",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "leadership",
        "log",
        "metrics",
        "partition_epoch",
        "removing_replicas",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition, context: PartitionContext, metrics: TopicMetrics) -> None:
        self.topic_partition = topic_partition
        self.context = context
        self.metrics = metrics
        self.log: UnifiedLog | None = None
        self.is_leader = False
        self.leadership = 0
        """Another number each time this broker begins to lead: before that, the log may have been cut.

        No other partition has the same one, not even the next of that name.
        """
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = NO_EPOCH
        self.epoch_start_offset: int | None = None
        self.isr = Isr()
        self.assigned_replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.followers: dict[int, FollowerState] = {}
        self._appends = Appends()

    @property
    def high_watermark(self) -> int:
        """The first offset that is not committed; 0 while there is no log."""
        return 0 if self.log is None else self.log.high_watermark

    # --- who may use the log -----------------------------------------------------------------------------------------

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """Fence readers with another leader epoch. Below 0: the reader sends none."""
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            raise FencedLeaderEpoch
        raise UnknownLeaderEpoch

    def log_for(self, current_leader_epoch: int, *, leader_only: bool) -> UnifiedLog:
        """The log, for a reader of that epoch. The epoch is checked before the role (rule 41).

        A replica that follows no leader serves no readers: its log may never grow again.
        """
        self.check_leader_epoch(current_leader_epoch)
        if self.log is None or (not self.is_leader and (leader_only or self.leader_id < 0)):
            raise NotLeaderOrFollower
        return self.log

    def leader_log(self) -> UnifiedLog:
        """The log; raises NotLeaderOrFollower when another broker leads."""
        if self.log is None or not self.is_leader:
            raise NotLeaderOrFollower
        return self.log

    # --- leadership --------------------------------------------------------------------------------------------------

    def become_leader(self, state: LeaderAndIsrPartitionState, log: UnifiedLog) -> bool:
        """Blocks. Lead `state.leader_epoch` on `log`; whether this broker did not lead before.

        Appends of the old epoch end first: written after the new one began, they would wipe it from the epoch file.
        Until then the old leadership continues to serve fetches and delayed requests.
        The epoch and where it starts go to the leader epoch file before anything is appended: without the entry a
        follower could not find where it diverges (rule 34).
        """
        with self._appends.held():
            if self._is_outdated(state):
                return False
            is_new_leader = not self.is_leader
            self._lead_epoch(state, log)
            # The ISR may be this broker alone now.
            has_advanced = self.maybe_advance_high_watermark()
        if has_advanced:
            self.context.wake(self)
        return is_new_leader

    def _lead_epoch(self, state: LeaderAndIsrPartitionState, log: UnifiedLog) -> None:
        """Does not switch, and what may fail comes first: no reader sees half of it. Raises KafkaStorageError."""
        is_new_leader = not self.is_leader
        is_new_epoch = state.leader_epoch > self.leader_epoch
        start_offset = log.log_end_offset
        if is_new_epoch:
            log.assign_epoch_start(state.leader_epoch, start_offset)
        self.log = log
        self._assign(state)
        self.isr.settle(state.isr)
        if is_new_epoch:
            now_ms = self.context.clock.monotonic_ms()
            for follower in self.followers.values():
                follower.reset(
                    in_isr=follower.broker_id in self.isr.committed,
                    is_new_leader=is_new_leader,
                    leader_end_offset=start_offset,
                    now_ms=now_ms,
                )
            self.leader_epoch = state.leader_epoch
            self.epoch_start_offset = start_offset
        self.partition_epoch = state.partition_epoch
        self.leader_id = self.context.broker_id
        self.is_leader = True
        if is_new_leader:
            self.leadership = next(self.context.leaderships)

    def become_follower(self, state: LeaderAndIsrPartitionState, log: UnifiedLog) -> bool:
        """Blocks. Follow `state.leader`; whether the leader epoch is new, so that the fetcher must restart."""
        with self._appends.held():
            if self._is_outdated(state):
                return False
            is_new_epoch = state.leader_epoch > self.leader_epoch
            self.log = log
            self.is_leader = False
            self.leader_id = state.leader
            self.leader_epoch = state.leader_epoch
            self.partition_epoch = state.partition_epoch
            self.epoch_start_offset = None
            self._assign(state)
            self.isr.settle(())
        return is_new_epoch

    def stop_leading(self) -> None:
        """Blocks. Stop leading. The epochs stay: a LeaderAndIsr to follow may still come."""
        with self._appends.held():
            self.is_leader = False
            self.leader_id = NO_LEADER
            self.epoch_start_offset = None
            self.isr.settle(())

    def delete(self) -> None:
        """Blocks. Prepare the deletion of the replica. Appends from now on get NOT_LEADER_OR_FOLLOWER."""
        with self._appends.held():
            self.go_offline()

    def use_log(self, log: UnifiedLog) -> None:
        """It was moved into another log directory. Does not switch."""
        self.log = log

    def go_offline(self) -> None:
        """The log is gone: its directory failed, or the replica is deleted."""
        self.is_leader = False
        self.log = None
        self.isr.settle(())

    def _is_outdated(self, state: LeaderAndIsrPartitionState) -> bool:
        if state.partition_epoch >= self.partition_epoch:
            return False
        log_lines.info(
            "[Partition %s broker=%d] Skipped leader epoch %d: its partition epoch %d is older than %d",
            self.topic_partition,
            self.context.broker_id,
            state.leader_epoch,
            state.partition_epoch,
            self.partition_epoch,
        )
        return True

    def _assign(self, state: LeaderAndIsrPartitionState) -> None:
        self.assigned_replicas = tuple(state.replicas)
        self.adding_replicas = tuple(state.adding_replicas)
        self.removing_replicas = tuple(state.removing_replicas)
        own_id = self.context.broker_id
        self.followers = {
            broker_id: self.followers.get(broker_id) or FollowerState(broker_id)
            for broker_id in state.replicas
            if broker_id != own_id
        }

    # --- produce -----------------------------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: Buffer,
        required_acks: int,
        origin: Origin = Origin.CLIENT,
        guard: VerificationGuard | None = None,
    ) -> AppendInfo:
        """Blocks. Append one produced batch and advance the high watermark as far as that alone allows.

        `guard`: from the log's `begin_verification`, for the first batch of a transaction.
        Raises NotLeaderOrFollower, NotEnoughReplicas (acks=all under min.insync.replicas), and what the log raises.
        """
        appends = self._appends
        if appends.change is not None:
            appends.wait_while_held()
        log = self.log
        if not self.is_leader or log is None:
            raise NotLeaderOrFollower
        if required_acks == ACKS_ALL and self.followers:
            minimum = self.min_isr(log)
            if len(self.isr.committed) < minimum:
                raise NotEnoughReplicas(
                    f"The size of the current ISR {self.isr.committed} is insufficient to satisfy the min.isr "
                    f"requirement of {minimum} for partition {self.topic_partition}"
                )
        appends.count += 1
        try:
            info = log.append_as_leader(records, leader_epoch=self.leader_epoch, origin=origin, guard=guard)
        finally:
            appends.count -= 1
            if appends.change is not None:
                appends.ended()
        if self.is_leader:
            if self.followers:
                self.maybe_advance_high_watermark()
            else:
                # The only replica: what it has is committed. It may have been moved into another directory meanwhile.
                log = self.log
                assert log is not None
                log.update_high_watermark(log.log_end_offset)
        return info

    def min_isr(self, log: UnifiedLog) -> int:
        return effective_min_isr(log.config.min_insync_replicas, len(self.assigned_replicas))

    def acknowledgement(self, required_offset: int) -> ErrorCode | None:
        """How acks=all ends for records below `required_offset`: a code once it is settled, None while it is not."""
        log = self.log
        if not self.is_leader or log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if log.high_watermark < required_offset:
            return None
        # Over the maximal ISR: a shrink in flight has not happened yet for the controller.
        if self.min_isr(log) <= len(self.isr.maximal):
            return ErrorCode.NONE
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def maybe_advance_high_watermark(self) -> bool:
        """Move the high watermark as far as the rules allow; whether it moved."""
        log = self.log
        assert log is not None and self.is_leader
        context = self.context
        advanced = next_high_watermark(
            current=log.high_watermark,
            log_end_offset=log.log_end_offset,
            isr=self.isr,
            followers=self.followers.values(),
            min_isr=self.min_isr(log),
            is_eligible=context.is_alive,
            now_ms=context.clock.monotonic_ms(),
            max_lag_ms=context.replica_lag_time_max_ms,
        )
        if advanced == log.high_watermark:
            return False
        log.update_high_watermark(advanced)
        return True

    def append_as_follower(self, records: Buffer, leader_epoch: int) -> AppendInfo:
        """Blocks. Append what the leader of that epoch sent; records of a later one are left out.

        A log may begin where no batch does (DeleteRecords cuts at offsets): the first fetch then brings the whole batch
        around that offset. An empty log takes it by beginning at the batch, and hiding what is before its old start.
        """
        log = self.log
        assert log is not None
        try:
            return log.append_as_follower(records, leader_epoch)
        except UnexpectedAppendOffset as error:
            start_offset = log.log_start_offset
            if log.log_end_offset != start_offset or not error.first_offset < start_offset <= error.last_offset:
                raise
            log_lines.info(
                "[Partition %s broker=%d] Unexpected offset in append: the batch at %d holds the log start offset %d",
                self.topic_partition,
                self.context.broker_id,
                error.first_offset,
                start_offset,
            )
            log.truncate_fully_and_start_at(error.first_offset)
            info = log.append_as_follower(records, leader_epoch)
            log.update_high_watermark(start_offset)
            log.increment_log_start_offset(start_offset)
            return info

    # --- followers ---------------------------------------------------------------------------------------------------

    def follower(self, broker_id: int, current_leader_epoch: int) -> FollowerState:
        """What is known of a follower. Raises NotLeaderOrFollower, UnknownLeaderEpoch for one that is not a replica."""
        follower = self.followers.get(broker_id)
        if follower is None:
            raise NotLeaderOrFollower if current_leader_epoch < 0 else UnknownLeaderEpoch
        return follower

    def low_watermark(self) -> int:
        """The lowest log start offset of this leader and its followers on live brokers."""
        lowest = self.leader_log().log_start_offset
        for follower in self.followers.values():
            if self.context.is_alive(follower.broker_id):
                lowest = min(lowest, follower.log_start_offset)
        return lowest

    # --- what operators see ------------------------------------------------------------------------------------------

    def is_under_replicated(self) -> bool:
        """Leading with fewer members in sync than replicas; those that a reassignment adds do not count."""
        return self.is_leader and len(self.isr.committed) < len(self.assigned_replicas) - len(self.adding_replicas)

    @property
    def is_joining(self) -> bool:
        """Whether a reassignment adds the replica on this broker."""
        return self.is_adding(self.context.broker_id)

    def is_adding(self, broker_id: int) -> bool:
        """Whether a reassignment adds the replica on that broker."""
        return broker_id in self.adding_replicas

    def isr_margin(self) -> int | None:
        """Members in sync above min.insync.replicas; negative when under it, None when not leading."""
        if not self.is_leader or self.log is None:
            return None
        return len(self.isr.committed) - self.min_isr(self.log)

    def __repr__(self) -> str:
        log = self.log
        offsets = (
            "" if log is None else f" lso={log.last_stable_offset} hw={log.high_watermark} leo={log.log_end_offset}"
        )
        return f"{self.topic_partition} leader={self.leader_id} epoch={self.leader_epoch} isr={self.isr}{offsets}"
