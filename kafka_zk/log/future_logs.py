"""FutureLogs: future replicas in other log directories, until they replace the current ones.

Role        Acts. Creates and drops future logs, and swaps them in; the replication package fills them and decides when.
Invariants  A swap ends with a copy that ends where the log ends, with the same epochs and high watermark, or with
            nothing changed. Meanwhile nothing is appended to, truncated or deleted from the log.
            The new name is durable before the old one is removed: a power cut never leaves a partition without a log.
            One between the two leaves two logs of the partition with the same records.
            Nothing of a log is cleaned while it has a copy.
Source      LogManager.getOrCreateLog (isFuture), replaceCurrentWithFutureLog;
            Partition.maybeReplaceCurrentWithFutureReplica.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

from kafka_zk.log.cleaner.log_cleaner import LogCleaner
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.placed_logs import PlacedLogs
from kafka_zk.log.retired import RetiredLogs
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

log_lines = logging.getLogger("kafka.log.LogManager")


class FutureLogs:
    """`make` makes an empty log in a directory, `add` puts one into service; `cleaner` is there after the start."""

    def __init__(
        self,
        placed: PlacedLogs,
        retired: RetiredLogs,
        *,
        make: Callable[[DataDir, TopicPartition, UUID], UnifiedLog],
        add: Callable[[UnifiedLog], None],
        checkpoint_now: Callable[[DataDir], None],
        cleaner: Callable[[], LogCleaner | None],
    ) -> None:
        self._placed = placed
        self._retired = retired
        self._make = make
        self._add = add
        self._checkpoint_now = checkpoint_now
        self._cleaner = cleaner

    def prefer(self, topic_partition: TopicPartition, path: str) -> None:
        """Have the partition made in this directory, if it is made. Raises LogDirNotFound, KafkaStorageError."""
        data_dir = self._placed.live_dir_at(path)
        if not self._placed.is_in(data_dir, topic_partition):
            self._placed.preferred[topic_partition] = data_dir

    def all(self) -> list[UnifiedLog]:
        """Every copy that is to take the place of a partition's log."""
        return list(self._placed.future.values())

    def get(self, topic_partition: TopicPartition) -> UnifiedLog | None:
        return self._placed.future.get(topic_partition)

    def create(self, topic_partition: TopicPartition, path: str) -> UnifiedLog:
        """Blocks. An empty log that is to take the partition's place. Raises LogDirNotFound, KafkaStorageError."""
        placed = self._placed
        data_dir, current = placed.live_dir_at(path), placed.current[topic_partition]
        data_dir.log_count += 1
        try:
            cleaner = self._cleaner()
            if cleaner is not None:
                cleaner.pause(current)
            created = self._make(data_dir, topic_partition, current.topic_id or NULL_UUID)
        except BaseException:
            data_dir.log_count -= 1
            current.is_copied = False
            raise
        placed.future[topic_partition] = created
        # If it is deleted and recreated, it is placed as a new one, not where it was once sent.
        placed.preferred.pop(topic_partition, None)
        created.apply_config(current.config)
        if placed.current.get(topic_partition) is not current:
            self.drop(topic_partition)
            raise KafkaStorageError(f"{topic_partition} was deleted")
        return created

    def drop(self, topic_partition: TopicPartition) -> None:
        """Blocks. Cancel the replacement of the partition's log. Raises KafkaStorageError."""
        found = self._placed.future.pop(topic_partition, None)
        if found is not None:
            self._placed.dir_of(found).log_count -= 1
            current = self._placed.current.get(topic_partition)
            if current is not None:
                current.is_copied = False
            self._retired.retire(found)

    def drop_those_of_earlier_topics(self) -> None:
        """Blocks. The topic was deleted and recreated while the directory of its copy was offline."""
        for topic_partition, copy in list(self._placed.future.items()):
            log = self._placed.current.get(topic_partition)
            if log is not None and None not in (log.topic_id, copy.topic_id) and log.topic_id != copy.topic_id:
                with suppress(KafkaStorageError):
                    self.drop(topic_partition)

    def resume_at_start(self) -> None:
        """Blocks. At a start: nothing is cleaned of a log that has a copy, and a copy of a compacted log starts again.

        The log may have been cleaned while the copy's directory was offline: the copy could keep what a tombstone
        deleted.
        """
        for topic_partition, copy in list(self._placed.future.items()):
            log = self._placed.current.get(topic_partition)
            if log is None:
                continue
            log.is_copied = True
            if log.config.compact and copy.log_end_offset > copy.log_start_offset:
                with suppress(KafkaStorageError):  # Its directory is offline by now, and the copy gone with it.
                    copy.truncate_fully_and_start_at(log.log_start_offset)

    @contextmanager
    def swap(self, topic_partition: TopicPartition) -> Iterator[Swap | None]:
        """Blocks. Let the future log take the place of the partition's; None where there are not both.

        The log does not change meanwhile: bring the copy what it lacks, `finish`, and notify those that must know
        before anything switches; greenlets that wait to change the log come after that. Raises KafkaStorageError.
        """
        before, now = self._placed.current.get(topic_partition), self._placed.future.get(topic_partition)
        if before is None or now is None:
            yield None
            return
        before_dir, now_dir = self._placed.dir_of(before), self._placed.dir_of(now)
        with before.turn:
            before.refuse_if_closed()
            swap = Swap(before, now, self._placed, self._retired, self._add)
            yield swap
        if not swap.is_finished:
            return
        log_lines.info("Moved %s from %s to %s", topic_partition, before.log_dir.path, now.log_dir.path)
        before_dir.log_count -= 1
        before_dir.recovery_points.pop(topic_partition, None)
        cleaner = self._cleaner()
        if cleaner is not None:
            cleaner.moved(before, now)
        for data_dir in (now_dir, before_dir):
            self._checkpoint_now(data_dir)


class Swap:
    """`before` is in service, and does not change; `now` is its copy, which is synced and lacks next to nothing."""

    def __init__(
        self,
        before: UnifiedLog,
        now: UnifiedLog,
        placed: PlacedLogs,
        retired: RetiredLogs,
        add: Callable[[UnifiedLog], None],
    ) -> None:
        self.before = before
        self.now = now
        self.is_finished = False
        self._placed = placed
        self._retired = retired
        self._add = add

    def finish(self) -> bool:
        """Blocks. Put the copy, which ends where the log does, in its place; whether it is there.

        Not when the partition was deleted meanwhile: the deletion removes both. Does not switch behind the change.
        Raises KafkaStorageError.
        """
        before, now = self.before, self.now
        with now.turn:
            self._tell_what_no_batch_tells()
            # Includes what was copied within the turn: the replaced log may have synced it.
            now.complete()
            now.flusher.wait()
            now.refuse_if_closed()
            before.refuse_if_closed()
            _rename(now)
            # Last the one that others may flush: no switch from here on.
            before.flusher.wait()
            before.refuse_if_closed()
            if not self._is_wanted():
                return False
            self._tell_what_no_batch_tells()
            self._retired.retire_in_turn(before)
            before.successor = now
            self._placed.future.pop(now.topic_partition, None)
            self._add(now)
        self.is_finished = True
        return True

    def _is_wanted(self) -> bool:
        placed, topic_partition = self._placed, self.now.topic_partition
        return placed.current.get(topic_partition) is self.before and placed.future.get(topic_partition) is self.now

    def _tell_what_no_batch_tells(self) -> None:
        """An epoch that has no batch yet, what is committed, a start inside a segment, whose transactions may begin."""
        before, now = self.before, self.now
        for entry in before.leader_epochs.entries:
            if entry.epoch > now.latest_epoch:
                now.assign_epoch_start(entry.epoch, entry.start_offset)
        now.update_high_watermark(before.high_watermark)
        if before.log_start_offset > now.log_start_offset:
            now.increment_log_start_offset(before.log_start_offset)
        now.take_verifications_of(before)


def _rename(now: UnifiedLog) -> None:
    """Blocks. Give the copy its final name, durably. Raises KafkaStorageError."""
    directory, future = now.log_dir, now.directory
    target = directory.path / str(now.topic_partition)
    with directory.guard(f"Error while renaming {future} to {target}"):
        directory.disk.rename(future, target)
        now.renamed_to(target)
        try:
            directory.pools.run_to_end(directory.pools.sync, directory.disk.sync_path, directory.path)
        except OSError:
            raise
        except BaseException:
            # The log stays in service: after a start without its directory, a copy of this name would be served.
            directory.disk.rename(target, future)
            now.renamed_to(future)
            raise
    now.is_future = False
