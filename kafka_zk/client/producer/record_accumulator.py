"""The record accumulator: a deque of batches per partition, between application and sender.

Role        Acts only by waiting for memory; sends nothing. Appenders and the sender share only this, under
            one lock.
Invariants  Only the last batch of a deque is open. A batch to be retried comes before all that were
            never sent, in the order of the sequences.
            Waiting and in-flight batches never take more than buffer.memory.
Source      Kafka 3.9 RecordAccumulator.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafka_zk.client.errors import IllegalStateException
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot
from kafka_zk.client.producer.buffer_pool import BufferPool
from kafka_zk.client.producer.compression_ratios import CompressionRatios
from kafka_zk.client.producer.futures import RecordFuture
from kafka_zk.client.producer.partitioners import StickyPartitioner
from kafka_zk.client.producer.producer_batch import Callback, ProducerBatch
from kafka_zk.client.producer.settings import ProducerSettings
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.compression import Codec

UNKNOWN_PARTITION = -1


class PartitionQueue:
    """The waiting batches of one partition. `is_muted`: one is in flight, and order must be kept."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.is_muted = False

    def open_batch(self) -> ProducerBatch | None:
        """The batch that accepts records, if there is one."""
        if not self.batches:
            return None
        last = self.batches[-1]
        return None if last.is_closed else last

    def __repr__(self) -> str:
        return f"{self.topic_partition} batches={len(self.batches)} muted={self.is_muted}"


class TopicQueues:
    """One topic: a queue for each partition that was ever sent to, and the sticky choice."""

    def __init__(self, topic: str, batch_size_bytes: int) -> None:
        self.topic = topic
        self.queues: dict[int, PartitionQueue] = {}
        self.sticky = StickyPartitioner(batch_size_bytes, random.random)
        self.available: list[int] = [0]
        self.partition_count = 0
        self.snapshot: ClusterSnapshot | None = None
        self.touched_ms = 0

    def learn(self, snapshot: ClusterSnapshot, now_ms: int) -> None:
        """Take over the metadata; `snapshot` has the topic."""
        self.partition_count = snapshot.partition_count(self.topic) or 0
        self.available = snapshot.available_partitions(self.topic) or list(range(self.partition_count))
        self.touched_ms = now_ms
        self.snapshot = snapshot

    def queue(self, partition: int) -> PartitionQueue:
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = PartitionQueue(TopicPartition(self.topic, partition))
        return queue


class RecordAccumulator:
    """All unsent records of a producer. `wake_sender` is called, outside the lock, when it has work."""

    def __init__(self, settings: ProducerSettings, wake_sender: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.pool = BufferPool(settings.buffer_bytes, self.lock)
        self.topics: dict[str, TopicQueues] = {}
        self.waiting: dict[PartitionQueue, None] = {}
        """The queues that have batches, in the order they got the first."""
        self.flush_count = 0
        self.is_completing = False
        self.is_closed = False
        self.sender_is_idle = False
        self.incomplete: dict[ProducerBatch, None] = {}
        self.ratios = CompressionRatios(settings.codec)
        self._settings = settings
        self._limit_bytes = settings.batch_size_bytes
        self._is_compressing = settings.codec is not Codec.NONE
        self._max_block_ms = settings.max_block_ms
        self._wake_sender = wake_sender

    def __repr__(self) -> str:
        return f"RecordAccumulator {self.pool} {list(self.waiting)}"

    def topic_queues(self, topic: str) -> TopicQueues:
        with self.lock:
            queues = self.topics.get(topic)
            if queues is None:
                queues = self.topics[topic] = TopicQueues(topic, self._settings.batch_size_bytes)
            return queues

    # --- the application's side --------------------------------------------------------------------------------------

    def append(
        self,
        topic: TopicQueues,
        partition: int,
        timestamp: int,
        key: Any,
        value: Any,
        headers: Sequence[Any],
        callback: Callback | None,
        size_limit_bytes: int,
        deadline_s: float,
    ) -> RecordFuture:
        """Blocks while buffer.memory is full. Add a record to a batch of its partition (UNKNOWN_PARTITION: any).

        `size_limit_bytes` is an upper bound of the record's size in its own batch; `deadline_s` is of time.monotonic,
        0.0 for max.block.ms from now. Raises BufferExhaustedException, IllegalStateException once closed,
        IllegalArgumentException for a batch that is larger than buffer.memory.
        """
        is_sticky = partition == UNKNOWN_PARTITION
        sticky = topic.sticky
        limit = self._limit_bytes
        ratio = self.ratios.ratio_of(topic.topic) if self._is_compressing else 1.0
        held = 0
        with self.lock:
            try:
                while True:
                    if self.is_closed:
                        raise IllegalStateException("Cannot perform operation after producer has been closed")
                    if is_sticky:
                        partition = sticky.current(topic.available)
                    queue = topic.queue(partition)
                    batch = queue.open_batch()
                    if batch is not None:
                        future = batch.append(timestamp, key, value, headers, callback, limit, ratio)
                        if future is not None:
                            must_wake = self._after_append(batch, ratio)
                            break
                        # The next caller needs a new batch, too, even for a small record.
                        batch.is_closed = True
                        if is_sticky:
                            sticky.took(0, True)
                            continue
                    if held == 0:
                        size = max(limit, size_limit_bytes)
                        is_there = self.pool.try_take(size)
                        if not is_there:
                            self._wait_for_memory(size, deadline_s)
                        held = size
                        if not is_there:
                            # Another thread may have opened a batch meanwhile.
                            continue
                    batch = ProducerBatch(queue.topic_partition, time.monotonic_ns() // 1_000_000, held)
                    future = batch.append(timestamp, key, value, headers, callback, limit, ratio)
                    assert future is not None, "the first record of a batch always fits"
                    self._add(queue, batch)
                    held = 0
                    must_wake = True
                    break
            finally:
                if held:
                    self.pool.give_back(held)
            if is_sticky:
                sticky.took(batch.last_record_bytes, batch.is_full(limit, ratio))
            must_wake = must_wake and self.sender_is_idle
            if must_wake:
                self.sender_is_idle = False
        if must_wake:
            self._wake_sender()
        return future

    def _add(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        queue.batches.append(batch)
        self.waiting[queue] = None
        self.incomplete[batch] = None

    def _after_append(self, batch: ProducerBatch, ratio: float) -> bool:
        """Whether the batch is full now, so that the sender has work."""
        if self._is_compressing and batch.records_bytes > batch.allocated_bytes:
            # Records wait uncompressed: a batch may be much smaller on the wire.
            more = batch.allocated_bytes
            if not self.pool.try_take(more):
                batch.is_closed = True
                return True
            batch.allocated_bytes += more
        return batch.is_full(self._limit_bytes, ratio)

    def _wait_for_memory(self, size: int, deadline_s: float) -> None:
        if deadline_s == 0.0:
            deadline_s = time.monotonic() + self._max_block_ms / 1000
        if self.sender_is_idle:
            # Batches that only wait for linger.ms must be sent now.
            self.sender_is_idle = False
            self._wake_sender()
        self.pool.wait_and_take(size, deadline_s, self._max_block_ms)

    def begin_flush(self) -> list[ProducerBatch]:
        """Send everything without lingering until `end_flush`; returns the batches that are not completed yet."""
        with self.lock:
            self.flush_count += 1
            return list(self.incomplete)

    def end_flush(self) -> None:
        with self.lock:
            self.flush_count -= 1

    def close(self) -> None:
        """Accept no more records, and end all waits for memory."""
        with self.lock:
            self.is_closed = True
            self.pool.close()

    # --- the sender's side; all but `done` in the lock ---------------------------------------------------------------

    def is_sendable(self, queue: PartitionQueue, now_ms: int, leader_id: int) -> tuple[bool, int]:
        """Whether the first batch of a queue may be sent, and if not, how long until it may be."""
        batch = queue.batches[0]
        settings = self._settings
        if batch.attempts and leader_id == batch.leader_of_attempt:
            # After a change of leader, do not wait.
            return now_ms >= batch.retry_at_ms, max(0, batch.retry_at_ms - now_ms)
        ratio = self.ratios.ratio_of(queue.topic_partition.topic) if self._is_compressing else 1.0
        if (
            len(queue.batches) > 1
            or batch.is_full(self._limit_bytes, ratio)
            or self.pool.waiting_count
            or self.is_closed
            or self.flush_count
            or self.is_completing
        ):
            return True, 0
        left_ms = settings.linger_ms - (now_ms - batch.created_ms)
        return left_ms <= 0, max(0, left_ms)

    def take_first(self, queue: PartitionQueue, now_ms: int) -> ProducerBatch:
        """The first batch of a queue, which is closed to records from now on."""
        batch = queue.batches.popleft()
        batch.is_closed = True
        batch.drained_ms = now_ms
        if not queue.batches:
            self.waiting.pop(queue, None)
        return batch

    def put_back(self, batches: Iterable[ProducerBatch]) -> None:
        """Queue batches of one partition for retry, before all that were never sent."""
        for batch in batches:
            queue = self.topics[batch.topic_partition.topic].queue(batch.topic_partition.partition)
            self.incomplete[batch] = None
            if batch.has_sequence:
                _insert_by_sequence(queue.batches, batch)
            else:
                queue.batches.appendleft(batch)
            self.waiting[queue] = None

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        """The batches that waited for delivery.timeout.ms."""
        expired: list[ProducerBatch] = []
        for queue in list(self.waiting):
            while queue.batches and self._settings.delivery_timeout_ms <= now_ms - queue.batches[0].created_ms:
                expired.append(self.take_first(queue, now_ms))
        return expired

    def next_expiry_ms(self) -> int:
        """When the next waiting batch expires; a large number if none waits."""
        first_ms = min((queue.batches[0].created_ms for queue in self.waiting), default=1 << 62)
        return first_ms + self._settings.delivery_timeout_ms

    def take_all(self) -> list[ProducerBatch]:
        """Remove all waiting batches, to be failed."""
        taken: list[ProducerBatch] = []
        for queue in list(self.waiting):
            while queue.batches:
                taken.append(self.take_first(queue, 0))
        return taken

    def take_unsent(self) -> list[ProducerBatch]:
        """Remove the batches that were never sent, to be failed: those of a transaction that is aborted."""
        taken: list[ProducerBatch] = []
        for queue in list(self.waiting):
            taken += [batch for batch in queue.batches if not batch.has_sequence]
            queue.batches = deque([batch for batch in queue.batches if batch.has_sequence])
            if not queue.batches:
                self.waiting.pop(queue, None)
        for batch in taken:
            batch.is_closed = True
        return taken

    def done(self, batch: ProducerBatch) -> None:
        """A batch has completed: release its memory."""
        with self.lock:
            self.incomplete.pop(batch, None)
            self.pool.give_back(batch.allocated_bytes)
            batch.allocated_bytes = 0

    def learn_loads(self, snapshot: ClusterSnapshot, is_slow: Callable[[int], bool]) -> None:
        """Tell the sticky partitioners which partitions have short queues. `is_slow(node)`: avoid it."""
        for topic in self.topics.values():
            known = snapshot.topics.get(topic.topic)
            if known is None:
                continue
            partitions, sizes = [], []
            for number, each in known.partitions.items():
                if each.leader_id is None or is_slow(each.leader_id):
                    continue
                queue = topic.queues.get(number)
                partitions.append(number)
                sizes.append(0 if queue is None else len(queue.batches))
            topic.sticky.learn_loads(partitions, sizes)


def _insert_by_sequence(batches: deque[ProducerBatch], batch: ProducerBatch) -> None:
    """Insert it by sequence; batches without one were never sent and come later."""
    place = 0
    for each in batches:
        if not each.has_sequence or (each.base_sequence - batch.base_sequence) & 0x7FFFFFFF < 1 << 30:
            break
        place += 1
    batches.insert(place, batch)
