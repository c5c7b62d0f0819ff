"""ReplicaManager: the facade of the package replication.

Role        Builds the parts of the package (hosted partitions, purgatories, append, fetch, leadership, ISR changes,
            fetchers), owns their timers, and is the interface for other packages.
Invariants  Everything runs on the gevent loop; the parts share no state but the hosted partitions.
            After the first LeaderAndIsr the high watermarks are checkpointed every few seconds, and at shutdown.
Source      Kafka 3.9 ReplicaManager.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from gevent.pool import Group

from kafka_zk.clock import Clock, Timer
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.giving_way import in_rounds
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.topic_metrics import BrokerTopicStats
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.control_requests import ReplicaStop, tell
from kafka_zk.replication.following.fetchers import Connect, FetcherManager
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.leadership import Leadership, LeadershipListener, StopListener
from kafka_zk.replication.leading.isr_changes import ControllerRequests, IsrChanges
from kafka_zk.replication.leading.isr_proposals import shrink_if_due
from kafka_zk.replication.log_dir_moves import LogDirMoves, moved_bytes_per_second
from kafka_zk.replication.metrics import register_gauges
from kafka_zk.replication.partition import Partition, PartitionContext
from kafka_zk.replication.purgatory import Purgatory
from kafka_zk.replication.serving.append import Appender
from kafka_zk.replication.serving.delayed_commit import Commits
from kafka_zk.replication.serving.deletes import Deletes
from kafka_zk.replication.serving.early_followers import EarlyFollowers
from kafka_zk.replication.serving.fetch import Fetches
from kafka_zk.replication.serving.fetch_session import FetchSessionCache
from kafka_zk.replication.serving.read_replica import RackAwareChooser, ReadReplicaChooser
from kafka_zk.replication.throttle import Direction, ReplicationQuota
from kafka_zk.supervision import caught

if TYPE_CHECKING:
    from uuid import UUID

    from kafka_zk.log.manager import LogManager
    from kafka_zk.protocol.errors import ErrorCode

SESSION_EVICTION_MS = 120_000
"""How long a fetch session is safe from being pushed out: not configurable in Kafka either."""

PARTITIONS_PER_ROUND = 256

LATE_TRANSACTION_MS = 300_000
"""How long after the longest timeout an open transaction counts as one that hangs."""

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

OfflineListener = Callable[[Sequence[Partition]], None]

log = logging.getLogger("kafka.server.ReplicaManager")


class ReplicaManager:
    """The replicas of one broker.

    `broker_epoch()`: the epoch of this broker's registration now. `controller`: the channel to the controller.
    `connect(host, port, client_id)`: a channel to another broker; blocks, raises NetworkError.
    `on_log_dir_failure(directory)` is called after the partitions of a failed directory went offline; must not switch.
    """

    def __init__(
        self,
        *,
        config: BrokerConfig,
        broker_id: int,
        clock: Clock,
        log_manager: LogManager,
        metadata_cache: MetadataCache,
        metrics: MetricsRegistry,
        controller: ControllerRequests,
        broker_epoch: Callable[[], int],
        connect: Connect,
        on_log_dir_failure: Callable[[str], None] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config
        self.broker_epoch = broker_epoch
        self.broker_id = broker_id
        self.metadata_cache = metadata_cache
        self.log_manager = log_manager
        self._clock = clock
        self._on_log_dir_failure = on_log_dir_failure
        self._offline_listeners: list[OfflineListener] = []
        self._stopped = False
        self._failing = Group()
        self._timers: dict[str, Timer] = {}
        self._checkpoints_started = False
        random_source = rng or random.SystemRandom()

        self.leader_throttle, self.follower_throttle = (
            ReplicationQuota(direction, config, broker_id=broker_id, clock=clock, metrics=metrics)
            for direction in (Direction.LEADER, Direction.FOLLOWER)
        )
        self.topic_stats = BrokerTopicStats(metrics)
        self.hosted = HostedPartitions(metadata_cache)
        self.delayed_produces = Purgatory("Produce", clock)
        self.delayed_fetches = Purgatory("Fetch", clock)
        self.delayed_delete_records = Purgatory("DeleteRecords", clock)
        self.delayed_commits = Purgatory("Commit", clock)
        self._awaited_commits = self.delayed_commits.watched
        self.fetch_sessions = FetchSessionCache(
            config.max_incremental_fetch_session_cache_slots,
            eviction_ms=SESSION_EVICTION_MS,
            new_id=lambda: random_source.randint(1, 2**31 - 1),
        )
        self._isr_changes = IsrChanges(
            broker_id=self.broker_id, broker_epoch=broker_epoch, controller=controller, clock=clock
        )
        isr_meters = [
            metrics.meter(f"kafka.server:type=ReplicaManager,name={name}", event_type=events)
            for name, events in (
                ("IsrExpandsPerSec", "expands"),
                ("IsrShrinksPerSec", "shrinks"),
                ("FailedIsrUpdatesPerSec", "failedUpdates"),
            )
        ]
        self._partition_context = PartitionContext(
            broker_id=self.broker_id,
            clock=clock,
            replica_lag_time_max_ms=config.replica_lag_time_max_ms,
            is_alive=metadata_cache.is_alive,
            alter_isr=self._isr_changes.submit,
            wake=self.wake,
            on_isr_expanded=lambda: isr_meters[0].mark(1),
            on_isr_shrunk=lambda: isr_meters[1].mark(1),
            on_isr_update_failed=lambda: isr_meters[2].mark(1),
            leaderships=count(1),
        )
        self.fetchers = FetcherManager(
            config=config,
            broker_id=broker_id,
            clock=clock,
            metadata_cache=metadata_cache,
            broker_epoch=broker_epoch,
            connect=connect,
            topic_stats=self.topic_stats,
            metrics=metrics,
            wake=self.wake,
            throttle=self.follower_throttle,
        )
        self.leadership = Leadership(
            broker_id=self.broker_id,
            hosted=self.hosted,
            metadata_cache=metadata_cache,
            log_manager=log_manager,
            fetchers=self.fetchers,
            new_partition=self._new_partition,
            partition_forgotten=self._partition_forgotten,
            wake=self.wake,
        )
        appender = Appender(
            self.hosted, self.delayed_produces, self.delayed_fetches, self.topic_stats, self.wake, metrics
        )
        # The produce path calls this once a request: the bound method saves it a call in between.
        self.append_records = appender.append_records
        chooser = self._read_replica_chooser()
        early_followers = EarlyFollowers(clock)
        self.leadership.on_leadership_change(early_followers.order_carried_out)
        self._fetches = Fetches(
            self.hosted,
            self.delayed_fetches,
            metadata_cache,
            chooser,
            metrics,
            early_followers,
            self.leader_throttle,
        )
        self.fetch = self._fetches.fetch
        self._deletes = Deletes(self.hosted, self.delayed_delete_records, self.wake)
        self.delete_records = self._deletes.delete_records
        self.await_committed = Commits(self.hosted, self.delayed_commits).await_committed
        self.moves = LogDirMoves(
            hosted=self.hosted,
            log_manager=log_manager,
            put_in_place=self.leadership.put_in_place,
            count_at_once=config.num_replica_alter_log_dirs_threads,
            bytes_per_second=lambda: moved_bytes_per_second(config),
            clock=clock,
        )
        register_gauges(
            metrics,
            hosted=self.hosted,
            log_manager=self.log_manager,
            purgatories=(self.delayed_produces, self.delayed_fetches, self.delayed_delete_records),
            moves=self.moves,
            sessions=self.fetch_sessions,
            late_before_ms=lambda: clock.wall_ms() - config.transaction_max_timeout_ms - LATE_TRANSACTION_MS,
        )

    # --- life ----------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Start the timer that looks for members of the ISR that lag."""
        self._every("isr-expiration", self.config.replica_lag_time_max_ms // 2, self._shrink_isrs)

    def broker_config_changed(self) -> None:
        """Blocks. Apply a changed broker configuration."""
        self.leader_throttle.follow_config()
        self.follower_throttle.follow_config()
        self.leadership.resize_fetchers()

    def about_to_stop(self) -> None:
        """The controller is about to be asked to move this broker's leaders: follow no new ones any more."""
        self.fetchers.add_none()

    def shutdown(self) -> None:
        """Blocks. Stop fetchers and timers, drop delayed requests, write the high watermark checkpoints."""
        log.info("[ReplicaManager broker=%d] Shutting down", self.broker_id)
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self.fetchers.shutdown()
        self._failing.join()
        self.moves.shutdown()
        for purgatory in (
            self.delayed_produces,
            self.delayed_fetches,
            self.delayed_delete_records,
            self.delayed_commits,
        ):
            purgatory.shutdown()
        self.checkpoint_high_watermarks()
        log.info("[ReplicaManager broker=%d] Shut down completely", self.broker_id)

    def _every(self, name: str, period_ms: int, task: Callable[[], None]) -> None:
        """Run `task` every `period_ms`; once where that is 0 or less. A task that fails is logged and runs again."""

        def run() -> None:
            if self._stopped:
                return
            try:
                task()
            except Exception:
                caught(f"ReplicaManager broker={self.broker_id}", name)
            finally:
                if period_ms > 0:
                    arm()

        def arm() -> None:
            if not self._stopped:
                self._timers[name] = self._clock.call_at(self._clock.monotonic_ms() + period_ms, run)

        arm()

    def _shrink_isrs(self) -> None:
        for partition in in_rounds(self.hosted, PARTITIONS_PER_ROUND):
            shrink_if_due(partition)

    def checkpoint_high_watermarks(self) -> None:
        """Blocks. Write the high watermark of every hosted log to its directory's checkpoint."""
        self.log_manager.write_high_watermarks()

    # --- partitions ----------------------------------------------------------------------------------------------

    def get_partition(self, topic_partition: TopicPartition) -> Partition:
        """The hosted partition. Raises NotLeaderOrFollower, UnknownTopicOrPartition, KafkaStorageError."""
        return self.hosted.get(*topic_partition)

    def leadership_of(self, topic_partition: TopicPartition) -> int | None:
        """Another number each time this broker begins to lead the partition, or the next of its name; None where it
        does not lead."""
        partition = self.hosted.find(*topic_partition)
        return partition.leadership if partition is not None and partition.is_leader else None

    def may_be_replaced(self, topic_partition: TopicPartition) -> bool:
        """Whether another broker may lead the partition by now, without this one's knowledge: it has replicas."""
        partition = self.hosted.find(*topic_partition)
        return partition is None or not partition.is_leader or bool(partition.followers)

    def throttles_as_leader(self, topic: str, index: int) -> bool:
        """Whether what followers fetch of a partition counts for this broker's throttle."""
        partition = self.hosted.find(topic, index)
        log = None if partition is None else partition.log
        return log is not None and self.leader_throttle.throttles(log.config, index)

    def transaction_start(self, topic_partition: TopicPartition, producer_id: int) -> int | None:
        """Where the transaction begins that a producer has open in a partition; None if it has none, or nothing of it
        is here."""
        partition = self.hosted.find(*topic_partition)
        return None if partition is None or partition.log is None else partition.log.transaction_start(producer_id)

    def current_leader(self, topic: str, index: int) -> tuple[int, int]:
        """Leader id and leader epoch as known here, -1 and -1 when unknown: sent to a client that asked the wrong
        broker."""
        partition = self.hosted.find(topic, index)
        if partition is not None and partition.leader_id >= 0:
            return partition.leader_id, partition.leader_epoch
        state = self.metadata_cache.partition(topic, index)
        return (-1, -1) if state is None else (state.leader, state.leader_epoch)

    def _new_partition(self, topic_partition: TopicPartition) -> Partition:
        return Partition(topic_partition, self._partition_context, self.topic_stats.topic(topic_partition.topic))

    def _partition_forgotten(self, topic_partition: TopicPartition) -> None:
        if topic_partition.topic not in self.hosted.by_topic:
            self.topic_stats.remove_topic(topic_partition.topic)

    def wake(self, partition: Partition) -> None:
        """Wake the delayed requests that wait on `partition`."""
        key = partition.topic_partition
        self.delayed_fetches.check_and_complete(key)
        if self.delayed_produces.watched:
            self.delayed_produces.check_and_complete(key)
        if self.delayed_delete_records.watched:
            self.delayed_delete_records.check_and_complete(key)
        if self._awaited_commits:
            self.delayed_commits.check_and_complete(key)

    # --- control requests ----------------------------------------------------------------------------------------

    def become_leader_or_follower(self, request: LeaderAndIsrRequest) -> list[tuple[TopicPartition, UUID, ErrorCode]]:
        """Blocks. Apply a LeaderAndIsr; returns a code for each partition. Raises StaleControllerEpoch."""
        codes = self.leadership.become_leader_or_follower(request)
        self.moves.resume()
        if not self._checkpoints_started:
            self._checkpoints_started = True
            period_ms = self.config.replica_high_watermark_checkpoint_interval_ms
            self._every("highwatermark-checkpoint", period_ms, self.checkpoint_high_watermarks)
        return codes

    def stop_replicas(
        self, stops: Sequence[ReplicaStop], *, controller_epoch: int, controller_id: int
    ) -> list[tuple[TopicPartition, ErrorCode]]:
        """Blocks. Apply a StopReplica; returns a code for each partition. Raises StaleControllerEpoch."""
        return self.leadership.stop_replicas(stops, controller_epoch=controller_epoch, controller_id=controller_id)

    def maybe_update_metadata_cache(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Blocks. Apply an UpdateMetadata; returns the deleted partitions. Raises StaleControllerEpoch."""
        return self.leadership.update_metadata(request)

    def on_leadership_change(self, listener: LeadershipListener) -> None:
        """Have `listener(led, followed)` called, under the same lock, after each LeaderAndIsr."""
        self.leadership.on_leadership_change(listener)

    def on_stop(self, listener: StopListener) -> None:
        """Have `listener(stops)` called after each StopReplica with what was stopped."""
        self.leadership.on_stop(listener)

    def on_offline(self, listener: OfflineListener) -> None:
        """Have `listener(partitions)` called as soon as their log directory failed; it must not switch."""
        self._offline_listeners.append(listener)

    # --- disks ---------------------------------------------------------------------------------------------------

    def handle_log_dir_failure(self, directory: str) -> None:
        """A log directory failed: its partitions go offline until the broker is started again. Does not switch.

        The caller may hold the turn of a log for which a fetcher waits while it holds its own: a separate greenlet
        waits for the fetchers.
        """
        failed = [
            partition
            for partition in self.hosted
            if partition.log is not None and str(partition.log.log_dir.path) == directory
        ]
        if not failed and self._stopped:
            return
        log.warning(
            "[ReplicaManager broker=%d] Stopping serving replicas in dir %s: %d partitions go offline",
            self.broker_id,
            directory,
            len(failed),
        )
        for partition in failed:
            self.hosted.mark_offline(partition.topic_partition)
            partition.go_offline()
        for listener in self._offline_listeners:
            tell(partial(listener, failed))
        self._failing.spawn(self._let_go, failed)
        if self._on_log_dir_failure is not None:
            self._on_log_dir_failure(directory)

    def _let_go(self, failed: Sequence[Partition]) -> None:
        """Blocks. Stop fetching these partitions, and complete the requests that wait on them."""
        self.fetchers.forget([partition.topic_partition for partition in failed])
        for partition in failed:
            self.wake(partition)

    def _read_replica_chooser(self) -> ReadReplicaChooser | None:
        if self.config.replica_selector_class != RACK_AWARE_SELECTOR:
            return None
        return RackAwareChooser(self.broker_id, self._rack_of)

    def _rack_of(self, broker_id: int) -> str | None:
        broker = self.metadata_cache.snapshot.brokers.get(broker_id)
        return None if broker is None else broker.rack or ""
