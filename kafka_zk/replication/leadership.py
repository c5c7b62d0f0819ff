"""Applies the controller's LeaderAndIsr, StopReplica and UpdateMetadata requests.

Role        Applies LeaderAndIsr, StopReplica and UpdateMetadata to hosted partitions, fetchers and logs.
Invariants  One request at a time (`_one_request`): each may block on the disk, and none sees another one half applied.
            A request of a former controller is refused; one with an older leader epoch is refused for that
            partition only.
            An error with one partition becomes that partition's code; other partitions and listeners continue.
            Fetchers stop before a partition changes its role, so that no late response is appended.
Source      Kafka 3.9 ReplicaManager.becomeLeaderOrFollower, makeLeaders, makeFollowers, stopReplicas, stopPartitions,
            maybeUpdateMetadataCache.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar
from uuid import UUID

from gevent.lock import Semaphore

from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.snapshot import TopicState
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    FencedLeaderEpoch,
    InconsistentTopicId,
    KafkaStorageError,
    StaleControllerEpoch,
    UnknownServerError,
    UnknownTopicOrPartition,
    error_code_for,
)
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.replication.control_requests import ReplicaStop, asked_states, serving_others, tell
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.leading.isr_proposals import advance_and_wake
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.unheard import is_of_another_topic, unheard

if TYPE_CHECKING:
    from kafka_zk.log.manager import LogManager
    from kafka_zk.log.unified_log import UnifiedLog

CatchUp: TypeAlias = "Callable[[UnifiedLog, UnifiedLog], bool]"
"""Blocks. Append to a copy, the second, what it lacks of an unchanging log; False where their histories part."""

EPOCH_DURING_DELETE = -2
"""The leader epoch in a StopReplica for a topic that is being deleted: it is above every other."""

NO_EPOCH = -1

log_lines = logging.getLogger("state.change.logger")

T = TypeVar("T")

PartitionChange = tuple[Partition, LeaderAndIsrPartitionState, UUID]
"""The requested state of one partition, with the id of its topic."""


class Fetchers(Protocol):
    """What is used of replication.fetchers.FetcherManager."""

    def follow(self, partitions: Sequence[Partition]) -> None: ...

    def forget(self, topic_partitions: Iterable[TopicPartition]) -> None: ...

    def resize(self) -> None: ...

    def follow_addresses(self) -> None: ...

    def stop_idle(self) -> None: ...


LeadershipListener = Callable[[Sequence[Partition], Sequence[Partition]], None]
"""Called with the partitions that this broker leads now and did not before, and those that it follows again."""

StopListener = Callable[[Sequence[ReplicaStop]], None]
"""Called with the partitions that were stopped, also where their files stay because the directory failed."""

NewLifeListener = Callable[[], None]
"""Called where the controller, or this broker, tells or hears for the first time, and topics are known from before."""


class Leadership:
    """`hosted`, the fetchers and the log manager, changed by control requests."""

    def __init__(
        self,
        *,
        broker_id: int,
        hosted: HostedPartitions,
        metadata_cache: MetadataCache,
        log_manager: LogManager,
        fetchers: Fetchers,
        new_partition: Callable[[TopicPartition], Partition],
        partition_forgotten: Callable[[TopicPartition], None],
        wake: Callable[[Partition], None],
    ) -> None:
        self._broker_id = broker_id
        self._hosted = hosted
        self._metadata_cache = metadata_cache
        self._log_manager = log_manager
        self._fetchers = fetchers
        self._new_partition = new_partition
        self._partition_forgotten = partition_forgotten
        self._wake = wake
        self._one_request = Semaphore(1)
        self._leadership_listeners: list[LeadershipListener] = []
        self._stop_listeners: list[StopListener] = []
        self._new_life_listeners: list[NewLifeListener] = []
        self._told_in: tuple[int, int] | None = None
        self.controller_epoch = 0

    def on_leadership_change(self, listener: LeadershipListener) -> None:
        self._leadership_listeners.append(listener)

    def on_stop(self, listener: StopListener) -> None:
        self._stop_listeners.append(listener)

    def on_new_life(self, listener: NewLifeListener) -> None:
        self._new_life_listeners.append(listener)

    def resize_fetchers(self) -> None:
        """Blocks. num.replica.fetchers may have changed; no control request comes in between."""
        with self._one_request:
            self._fetchers.resize()

    # --- moves between log directories ---------------------------------------------------------------------------

    def put_in_place(self, topic_partition: TopicPartition, catch_up: CatchUp) -> bool:
        """Blocks. Replace a partition's log with its future log; returns whether it did. Raises KafkaStorageError.

        `catch_up` brings the copy what came last, while nothing else comes.
        """
        future = self._log_manager.future.get(topic_partition)
        if future is not None:
            # Control requests do not wait for this, which may take as long as a GiB takes. Little comes meanwhile.
            future.flush()
        with self._one_request:
            partition = self._hosted.find(*topic_partition)
            if partition is None:
                return False
            self._fetchers.forget([topic_partition])
            try:
                with self._log_manager.future.swap(topic_partition) as swap:
                    if swap is None or not catch_up(swap.before, swap.now) or not swap.finish():
                        return False
                    partition.use_log(swap.now)
                return True
            finally:
                is_online = partition.log is not None
                if is_online and not partition.is_leader and self._metadata_cache.is_alive(partition.leader_id):
                    self._fetchers.follow([partition])
                self._wake(partition)

    # --- UpdateMetadata ------------------------------------------------------------------------------------------

    def update_metadata(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Blocks. Swap the metadata cache; the partitions that are gone. Raises StaleControllerEpoch."""
        with self._one_request:
            self._check_controller(request.controller_epoch, request.controller_id)
            before = self._metadata_cache.snapshot
            gone = self._metadata_cache.update(request)
            told = unheard(self._hosted, request)
            self._end_leading(told.led_elsewhere)
            self._outlive([partition.topic_partition for partition in told.of_earlier_topics])
            self._fetchers.follow_addresses()
            lost = before.brokers.keys() - self._metadata_cache.snapshot.brokers.keys()
            if lost:
                self._go_on_without(lost)
            told_in, self._told_in = self._told_in, (request.broker_epoch, request.controller_epoch)
            if told_in != self._told_in and before.topics:
                for listener in self._new_life_listeners:
                    tell(listener)
            return gone

    def forget_deleted(self, topics: Collection[TopicState]) -> bool:
        """Blocks. Drop topics that were deleted in ZooKeeper unheard; returns whether none was created again since.

        What was announced again stays, and so does what a control request has hosted for a new topic of that name.
        """
        with self._one_request:
            gone = [topic for topic in topics if self._metadata_cache.topic(topic.name) is topic]
            self._outlive(
                [
                    TopicPartition(topic.name, index)
                    for topic in gone
                    for index in topic.partitions
                    if not is_of_another_topic(self._hosted.find(topic.name, index), topic.topic_id)
                ]
            )
            self._metadata_cache.forget([topic.name for topic in gone])
            return len(gone) == len(topics)

    def _outlive(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Blocks now and then. Their topics are gone without a request to delete them.

        Logs stay on the disk until a new topic of that name is created: a ZooKeeper that lost its topics, for instance,
        is no reason to delete their records.
        """
        if not topic_partitions:
            return
        self._fetchers.forget(topic_partitions)
        for topic_partition in serving_others(topic_partitions):
            self._end(topic_partition)
            self._log_manager.has_no_topic(topic_partition)
        ended = [ReplicaStop(topic_partition, EPOCH_DURING_DELETE, delete=True) for topic_partition in topic_partitions]
        for listener in self._stop_listeners:
            tell(partial(listener, ended))

    def _end_leading(self, partitions: Sequence[Partition]) -> None:
        """Blocks. Stop leading these without a request to follow or to stop."""
        for partition in serving_others(partitions):
            log_lines.info("[Broker id=%d] No longer leading %s", self._broker_id, partition)
            partition.stop_leading()
            self._wake(partition)
        if partitions:
            for listener in self._leadership_listeners:
                tell(partial(listener, [], partitions))

    def _end(self, topic_partition: TopicPartition) -> None:
        """Blocks. Neither lead nor follow it any more: its topic is gone, or its replicas are elsewhere."""
        partition = self._hosted.find(*topic_partition)
        if partition is not None:
            partition.delete()
            self._hosted.remove(topic_partition)
            self._partition_forgotten(topic_partition)
            self._wake(partition)

    def _go_on_without(self, broker_ids: Set[int]) -> None:
        """Blocks now and then. High watermarks no longer wait for followers there to come back into the ISR."""
        for partition in serving_others(list(self._hosted)):
            if not partition.followers.keys().isdisjoint(broker_ids):
                advance_and_wake(partition)

    def _check_controller(self, controller_epoch: int, controller_id: int) -> None:
        if controller_epoch < self.controller_epoch:
            log_lines.warning(
                "[Broker id=%d] Ignoring a request of controller %d with old epoch %d. Latest known epoch is %d",
                self._broker_id,
                controller_id,
                controller_epoch,
                self.controller_epoch,
            )
            raise StaleControllerEpoch(
                f"Received a request from controller {controller_id} with epoch {controller_epoch}, which is older "
                f"than the latest known epoch {self.controller_epoch}"
            )
        self.controller_epoch = controller_epoch

    # --- LeaderAndIsr --------------------------------------------------------------------------------------------

    def become_leader_or_follower(self, request: LeaderAndIsrRequest) -> list[tuple[TopicPartition, UUID, ErrorCode]]:
        """Blocks. Apply a LeaderAndIsr; returns a code for each partition. Raises StaleControllerEpoch.

        Thousands may be named: others are served in between. When this returns, new partitions and their topic ids are
        durable, and so are the leader epochs of logs that were there before.
        """
        with self._one_request:
            self._check_controller(request.controller_epoch, request.controller_id)
            asked = list(asked_states(request))
            codes: dict[TopicPartition, ErrorCode] = {}
            to_lead: list[PartitionChange] = []
            to_follow: list[PartitionChange] = []
            for topic_partition, topic_id, state in serving_others(asked):
                try:
                    partition = self._accept(topic_partition, topic_id, state)
                except BrokerError as error:
                    codes[topic_partition] = error.code
                    continue
                codes[topic_partition] = ErrorCode.NONE
                if partition is not None:
                    chosen = to_lead if state.leader == self._broker_id else to_follow
                    chosen.append((partition, state, topic_id))
            logs = self._open_logs([*to_lead, *to_follow], codes)
            led = self._lead(to_lead, logs, codes)
            followed = self._follow(to_follow, logs, codes)
            self._fetchers.stop_idle()
            for listener in self._leadership_listeners:
                tell(partial(listener, led, followed))
        self._log_manager.wait_for_syncs()
        return [(topic_partition, topic_id, codes[topic_partition]) for topic_partition, topic_id, _ in asked]

    def _accept(
        self, topic_partition: TopicPartition, topic_id: UUID, state: LeaderAndIsrPartitionState
    ) -> Partition | None:
        """The partition that has to act; None when only its topic id had to be noted."""
        if topic_partition in self._hosted.offline:
            raise KafkaStorageError
        partition = self._hosted.find(*topic_partition)
        # After a restart the log is there before the partition is.
        log = self._log_manager.get_log(topic_partition)
        if log is not None and log.topic_id is not None and topic_id not in (NULL_UUID, log.topic_id):
            if partition is not None or not self._log_manager.set_aside(topic_partition):
                raise InconsistentTopicId
            log = None
        if partition is not None:
            if state.leader_epoch == partition.leader_epoch:
                advance_and_wake(partition)
                if log is None or log.topic_id is not None or topic_id == NULL_UUID:
                    raise StaleControllerEpoch
                log.assign_topic_id(topic_id)
                return None
            if state.leader_epoch < partition.leader_epoch:
                raise StaleControllerEpoch
        if self._broker_id not in state.replicas:
            if partition is not None and partition.is_leader:
                self._end_leading([partition])
            raise UnknownTopicOrPartition
        return partition if partition is not None else self._new_partition(topic_partition)

    def _lead(
        self,
        changes: Sequence[PartitionChange],
        logs: Mapping[TopicPartition, UnifiedLog],
        codes: dict[TopicPartition, ErrorCode],
    ) -> list[Partition]:
        self._fetchers.forget([partition.topic_partition for partition, _, _ in changes])
        newly_led: list[Partition] = []
        for partition, state, _ in serving_others(changes):
            log = self._host(partition, logs, codes)
            if log is None:
                continue
            is_new = self._guarded(partition, codes, partial(partition.become_leader, state, log))
            if self._is_online(partition, log, codes) and is_new:
                newly_led.append(partition)
        return newly_led

    def _follow(
        self,
        changes: Sequence[PartitionChange],
        logs: Mapping[TopicPartition, UnifiedLog],
        codes: dict[TopicPartition, ErrorCode],
    ) -> list[Partition]:
        to_fetch: list[Partition] = []
        for partition, state, _ in serving_others(changes):
            log = self._host(partition, logs, codes)
            if log is None:
                continue
            if not self._metadata_cache.is_alive(state.leader):
                # The log exists now, so its high watermark stays in the checkpoint. The rest waits for the request
                # with a larger leader epoch that comes once there is a leader.
                log_lines.error(
                    "[Broker id=%d] Cannot follow %s: its leader %d is unavailable",
                    self._broker_id,
                    partition.topic_partition,
                    state.leader,
                )
                partition.log = log
                if partition.is_leader:
                    self._end_leading([partition])
                continue
            is_new = self._guarded(partition, codes, partial(partition.become_follower, state, log))
            if self._is_online(partition, log, codes) and is_new:
                to_fetch.append(partition)
        self._fetchers.forget([partition.topic_partition for partition in to_fetch])
        for partition in to_fetch:
            self._wake(partition)
        for partition in to_fetch:
            if partition.log is not None:
                self._guarded(partition, codes, partial(self._fetchers.follow, [partition]))
        return to_fetch

    def _open_logs(
        self, changes: Sequence[PartitionChange], codes: dict[TopicPartition, ErrorCode]
    ) -> dict[TopicPartition, UnifiedLog]:
        """Blocks. The logs that could be opened; those that are new are made many at a time."""
        logs: dict[TopicPartition, UnifiedLog] = {}

        def open_log(change: PartitionChange) -> None:
            partition, state, topic_id = change
            log = self._guarded(partition, codes, partial(self._open_log, partition, state, topic_id))
            if log is not None:
                logs[partition.topic_partition] = log

        self._log_manager.do_at_once(changes, open_log)
        return logs

    def _host(
        self, partition: Partition, logs: Mapping[TopicPartition, UnifiedLog], codes: dict[TopicPartition, ErrorCode]
    ) -> UnifiedLog | None:
        """The log of a partition that is hosted from now on; None, and a code, if its directory failed meanwhile."""
        topic_partition = partition.topic_partition
        log = logs.get(topic_partition)
        if log is None or not self._is_online(partition, log, codes):
            return None
        if self._hosted.find(*topic_partition) is None:
            self._hosted.add(partition)
        return log

    def _open_log(self, partition: Partition, state: LeaderAndIsrPartitionState, topic_id: UUID) -> UnifiedLog:
        """Blocks. The partition's log, made if need be. Raises InconsistentTopicId, KafkaStorageError."""
        log = partition.log
        if log is None:
            leads = state.leader == self._broker_id
            return self._log_manager.get_or_create_log(
                partition.topic_partition,
                topic_id=topic_id,
                is_new=state.is_new,
                leader_epoch=state.leader_epoch if leads else NO_EPOCH,
            )
        if topic_id != NULL_UUID and log.topic_id is None:
            log.assign_topic_id(topic_id)
        return log

    def _is_online(self, partition: Partition, log: UnifiedLog, codes: dict[TopicPartition, ErrorCode]) -> bool:
        """Whether the directory of `log` works; else the partition goes offline with it, and has a code."""
        if log.log_dir.is_offline:
            self._refuse(partition, KafkaStorageError(), codes)
        return codes[partition.topic_partition] is ErrorCode.NONE

    def _guarded(self, partition: Partition, codes: dict[TopicPartition, ErrorCode], work: Callable[[], T]) -> T | None:
        """Blocks if `work` does, on one partition. Its error becomes that partition's code; the others continue."""
        try:
            return work()
        except BrokerError as error:
            self._refuse(partition, error, codes)
        except Exception as error:
            # A bug of ours, on one partition.
            log_lines.exception("[Broker id=%d] Failed to apply a controller request to %s", self._broker_id, partition)
            self._refuse(partition, caused_by(UnknownServerError(), error), codes)
        return None

    def _refuse(self, partition: Partition, error: BrokerError, codes: dict[TopicPartition, ErrorCode]) -> None:
        """Blocks. The partition is no longer hosted: stop fetching it, and complete the requests that wait on it."""
        topic_partition = partition.topic_partition
        codes[topic_partition] = error_code_for(error)
        self._hosted.remove(topic_partition)
        partition.go_offline()
        if isinstance(error, KafkaStorageError):
            self._hosted.offline.add(topic_partition)
        self._fetchers.forget([topic_partition])
        self._wake(partition)

    # --- StopReplica ---------------------------------------------------------------------------------------------

    def stop_replicas(
        self, stops: Sequence[ReplicaStop], *, controller_epoch: int, controller_id: int
    ) -> list[tuple[TopicPartition, ErrorCode]]:
        """Blocks. Stop replicas, deleting logs if requested; returns a code for each. Raises StaleControllerEpoch."""
        with self._one_request:
            self._check_controller(controller_epoch, controller_id)
            codes: list[tuple[TopicPartition, ErrorCode]] = []
            stopped: list[ReplicaStop] = []
            for stop in serving_others(stops):
                try:
                    self._check_stop(stop)
                    # Also if its log cannot be deleted: it is not hosted any more, and so never reported as offline.
                    stopped.append(stop)
                    self._stop(stop)
                    codes.append((stop.topic_partition, ErrorCode.NONE))
                except BrokerError as error:
                    codes.append((stop.topic_partition, error.code))
            self._fetchers.stop_idle()
            for listener in self._stop_listeners:
                tell(partial(listener, stopped))
            return codes

    def _check_stop(self, stop: ReplicaStop) -> None:
        if stop.topic_partition in self._hosted.offline:
            raise KafkaStorageError
        partition = self._hosted.find(*stop.topic_partition)
        if (
            partition is not None
            and stop.leader_epoch not in (EPOCH_DURING_DELETE, NO_EPOCH)
            and stop.leader_epoch < partition.leader_epoch
        ):
            raise FencedLeaderEpoch

    def _stop(self, stop: ReplicaStop) -> None:
        """Blocks. Raises KafkaStorageError."""
        topic_partition = stop.topic_partition
        self._fetchers.forget([topic_partition])
        if not stop.delete:
            partition = self._hosted.find(*topic_partition)
            if partition is not None:
                self._wake(partition)
            return
        self._end(topic_partition)
        if topic_partition in self._hosted.offline:
            # Its directory failed while this waited for an append: nothing is deleted.
            raise KafkaStorageError
        # Also for a replica that was not hosted: its topic was deleted while this broker was down.
        if self._log_manager.get_log(topic_partition) is not None:
            self._log_manager.delete_log(topic_partition)
        else:
            # The directory of its log may be offline, that of its copy not.
            self._log_manager.future.drop(topic_partition)
