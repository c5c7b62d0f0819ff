"""GroupCoordinator: serves the group APIs for the groups that this broker coordinates.

Role        Acts: finds the group, runs the decision, keeps the pending responses.
Invariants  Every request is checked against the partition's ownership first; every Pending handed out is settled.
            Joining, syncing and heartbeats do not switch, nor does a leave of a few members; a commit does while its
            batch is written.
            `OffsetStore` does what concerns offsets.
Source      Kafka 3.9 GroupCoordinator, GroupCoordinatorAdapter.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import gevent

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.coordinator.group.decisions.actions import (
    NO_MEMBER_ID,
    GroupRules,
    JoinResult,
    Step,
    SyncResult,
)
from kafka_zk.coordinator.group.decisions.describing import GroupDescription, GroupListing, describe, listing
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.joining import Join, check_session_timeout, join_group
from kafka_zk.coordinator.group.decisions.membership import delete, heartbeat, leave
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.syncing import Sync, sync_group
from kafka_zk.coordinator.group.manager import GroupManager, log_lines
from kafka_zk.coordinator.group.metrics import GroupMetrics, register_gauges, register_timers
from kafka_zk.coordinator.group.offset_store import (
    CommitCodes,
    Committer,
    FetchedOffset,
    OffsetStore,
    Verify,
    without_verification,
)
from kafka_zk.coordinator.group.performer import Performer, Spawn
from kafka_zk.coordinator.leadership import TopicLeadership
from kafka_zk.coordinator.placement import Placement, is_storable
from kafka_zk.coordinator.state_log import NO_PRODUCER, Producer, StateLog
from kafka_zk.giving_way import in_turns
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.compression import Codec

if TYPE_CHECKING:
    from kafka_zk.metadata.cache import MetadataCache
    from kafka_zk.replication.manager import ReplicaManager

MS_PER_MINUTE = 60_000
LEAVERS_AT_ONCE = 100
log = logging.getLogger("kafka.coordinator.group.GroupCoordinator")


class Leaver(NamedTuple):
    """One member of a LeaveGroup request."""

    member_id: str
    group_instance_id: str | None
    reason: str


class GroupCoordinator:
    """Serves once `startup` has run and a partition is loaded.

    `offsets_partition_count()` gives the partitions of __consumer_offsets in ZooKeeper, None if the topic does not
    exist yet; it may block and is asked once. `gone_topics(topics)` gives those that ZooKeeper no longer has, or is to
    lose; it may block.
    """

    def __init__(
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        metrics: MetricsRegistry,
        offsets_partition_count: Callable[[], int | None],
        gone_topics: Callable[[Collection[str]], Collection[str]],
        spawn: Spawn = gevent.spawn,
        new_uuid: Callable[[], object] = uuid.uuid4,
    ) -> None:
        self._config = config
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._offsets_partition_count = offsets_partition_count
        self._placement = Placement(config.offsets_topic_num_partitions)
        self._new_uuid = new_uuid
        self._is_active = False
        self._group_metrics = GroupMetrics(metrics)
        self._log = StateLog(
            GROUP_METADATA_TOPIC,
            replica_manager,
            clock,
            required_acks=config.offsets_commit_required_acks,
            timeout_ms=config.offsets_commit_timeout_ms,
            codec=Codec(config.offsets_topic_compression_codec),
            log=log_lines,
        )
        self._performer = Performer(
            clock=clock,
            rules=GroupRules(
                min_session_timeout_ms=config.group_min_session_timeout_ms,
                max_session_timeout_ms=config.group_max_session_timeout_ms,
                initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
                max_size=config.group_max_size,
            ),
            log=self._log,
            partition_of=self.partition_for,
            spawn=spawn,
            metrics=self._group_metrics,
        )
        self._manager = GroupManager(
            clock=clock,
            log=self._log,
            performer=self._performer,
            partition_of=self.partition_for,
            is_known_topic=lambda topic: metadata_cache.topic(topic) is not None,
            gone_topics=gone_topics,
            retention_ms=config.offsets_retention_minutes * MS_PER_MINUTE,
            check_interval_ms=config.offsets_retention_check_interval_ms,
            metrics=self._group_metrics,
        )
        self.leadership = TopicLeadership(
            GROUP_METADATA_TOPIC, elected=self._manager.elected, resigned=self._manager.resigned
        )
        self._offsets = OffsetStore(
            manager=self._manager,
            performer=self._performer,
            log=self._log,
            metrics=self._group_metrics,
            metadata_max_length=config.offset_metadata_max_bytes,
        )
        register_gauges(metrics, self._manager.groups)
        register_timers(metrics, self._performer.timers)

    # --- life --------------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Blocks. Start serving, and follow leadership and deleted topics. Call it before the controller starts."""
        count = self._offsets_partition_count()
        if count is not None:
            self._placement.partition_count = count
        self.leadership.follow(self._replica_manager)
        self._metadata_cache.on_change(lambda _, deleted: self.handle_deleted_partitions(deleted))
        self._manager.startup()
        self._is_active = True
        log.info("[GroupCoordinator] Startup complete.")

    def shutdown(self) -> None:
        """Blocks. Respond to everything with COORDINATOR_NOT_AVAILABLE from now on."""
        self._is_active = False
        self._manager.shutdown()
        log.info("[GroupCoordinator] Shutdown complete.")

    def handle_deleted_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """The controller deleted these partitions. Does not switch."""
        self._manager.handle_deleted_partitions(partitions)

    def partition_for(self, group_id: str) -> int:
        """The partition of __consumer_offsets that stores a group: its leader is the coordinator."""
        return self._placement.partition_for(group_id)

    def _check(self, group_id: str, *, may_be_empty: bool = False) -> ErrorCode:
        """NONE if this broker coordinates the group, else the error."""
        if (not group_id and not may_be_empty) or not is_storable(group_id):
            return ErrorCode.INVALID_GROUP_ID
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._manager.ownership.check(self.partition_for(group_id))

    # --- members -----------------------------------------------------------------------------------------------------

    def new_member_id(self, client_id: str, group_instance_id: str | None) -> str:
        return f"{client_id if group_instance_id is None else group_instance_id}-{self._new_uuid()}"

    def join_group(self, group_id: str, join: Join) -> Pending[JoinResult]:
        """The answer may take up to the rebalance timeout. Raises UnknownServerError for an impossible request."""
        answer: Pending[JoinResult] = Pending()
        error = self._check(group_id)
        if error is ErrorCode.NONE:
            error = check_session_timeout(join, self._performer.rules)
        group = self._manager.groups.get(group_id)
        if error is ErrorCode.NONE and group is None:
            if join.member_id == NO_MEMBER_ID:
                group = self._manager.groups[group_id] = Group(group_id)
            else:
                error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE or group is None:
            answer.complete(JoinResult(error, join.member_id))
            return answer
        joined = group
        self._performer.decide(joined, lambda step: join_group(joined, join, answer.complete, step))
        return answer

    def sync_group(self, group_id: str, sync: Sync) -> Pending[SyncResult]:
        """The answer waits for the leader's assignment."""
        answer: Pending[SyncResult] = Pending()
        error = self._check(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The assignment is not known yet; a rejoin gives the load time to finish.
            error = ErrorCode.REBALANCE_IN_PROGRESS
        group = self._manager.groups.get(group_id)
        if error is not ErrorCode.NONE or group is None:
            answer.complete(SyncResult(error or ErrorCode.UNKNOWN_MEMBER_ID))
            return answer
        synced = group
        self._performer.decide(synced, lambda step: sync_group(synced, sync, answer.complete, step))
        return answer

    def heartbeat(self, group_id: str, *, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
        error = self._check(group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE  # Nothing known yet contradicts it.
        group = self._manager.groups.get(group_id)
        if error is not ErrorCode.NONE or group is None:
            return error or ErrorCode.UNKNOWN_MEMBER_ID

        def decision(step: Step) -> ErrorCode:
            return heartbeat(
                group, member_id=member_id, group_instance_id=group_instance_id, generation=generation, step=step
            )

        return self._performer.decide(group, decision)

    def leave_group(self, group_id: str, leavers: Sequence[Leaver]) -> tuple[ErrorCode, list[ErrorCode]]:
        """May block for very many members. Returns the code of the request, and one for each leaver (none if
        the request failed)."""
        codes: list[ErrorCode] = []
        for start in in_turns(range(0, max(1, len(leavers)), LEAVERS_AT_ONCE)):
            error, some = self._leave_group(group_id, leavers[start : start + LEAVERS_AT_ONCE])
            if error is not ErrorCode.NONE:
                return error, []
            codes += some
        return ErrorCode.NONE, codes

    def _leave_group(self, group_id: str, leavers: Sequence[Leaver]) -> tuple[ErrorCode, list[ErrorCode]]:
        error = self._check(group_id)
        if error is not ErrorCode.NONE:
            return error, []
        group = self._manager.groups.get(group_id)
        if group is None:
            return ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID for _ in leavers]
        if group.is_dead:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []

        def decision(step: Step) -> list[ErrorCode]:
            return [
                leave(group, member_id=member_id, group_instance_id=instance, reason=reason, step=step)
                for member_id, instance, reason in leavers
            ]

        return ErrorCode.NONE, self._performer.decide(group, decision)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def commit_offsets(
        self,
        group_id: str,
        *,
        member_id: str,
        group_instance_id: str | None,
        generation: int,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
    ) -> Pending[CommitCodes]:
        """Blocks while the batch is written. Returns a code for each partition, once the offsets are replicated."""
        who = Committer(member_id, group_instance_id, generation)
        return self._offsets.commit(self._check(group_id, may_be_empty=True), group_id, who, offsets, NO_PRODUCER)

    def commit_transaction_offsets(
        self,
        group_id: str,
        who: Committer,
        producer: Producer,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        verify: Verify = without_verification,
    ) -> Pending[CommitCodes]:
        """Blocks while the batch is written. As `commit_offsets`, but valid only when the transaction is committed.

        `verify` asks whether the group's partition of __consumer_offsets is part of the transaction; it may block.
        """
        return self._offsets.commit(self._check(group_id), group_id, who, offsets, producer, verify)

    def handle_txn_completion(self, producer_id: int, markers: Mapping[int, int], *, is_commit: bool) -> None:
        """The producer's markers are in these partitions of __consumer_offsets. Does not switch."""
        self._manager.handle_txn_completion(producer_id, markers, is_commit=is_commit)

    def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None, *, require_stable: bool
    ) -> tuple[ErrorCode, dict[TopicPartition, FetchedOffset]]:
        """The committed offsets, all of the group's where `partitions` is None."""
        error = self._check(group_id, may_be_empty=True)
        if error is not ErrorCode.NONE:
            return error, {}
        return error, self._offsets.fetch(group_id, partitions, require_stable=require_stable)

    def committed_offsets(self) -> Iterator[tuple[str, list[tuple[TopicPartition, int]]]]:
        """Each group of this broker with all its committed offsets at this instant. Groups may vanish meanwhile."""
        for group in list(self._manager.groups.values()):
            if not group.is_dead and group.offsets.committed:
                committed = group.offsets.committed.items()
                yield group.group_id, [(topic_partition, found.value.offset) for topic_partition, found in committed]

    def delete_offsets(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
        """Blocks while tombstones are written. Returns the request's code, and if NONE one for each partition."""
        error = self._check(group_id)
        return (error, {}) if error is not ErrorCode.NONE else self._offsets.delete(group_id, partitions)

    # --- administration ----------------------------------------------------------------------------------------------

    def describe_group(self, group_id: str) -> tuple[ErrorCode, GroupDescription]:
        """A group that does not exist is described as dead."""
        error = self._check(group_id, may_be_empty=True)
        if error is not ErrorCode.NONE:
            return error, GroupDescription()
        return error, describe(self._manager.groups.get(group_id))

    def list_groups(
        self, states: Set[str] = frozenset(), types: Set[str] = frozenset()
    ) -> tuple[ErrorCode, list[GroupListing]]:
        """The groups of this broker, only those in `states` and of `types` where these are given, in lower case."""
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        loading = self._manager.ownership.is_loading
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NONE
        return error, listing(self._manager.groups.values(), states=states, types=types)

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ErrorCode]:
        """Blocks. Returns a code for each group, once each."""
        return {group_id: self._delete_group(group_id) for group_id in in_turns(group_ids)}

    def _delete_group(self, group_id: str) -> ErrorCode:
        error = self._check(group_id, may_be_empty=True)
        if error is not ErrorCode.NONE:
            return error
        group = self._manager.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        error = self._performer.decide(group, lambda step: delete(group, step))
        if error is ErrorCode.NONE:
            error, _ = self._manager.clean_up(group, group.offsets.remove_all())
        return error
