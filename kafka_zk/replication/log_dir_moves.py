"""LogDirMoves: moves replicas between log directories of this broker while they are in service.

Role        Acts: a greenlet copies each, a few at a time, up to the end of its log, and swaps the copy in.
Invariants  The copy has the log's batches as they are, and never more than the log: where the log was cut, so is the
            copy before anything is added. A copy exists until it replaces the log, the move is cancelled, or the
            partition is deleted; after a restart the move continues.
Source      Kafka 3.9 ReplicaManager.alterReplicaLogDirs, ReplicaAlterLogDirsThread, Partition.maybeCreateFutureReplica.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import gevent
from gevent.event import Event
from gevent.lock import Semaphore

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.log.copying import append_copied, read_bytes
from kafka_zk.log.files.names import MAX_NAME_LENGTH, DirKind, marked_dir_name
from kafka_zk.metrics.token_bucket import TokenBucket
from kafka_zk.protocol.errors import BrokerError, InvalidTopicException
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.throttle import dynamic_rate

if TYPE_CHECKING:
    from kafka_zk.log.manager import LogManager
    from kafka_zk.log.unified_log import UnifiedLog
    from kafka_zk.replication.leadership import CatchUp

CHUNK_BYTES = 1024 * 1024
"""Copied at a time; a lower throttle lowers it to one second's bytes."""

BURST_S = 1.0
"""After a pause, moves may copy the throttle's bytes for this long at once: one chunk at least."""

MAX_PAUSE_MS = 1_000
"""A throttle that changes during a pause takes effect within this time."""

RETRY_S = 1.0
THROTTLE_KEY = "replica.alter.log.dirs.io.max.bytes.per.second"

log_lines = logging.getLogger("kafka.server.ReplicaAlterLogDirsManager")


def moved_bytes_per_second(config: BrokerConfig) -> int:
    """The throttle of all moves together."""
    return dynamic_rate(config, THROTTLE_KEY)


class LogDirMoves:
    """`put_in_place`: see Leadership."""

    def __init__(
        self,
        *,
        hosted: HostedPartitions,
        log_manager: LogManager,
        put_in_place: Callable[[TopicPartition, CatchUp], bool],
        count_at_once: int,
        bytes_per_second: Callable[[], int],
        clock: Clock,
    ) -> None:
        self._hosted = hosted
        self._log_manager = log_manager
        self._put_in_place = put_in_place
        self._asking = Semaphore(1)
        self._slots = Semaphore(count_at_once)
        self._bytes_per_second = bytes_per_second
        self._running: dict[UnifiedLog, gevent.Greenlet[..., None]] = {}
        """By copy: that of a partition's next move may begin before the greenlet of the last one has ended."""
        self._followed: dict[UnifiedLog, tuple[UnifiedLog, int]] = {}
        """By copy: the log whose history it has, and how often that had been cut when they were compared."""
        self._clock = clock
        self._allowed_bytes = TokenBucket(burst_s=BURST_S)
        self._stopped = Event()
        self.copied_chunks = 0
        self.failed: set[TopicPartition] = set()
        """Whose move ended with an unexpected error, until it is tried again."""

    @property
    def max_lag_records(self) -> int:
        """The largest lag of any future log, in records."""
        lags = (self._lag_records(future) for future in self._log_manager.future.all())
        return max(lags, default=0)

    def _lag_records(self, future: UnifiedLog) -> int:
        partition = self._hosted.find(*future.topic_partition)
        log = None if partition is None else partition.log
        return 0 if log is None else max(0, log.log_end_offset - future.log_end_offset)

    # --- what is asked -----------------------------------------------------------------------------------------------

    def move(self, topic_partition: TopicPartition, path: str) -> None:
        """Blocks. Move the replica to the log directory `path`; its current one cancels a move.

        A partition that is not here yet is made there, if it comes. Raises LogDirNotFound, KafkaStorageError,
        InvalidTopicException (no name left for the copy), NotLeaderOrFollower and UnknownTopicOrPartition (not here).
        """
        if len(marked_dir_name(topic_partition, DirKind.FUTURE, NULL_UUID)) > MAX_NAME_LENGTH:
            raise InvalidTopicException("The topic name is too long.")
        with self._asking:
            self._log_manager.future.prefer(topic_partition, path)
            self._begin(self._hosted.get(*topic_partition), path)

    def _begin(self, partition: Partition, path: str) -> None:
        """Blocks. Create the future log in `path` and start copying, unless the log is there.

        A copy that an unexpected error has stopped continues.
        """
        topic_partition = partition.topic_partition
        future = self._log_manager.future.get(topic_partition)
        if future is not None and str(future.log_dir.path) != path:
            self._log_manager.future.drop(topic_partition)
            future = None
        log = partition.log
        if log is None or str(log.log_dir.path) == path:
            return
        if future is None:
            self._log_manager.future.create(topic_partition, path)
        self.resume()

    def resume(self) -> None:
        """Continue the moves of all hosted partitions. Does not switch."""
        for future in self._log_manager.future.all():
            if future not in self._running and self._hosted.find(*future.topic_partition) is not None:
                self._running[future] = gevent.spawn(self._run, future)

    def shutdown(self) -> None:
        """Blocks. Stop all moves where they are."""
        self._stopped.set()
        gevent.joinall(list(self._running.values()))

    # --- one replica -------------------------------------------------------------------------------------------------

    def _run(self, future: UnifiedLog) -> None:
        self.failed.discard(future.topic_partition)
        try:
            while self._is_wanted(future):
                with self._slots:
                    if self._copy_while_it_works(future):
                        return
                # Without a slot: a move that always fails must not keep the others from moving.
                self._stopped.wait(RETRY_S)
        except Exception:
            # A bug of ours in one move; the replica itself continues where it is.
            log_lines.exception("Failed to move %s to %s", future.topic_partition, future.log_dir.path)
            self.failed.add(future.topic_partition)
        finally:
            self._running.pop(future, None)
            self._followed.pop(future, None)

    def _is_wanted(self, future: UnifiedLog) -> bool:
        return (
            not self._stopped.is_set()
            and self._log_manager.future.get(future.topic_partition) is future
            and self._hosted.find(*future.topic_partition) is not None
        )

    def _copy_while_it_works(self, future: UnifiedLog) -> bool:
        """Blocks. Whether the move is over; not after an error: the log may be reopened, or begin further up."""
        try:
            while self._is_wanted(future):
                if self._copy_some(future):
                    return True
        except BrokerError as error:
            if self._is_wanted(future):
                log_lines.warning("Retrying move of %s to %s: %s", future, future.log_dir.path, error)
                return False
        return True

    def _copy_some(self, future: UnifiedLog) -> bool:
        """Blocks. Copy one more chunk; returns whether the copy has replaced the log."""
        partition = self._hosted.get(*future.topic_partition)
        log = partition.log
        if log is None:
            return True
        if not log.log_end_offset and future.log_end_offset and future not in self._followed:
            # The log is a new one in place of an older: the copy may hold all that is left of that.
            log_lines.error(
                "%s is empty, but its copy in %s is not; not moving it, since the copy may hold the only records",
                log,
                future.log_dir.path,
            )
            return True
        history = (log, log.truncations)
        if self._followed.get(future) != history:
            follow_cuts(future, log)
            self._followed[future] = history
        # It ends too early, or begins too late: a crash undid a deletion of records after it was copied.
        if not future.log_start_offset <= log.log_start_offset <= future.log_end_offset:
            future.truncate_fully_and_start_at(log.log_start_offset)
        end_offset, size_bytes = log.log_end_offset, 0
        if future.log_end_offset < end_offset:
            data = read_bytes(log, future.log_end_offset, min(CHUNK_BYTES, self._rate()))
            if (partition.log, log.truncations) != history:
                return False
            append_copied(future, data, end_offset)
            size_bytes = len(data)
            self.copied_chunks += 1
        # Near enough: a log that is written to all the time has more already, which is copied while it does not change.
        is_near = future.log_end_offset >= end_offset and self._is_wanted(future)
        if is_near and self._put_in_place(future.topic_partition, self._catch_up):
            return True
        self._hold_rate(size_bytes)
        return False

    def _catch_up(self, log: UnifiedLog, future: UnifiedLog) -> bool:
        """Blocks. Copy the rest of an unchanging log; False if it was cut since they were compared."""
        if self._followed.get(future) != (log, log.truncations):
            return False
        while future.log_end_offset < log.log_end_offset:
            append_copied(future, read_bytes(log, future.log_end_offset, CHUNK_BYTES), log.log_end_offset)
        return True

    def _hold_rate(self, size_bytes: int) -> None:
        """Blocks. Count the copied bytes, and pause while all moves together exceed the throttle."""
        self._allowed_bytes.take(size_bytes, self._rate(), self._clock.monotonic_ms())
        while not self._stopped.is_set():
            rate = self._rate()
            pause_ms = round(-self._allowed_bytes.tokens(rate, self._clock.monotonic_ms()) * 1000 / rate)
            if pause_ms <= 0:
                gevent.sleep(0)
                return
            self._stopped.wait(min(MAX_PAUSE_MS, pause_ms) / 1000)

    def _rate(self) -> int:
        """Bytes per second; at least 1, so that a move under a throttle of 0 still ends."""
        return max(1, self._bytes_per_second())


# --- between two logs ------------------------------------------------------------------------------------------------


def follow_cuts(future: UnifiedLog, log: UnifiedLog) -> None:
    """Blocks. Cut `future` back to where its history is that of `log` (KIP-101). Raises KafkaStorageError."""
    while future.log_end_offset > future.log_start_offset:
        epoch = future.latest_epoch
        theirs = log.end_offset_for(epoch)
        if theirs.leader_epoch == epoch and future.log_end_offset <= theirs.end_offset:
            return
        if theirs.leader_epoch < 0:
            # Old batches have no epochs: nothing tells how much of the copy is still right.
            future.truncate_fully_and_start_at(log.log_start_offset)
            return
        own = future.end_offset_for(theirs.leader_epoch)
        future.truncate_to(min(theirs.end_offset, own.end_offset) if own.end_offset >= 0 else theirs.end_offset)
